"""Batches over HTTP: what is accepted and refused, additions, closes and callbacks."""

from __future__ import annotations

from typing import Any

import pytest

from hourhand.testing import FakeHourhand
from tests.functions.api_client import ApiClient, Response
from tests.functions.graph_rig import CALLS, FAILING, client_of, new_hourhand


@pytest.fixture
def hourhand() -> FakeHourhand:
    return new_hourhand()


@pytest.fixture
def api(hourhand: FakeHourhand) -> ApiClient:
    return client_of(hourhand)


def member(payload: Any = None, **more: Any) -> dict[str, Any]:
    return {"handler": "note", "payload": payload, **more}


CALLBACKS = {
    "on_success": member("success"),
    "on_complete": member("complete"),
    "on_failure": member("failure"),
}


def code_of(response: Response) -> str:
    code: str = response.json["type"].removeprefix("urn:hourhand:")
    return code


def state_of(api: ApiClient, batch: str) -> tuple[str, int, int, int]:
    shown = api.get(f"/v1/batches/{batch}").json
    return shown["status"], shown["total"], shown["succeeded"], shown["failed"]


def opened(api: ApiClient, jobs: list[Any], **more: Any) -> None:
    response = api.post("/v1/batches", {"id": "b", "jobs": jobs, "open": True, **more})
    assert (response.status, response.json["status"]) == (201, "open")


# --- what is accepted -------------------------------------------------------------------------


def test_a_batch_runs_its_jobs_and_its_callbacks(hourhand: FakeHourhand, api: ApiClient) -> None:
    jobs = [member(n) for n in range(3)]
    response = api.post("/v1/batches", {"id": "b", "jobs": jobs, **CALLBACKS})
    assert (response.status, response.headers["location"]) == (201, "/v1/batches/b")
    assert response.json == {
        "id": "b",
        "status": "running",
        "total": 3,
        "succeeded": 0,
        "failed": 0,
        "callbacks": dict.fromkeys(CALLBACKS),
        "created_at": response.json["created_at"],
        "finished_at": None,
    }
    hourhand.run_due()
    shown = api.get("/v1/batches/b").json
    assert state_of(api, "b") == ("succeeded", 3, 3, 0)
    assert shown["finished_at"] is not None
    assert shown["callbacks"]["on_failure"] is None
    for name in ("on_success", "on_complete"):
        job = api.get(f"/v1/jobs/{shown['callbacks'][name]}").json
        assert (job["payload"], job["parent_id"]) == (CALLBACKS[name]["payload"], "b")
    assert sorted(map(str, CALLS)) == ["0", "1", "2", "complete", "success"]


def test_a_failed_job_fails_the_batch(hourhand: FakeHourhand, api: ApiClient) -> None:
    FAILING.add(1)
    api.post("/v1/batches", {"id": "b", "jobs": [member(n) for n in range(3)], **CALLBACKS})
    hourhand.run_due()
    assert state_of(api, "b") == ("failed", 3, 2, 1)
    assert api.get("/v1/jobs/b").json["error"]["type"] == "BatchFailed"
    assert {"complete", "failure"} <= set(map(str, CALLS))


def test_a_batch_without_jobs_succeeds(hourhand: FakeHourhand, api: ApiClient) -> None:
    api.post("/v1/batches", {"id": "b", "jobs": [], **CALLBACKS})
    hourhand.run_due()
    assert state_of(api, "b") == ("succeeded", 0, 0, 0)
    assert sorted(CALLS) == ["complete", "success"]


def test_a_batch_can_be_cancelled(hourhand: FakeHourhand, api: ApiClient) -> None:
    api.post("/v1/batches", {"id": "b", "jobs": [member(1)]})
    api.post("/v1/jobs/b/cancel")
    assert state_of(api, "b")[0] == "cancelled"


def test_the_same_batch_under_an_id_is_the_batch_that_exists(
    hourhand: FakeHourhand, api: ApiClient
) -> None:
    body = {"id": "b", "jobs": [member(1)]}
    api.post("/v1/batches", body)
    hourhand.run_due()
    assert (again := api.post("/v1/batches", body)).status == 200
    assert again.json["status"] == "succeeded"
    other = api.post("/v1/batches", {"id": "b", "jobs": [member(2)]})
    assert (other.status, code_of(other), other.fields) == (409, "idempotency_conflict", ["id"])
    assert CALLS == [1]


def test_a_repeated_batch_is_returned_even_if_it_would_be_refused_by_now(
    hourhand: FakeHourhand, api: ApiClient
) -> None:
    jobs = [member(1, expires_at="2026-01-05T09:10:00Z")]
    first = api.post("/v1/batches", {"id": "b", "jobs": jobs})
    hourhand.advance(days=1)
    again = api.post("/v1/batches", {"id": "b", "jobs": jobs})
    new = api.post("/v1/batches", {"id": "c", "jobs": jobs})
    assert (first.status, again.status, new.status) == (201, 200, 422)


