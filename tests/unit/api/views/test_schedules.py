"""Occurrences as callers see them. Whole schedules are tested by their routes."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from hourhand.api.requests.schedule_operations import CalendarInput
from hourhand.api.views.schedules import calendar_response, occurrence_page
from hourhand.domain.jobs.job import EventKind, JobStatus
from hourhand.domain.schedules.recurrence import (
    ExcludedDate,
    ExcludedDates,
    ExcludedExpression,
    ExcludedTimes,
)
from hourhand.domain.schedules.schedule import Calendar, JournalEntry, SkipReason
from hourhand.memory import START
from hourhand.services.schedules.queries import OccurrencePage, OccurrenceRecord
from tests.world.factories import make_event, make_job


def told(record: OccurrenceRecord) -> Any:
    (occurrence,) = occurrence_page(OccurrencePage((record,), None, ()))["occurrences"]
    return occurrence


def entry(**fields: Any) -> JournalEntry:
    return JournalEntry(**{"first": START, "last": START, **fields})


def cancelled(reason: str) -> OccurrenceRecord:
    event = make_event(kind=EventKind.CANCELLED, status=JobStatus.CANCELLED, reason=reason)
    job = make_job(status=JobStatus.CANCELLED, history=(make_event(), event))
    return OccurrenceRecord(entry(), job, job.id)


@pytest.mark.parametrize("reason", SkipReason)
def test_a_skipped_time_tells_its_reason(reason: SkipReason) -> None:
    assert told(OccurrenceRecord(entry(reason=reason), None, None))["reason"] == reason.value


@pytest.mark.parametrize("reason", SkipReason)
def test_a_job_that_its_schedule_cancelled_tells_the_reason(reason: SkipReason) -> None:
    assert told(cancelled(reason.value))["reason"] == reason.value


def test_a_job_that_somebody_cancelled_was_not_skipped() -> None:
    assert told(cancelled(""))["reason"] is None
    assert told(cancelled("by hand"))["reason"] is None


def test_a_job_that_was_redriven_after_its_cancellation_is_skipped_no_more() -> None:
    record = cancelled("overlap")
    assert record.job is not None
    again = make_job(status=JobStatus.ENQUEUED, history=record.job.history)
    assert told(OccurrenceRecord(entry(), again, again.id))["reason"] is None


def test_a_job_cancelled_twice_tells_the_last_reason() -> None:
    first, last = (
        make_event(kind=EventKind.CANCELLED, status=JobStatus.CANCELLED, reason=reason)
        for reason in ("overlap", "paused")
    )
    job = make_job(status=JobStatus.CANCELLED, history=(first, last))
    assert told(OccurrenceRecord(entry(), job, job.id))["reason"] == "paused"


def test_a_cancelled_job_whose_history_lost_the_reason_tells_none() -> None:
    job = make_job(status=JobStatus.CANCELLED)
    assert told(OccurrenceRecord(entry(), job, job.id))["reason"] is None


@pytest.mark.parametrize(
    ("salt", "kind"), [("", "schedule"), ("trigger", "trigger"), ("b1", "backfill")]
)
def test_an_occurrence_tells_who_wanted_it(salt: str, kind: str) -> None:
    assert told(OccurrenceRecord(entry(salt=salt), None, "o.1"))["kind"] == kind


def test_a_run_tells_its_end_and_its_count_and_whether_there_were_more() -> None:
    last = START + timedelta(days=1)
    run = entry(last=last, count=10_000, reason=SkipReason.WINDOW, is_least=True)
    occurrence = told(OccurrenceRecord(run, None, None))
    assert occurrence["until"] == "2026-01-06T09:00:00.000Z"
    assert (occurrence["count"], occurrence["is_least"]) == (10_000, True)


def test_a_single_one_has_no_end() -> None:
    assert told(OccurrenceRecord(entry(reason=SkipReason.WINDOW), None, None))["until"] is None


def test_exclusions_are_told_as_they_are_put() -> None:
    exclude = (
        ExcludedDate(date(2026, 12, 25)),
        ExcludedDates(date(2026, 12, 24), date(2026, 12, 26)),
        ExcludedTimes(datetime(2026, 1, 1, 9, tzinfo=UTC), datetime(2026, 1, 1, 10, tzinfo=UTC)),
        ExcludedExpression("0 0 * * SUN"),
    )
    calendar = Calendar(name="c", revision=1, exclude=exclude, updated_at=START)
    put = {"exclude": calendar_response(calendar)["exclude"]}
    assert CalendarInput.parse(put).exclusions == exclude
