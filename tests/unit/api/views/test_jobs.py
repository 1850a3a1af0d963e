"""Jobs as callers see them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hourhand.api.views.jobs import job_response, job_summary
from hourhand.domain.jobs.job import (
    Attempt,
    Content,
    ErrorInfo,
    JobStatus,
    Lease,
    Outcome,
    Priority,
    Progress,
)
from hourhand.domain.jobs.pauses import Waiting
from hourhand.domain.jobs.waiting import Reservation, WaitKind, WaitsFor
from hourhand.memory import START
from hourhand.services.jobs.queries import JobReport
from tests.world.factories import make_content, make_job

ERROR = ErrorInfo(type="ValueError", message="no", retryable=False, traceback="line 1")
ATTEMPT = Attempt(
    number=1,
    token=1,
    worker="w-1",
    started_at=START,
    finished_at=START + timedelta(milliseconds=1500),
    outcome=Outcome.FAILED,
    error=ERROR,
)


def report(payload: str | None = '{"a":1}', result: str | None = None) -> JobReport:
    job = make_job(
        status=JobStatus.RUNNING,
        payload=make_content('{"a":1}'),
        result=None if result is None else make_content(result),
        priority=Priority.HIGH,
        tenant="acme",
        tags={"customer": "42"},
        progress=Progress(done=3.0, total=10.0, message="a third"),
        lease=Lease(owner="w-1", until=START + timedelta(seconds=45), claim_id="c"),
    )
    return JobReport(job, payload, result, (ATTEMPT,), ERROR)


def test_a_job_is_told_in_the_words_of_the_api() -> None:
    told = job_response(report())
    assert told["payload"] == {"a": 1}
    assert told["result"] is None
    assert (told["status"], told["priority"], told["tenant"]) == ("RUNNING", "high", "acme")
    assert told["run_at"] == "2026-01-05T09:00:00.000Z"
    assert told["lease"] == {"owner": "w-1", "expires_at": "2026-01-05T09:00:45.000Z"}
    assert told["progress"] == {"done": 3, "total": 10, "message": "a third"}
    assert told["error"] == {
        "type": "ValueError",
        "message": "no",
        "retryable": False,
        "traceback": "line 1",
    }
    assert told["attempts"] == [
        {
            "number": 1,
            "outcome": "FAILED",
            "started_at": "2026-01-05T09:00:00.000Z",
            "finished_at": "2026-01-05T09:00:01.500Z",
            "worker": "w-1",
            "error": told["error"],
        }
    ]
    assert "omitted" not in told


def test_a_listing_tells_no_payload_no_result_and_no_traceback() -> None:
    told = job_summary(report(result="[1]"))
    assert {"payload", "result", "omitted"}.isdisjoint(told)
    assert "traceback" not in told["error"]
    assert "traceback" not in told["attempts"][0]["error"]


def test_a_job_without_lease_progress_or_error_says_null() -> None:
    told = job_response(JobReport(make_job(), "null", None, (), None))
    assert [told[name] for name in ("lease", "progress", "error", "result")] == [None] * 4


def test_what_is_kept_no_more_is_told_apart_from_null() -> None:
    assert job_response(report(payload=None))["omitted"] == ["payload"]
    assert "omitted" not in job_response(report(payload="null"))


def test_the_larger_of_payload_and_result_is_left_out_where_both_are_too_large() -> None:
    small, large = '"' + "s" * 1_999_000 + '"', '"' + "l" * 2_499_000 + '"'
    told = job_response(report(payload=small, result=large))
    assert (told["omitted"], told["result"]) == (["result"], None)
    assert len(told["payload"]) == 1_999_000
    told = job_response(report(payload=large, result=small))
    assert (told["omitted"], told["payload"]) == (["payload"], None)
    assert len(told["result"]) == 1_999_000


def test_one_large_payload_is_told_whole() -> None:
    told = job_response(report(payload='"' + "l" * 2_499_998 + '"', result="[]"))
    assert "omitted" not in told


def test_a_result_in_the_bucket_that_is_gone_is_omitted() -> None:
    whole = report()
    job = replace(whole.job, result=Content(size_bytes=9, key="result/1"))
    assert job_response(replace(whole, job=job))["omitted"] == ["result"]


def test_a_job_that_waits_for_a_slot_says_since_when_and_how_many_run_at_once() -> None:
    waiting = Waiting(kind=WaitKind.SLOT, since=START, max_running=2)
    told = JobReport(make_job(), "null", None, (), None, waits_for=waiting)
    waits = {
        "kind": "slot",
        "since": "2026-01-05T09:00:00.000Z",
        "max_running": 2,
        **dict.fromkeys(("limit", "key", "name", "position", "blocked_by")),
    }
    assert job_response(told)["waits_for"] == waits
    assert job_summary(told)["waits_for"] == waits
    assert job_response(JobReport(make_job(), "null", None, (), None))["waits_for"] is None


@pytest.mark.parametrize(
    ("fields", "start"),
    [
        ({"status": JobStatus.PENDING}, "2026-01-05T09:00:00.000Z"),
        ({"status": JobStatus.RUNNING}, None),
        ({"status": JobStatus.ENQUEUED, "waits_for": WaitsFor(WaitKind.SLOT, "0")}, None),
    ],
    ids=["waits for it", "runs", "waits for a slot"],
)
def test_a_job_that_waits_for_a_start_of_its_rate_says_when(
    fields: dict[str, Any], start: str | None
) -> None:
    told = JobReport(make_job(reservation=Reservation(START), **fields), "null", None, (), None)
    assert job_response(told)["reserved_start"] == start
    assert job_summary(told)["reserved_start"] == start


def test_a_whole_job_says_how_many_events_its_history_has_dropped() -> None:
    long, short = make_job(history_dropped=3), make_job()
    assert job_response(JobReport(long, "null", None, (), None))["history_dropped"] == 3
    assert "history_dropped" not in job_response(JobReport(short, "null", None, (), None))
