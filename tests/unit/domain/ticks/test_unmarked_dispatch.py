"""What a whole sweep has sent, and which marks its record spares."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hourhand.domain.jobs.actions import Dispatch, Leave, QueueView, SweepContext, next_action
from hourhand.domain.jobs.job import EventKind, Job, JobStatus, Priority
from hourhand.domain.jobs.pauses import NO_PAUSES
from hourhand.domain.ticks.timings import Timings
from hourhand.domain.ticks.unmarked_dispatch import (
    Economy,
    SentWindow,
    economy_at,
    stands_since,
    window_of,
)
from hourhand.memory import START
from tests.world.factories import make_event, make_job

TIMINGS = Timings()
SWEPT = START + timedelta(hours=1)
NOW = SWEPT + timedelta(seconds=60)
WINDOW = window_of(SWEPT, SWEPT + TIMINGS.look_ahead, TIMINGS)


def job_due(seconds: float, *, since: float = -3600, **fields: object) -> Job:
    """Return a job due so long after the sweep, and last written so long after it."""
    event = make_event(at=SWEPT + timedelta(seconds=since))
    return make_job(run_at=SWEPT + timedelta(seconds=seconds), history=(event,), **fields)


def judge(now_seconds: float = 60, **queues: QueueView) -> SweepContext:
    now = SWEPT + timedelta(seconds=now_seconds)
    economy = Economy(WINDOW, now - TIMINGS.settling)
    views = {Priority(name): view for name, view in queues.items()}
    return SweepContext(now, now + TIMINGS.look_ahead, TIMINGS, views, economy)


# --- the window ---------------------------------------------------------------------------------


def test_a_sweep_has_seen_what_stood_long_enough_before_it() -> None:
    lag, skew, stall = TIMINGS.index_lag, TIMINGS.skew_widens, TIMINGS.stall_bound
    assert SentWindow(SWEPT, SWEPT - lag - 2 * skew - stall, SWEPT + TIMINGS.look_ahead) == WINDOW


@pytest.mark.parametrize(
    ("job", "is_covered"),
    [
        (job_due(300, since=-52), True),
        (job_due(300.001, since=-52), False),
        (job_due(300, since=-51.999), False),
        (job_due(-9000, since=-9100), True),
        (make_job(status=JobStatus.SUCCEEDED), False),
    ],
)
def test_what_a_sweep_covers(job: Job, is_covered: bool) -> None:
    assert WINDOW.covers(job) is is_covered


def test_a_job_stands_since_its_last_event() -> None:
    events = (make_event(), make_event(kind=EventKind.CHANGED, at=NOW))
    assert stands_since(make_job(history=events)) == NOW
    assert stands_since(make_job(history=())) == START


@pytest.mark.parametrize(("age", "spares"), [(0, True), (120, True), (120.001, False)])
def test_marks_are_spared_only_soon_after_a_whole_sweep(age: float, spares: bool) -> None:
    now = SWEPT + timedelta(seconds=age)
    its_own = Economy(WINDOW, window_of(now, now, TIMINGS).stood_by)
    assert economy_at(now, WINDOW, TIMINGS) == (its_own if spares else None)
    assert economy_at(now, None, TIMINGS) is None


# --- what the sweep does ------------------------------------------------------------------------


def test_a_job_is_sent_without_a_mark_unless_the_next_record_does_not_cover_it() -> None:
    assert next_action(job_due(301), judge()) == Dispatch(is_marked=False)
    # Written a moment ago: this sweep's own record would not speak of it.
    assert next_action(job_due(100, since=8.001), judge()) == Dispatch(is_marked=True)
    assert next_action(job_due(100, since=8), judge()) == Dispatch(is_marked=False)


def test_a_job_that_was_sent_is_left_until_it_is_missed() -> None:
    job = job_due(100)
    assert next_action(job, judge(60)) == Leave()
    assert next_action(job, judge(159.999)) == Leave()
    assert next_action(job, judge(160)) == Dispatch(is_missed=True)


def test_a_backlog_explains_a_message_that_is_not_older_than_its_oldest() -> None:
    job = job_due(100)
    # It was sent when the look-ahead first reached it, or later.
    sent_at = SWEPT + timedelta(seconds=100) - TIMINGS.look_ahead
    waits = QueueView(messages=5, oldest_sent_at=sent_at)
    younger = QueueView(messages=5, oldest_sent_at=sent_at + timedelta(milliseconds=1))
    assert next_action(job, judge(160, medium=waits)) == Leave()
    assert next_action(job, judge(160, medium=younger)) == Dispatch(is_missed=True)
    assert next_action(job, judge(160, medium=QueueView(messages=0))) == Dispatch(is_missed=True)
    assert next_action(job, judge(1899, medium=waits)) == Leave()
    assert next_action(job, judge(1900, medium=waits)) == Dispatch(is_missed=True)


def test_it_cannot_have_been_sent_before_it_stood_so() -> None:
    job = job_due(100, since=-60)
    stood_at = SWEPT - timedelta(seconds=60)
    waits = QueueView(messages=5, oldest_sent_at=stood_at)
    younger = QueueView(messages=5, oldest_sent_at=stood_at + timedelta(milliseconds=1))
    assert next_action(job, judge(160, medium=waits)) == Leave()
    assert next_action(job, judge(160, medium=younger)) == Dispatch(is_missed=True)


def test_a_retry_that_stands_is_as_any_other() -> None:
    job = job_due(200, status=JobStatus.RETRYING)
    assert next_action(job, judge()) == Leave()
    assert next_action(job, SweepContext(NOW, NOW + TIMINGS.look_ahead, TIMINGS)) == Dispatch()


def test_of_a_handler_that_was_paused_the_last_sweep_sent_nothing() -> None:
    job = job_due(100)
    assert next_action(job, judge()) == Leave()
    now = judge().now
    ended = NO_PAUSES.paused(job.handler, SWEPT, until=now, note=None)
    assert next_action(job, replace(judge(), pauses=ended)) == Dispatch()
