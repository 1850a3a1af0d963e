"""The routes that say why jobs failed: filters by error, groups of dead letters, logs."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from hourhand.domain.jobs.job import ErrorInfo, Job, Outcome
from hourhand.memory import MemoryJobLogs
from hourhand.ports.handler_runner import Finished, Pulse
from tests.functions.api_client import ApiClient
from tests.world.runs import Behaviour, HandlerKilled, kill_process, succeed
from tests.world.world import World

LONG = "no answer from the mail server, " * 10


def fail_with(error_type: str, message: str) -> Behaviour:
    error = ErrorInfo(type=error_type, message=message, retryable=False, traceback="line 7")
    return lambda _job, _pulse: Finished(outcome=Outcome.FAILED, error=error)


def die(api: ApiClient, world: World, error_type: str, message: str, **body: Any) -> str:
    job_id = str(api.submit(**body)["id"])
    world.deliver(fail_with(error_type, message))
    world.advance(1)
    return job_id


def test_listings_and_history_have_200_bytes_of_an_error(api: ApiClient, world: World) -> None:
    job_id = die(api, world, "TimeoutError", LONG)
    (listed,) = api.get("/v1/jobs").json["jobs"]
    for error in (listed["error"], listed["attempts"][0]["error"]):
        assert (error["type"], error["retryable"]) == ("TimeoutError", False)
        assert len(error["message"]) >= 200
        assert LONG.startswith(error["message"].removesuffix("..."))
    assert api.get(f"/v1/jobs/{job_id}").json["error"]["message"] == LONG
    event = api.get(f"/v1/jobs/{job_id}/events").json["events"][-1]
    assert (event["kind"], event["reason"]) == ("FAILED", f"TimeoutError: {LONG}")


def test_an_error_is_listed_while_the_job_waits_and_runs_again(
    api: ApiClient, world: World
) -> None:
    error = ErrorInfo(type="TimeoutError", message=LONG)
    seen: list[str] = []

    def look(job: Job, pulse: Pulse) -> Finished:
        seen.append(api.get("/v1/jobs?error_type=TimeoutError").json["jobs"][0]["error"]["message"])
        return succeed(job, pulse)

    api.submit()
    world.deliver(lambda *_: Finished(outcome=Outcome.FAILED, error=error))
    (waiting,) = api.get("/v1/jobs?status=RETRYING").json["jobs"]
    world.advance(5)
    world.deliver(look)
    assert seen == [waiting["error"]["message"]]
    assert len(seen[0]) >= 200
    (ended,) = api.get("/v1/jobs").json["jobs"]
    assert (ended["status"], ended["error"]) == ("SUCCEEDED", None)


def test_a_lost_attempt_says_so_wherever_it_is_shown(api: ApiClient, world: World) -> None:
    job_id = api.submit(on_lost="dead")["id"]
    with suppress(HandlerKilled):
        world.deliver(kill_process)
    lease_end = api.get(f"/v1/jobs/{job_id}").json["lease"]["expires_at"]
    world.advance(120)
    world.settle()
    message = f"its worker died or lost contact (lease ended at {lease_end})"
    job = api.get(f"/v1/jobs/{job_id}").json
    assert job["status"] == "DEAD"
    assert (job["error"]["type"], job["error"]["message"]) == ("Lost", message)
    assert job["attempts"][0]["error"]["message"] == message
    (listed,) = api.get("/v1/jobs?error_type=Lost").json["jobs"]
    assert listed["error"]["message"] == message
    (lost,) = [
        event
        for event in api.get(f"/v1/jobs/{job_id}/events").json["events"]
        if event["kind"] == "LOST"
    ]
    assert lost["reason"] == f"Lost: {message}"
    (group,) = api.get("/v1/dead-letters/groups").json["groups"]
    assert group["newest"]["message"] == message


def test_jobs_are_filtered_by_their_error(api: ApiClient, world: World) -> None:
    first = die(api, world, "KeyError", "'a'")
    die(api, world, "ValueError", "7")
    api.submit()
    found = api.get("/v1/jobs?error_type=KeyError").json["jobs"]
    assert [job["id"] for job in found] == [first]
    assert api.get("/v1/jobs?error_type=Key").json["jobs"] == []
    redriven = api.post("/v1/jobs/redrive", {"error_type": "ValueError", "dry_run": True}).json
    assert redriven["matched"] == 1


def test_dead_letters_come_in_groups_whose_jobs_can_be_found_and_redriven(
    api: ApiClient, world: World
) -> None:
    alike = [die(api, world, "KeyError", f"no user {n} in 'eu-{n}'") for n in range(3)]
    other = die(api, world, "KeyError", "no such table", tenant="acme")
    found = api.get("/v1/dead-letters/groups").json
    assert (found["read"], found["next_cursor"]) == (4, None)
    newest, group = found["groups"]
    assert (newest["jobs"], newest["newest"]["id"]) == (1, other)
    assert (group["handler"], group["error_type"], group["jobs"]) == ("greet", "KeyError", 3)
    assert group["pattern"] == "no user <n> in <value>"
    assert group["newest"]["id"] == alike[-1]
    assert group["newest"]["message"] == "no user 2 in 'eu-2'"
    assert group["newest"]["at"] == group["last_at"] > group["first_at"]
    of_group = api.get(f"/v1/jobs?error_group={group['id']}").json["jobs"]
    assert {job["id"] for job in of_group} == set(alike)
    assert api.post("/v1/jobs/redrive", {"error_group": group["id"]}).json["changed"] == 3
    (left,) = api.get("/v1/dead-letters/groups?tenant=acme&status=DEAD").json["groups"]
    assert left["id"] == newest["id"]


def test_groups_are_continued_by_a_cursor(api: ApiClient, world: World) -> None:
    for number in range(3):
        die(api, world, "KeyError", str(number))
    first = api.get("/v1/dead-letters/groups?limit=2").json
    assert (first["read"], first["groups"][0]["jobs"]) == (2, 2)
    rest = api.get(f"/v1/dead-letters/groups?limit=2&cursor={first['next_cursor']}").json
    assert (rest["read"], rest["next_cursor"]) == (1, None)
    assert rest["groups"][0]["id"] == first["groups"][0]["id"]
    refused = api.get(f"/v1/dead-letters/groups?handler=x&cursor={first['next_cursor']}")
    assert (refused.status, refused.fields) == (422, ["cursor"])


def log(world: World, job_id: str, message: str, **fields: Any) -> None:
    logs = world.api.logs.logs
    assert isinstance(logs, MemoryJobLogs)
    logs.add({"job_id": job_id, "level": "INFO", "message": message, **fields}, world.clock.now())


def test_a_jobs_log_is_read_in_pages_from_either_end(api: ApiClient, world: World) -> None:
    job_id = api.submit()["id"]

    def work(job: Job, pulse: Pulse) -> Finished:
        for number in range(5):
            log(world, job_id, f"step {number}", attempt=job.attempt)
            world.advance(1)
        return succeed(job, pulse)

    world.deliver(work)
    log(world, "other", "not mine")
    whole = api.get(f"/v1/jobs/{job_id}/logs").json
    assert [line["message"] for line in whole["lines"]] == [f"step {n}" for n in range(5)]
    assert whole["next_cursor"] is None
    first = whole["lines"][0]
    assert first == {
        "at": "2026-01-05T09:00:00.000Z",
        "level": "INFO",
        "message": "step 0",
        "attempt": 1,
    }
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        target = f"/v1/jobs/{job_id}/logs?order=newest&limit=2"
        page = api.get(target + (f"&cursor={cursor}" if cursor else "")).json
        seen += [line["message"] for line in page["lines"]]
        cursor = page["next_cursor"]
    assert seen == [f"step {n}" for n in reversed(range(5))]


def test_the_fields_of_a_line_are_told_and_long_pages_come_back_shorter(
    api: ApiClient, world: World
) -> None:
    job_id = api.submit()["id"]

    def work(job: Job, pulse: Pulse) -> Finished:
        log(world, job_id, "half \ud800", rows=3, nested={"a": [1]})
        for _ in range(900):
            log(world, job_id, "🚀" * 10_000)
        return succeed(job, pulse)

    world.deliver(work)
    page = api.get(f"/v1/jobs/{job_id}/logs?limit=1000").json
    assert page["lines"][0]["fields"] == {"rows": 3, "nested": {"a": [1]}}
    assert 0 < len(page["lines"]) < 900
    assert page["next_cursor"] is not None


def test_the_log_of_an_unknown_job_and_a_wrong_order_are_told(api: ApiClient) -> None:
    assert api.get("/v1/jobs/nobody/logs").status == 404
    refused = api.get("/v1/jobs/nobody/logs?order=latest")
    assert (refused.status, refused.fields) == (422, ["order"])
