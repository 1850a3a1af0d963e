"""The routes of jobs, over the whole system in memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from hourhand.api.app import create_app
from hourhand.domain.callers import caller_key
from hourhand.domain.errors import HourhandError, PutOff
from hourhand.domain.ids import json_integer
from hourhand.domain.jobs.job import Content, Job, JobStatus, Outcome
from hourhand.domain.limits.declarations import Concurrency
from hourhand.memory import START
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.handler_runner import Finished
from hourhand.ports.job_store import WriteResult
from tests.functions.api_client import ALICE, ApiClient, load_event, read_answer
from tests.world.factories import make_job
from tests.world.faults import Faults
from tests.world.runs import fail_for_good
from tests.world.world import World

LARGE = 2_400_000


def test_a_recorded_event_submits_a_job(world: World) -> None:
    response = read_answer(create_app(world.api)(load_event("http_api_iam"), None))
    assert response.status == 201
    assert response.headers["location"] == f"/v1/jobs/{response.json['id']}"
    assert response.json["trace_id"] == "69200b1c3a1f5c7e9b2d4f6081a3c5e7"
    (event,) = world.job(response.json["id"]).history
    assert event.actor == caller_key(ALICE)


def test_a_recorded_event_of_a_stage_lists_jobs(world: World) -> None:
    job = world.submit(tags={"customer": "42"}, delay_seconds=3600)
    response = read_answer(create_app(world.api)(load_event("http_api_jwt"), None))
    assert [found["id"] for found in response.json["jobs"]] == [job.id]


def test_a_location_names_the_stage(world: World) -> None:
    event = load_event("http_api_iam")
    event["requestContext"]["stage"] = "prod"
    event["rawPath"] = "/prod/v1/jobs"
    response = read_answer(create_app(world.api)(event, None))
    assert response.headers["location"].startswith("/prod/v1/jobs/")


def test_a_concurrency_key_is_taken_by_a_handler_with_a_keyed_limit_alone() -> None:
    limits = (Concurrency(1, key="payload.account"),)
    world = World(handlers=(HandlerInfo(name="sync", limits=limits), "report"))
    api = ApiClient(create_app(world.api))
    jobs = [{"handler": "sync", "payload": n, "concurrency_key": "vip"} for n in range(2)]
    assert [api.post("/v1/jobs", job).status for job in jobs] == [201, 201]
    refused = api.post("/v1/jobs", {"handler": "report", "concurrency_key": "vip"})
    assert (refused.status, refused.json["type"]) == (422, "urn:hourhand:no_keyed_limit")
    assert [error["field"] for error in refused.json["errors"]] == ["concurrency_key"]


def test_named_limits_come_back_and_unknown_ones_are_refused_by_those_that_exist() -> None:
    sync = HandlerInfo(name="sync", limits=(Concurrency(1, name="bank"),))
    api = ApiClient(create_app(World(handlers=(sync, "report")).api))
    chosen = [{"name": "bank", "key": "payload.account"}]
    created = api.post("/v1/jobs", {"handler": "report", "limits": chosen})
    assert (created.status, created.json["limits"]) == (201, chosen)
    found = api.get(f"/v1/jobs/{created.json['id']}")
    assert found.json["limits"] == chosen
    assert api.post("/v1/jobs", {"handler": "sync"}).json["limits"] is None
    refused = api.post("/v1/jobs", {"handler": "report", "limits": [{"name": "bonk"}]})
    assert refused.status == 422
    (error,) = refused.json["errors"]
    assert error["field"] == "limits[0].name"
    assert "Shared limits: bank" in error["message"]
    assert "Shared limits: bank" in refused.json["detail"]


def test_a_submitted_job_comes_back_with_all_that_was_sent(api: ApiClient) -> None:
    sent = {
        "handler": "report",
        "payload": {"b": [1, 2.5, None], "a": "é\u2028"},
        "run_at": "2026-02-01T00:00:00.000Z",
        "priority": "low",
        "idempotency_key": "report-1",
        "timeout_seconds": 60,
        "expires_at": "2026-02-02T00:00:00.000Z",
        "retention_seconds": 3600,
        "on_lost": "dead",
        "tenant": "acme",
        "tags": {"customer": "42"},
        "retry": {
            "max_attempts": 3,
            "backoff": "linear",
            "base_seconds": 2,
            "max_delay_seconds": 60,
            "jitter": "none",
        },
    }
    created = api.post("/v1/jobs", sent)
    assert created.status == 201
    assert {name: created.json[name] for name in sent} == sent
    assert created.json["status"] == "PENDING"
    assert api.get(f"/v1/jobs/{created.json['id']}").json == created.json


def test_the_same_key_and_body_is_the_same_job_and_another_body_a_conflict(
    api: ApiClient,
) -> None:
    body = {"handler": "greet", "idempotency_key": "once", "payload": {"n": 1}}
    first = api.post("/v1/jobs", body)
    again = api.post("/v1/jobs", dict(reversed(body.items())))
    other = api.post("/v1/jobs", {**body, "payload": {"n": 2}})
    assert (first.status, again.status, other.status) == (201, 200, 409)
    assert again.json == first.json
    assert again.headers["location"] == first.headers["location"]
    assert (other.json["type"], other.fields) == (
        "urn:hourhand:idempotency_conflict",
        ["idempotency_key"],
    )


def test_a_base64_body_is_decoded(api: ApiClient) -> None:
    body = json.dumps({"handler": "greet", "payload": "é"}, ensure_ascii=False).encode()
    assert api.post("/v1/jobs", base64_body=body).json["payload"] == "é"


def test_a_job_is_read_whole_with_its_result_and_history(api: ApiClient, world: World) -> None:
    job_id = api.submit(payload={"n": 1})["id"]
    world.deliver()
    job = api.get(f"/v1/jobs/{job_id}").json
    assert (job["status"], job["result"], job["attempt"]) == ("SUCCEEDED", {"done": True}, 1)
    assert [attempt["outcome"] for attempt in job["attempts"]] == ["SUCCEEDED"]
    events = api.get(f"/v1/jobs/{job_id}/events").json
    assert [event["kind"] for event in events["events"]] == ["SUBMITTED", "CLAIMED", "SUCCEEDED"]
    assert [event["status"] for event in events["events"]] == ["ENQUEUED", "RUNNING", "SUCCEEDED"]
    assert events["dropped"] == 0
    # The mark that tells a submission from others under its key is no reason.
    assert [event["reason"] for event in events["events"]] == [None, None, None]


def test_a_failed_job_tells_its_error_whole_but_not_in_listings(
    api: ApiClient, world: World
) -> None:
    job_id = api.submit()["id"]
    world.deliver(fail_for_good)
    assert api.get(f"/v1/jobs/{job_id}").json["error"]["traceback"]
    (listed,) = api.get("/v1/jobs?status=DEAD").json["jobs"]
    assert listed["id"] == job_id
    assert "traceback" not in listed["error"]
    assert {"payload", "result"}.isdisjoint(listed)


def test_a_listing_is_walked_by_its_cursor_newest_first(api: ApiClient, world: World) -> None:
    ids = []
    for _ in range(5):
        ids.append(api.submit(tenant="acme")["id"])
        world.advance(1)
    api.submit(tenant="other")
    seen: list[str] = []
    target = "/v1/jobs?tenant=acme&limit=2"
    page = api.get(target).json
    while True:
        seen += [job["id"] for job in page["jobs"]]
        if page["next_cursor"] is None:
            break
        page = api.get(f"{target}&cursor={page['next_cursor']}").json
    assert seen == list(reversed(ids))


def test_a_page_of_jobs_with_many_tags_comes_back_shorter(api: ApiClient) -> None:
    tags = {chr(0x1F600 + n) * 64: "\U0001f680" * 256 for n in range(20)}
    for _ in range(190):
        api.submit(tags=tags)
    page = api.get("/v1/jobs?limit=200").json
    assert 0 < len(page["jobs"]) < 190
    assert page["next_cursor"]


def test_a_job_can_be_changed_until_it_runs(api: ApiClient) -> None:
    job = api.submit(delay_seconds=3600, expires_at="2026-02-01T00:00:00Z")
    changed = api.patch(
        f"/v1/jobs/{job['id']}",
        {"run_at": "2026-01-06T00:00:00Z", "payload": [1], "priority": "high", "expires_at": None},
    )
    assert changed.status == 200
    assert changed.json["run_at"] == "2026-01-06T00:00:00.000Z"
    assert (changed.json["payload"], changed.json["priority"]) == ([1], "high")
    assert changed.json["expires_at"] is None
    assert api.get(f"/v1/jobs/{job['id']}").json == changed.json


def test_a_job_is_cancelled_redriven_and_run_now(api: ApiClient, world: World) -> None:
    path = f"/v1/jobs/{api.submit(delay_seconds=3600)['id']}"
    assert api.post(f"{path}/cancel").json["status"] == "CANCELLED"
    assert api.post(f"{path}/redrive").json["status"] == "ENQUEUED"
    world.deliver()
    assert api.get(path).json["status"] == "SUCCEEDED"
    later = f"/v1/jobs/{api.submit(delay_seconds=3600)['id']}"
    assert api.post(f"{later}/run-now", {}).json["status"] == "ENQUEUED"


@pytest.mark.parametrize(
    ("operation", "body"),
    [("cancel", ...), ("redrive", ...), ("run-now", ...), ("discard", ...), ("", {"payload": 1})],
)
def test_a_wrong_state_is_a_conflict(
    api: ApiClient, world: World, operation: str, body: Any
) -> None:
    path = f"/v1/jobs/{api.submit()['id']}"
    world.deliver()
    method, target = ("POST", f"{path}/{operation}") if operation else ("PATCH", path)
    response = api.send(method, target, body)
    assert (response.status, response.json["type"]) == (409, "urn:hourhand:wrong_state")
    assert "SUCCEEDED" in response.json["detail"]


def test_payload_and_result_too_large_for_one_answer_come_one_by_one(
    api: ApiClient, world: World
) -> None:
    job_id = api.submit(payload="p" * LARGE)["id"]
    result = json.dumps("r" * (LARGE - 100))
    world.deliver(lambda _job, _pulse: Finished(outcome=Outcome.SUCCEEDED, result_text=result))
    job = api.get(f"/v1/jobs/{job_id}").json
    assert (job["omitted"], job["payload"]) == (["payload"], None)
    assert len(job["result"]) == LARGE - 100


def test_a_payload_of_nothing_but_escapes_still_fits_an_answer(api: ApiClient) -> None:
    payload = '"\\\n' * (LARGE // 6)
    job = api.submit(payload=payload)
    assert api.get(f"/v1/jobs/{job['id']}").json["payload"] == payload


def test_a_batch_is_judged_job_by_job(api: ApiClient) -> None:
    jobs = [
        {"handler": "greet", "payload": 1},
        {"handler": "nobody"},
        {"handler": "greet", "id": "mine"},
        {"handler": "greet", "id": "mine"},
        {"handler": "greet", "id": "mine", "payload": 2},
        {"handler": "greet", "delay_seconds": -1},
        "greet",
        {"handler": "greet", "pool": "gpu"},
    ]
    response = api.post("/v1/jobs/batch", {"jobs": jobs})
    assert response.status == 200
    results = response.json["results"]
    assert [result.get("job", {}).get("payload", "none") for result in results[:3]] == [
        1,
        "none",
        None,
    ]
    assert results[3] == results[2]
    errors = [(r["error"]["status"], r["error"]["errors"][0]["field"]) for r in results[4:]]
    assert errors == [(409, "id"), (422, "delay_seconds"), (422, "body"), (422, "pool")]
    assert results[7]["error"]["type"] == "urn:hourhand:not_supported_yet"
    assert results[1]["error"]["errors"][0]["field"] == "handler"


def test_a_repeated_batch_omits_what_an_answer_cannot_hold(api: ApiClient, world: World) -> None:
    jobs = [{"handler": "greet", "id": f"job-{n}"} for n in range(3)]
    api.post("/v1/jobs/batch", {"jobs": jobs})
    result = json.dumps("r" * LARGE)
    world.deliver(lambda _job, _pulse: Finished(outcome=Outcome.SUCCEEDED, result_text=result))
    results = api.post("/v1/jobs/batch", {"jobs": jobs}).json["results"]
    assert [r["job"]["status"] for r in results] == ["SUCCEEDED"] * 3
    assert [r["job"].get("omitted") for r in results] == [None, *[["payload", "result"]] * 2]


def test_an_unavailable_store_is_told_with_a_time_to_retry(world: World) -> None:
    api = ApiClient(create_app(world.process(Faults().throttle("put")).api))
    response = api.post("/v1/jobs", {"handler": "greet"})
    assert (response.status, response.headers["retry-after"]) == (503, "2")
    assert response.json["type"] == "urn:hourhand:unavailable"


def test_an_unavailable_job_of_a_batch_can_be_repeated_under_the_id_that_is_given(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = ApiClient(create_app(world.api))
    plain = world.store.put_many

    def put_many(jobs: Sequence[Job]) -> list[WriteResult | HourhandError]:
        plain(jobs[1:])
        return [PutOff("no", stored=None, job_id=job.id) for job in jobs]

    with monkeypatch.context() as patch:
        patch.setattr(world.store, "put_many", put_many)
        sent = [{"handler": "greet", "payload": n, "tags": {"n": str(n)}} for n in range(3)]
        first = api.post("/v1/jobs/batch", {"jobs": sent}).json["results"]
    for result in first:
        assert (result["status"], result["code"], result["stored"]) == (503, "unavailable", None)
        assert result["error"]["type"] == "urn:hourhand:unavailable"
    again = [{**job, "id": result["id"]} for job, result in zip(sent, first, strict=True)]
    second = api.post("/v1/jobs/batch", {"jobs": again}).json["results"]
    assert [result["job"]["payload"] for result in second] == [0, 1, 2]
    assert len(world.store.jobs()) == 3
    other = api.post("/v1/jobs/batch", {"jobs": [{**again[1], "payload": 9}]}).json["results"]
    assert other[0]["error"]["type"] == "urn:hourhand:idempotency_conflict"


NOT_JSON = ("", "{broken", "[" * 100_000, '"half')


def put_damaged(world: World, text: str, item: str | None, status: JobStatus) -> None:
    """Let a job be there whose payload is not JSON, in its item or beside it."""
    content = Content(size_bytes=len(text), text=None if item else text, item=item)
    if item:
        world.store.put_text("one", item, text, START + timedelta(days=9))
    world.store.put(make_job(id="one", status=status, payload=content))


@pytest.mark.parametrize("item", [None, "payload.x"], ids=["in its item", "beside it"])
@pytest.mark.parametrize("text", NOT_JSON, ids=["empty", "broken", "deep", "half"])
def test_a_stored_payload_that_is_not_json_is_shown_as_damaged(
    world: World, api: ApiClient, text: str, item: str | None
) -> None:
    put_damaged(world, text, item, JobStatus.DEAD)
    shown = api.get("/v1/jobs/one")
    assert shown.status == 200
    assert shown.json["payload"] is None
    assert shown.json["damaged"] == shown.json["omitted"] == ["payload"]
    assert shown.json["status"] == "DEAD"
    assert api.get("/v1/jobs/one/events").status == 200
    assert api.get("/v1/jobs").status == 200
    redriven = api.post("/v1/jobs/one/redrive")
    assert redriven.status == 409
    assert "is not JSON" in redriven.json["detail"]
    assert world.job("one").status is JobStatus.DEAD
    bulk = api.post("/v1/jobs/redrive", {"all": True})
    assert bulk.status == 200
    assert [failure["error"]["status"] for failure in bulk.json["failed"]] == [409]


def test_a_waiting_job_whose_payload_is_not_json_can_be_given_another(
    world: World, api: ApiClient
) -> None:
    put_damaged(world, "{broken", None, JobStatus.PENDING)
    changed = api.patch("/v1/jobs/one", {"payload": [1]})
    assert changed.status == 200
    assert changed.json["payload"] == [1]
    assert "damaged" not in changed.json


def test_a_stored_result_that_is_not_json_is_shown_as_damaged(world: World, api: ApiClient) -> None:
    world.store.put(
        make_job(id="one", status=JobStatus.SUCCEEDED, result=Content(size_bytes=7, text="{broken"))
    )
    shown = api.get("/v1/jobs/one")
    assert shown.json["damaged"] == shown.json["omitted"] == ["result"]


def test_a_redrive_reads_no_payload_from_the_bucket(world: World, api: ApiClient) -> None:
    payload = Content(size_bytes=300_000, key="payload/one/x")
    world.store.put(make_job(id="one", status=JobStatus.CANCELLED, payload=payload))
    assert api.post("/v1/jobs/one/redrive").status == 200


@pytest.mark.parametrize(
    "text",
    ["-0", "-0.0", "[-0]", '{"a":-0}', "0", "1", "1.0", "-1", "12345678901234567890123", "1e22"],
)
def test_a_number_comes_back_as_it_was_sent(api: ApiClient, text: str) -> None:
    for path in ("/v1/jobs", "/v1/jobs/one"):
        body = f'{{"handler":"report","id":"one","delay_seconds":3600,"payload":{text}}}'
        answer = api.send("POST", path, text=body) if path == "/v1/jobs" else api.get(path)
        got = answer.json["payload"]
        # Python reads -0 as 0: this compares sign and kind, too.
        assert repr(got) == repr(json.loads(text, parse_int=json_integer))


def test_a_dry_run_counts_what_the_same_request_changes(api: ApiClient) -> None:
    for tenant in ("acme", "acme", "other"):
        api.submit(tenant=tenant, delay_seconds=3600)
    counted = {"matched": 2, "failed": [], "count_is_bounded": False, "next_cursor": None}
    response = api.post("/v1/jobs/cancel", {"tenant": "acme", "dry_run": True})
    assert response.json == {**counted, "changed": 0}
    assert api.post("/v1/jobs/cancel", {"tenant": "acme"}).json == {**counted, "changed": 2}
    assert api.post("/v1/jobs/redrive", {"status": "CANCELLED"}).json["changed"] == 2


def test_a_job_that_could_not_be_changed_is_named_with_the_reason(world: World) -> None:
    job = world.submit(delay_seconds=3600)
    api = ApiClient(create_app(world.process(Faults().throttle("transition", times=100)).api))
    response = api.post("/v1/jobs/cancel", {"all": True})
    assert (response.json["matched"], response.json["changed"]) == (1, 0)
    (failure,) = response.json["failed"]
    assert (failure["id"], failure["error"]["status"]) == (job.id, 503)


def test_a_dead_job_is_discarded_and_redriven(api: ApiClient, world: World) -> None:
    path = f"/v1/jobs/{api.submit()['id']}"
    world.deliver(fail_for_good)
    discarded = api.post(f"{path}/discard", {"note": "the list was wrong"})
    assert (discarded.status, discarded.json["status"]) == (200, "DEAD")
    assert discarded.json["discarded_at"] == "2026-01-05T09:00:00.000Z"
    assert discarded.json["discard_note"] == "the list was wrong"
    assert api.post(f"{path}/discard").json == api.get(path).json == discarded.json
    (listed,) = api.get("/v1/jobs?status=DEAD").json["jobs"]
    assert listed["discard_note"] == "the list was wrong"
    assert api.get("/v1/jobs?status=DEAD&discarded=false").json["jobs"] == []
    assert api.get("/v1/jobs?discarded=true").json["jobs"] == [listed]
    event = api.get(f"{path}/events").json["events"][-1]
    assert (event["kind"], event["status"]) == ("DISCARDED", "DEAD")
    assert event["reason"] == "the list was wrong"
    redriven = api.post(f"{path}/redrive").json
    assert (redriven["status"], redriven["discarded_at"], redriven["discard_note"]) == (
        "ENQUEUED",
        None,
        None,
    )


@pytest.mark.parametrize(
    ("body", "field"), [({"note": 1}, "note"), ({"note": "n" * 1001}, "note"), ({"why": ""}, "why")]
)
def test_a_wrong_note_is_named_and_discards_nothing(
    api: ApiClient, world: World, body: Any, field: str
) -> None:
    path = f"/v1/jobs/{api.submit()['id']}"
    world.deliver(fail_for_good)
    response = api.post(f"{path}/discard", body)
    assert (response.status, response.fields) == (422, [field])
    assert api.get(path).json["discarded_at"] is None


def test_dead_jobs_are_discarded_in_bulk_with_a_note(api: ApiClient, world: World) -> None:
    for tenant in ("acme", "acme", "other"):
        api.submit(tenant=tenant)
    world.deliver(fail_for_good)
    discarded = api.post("/v1/jobs/discard", {"tenant": "acme", "note": "known"})
    assert (discarded.status, discarded.json["changed"]) == (200, 2)
    listed = api.get("/v1/jobs?discarded=true").json["jobs"]
    assert [(job["tenant"], job["discard_note"]) for job in listed] == [("acme", "known")] * 2


@pytest.mark.parametrize("operation", ["cancel", "redrive", "discard"])
def test_a_bulk_call_whose_count_grew_changes_nothing(
    api: ApiClient, world: World, operation: str
) -> None:
    for _ in range(3):
        api.submit()
    if operation != "cancel":
        world.deliver(fail_for_good)
    before = api.get("/v1/jobs").json
    refused = api.post(f"/v1/jobs/{operation}", {"handler": "greet", "expected_count": 2})
    assert (refused.status, refused.json["type"]) == (409, "urn:hourhand:count_changed")
    assert refused.json["detail"] == (
        "A count of 2 was expected, and the count is 3 now. Nothing was changed."
    )
    assert api.get("/v1/jobs").json == before
    accepted = api.post(f"/v1/jobs/{operation}", {"handler": "greet", "expected_count": 3})
    assert (accepted.status, accepted.json["changed"]) == (200, 3)


def test_a_job_is_found_by_its_key_and_tenant(api: ApiClient) -> None:
    ours = api.submit(idempotency_key="order/4711 ä", tenant="acme")
    api.submit(idempotency_key="order/4711 ä")
    query = "/v1/jobs?idempotency_key=order%2F4711%20%C3%A4&tenant=acme"
    found = api.get(query)
    assert found.status == 200
    assert [job["id"] for job in found.json["jobs"]] == [ours["id"]]
    assert found.json["next_cursor"] is None
    assert "payload" not in found.json["jobs"][0]
    assert api.get(f"{query}&limit=1").json == found.json
    assert api.get(f"{query}x").json == {"jobs": [], "next_cursor": None}
    refused = api.get(f"{query}&status=DEAD&cursor=abc")
    assert (refused.status, refused.fields) == (422, ["cursor", "status"])
