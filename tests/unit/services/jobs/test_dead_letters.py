"""The dead letter of a job: its whole context, within what SQS takes."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from hourhand.domain.jobs.job import Attempt, Content, ErrorInfo, EventKind, JobStatus
from hourhand.memory import START
from hourhand.ports.job_store import JobDetails
from hourhand.services.jobs.dead_letters import MAX_ATTEMPTS_TOLD, MAX_BODY_BYTES, dead_letter_body
from tests.world.factories import make_event, make_job
from tests.world.runs import fail, in_turn, time_out
from tests.world.world import World

MINUTE = timedelta(minutes=1)


def _details(attempts: int, error: ErrorInfo, payload: Content | None = None) -> JobDetails:
    """Return a dead job of so many failed attempts, all with the same error."""
    events = []
    for n in range(1, attempts + 1):
        at = START + n * MINUTE
        claimed = {"kind": EventKind.CLAIMED, "status": JobStatus.RUNNING, "actor": "w"}
        failed = {"kind": EventKind.FAILED, "status": JobStatus.RETRYING, "actor": "w"}
        events.append(make_event(**claimed, at=at, attempt=n, token=n))
        events.append(make_event(**failed, at=at, attempt=n, token=n, reason="E: x"))
    job = make_job(
        status=JobStatus.DEAD,
        history=tuple(events),
        payload=payload or Content(size_bytes=4, text="null"),
    )
    failures = {
        n: Attempt(number=n, token=n, worker="w", started_at=START, error=error)
        for n in range(1, attempts + 1)
    }
    return JobDetails(job=job, failures=failures)


def _letter(details: JobDetails, payload: str | None = "null") -> dict[str, Any]:
    body = dead_letter_body(details, payload)
    assert len(body.encode()) <= MAX_BODY_BYTES
    letter = json.loads(body)
    assert isinstance(letter, dict)
    return letter


def test_a_dead_letter_tells_of_the_job_and_of_each_attempt(world: World) -> None:
    world.submit(payload={"a": 1}, tenant="t", tags={"k": "v"}, retry={"max_attempts": 2})
    world.settle(in_turn(fail, time_out))
    (sent,) = world.queues.dead_letters
    letter = json.loads(sent.body)
    assert sent.group == "t.t"
    assert letter["payload_json"] == '{"a":1}'
    assert (letter["job"]["status"], letter["job"]["attempt"]) == ("DEAD", 2)
    assert (letter["job"]["tenant"], letter["job"]["tags"]) == ("t", {"k": "v"})
    assert [a["outcome"] for a in letter["attempts"]] == ["FAILED", "TIMED_OUT"]
    assert letter["attempts"][0]["error"]["traceback"] == "line 7, in greet"
    assert letter["error"]["type"] == "TimedOut"
    assert letter["history"][0]["event"] == "SUBMITTED"
    assert letter["trace_id"]


def test_a_small_letter_holds_payload_and_tracebacks() -> None:
    error = ErrorInfo(type="E", message="m", traceback="the end")
    letter = _letter(_details(1, error), '"p"')
    assert (letter["payload_json"], letter["payload_at"]) == ('"p"', None)
    assert letter["attempts"][0]["error"]["traceback"] == "the end"


def test_a_payload_that_does_not_fit_is_left_by_reference() -> None:
    error = ErrorInfo(type="E", message="m", traceback="t" * 16_000)
    place = Content(size_bytes=250_000, item="payload.x")
    letter = _letter(_details(1, error, place), "x" * 250_000)
    assert letter["payload_json"] is None
    assert letter["payload_at"] == "payload of job job-1 (250000 bytes) at payload.x"
    assert len(letter["attempts"][0]["error"]["traceback"]) == 16_000


def test_a_payload_that_is_gone_is_named_by_its_place() -> None:
    error = ErrorInfo(type="E", message="m")
    assert _letter(_details(1, error), None)["payload_at"].endswith("at its item")


def test_tracebacks_lose_their_beginning_when_there_are_many() -> None:
    error = ErrorInfo(type="E", message="m", traceback="t" * 20_000 + "the end")
    letter = _letter(_details(10, error), "x" * 100_000)
    kept = {attempt["error"]["traceback"] for attempt in letter["attempts"]}
    assert {len(text) for text in kept} == {16_000}, "the payload goes first"
    assert all(text.endswith("the end") for text in kept)
    # Control characters take six bytes each as JSON.
    letter = _letter(_details(9, ErrorInfo(type="E", message="m", traceback="\x00" * 20_000)))
    assert len(letter["attempts"][0]["error"]["traceback"]) == 1_000


def test_the_worst_case_keeps_a_round_of_attempts_in_a_sentence_each() -> None:
    zeros = "\x00" * 100_000
    worst = ErrorInfo(type=zeros, message=zeros, traceback=zeros)
    letter = _letter(_details(MAX_ATTEMPTS_TOLD, worst), "x" * 250_000)
    assert [attempt["number"] for attempt in letter["attempts"]] == list(range(1, 101))
    assert {attempt["error"]["traceback"] for attempt in letter["attempts"]} == {None}
    assert letter["error"]["message"]


def test_of_more_than_a_round_of_attempts_the_newest_are_told() -> None:
    letter = _letter(_details(MAX_ATTEMPTS_TOLD + 5, ErrorInfo(type="E", message="m")))
    assert [attempt["number"] for attempt in letter["attempts"]] == list(range(6, 106))


def test_an_attempt_whose_start_was_dropped_from_the_history_has_none() -> None:
    ended = make_event(
        kind=EventKind.LOST, status=JobStatus.DEAD, attempt=1, token=1, reason="Lost: lease to x"
    )
    cancelled = make_event(
        kind=EventKind.CANCELLED, status=JobStatus.DEAD, attempt=2, token=2, reason="stop"
    )
    job = make_job(
        status=JobStatus.DEAD, history=(ended, cancelled), occurrence=START, finished_at=None
    )
    letter = _letter(JobDetails(job=job))
    assert [attempt["started_at"] for attempt in letter["attempts"]] == [None, None]
    assert letter["attempts"][0]["error"]["type"] == "Lost"
    assert letter["attempts"][1]["error"] is None
    assert letter["job"]["occurrence"] == "2026-01-05T09:00:00.000Z"
    assert letter["job"]["finished_at"] is None


def test_a_job_without_attempts_has_no_error_to_tell() -> None:
    letter = _letter(JobDetails(job=make_job(status=JobStatus.DEAD)))
    assert (letter["attempts"], letter["error"]) == ([], None)
