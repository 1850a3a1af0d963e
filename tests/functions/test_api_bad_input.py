"""Whatever a caller sends: a 4xx that names what is wrong, and never a 500."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hourhand.api.requests._limits import MAX_PAYLOAD_BYTES
from tests.functions.api_client import ApiClient
from tests.world.world import World

OPERATIONS = ("cancel", "redrive", "discard", "run-now")

# What a field may hold is asked of the models (tests/unit/api/requests): here is one fault of each
# kind, and what is judged later than the shape.
SUBMIT_FAULTS: list[tuple[Any, int, str]] = [
    ({}, 422, "handler"),
    ({"handler": "nobody"}, 422, "handler"),
    ({"handler": "greet", "colour": "red"}, 422, "colour"),
    ({"handler": "greet", "run_at": "2026-01-04T08:59:59.999Z"}, 422, "run_at"),
    ({"handler": "greet", "run_at": "1970-01-01T00:00:00Z"}, 422, "run_at"),
    ({"handler": "greet", "delay_seconds": 176 * 366 * 86_400}, 422, "delay_seconds"),
    ({"handler": "greet", "expires_at": "2026-01-05T09:00:00Z"}, 422, "expires_at"),
    ({"handler": "greet", "id": "a", "idempotency_key": "b"}, 422, "idempotency_key"),
    ({"handler": "greet", "tags": {"k": "v" * 257}}, 422, "tags.k"),
    ({"handler": "greet", "pool": "gpu"}, 422, "pool"),
    ({"handler": "greet", "payload": "x" * MAX_PAYLOAD_BYTES}, 413, "payload"),
    ([{"handler": "greet"}], 422, "body"),
]


def deep(levels: int) -> str:
    return '{"handler": "greet", "payload": ' + "[" * levels + "]" * levels + "}"


@pytest.mark.parametrize(("body", "status", "field"), SUBMIT_FAULTS)
def test_a_wrong_submission_names_its_field(
    api: ApiClient, body: Any, status: int, field: str
) -> None:
    response = api.post("/v1/jobs", body)
    assert (response.status, response.fields) == (status, [field])
    assert response.json["detail"]
    assert all(error["message"] for error in response.json["errors"])


# A payload that is too large for a job makes the batch too large, too.
@pytest.mark.parametrize(
    ("body", "status", "field"), [fault for fault in SUBMIT_FAULTS if fault[1] != 413]
)
def test_the_same_fault_in_a_batch_costs_no_other_job(
    api: ApiClient, body: Any, status: int, field: str
) -> None:
    response = api.post("/v1/jobs/batch", {"jobs": [{"handler": "greet"}, body]})
    good, bad = response.json["results"]
    assert good["job"]["status"] == "ENQUEUED"
    assert (bad["error"]["status"], bad["error"]["errors"][0]["field"]) == (status, field)


@pytest.mark.parametrize("text", ["", '{"handler": "greet", "handler": "report"}', deep(100_000)])
def test_what_is_no_json_is_a_bad_request(api: ApiClient, text: str) -> None:
    response = api.post("/v1/jobs", text=text)
    assert (response.status, response.json["type"]) == (400, "urn:hourhand:bad_request")


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (deep(101), "payload"),
        ('{"handler": "greet", "payload": 1e999}', "payload"),
        ('{"handler": "greet", "\\ud800": 1}', "body"),
        ('{"handler": "\\u0000"}', "handler"),
    ],
)
def test_json_that_no_field_can_hold_names_the_field(api: ApiClient, text: str, field: str) -> None:
    response = api.post("/v1/jobs", text=text)
    assert (response.status, response.fields) == (422, [field])


@pytest.mark.parametrize(
    "payload",
    ["a\x00b", "\ud800", {"\udfff": 1}, 10**4000, -0.0, 1e308, [[[]]], "\u2028\ufffe\U0010ffff"],
)
def test_odd_json_is_json_all_the_same(api: ApiClient, payload: Any) -> None:
    job = api.submit(payload=payload, tenant="t\x00", tags={"k\x00": "\ufffe"})
    assert api.get(f"/v1/jobs/{job['id']}").json["payload"] == payload
    assert api.get("/v1/jobs?tag=k%00:%EF%BF%BE&tenant=t%00").json["jobs"][0]["id"] == job["id"]


def test_a_body_that_is_no_json_by_its_type_is_not_read(api: ApiClient) -> None:
    plain = {"content-type": "text/plain"}
    response = api.post("/v1/jobs", {"handler": "greet"}, headers=plain)
    assert (response.status, response.fields) == (415, ["content-type"])


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"jobs": [{"handler": "greet"}] * 501}, 422, "jobs"),
        ({"jobs": [], "atomic": True}, 422, "atomic"),
        ({"jobs": [{"handler": "greet", "payload": "x" * 1_300_000}] * 2}, 413, "jobs"),
    ],
)
def test_a_wrong_batch_names_its_field_and_submits_nothing(
    api: ApiClient, world: World, body: Any, status: int, field: str
) -> None:
    response = api.post("/v1/jobs/batch", body)
    assert (response.status, response.fields) == (status, [field])
    assert world.store.jobs() == {}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=201", "limit"),
        ("limit=10&limit=20", "limit"),
        ("cursor=%00", "cursor"),
        ("cursor=bm9uc2Vuc2U", "cursor"),
        ("%ff=1", "\ufffd"),
        ("&".join(f"f{n}" for n in range(60)), "query"),
    ],
)
def test_a_wrong_query_names_its_field(api: ApiClient, query: str, field: str) -> None:
    response = api.get(f"/v1/jobs?{query}")
    assert (response.status, response.fields) == (422, [field])


@pytest.mark.parametrize(
    "job_id",
    ["nobody", "k.abc", "a" * 500, "%2e%2e", "..", "\ud800", "a'b", '"', "\x00", "batch", "é"],
)
def test_an_unknown_id_is_not_found_on_every_route(api: ApiClient, job_id: str) -> None:
    path = f"/v1/jobs/{job_id}"
    answers = [
        api.get(path),
        api.get(f"{path}/events"),
        api.patch(path, {"payload": 1}),
        *(api.post(f"{path}/{operation}") for operation in OPERATIONS),
    ]
    assert {answer.status for answer in answers} == {404}
    assert {answer.json["type"] for answer in answers} == {"urn:hourhand:not_found"}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "body"),
        ({"run_at": "2026-01-01T10:00:00Z"}, "run_at"),
        ({"expires_at": "2026-01-05T09:00:00Z"}, "expires_at"),
    ],
)
def test_a_wrong_change_names_its_field_and_changes_nothing(
    api: ApiClient, body: Any, field: str
) -> None:
    job = api.submit(delay_seconds=3600)
    response = api.patch(f"/v1/jobs/{job['id']}", body)
    assert (response.status, response.fields) == (422, [field])
    assert api.get(f"/v1/jobs/{job['id']}").json == job


@pytest.mark.parametrize("operation", ["cancel", "redrive", "discard"])
@pytest.mark.parametrize(
    ("body", "field"), [({}, "all"), ({"all": True, "cursor": "bm9uc2Vuc2U"}, "cursor")]
)
def test_a_wrong_bulk_request_names_its_field_and_changes_nothing(
    api: ApiClient, operation: str, body: Any, field: str
) -> None:
    job = api.submit(delay_seconds=3600)
    response = api.post(f"/v1/jobs/{operation}", body)
    assert (response.status, response.fields) == (422, [field])
    assert api.get(f"/v1/jobs/{job['id']}").json == job


def test_a_route_that_takes_no_body_or_query_refuses_them(api: ApiClient) -> None:
    path = f"/v1/jobs/{api.submit(delay_seconds=3600)['id']}"
    assert api.post(f"{path}/cancel", {"reason": "late"}).fields == ["reason"]
    assert api.post(f"{path}/cancel?force=1").fields == ["force"]
    assert api.post(f"{path}/cancel", text="now").status == 400
    assert api.get("/v1/stats?pool=default").fields == ["pool"]
    assert api.get(path).json["status"] == "PENDING"


def test_a_deep_body_elsewhere_than_in_the_payload_is_a_bad_request_or_a_wrong_type(
    api: ApiClient,
) -> None:
    nested = json.loads("[" * 500 + "]" * 500)
    assert api.post("/v1/jobs", {"handler": nested}).fields == ["handler"]
    assert api.post("/v1/jobs/cancel", {"tag": nested}).fields == ["tag"]
    assert api.post("/v1/jobs", {"handler": "greet", "tags": {"k": nested}}).fields == ["tags.k"]