def test_a_null_in_a_job_means_that_it_is_not_given(hourhand: FakeHourhand, api: ApiClient) -> None:
    body = {"id": "b", "jobs": [member(1, tenant=None, id=None)], "tenant": "acme"}
    api.post("/v1/batches", body)
    hourhand.run_due()
    (child,) = api.get("/v1/jobs/b/children").json["children"]
    assert (child["tenant"], child["status"]) == ("acme", "SUCCEEDED")


# --- open batches -----------------------------------------------------------------------------


def test_an_open_batch_takes_jobs_until_it_is_closed(
    hourhand: FakeHourhand, api: ApiClient
) -> None:
    opened(api, [member(0), member(1)], **CALLBACKS)
    hourhand.run_due()
    assert state_of(api, "b") == ("open", 2, 2, 0)
    added = api.post("/v1/batches/b/jobs", {"first_index": 2, "jobs": [member(2)]})
    assert (added.status, added.json["total"]) == (200, 3)
    again = api.post("/v1/batches/b/jobs", {"first_index": 2, "jobs": [member(2)]})
    assert (again.status, again.json["total"]) == (200, 3)
    closed = api.post("/v1/batches/b/close", {"total": 3})
    assert (closed.status, closed.json["status"]) == (200, "running")
    hourhand.run_due()
    assert state_of(api, "b") == ("succeeded", 3, 3, 0)
    assert sorted(map(str, CALLS)) == ["0", "1", "2", "complete", "success"]


def test_a_repeated_open_batch_adds_its_first_jobs_once(
    hourhand: FakeHourhand, api: ApiClient
) -> None:
    body = {"id": "b", "jobs": [member(0)], "open": True}
    assert [api.post("/v1/batches", body).status for _ in range(2)] == [201, 200]
    assert state_of(api, "b") == ("open", 1, 0, 0)
    api.post("/v1/batches/b/close")
    hourhand.run_due()
    assert api.post("/v1/batches", body).json["status"] == "succeeded"
    assert CALLS == [0]


def test_a_close_names_the_job_that_is_missing(hourhand: FakeHourhand, api: ApiClient) -> None:
    opened(api, [member(0)])
    api.post("/v1/batches/b/jobs", {"first_index": 2, "jobs": [member(2)]})
    refused = api.post("/v1/batches/b/close")
    assert (refused.status, code_of(refused)) == (409, "members_missing")
    assert "member 1 " in refused.json["detail"]
    assert api.post("/v1/batches/b/jobs", {"first_index": 1, "jobs": [member(1)]}).status == 200
    assert api.post("/v1/batches/b/close").status == 200
    hourhand.run_due()
    assert state_of(api, "b") == ("succeeded", 3, 3, 0)


@pytest.mark.parametrize("total", [3, 1])
def test_a_close_with_a_total_that_does_not_fit_can_be_repeated(
    hourhand: FakeHourhand, api: ApiClient, total: int
) -> None:
    opened(api, [member(0), member(1)])
    refused = api.post("/v1/batches/b/close", {"total": total})
    assert (refused.status, code_of(refused)) == (409, "members_missing")
    assert api.post("/v1/batches/b/close", {"total": 2}).status == 200
    hourhand.run_due()
    assert state_of(api, "b")[0] == "succeeded"


def test_a_closed_batch_takes_no_more_jobs(hourhand: FakeHourhand, api: ApiClient) -> None:
    opened(api, [member(0)])
    api.post("/v1/batches/b/close")
    for _ in range(2):
        refused = api.post("/v1/batches/b/jobs", {"first_index": 1, "jobs": [member(1)]})
        assert (refused.status, code_of(refused)) == (409, "batch_closed")
        hourhand.run_due()
    assert state_of(api, "b") == ("succeeded", 1, 1, 0)
    assert api.post("/v1/batches/b/close").status == 200
    other = api.post("/v1/batches/b/close", {"total": 2})
    assert (other.status, code_of(other)) == (409, "batch_closed")


def test_a_batch_that_never_was_open_takes_no_jobs_and_runs_all_of_its_own(
    hourhand: FakeHourhand, api: ApiClient
) -> None:
    api.post("/v1/batches", {"id": "b", "jobs": [member(0), member(1)]})
    refused = api.post("/v1/batches/b/jobs", {"first_index": 2, "jobs": [member(2)]})
    assert (refused.status, code_of(refused)) == (409, "batch_closed")
    hourhand.run_due()
    assert state_of(api, "b") == ("succeeded", 2, 2, 0)
    assert sorted(CALLS) == [0, 1]


# --- what is refused --------------------------------------------------------------------------

BAD_MEMBERS: dict[str, tuple[Any, str]] = {
    "an unknown handler": ({"handler": "nobody"}, ".handler"),
    "a built-in handler": ({"handler": "hourhand.graph"}, ".handler"),
    "a unique handler": ({"handler": "alone"}, ".handler"),
    "a debounced handler": ({"handler": "calm"}, ".handler"),
    "no handler": ({"payload": 1}, ".handler"),
    "an id": (member(id="x"), ".id"),
    "a key": (member(idempotency_key="x"), ".idempotency_key"),
    "a unique key": (member(unique={"key": "payload"}), ".unique"),
    "a debounce": (member(debounce={"key": "payload", "wait_seconds": 5}), ".debounce"),
    "a payload that the handler cannot take": (
        {"handler": "typed", "payload": {"n": []}},
        ".payload.n",
    ),
    "an unknown field": (member(retires=2), ".retires"),
    "no job": (7, ""),
}


