"""What a whole sweep has sent, and which marks its record spares."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.jobs.actions import Dispatch, Leave, QueueView, SweepContext, next_action
from hourhand.domain.jobs.job import EventKind, Job, JobStatus, Priority
from hourhand.domain.ticks.timings import Timings
from hourhand.domain.ticks.unmarked_dispatch import (
    Economy,
    SentWindow,
    economy_at,
    stands_since,
    window_of,
)
from hourhand.memory import START
from hourhand.testing import make_event, make_job

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
    ("due", "since", "is_covered"),
    [
        (300, -52, True),
        (300.001, -52, False),
        (300, -51.999, False),
        (-9000, -9100, True),
    ],
)
def test_what_a_sweep_covers(due: float, since: float, is_covered: bool) -> None:
    assert WINDOW.covers(job_due(due, since=since)) is is_covered


def test_a_job_without_an_entry_is_not_covered() -> None:
    assert not WINDOW.covers(make_job(status=JobStatus.SUCCEEDED))


def test_a_job_stands_since_its_last_event() -> None:
    events = (make_event(), make_event(kind=EventKind.CHANGED, at=NOW))
    assert stands_since(make_job(history=events)) == NOW
    assert stands_since(make_job(history=())) == START


@pytest.mark.parametrize(("age", "spares"), [(0, True), (120, True), (120.001, False)])
def test_marks_are_spared_only_soon_after_a_whole_sweep(age: float, spares: bool) -> None:
    found = economy_at(SWEPT + timedelta(seconds=age), WINDOW, TIMINGS)
    assert (found is not None) is spares


def test_without_a_record_nothing_is_spared() -> None:
    assert economy_at(NOW, None, TIMINGS) is None


def test_a_sweep_spares_what_its_own_record_will_cover() -> None:
    economy = economy_at(NOW, WINDOW, TIMINGS)
    assert economy == Economy(WINDOW, window_of(NOW, NOW, TIMINGS).stood_by)


# --- what the sweep does ------------------------------------------------------------------------


def test_a_job_seen_for_the_first_time_is_sent_without_a_mark() -> None:
    assert next_action(job_due(301), judge()) == Dispatch(is_marked=False)


def test_a_job_that_the_next_record_does_not_cover_is_marked() -> None:
    """Written a moment ago: this sweep's own record would not speak of it."""
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
