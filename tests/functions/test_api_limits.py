"""The routes of limits: what they show, and what they refuse."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from hourhand.api.app import create_app
from hourhand.domain.limits.declarations import Concurrency, Rate
from hourhand.ports.handler_directory import HandlerInfo
from tests.functions.api_client import ApiClient
from tests.world.world import World

SINCE = "2026-01-05T09:00:01.000Z"
SHARED = Concurrency(5, key="payload.account", name="stripe")


@pytest.fixture
def world() -> World:
    handler = HandlerInfo(name="greet", limits=(Concurrency(2), SHARED))
    return World(handlers=(handler, HandlerInfo(name="a.dotted.name", limits=(SHARED,))))


@pytest.fixture
def api(world: World) -> ApiClient:
    return ApiClient(create_app(world.api))


def test_a_limit_is_shown_with_its_numbers_and_its_jobs(api: ApiClient, world: World) -> None:
    changed = api.send("PUT", "/v1/limits/greet.1", {"max": 0})
    job = world.submit(payload={"account": 7})
    world.advance(1)
    world.deliver()
    whole = {
        "name": "greet.1",
        "kind": "concurrency",
        "key": "handler",
        "max": 0,
        "declared_max": 2,
        "per_seconds": None,
        "overrides": {},
        "handlers": ["greet"],
        "running": 0,
        "waiting": 1,
        "oldest_waiting_at": SINCE,
        "holders": [],
        "waiters": [{"job_id": job.id, "since": SINCE}],
    }
    shown = api.get("/v1/limits/greet.1")
    assert (shown.status, shown.json) == (200, whole)
    assert (changed.status, changed.json["granted"]) == (200, 0)
    waits_for = api.get(f"/v1/jobs/{job.id}").json["waits_for"]
    assert (waits_for["limit"], waits_for["position"], waits_for["max_running"]) == (
        "greet.1",
        1,
        0,
    )
    assert api.send("DELETE", "/v1/limits/greet.1").json["granted"] == 1
    world.deliver()
    assert world.job(job).status.is_final


def test_limits_are_listed_by_name_in_pages(api: ApiClient) -> None:
    first = api.get("/v1/limits?limit=1").json
    assert [one["name"] for one in first["limits"]] == ["greet.1"]
    rest = api.get(f"/v1/limits?cursor={first['next_cursor']}").json
    assert [one["name"] for one in rest["limits"]] == ["stripe"]
    assert rest["next_cursor"] is None
    [shared] = rest["limits"]
    assert shared["handlers"] == ["a.dotted.name", "greet"]
    assert (shared["key"], shared["running"]) == ("payload.account", None)
    assert "holders" not in shared
    assert api.get("/v1/limits?cursor=other").status == 422


def test_a_key_is_a_text_or_the_value_that_it_spells(api: ApiClient, world: World) -> None:
    api.send("PUT", "/v1/limits/stripe", {"overrides": {"7": 0}})
    job = world.submit(payload={"account": 7})
    world.deliver()
    shown = api.get("/v1/limits/stripe?key=7").json
    assert (shown["max"], shown["overrides"]) == (0, {"7": 0})
    assert [waiter["job_id"] for waiter in shown["waiters"]] == [job.id]
    unnamed = api.get("/v1/limits/stripe").json
    assert (unnamed["holders"], unnamed["waiting"]) == (None, None)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("acme", "acme"),
        ("42", 42),
        ("42", "42"),
        ("-0.5", -0.5),
        ("true", True),
        ("null", None),
        ("[1, 2]", [1, 2]),
        ('{"b": 1, "a": [null]}', {"a": [None], "b": 1}),
        ('"quoted"', '"quoted"'),
        ("NaN", "NaN"),
        ("-Infinity", "-Infinity"),
        ("1e999", "1e999"),
        ("[" * 256, "[" * 256),
        ("1" * 256, int("1" * 256)),
        ("ключ …", "ключ …"),
        (" ", " "),
    ],
    ids=[
        *("text", "number", "digits", "fraction", "true", "null", "list", "object", "quotes"),
        *("NaN", "infinity", "too large", "brackets", "256 digits", "unicode", "space"),
    ],
)
def test_a_number_may_be_set_for_a_key_of_any_json_type(
    api: ApiClient, world: World, text: str, value: Any
) -> None:
    changed = api.send("PUT", "/v1/limits/stripe", {"max": 3, "overrides": {text: 0}})
    assert (changed.status, changed.json["overrides"]) == (200, {text: 0})
    job = world.submit(payload={"account": value})
    other = world.submit(payload={"account": "another"})
    world.deliver()
    assert world.job(job).waits_for is not None
    assert world.job(other).status.is_final
    shown = api.get(f"/v1/limits/stripe?key={quote(text)}")
    assert (shown.status, shown.json["max"]) == (200, 0)
    assert [waiter["job_id"] for waiter in shown.json["waiters"]] == [job.id]
    api.send("PUT", "/v1/limits/stripe", {"overrides": {text: None}})
    world.deliver()
    assert world.job(job).status.is_final


@pytest.mark.parametrize(
    ("name", "body", "fields"),
    [
        ("stripe", {}, ["max"]),
        ("stripe", {"max": -1}, ["max"]),
        ("stripe", {"max": 1.5}, ["max"]),
        ("stripe", {"max": True}, ["max"]),
        ("stripe", {"max": 1_001}, ["max"]),
        ("stripe", {"overrides": {"acme": 1_001}}, ["overrides.acme"]),
        ("stripe", {"overrides": {"": 1}}, [None]),
        ("stripe", {"overrides": {"x" * 257: 1}}, [None]),
        ("stripe", {"overrides": []}, ["overrides"]),
        ("stripe", {"overrides": {str(n): 1 for n in range(201)}}, ["overrides"]),
        ("stripe", {"min": 1}, ["min"]),
        ("greet.1", {"overrides": {"acme": 1}}, ["overrides"]),
    ],
)
def test_a_wrong_number_is_refused_with_its_field(
    api: ApiClient, name: str, body: Any, fields: list[str | None]
) -> None:
    answer = api.send("PUT", f"/v1/limits/{name}", body)
    assert answer.status == 422
    if None not in fields:
        assert answer.fields == fields
    assert api.get(f"/v1/limits/{name}").json["max"] == (5 if name == "stripe" else 2)


def test_a_rate_is_shown_with_its_period_and_no_jobs() -> None:
    rate = Rate(100, per=60, key="tenant")
    world = World(handlers=(HandlerInfo(name="greet", limits=(rate,)),))
    api = ApiClient(create_app(world.api))
    changed = api.send("PUT", "/v1/limits/greet.1", {"max": 50, "overrides": {"acme": 10}}).json
    assert (changed["kind"], changed["max"], changed["declared_max"]) == ("rate", 50, 100)
    shown = api.get("/v1/limits/greet.1?key=acme").json
    assert (shown["max"], shown["per_seconds"], shown["holders"]) == (10, 60, None)
    for number in (0, 1_000_001):
        assert api.send("PUT", "/v1/limits/greet.1", {"max": number}).fields == ["max"]


def test_a_retiming_moves_the_jobs_that_wait_for_a_rate() -> None:
    rate = Rate(1, per=3600, key="tenant")
    world = World(handlers=(HandlerInfo(name="greet", limits=(rate,)),))
    api = ApiClient(create_app(world.api))
    for _ in range(3):
        job = world.submit(tenant="acme")
        world.deliver()
    assert api.get(f"/v1/jobs/{job.id}").json["due_at"] == "2026-01-05T11:00:00.000Z"
    api.send("PUT", "/v1/limits/greet.1", {"max": 60})
    world.advance(1)
    done = api.send("POST", "/v1/limits/greet.1/retime", {"key": "acme"})
    assert (done.status, done.json) == (
        200,
        {
            "matched": 2,
            "changed": 2,
            "failed": [],
            "count_is_bounded": False,
            "next_cursor": None,
        },
    )
    assert api.get(f"/v1/jobs/{job.id}").json["due_at"] < "2026-01-05T09:03:00.000Z"
    events = api.get("/v1/audit?handler=greet").json["events"]
    assert "greet.1: waiting jobs retimed of acme" in [event["reason"] for event in events]


@pytest.mark.parametrize(
    ("name", "body", "status", "fields"),
    [
        ("greet.1", {}, 422, ["key"]),
        ("greet.1", {"key": ""}, 422, ["key"]),
        ("greet.1", {"key": 7}, 422, ["key"]),
        ("greet.1", {"key": "acme", "cursor": "none"}, 422, ["cursor"]),
        ("greet.1", {"keys": []}, 422, ["keys"]),
        ("greet.2", {"key": "acme"}, 422, ["key"]),
        ("greet.3", {}, 409, None),
        ("greet.4", {}, 404, None),
    ],
)
def test_what_cannot_be_retimed_is_refused(
    name: str, body: Any, status: int, fields: list[str] | None
) -> None:
    limits = (Rate(1, per=60, key="tenant"), Rate(1, per=60), Concurrency(1))
    world = World(handlers=(HandlerInfo(name="greet", limits=limits),))
    answer = ApiClient(create_app(world.api)).send("POST", f"/v1/limits/{name}/retime", body)
    assert answer.status == status
    if fields is not None:
        assert answer.fields == fields


@pytest.mark.parametrize("target", ["strip", "greet.3", "greet"])
def test_an_unknown_limit_is_not_found(api: ApiClient, target: str) -> None:
    for answer in (
        api.get(f"/v1/limits/{target}"),
        api.send("PUT", f"/v1/limits/{target}", {"max": 1}),
        api.send("DELETE", f"/v1/limits/{target}"),
    ):
        assert answer.status == 404
        assert "Limits: greet.1, stripe." in answer.json["detail"]


def test_a_key_of_a_limit_with_a_single_one_is_refused(api: ApiClient) -> None:
    answer = api.get("/v1/limits/greet.1?key=acme")
    assert (answer.status, answer.fields) == (422, ["key"])
    assert api.get("/v1/limits/stripe?key=").status == 422