@pytest.mark.parametrize("case", BAD_MEMBERS)
def test_a_bad_job_is_refused_with_its_place_named(api: ApiClient, case: str) -> None:
    bad, field = BAD_MEMBERS[case]
    refused = api.post("/v1/batches", {"id": "b", "jobs": [member(1), bad]})
    assert (refused.status, refused.fields) == (422, [f"jobs[1]{field}"])
    for name in CALLBACKS:
        refused = api.post("/v1/batches", {"id": "b", "jobs": [], name: bad})
        assert (refused.status, refused.fields) == (422, [f"{name}{field}"])
    refused = api.post("/v1/batches", {"id": "b", "jobs": [bad], "open": True})
    assert (refused.status, refused.fields) == (422, [f"jobs[0]{field}"])
    assert api.get("/v1/batches/b").status == 404
    opened(api, [])
    refused = api.post("/v1/batches/b/jobs", {"first_index": 0, "jobs": [member(1), bad]})
    assert (refused.status, refused.fields) == (422, [f"jobs[1]{field}"])
    assert state_of(api, "b") == ("open", 0, 0, 0)


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["jobs"]),
        ({"jobs": {}}, ["jobs"]),
        ({"jobs": [member()] * 501}, ["jobs"]),
        ({"jobs": [], "open": 1}, ["open"]),
        ({"jobs": [], "id": "a.b"}, ["id"]),
        ({"jobs": [], "on_sucess": member()}, ["on_sucess"]),
        ([], ["body"]),
    ],
)
def test_a_body_that_is_no_batch_is_refused(api: ApiClient, body: Any, fields: list[str]) -> None:
    response = api.post("/v1/batches", body)
    assert (response.status, response.fields) == (422, fields)


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"jobs": [member()]}, ["first_index"]),
        ({"first_index": -1, "jobs": [member()]}, ["first_index"]),
        ({"first_index": 0.5, "jobs": [member()]}, ["first_index"]),
        ({"first_index": 0, "jobs": []}, ["jobs"]),
        ({"first_index": 0, "jobs": [member()] * 501}, ["jobs"]),
        ({"first_index": 0}, ["jobs"]),
        ({"first_index": 99_999, "jobs": [member()] * 2}, ["jobs"]),
        ({"first_index": 100_001, "jobs": [member()]}, ["first_index"]),
    ],
)
def test_a_bad_addition_is_refused_with_the_field_named(
    api: ApiClient, body: dict[str, Any], fields: list[str]
) -> None:
    opened(api, [])
    response = api.post("/v1/batches/b/jobs", body)
    assert (response.status, response.fields) == (422, fields)
    assert state_of(api, "b") == ("open", 0, 0, 0)


@pytest.mark.parametrize("total", [-1, "3", 100_001, 1.5])
def test_a_bad_total_is_refused(api: ApiClient, total: Any) -> None:
    opened(api, [])
    response = api.post("/v1/batches/b/close", {"total": total})
    assert (response.status, response.fields) == (422, ["total"])
    assert state_of(api, "b")[0] == "open"


def test_more_than_a_request_may_hold_is_refused(api: ApiClient) -> None:
    opened(api, [])
    jobs = [member("x" * 1_300_000), member("y" * 1_300_000)]
    for path, more in (("/v1/batches", {}), ("/v1/batches/b/jobs", {"first_index": 0})):
        response = api.post(path, {"jobs": jobs, **more})
        assert (response.status, response.fields) == (413, ["jobs"])


def test_jobs_that_nest_too_deeply_together_are_refused(api: ApiClient) -> None:
    payload: Any = 1
    for _ in range(99):
        payload = [payload]
    response = api.post("/v1/batches", {"jobs": [member(payload)]})
    assert (response.status, response.fields) == (422, ["jobs"])


@pytest.mark.parametrize(
    ("method", "route", "body"),
    [
        ("GET", "", ...),
        ("POST", "/jobs", {"first_index": 0, "jobs": [member()]}),
        ("POST", "/close", ...),
    ],
)
@pytest.mark.parametrize("job", ["nothing", "plain", "graph", "not%20an%20id"])
def test_what_is_no_batch_is_not_found(
    api: ApiClient, method: str, route: str, body: Any, job: str
) -> None:
    api.post("/v1/jobs", {"handler": "note", "id": "plain"})
    api.post("/v1/graphs", {"nodes": {"a": {"handler": "note"}}, "id": "graph"})
    response = api.send(method, f"/v1/batches/{job}{route}", body)
    assert (response.status, code_of(response)) == (404, "not_found")
