"""The routes that say why jobs failed."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from hourhand.domain.jobs.job import ErrorInfo, Job, Outcome
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
        seen.append(api.get("/v1/jobs?status=RUNNING").json["jobs"][0]["error"]["message"])
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
    (listed,) = api.get("/v1/jobs").json["jobs"]
    assert listed["error"]["message"] == message
    (lost,) = [
        event
        for event in api.get(f"/v1/jobs/{job_id}/events").json["events"]
        if event["kind"] == "LOST"
    ]
    assert lost["reason"] == f"Lost: {message}"
