"""A job waits for a while for a deploy to bring its handler; then it fails."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from hourhand.domain.jobs.history import REASON_BYTES, compact
from hourhand.domain.jobs.job import EventKind, HistoryEvent, Job, JobStatus
from hourhand.domain.jobs.unknown_handler import (
    FIRST_WAIT,
    LONGEST_WAIT,
    HandlerWait,
    wait_for_handler,
)
from hourhand.domain.ticks.timings import Timings
from hourhand.memory import START
from tests.world.factories import make_job

GRACE = Timings().handler_grace
SINCE_START = f"no handler since {START:%Y-%m-%dT%H:%M:%SZ}"
LONG_AGO = timedelta(days=3)


def event(kind: EventKind, reason: str = "", at: datetime = START) -> HistoryEvent:
    return HistoryEvent(kind=kind, at=at, status=JobStatus.RUNNING, actor="w", reason=reason)


MISSED = event(EventKind.SNOOZED, SINCE_START)
CLAIMED = event(EventKind.CLAIMED)


def looked_at(*history: HistoryEvent) -> Job:
    submitted = event(EventKind.SUBMITTED, at=START - LONG_AGO)
    return make_job(history=(submitted, *history, CLAIMED), run_at=START - LONG_AGO, lateness_ms=0)


@pytest.mark.parametrize(
    ("waited", "wait"),
    [
        (timedelta(0), FIRST_WAIT),
        (timedelta(seconds=20), timedelta(seconds=20)),
        (timedelta(seconds=200), LONGEST_WAIT),
        (GRACE - timedelta(milliseconds=1), LONGEST_WAIT),
    ],
)
def test_the_wait_grows_with_the_time_since_the_first_look(
    waited: timedelta, wait: timedelta
) -> None:
    found = wait_for_handler(looked_at(MISSED), START + waited, Timings())
    assert found == HandlerWait(wait, SINCE_START)


@pytest.mark.parametrize("waited", [GRACE, LONG_AGO])
def test_the_wait_has_an_end(waited: timedelta) -> None:
    assert wait_for_handler(looked_at(MISSED), START + waited, Timings()) is None


def test_a_clock_that_is_behind_the_one_of_the_look_before_waits_no_longer() -> None:
    found = wait_for_handler(looked_at(MISSED), START - timedelta(seconds=1), Timings())
    assert found is not None
    assert found.duration == FIRST_WAIT
    assert found.reason < SINCE_START


@pytest.mark.parametrize(
    "history",
    [
        (),
        (event(EventKind.SNOOZED, "snoozed"),),
        (event(EventKind.FAILED, "RuntimeError: no handler since then"),),
        (MISSED, CLAIMED, event(EventKind.SNOOZED, "snoozed")),
        (MISSED, CLAIMED, event(EventKind.LOST)),
        (event(EventKind.SNOOZED, "no handler since yesterday"),),
        (event(EventKind.SNOOZED, "UnknownHandler"),),
        (MISSED, event(EventKind.CHANGED)),
        (MISSED, event(EventKind.RUN_NOW)),
        (event(EventKind.FAILED, "UnknownHandler: No handler is n..."), event(EventKind.REDRIVEN)),
    ],
    ids=lambda history: "-".join(f"{one.kind.name} {one.reason}" for one in history) or "first",
)
def test_a_job_that_was_run_or_sent_on_its_way_again_begins_to_wait_anew(
    history: tuple[HistoryEvent, ...],
) -> None:
    """However long ago its round's first start was."""
    assert wait_for_handler(looked_at(*history), START, Timings()) == HandlerWait(
        FIRST_WAIT, SINCE_START
    )


def test_what_was_sent_between_two_looks_does_not_end_the_wait() -> None:
    sent = (event(EventKind.ENQUEUED), event(EventKind.DISPATCHED_AGAIN), event(EventKind.AGED))
    assert wait_for_handler(looked_at(MISSED, *sent), START + GRACE, Timings()) is None


def test_once_it_failed_for_want_of_its_handler_each_look_fails() -> None:
    failed = event(EventKind.FAILED, "UnknownHandler: No handler is named gre...")
    assert wait_for_handler(looked_at(MISSED, CLAIMED, failed), START, Timings()) is None


def test_the_looks_are_some_seventy_and_a_compacted_history_keeps_when_they_began() -> None:
    job, now, looks = looked_at(), START, 0
    while (wait := wait_for_handler(job, now, Timings())) is not None:
        assert wait.reason == SINCE_START
        assert len(wait.reason.encode()) <= REASON_BYTES
        snoozed = event(EventKind.SNOOZED, wait.reason, at=now)
        history, _ = compact((*job.history, snoozed), job.history_dropped)
        job = looked_at(*history[1:])
        now, looks = now + wait.duration, looks + 1
    assert 60 <= looks <= 70
    assert GRACE <= now - START <= GRACE + LONGEST_WAIT
