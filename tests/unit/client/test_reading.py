"""What the API tells is read as typed values; what makes no sense is told with its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from hourhand.client import Job, UnexpectedAnswer
from hourhand.domain.jobs.job import JobStatus
from tests.unit.client.callers import Caller, Script, job_answer, job_value

Calling = Callable[..., Caller]


def test_a_job_has_its_times_as_aware_datetimes_and_its_states_as_text(calling: Calling) -> None:
    error = {"type": "ValueError", "message": "no", "retryable": True, "traceback": "File ..."}
    attempt = {
        "number": 1,
        "outcome": "FAILED",
        "started_at": "2026-01-05T09:00:01.500Z",
        "finished_at": None,
        "worker": "w1",
        "error": error,
    }
    lease = {"owner": "w1", "expires_at": "2026-01-05T09:00:46.500Z"}
    progress = {"done": 1, "total": 2.5, "message": None}
    more = {"attempts": [attempt], "lease": lease, "progress": progress, "error": error}
    caller = calling(Script(job_answer(status="RUNNING", payload={"a": [1]}, **more)))

    job: Job = caller("get", "j1")

    assert job.status == JobStatus.RUNNING
    assert not job.is_final
    assert job.run_at == datetime(2026, 1, 5, 9, tzinfo=UTC)
    assert job.attempts[0].started_at == datetime(2026, 1, 5, 9, 0, 1, 500_000, tzinfo=UTC)
    assert job.attempts[0].error is not None
    assert job.attempts[0].error.traceback == "File ..."
    assert job.lease is not None
    assert job.lease.owner == "w1"
    assert job.progress is not None
    assert (job.progress.done, job.progress.total) == (1, 2.5)
    assert job.payload == {"a": [1]}
    assert job.raw["retry"]["max_attempts"] == job.retry.max_attempts == 6


def test_fields_and_states_of_a_newer_server_are_let_through(calling: Calling) -> None:
    caller = calling(Script(job_answer(status="HIBERNATING", shape="round")))

    job: Job = caller("get", "j1")

    assert (job.status, job.is_final, job.raw["shape"]) == ("HIBERNATING", False, "round")


def test_a_result_cannot_be_changed(calling: Calling) -> None:
    job = calling(Script(job_answer()))("get", "j1")

    with pytest.raises(AttributeError):
        job.status = "DEAD"


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"id": 5}, r"answer\.id should be a string"),
        ({"attempt": "1"}, r"answer\.attempt should be a whole number"),
        ({"attempt": True}, r"answer\.attempt should be a whole number"),
        ({"run_at": "yesterday"}, r"answer\.run_at should be a time"),
        ({"run_at": "2026-01-05T09:00:00"}, "a time with an offset"),
        ({"run_at": 5}, r"answer\.run_at should be a time"),
        ({"retry": []}, r"answer\.retry should be an object"),
        ({"tags": "x"}, r"answer\.tags should be an object"),
        ({"attempts": {}}, r"answer\.attempts should be an array"),
        ({"attempts": [5]}, r"answer\.attempts\[0\] should be an object"),
        ({"progress": {"done": "1", "total": None, "message": None}}, r"progress\.done"),
        ({"error": {"type": "E", "message": "m", "retryable": "yes"}}, "true or false"),
    ],
)
def test_what_a_field_cannot_hold_is_told_with_its_place(
    calling: Calling, change: Any, place: str
) -> None:
    caller = calling(Script(job_answer(**change)))

    with pytest.raises(UnexpectedAnswer, match=place):
        caller("get", "j1")


@pytest.mark.parametrize("body", [b"", b"<html></html>", b"[" * 200_000, b"[]", b"null", b"\xff"])
def test_an_answer_that_is_no_job_is_no_job(calling: Calling, body: bytes) -> None:
    caller = calling(Script(httpx.Response(200, content=body)))

    with pytest.raises(UnexpectedAnswer):
        caller("get", "j1")


def test_a_job_that_lacks_what_every_job_has_is_refused(calling: Calling) -> None:
    value = job_value()
    del value["status"]
    caller = calling(Script(httpx.Response(200, json=value)))

    with pytest.raises(UnexpectedAnswer, match=r"lacks answer\.status"):
        caller("get", "j1")


def test_a_submission_whose_answer_makes_no_sense_may_have_happened(calling: Calling) -> None:
    caller = calling(Script(httpx.Response(201, text="<html>")))

    with pytest.raises(UnexpectedAnswer) as raised:
        caller("submit", "greet")
    assert raised.value.may_have_happened
    assert raised.value.submission is not None
    assert raised.value.submission.id is not None
    assert len(caller.requests) == 1


def test_reading_what_makes_no_sense_leaves_no_doubt_about_what_happened(
    calling: Calling,
) -> None:
    caller = calling(Script(httpx.Response(200, text="<html>")))

    with pytest.raises(UnexpectedAnswer) as raised:
        caller("get", "j1")
    assert not raised.value.may_have_happened


@pytest.mark.parametrize("body", [{}, [], {"upcoming": 5}])
def test_an_answer_without_its_array_is_refused(calling: Calling, body: Any) -> None:
    caller = calling(Script(httpx.Response(200, content=json.dumps(body))))

    with pytest.raises(UnexpectedAnswer, match="has no array upcoming"):
        caller("schedules.upcoming", "s1")
