"""A payload that its handler cannot take is refused before anything is stored."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from pydantic import BaseModel, Field, Json

from hourhand.api.app import create_app
from hourhand.handlers import JobContext, Registry, describe, job
from hourhand.memory import MemoryHandlerDirectory
from tests.functions.api_client import ApiClient
from tests.world.world import World

REGISTRY = Registry()
AMOUNT = "payload.amount"


class Charge(BaseModel):
    customer: str
    amount: int = Field(gt=0)


@dataclass
class Letter:
    to: str
    days: int = 1


@dataclass(frozen=True)
class Line:
    sku: str
    count: int = 1


@dataclass
class Order:
    lines: set[Line] = field(default_factory=set)
    by_line: dict[Json[Line], int] = field(default_factory=dict)


@job("order", registry=REGISTRY)
def order(ctx: JobContext, payload: Order) -> None: ...


@job("charge", registry=REGISTRY)
def charge(ctx: JobContext, payload: Charge) -> None: ...


@job("write", registry=REGISTRY)
def write(ctx: JobContext, payload: list[Letter]) -> None: ...


@job("send", registry=REGISTRY)
def send(ctx: JobContext, payload: Letter) -> None: ...


@job("post", registry=REGISTRY, validate_on_submit=False)
def post(ctx: JobContext, payload: Letter) -> None: ...


@job("import", registry=REGISTRY, validate_on_submit=False)
def import_rows(ctx: JobContext, payload: Charge) -> None: ...


@job("greet", registry=REGISTRY)
def greet(ctx: JobContext, payload: Any) -> None: ...


GOOD = {"customer": "ada", "amount": 5}
BAD = {"customer": "ada", "amount": -5}


@pytest.fixture
def world() -> World:
    return World(handlers=tuple(describe(REGISTRY)))


def _submit(api: ApiClient, handler: str, payload: Any, **fields: Any) -> Any:
    return api.post("/v1/jobs", {"handler": handler, "payload": payload, **fields})


def _jobs(api: ApiClient) -> int:
    return len(api.get("/v1/jobs").json["jobs"])


@pytest.mark.parametrize(
    ("handler", "payload", "fields"),
    [
        ("charge", BAD, [AMOUNT]),
        ("charge", {}, ["payload.customer", AMOUNT]),
        ("charge", None, ["payload"]),
        ("charge", {"customer": "ada", "amount": "five"}, [AMOUNT]),
        ("write", [{"to": "Ada"}, {}], ["payload[1].to"]),
        ("write", [{"to": "Ada"}, {"to": "Ada", "dyas": 7}], ["payload[1].dyas"]),
        ("send", {"to": "Ada", "dyas": 7}, ["payload.dyas"]),
        ("order", {"lines": [{"sku": "a", "count": "x"}]}, ["payload.lines[0].count"]),
    ],
)
def test_a_submission_is_refused_with_the_names_of_the_fields(
    api: ApiClient, handler: str, payload: Any, fields: list[str]
) -> None:
    answer = _submit(api, handler, payload)
    assert (answer.status, answer.json["type"]) == (422, "urn:hourhand:invalid")
    assert answer.fields == fields
    assert _jobs(api) == 0


@pytest.mark.parametrize(
    ("handler", "payload"),
    [
        ("charge", GOOD),
        # pydantic takes it for a number in the worker as well.
        ("charge", {"customer": "ada", "amount": "5"}),
        ("charge", {"customer": "ada", "amount": 5.0, "unknown": True}),
        ("write", []),
        ("post", {"to": "Ada", "dyas": 7}),
        ("import", BAD),
        ("greet", ["anything"]),
        ("order", {"lines": [{"sku": "a"}, {"sku": "a", "count": 1}]}),
        ("order", {"by_line": {'{"sku": "a"}': 1}}),
    ],
)
def test_what_the_handler_accepts_and_what_is_not_checked_is_submitted(
    api: ApiClient, handler: str, payload: Any
) -> None:
    answer = _submit(api, handler, payload)
    assert (answer.status, answer.json["payload"]) == (201, payload)


MISSPELT = {"to": "Ada", "dyas": 7}
MISSPELT_ERROR = {
    "field": "payload.dyas",
    "message": "is not a known field. Did you mean 'days'? The fields are to, days",
}


def test_an_unknown_field_is_refused_wherever_a_payload_is_given(api: ApiClient) -> None:
    job_id = _submit(api, "send", {"to": "Ada"}, delay_seconds=600).json["id"]
    rule = {"expression": "@daily", "handler": "send", "payload": MISSPELT}
    for answer in (
        _submit(api, "send", MISSPELT),
        api.send("PATCH", f"/v1/jobs/{job_id}", {"payload": MISSPELT}),
        api.send("PUT", "/v1/schedules/weekly", rule),
    ):
        assert (answer.status, answer.json["errors"]) == (422, [MISSPELT_ERROR])
    batch = api.post("/v1/jobs/batch", {"jobs": [{"handler": "send", "payload": MISSPELT}]})
    assert batch.json["results"][0]["error"]["errors"] == [MISSPELT_ERROR]


def test_what_was_stored_before_a_field_was_removed_is_not_checked_again(
    api: ApiClient, world: World
) -> None:
    whole = {"to": "Ada", "days": 7}
    job_id = _submit(api, "send", whole, delay_seconds=600).json["id"]
    api.send("PUT", "/v1/schedules/weekly", rule := _rule(whole))
    world.handlers = MemoryHandlerDirectory(*describe(_with_fewer_fields()))
    later = ApiClient(create_app(world.process().api))

    assert later.post(f"/v1/jobs/{job_id}/run-now").status == 200
    assert later.send("PATCH", f"/v1/jobs/{job_id}", {"priority": "high"}).status == 200
    assert later.post("/v1/schedules/weekly/pause").status == 200
    assert later.post("/v1/schedules/weekly/resume").status == 200
    assert later.post("/v1/schedules/weekly/trigger").json["payload"] == whole
    assert later.send("PUT", "/v1/schedules/weekly", rule).status == 200
    # To put another rule is to give its payload again.
    changed = rule | {"expression": "@weekly"}
    assert later.send("PUT", "/v1/schedules/weekly", changed).fields == ["payload.days"]


def _rule(payload: Any) -> dict[str, Any]:
    return {"expression": "@daily", "handler": "send", "payload": payload}


def _with_fewer_fields() -> Registry:
    @dataclass
    class Short:
        to: str

    def send(ctx: JobContext, payload: Any) -> None: ...

    send.__annotations__["payload"] = Short
    registry = Registry()
    registry.add("send", send)
    return registry


def test_each_job_of_a_batch_is_checked_on_its_own(api: ApiClient) -> None:
    jobs = [{"handler": "charge", "payload": payload} for payload in (GOOD, BAD, GOOD)]
    results = api.post("/v1/jobs/batch", {"jobs": jobs}).json["results"]
    assert ["job" in result for result in results] == [True, False, True]
    assert results[1]["error"]["errors"] == [{"field": AMOUNT, "message": "must be greater than 0"}]
    assert _jobs(api) == 2


def test_a_changed_payload_is_checked_and_the_job_stays_as_it_is(api: ApiClient) -> None:
    job_id = _submit(api, "charge", GOOD, delay_seconds=600).json["id"]
    answer = api.send("PATCH", f"/v1/jobs/{job_id}", {"payload": BAD, "priority": "high"})
    assert (answer.status, answer.fields) == (422, [AMOUNT])
    kept = api.get(f"/v1/jobs/{job_id}").json
    assert (kept["payload"], kept["priority"]) == (GOOD, "medium")
    changed = api.send("PATCH", f"/v1/jobs/{job_id}", {"payload": {**GOOD, "amount": 6}})
    assert changed.json["payload"]["amount"] == 6


def test_a_schedule_with_a_wrong_payload_is_not_put(api: ApiClient) -> None:
    rule = {"expression": "@daily", "handler": "charge"}
    answer = api.send("PUT", "/v1/schedules/nightly", {**rule, "payload": BAD})
    assert (answer.status, answer.fields) == (422, [AMOUNT])
    assert api.get("/v1/schedules/nightly").status == 404
    # Without a payload the job would have null.
    assert api.send("PUT", "/v1/schedules/nightly", rule).fields == ["payload"]
    assert api.send("PUT", "/v1/schedules/nightly", {**rule, "payload": GOOD}).status == 201


@pytest.mark.parametrize("name", ["idempotency_key", "id"])
def test_a_repeated_submission_returns_its_job_though_the_handler_takes_other_payloads_now(
    api: ApiClient, world: World, name: str
) -> None:
    first = _submit(api, "charge", GOOD, **{name: "order-7"})
    stricter = [
        replace(info, payload_check={"type": "none"}) if info.name == "charge" else info
        for info in describe(REGISTRY)
    ]
    world.handlers = MemoryHandlerDirectory(*stricter)
    later = ApiClient(create_app(world.process().api))
    again = _submit(later, "charge", GOOD, **{name: "order-7"})
    assert (again.status, again.json["id"]) == (200, first.json["id"])
    assert _submit(later, "charge", GOOD).fields == ["payload"]
    # Another body is a conflict, whatever its payload.
    assert _submit(later, "charge", BAD, **{name: "order-7"}).status == 409


def test_a_large_wrong_payload_leaves_no_object_behind(api: ApiClient, world: World) -> None:
    answer = _submit(api, "charge", {"customer": "a" * 300_000, "amount": 0})
    assert answer.status == 422
    assert world.objects.keys() == set()
