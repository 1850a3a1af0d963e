"""Pauses of handlers as values: when they hold, and what a job is shown to wait for."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from hourhand.domain.errors import WrongState
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.jobs.pauses import (
    MAX_ENDED,
    MAX_PAUSES,
    NO_PAUSES,
    PUT_OFF_AFTER,
    PUT_OFF_BY,
    HandlerPause,
    HandlerPauses,
    Waiting,
    next_look,
    wait_for_resume,
    waiting_for,
)
from hourhand.domain.jobs.waiting import PAUSE, WaitKind, WaitsFor
from hourhand.domain.times import to_ms
from hourhand.memory import START
from tests.world.factories import make_job

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)


def paused(until: datetime | None = None, at: datetime = START) -> HandlerPauses:
    return NO_PAUSES.paused("greet", at, until=until, note="why")


def test_a_pause_holds_until_its_end_or_its_resume() -> None:
    pauses = paused(START + MINUTE)
    assert pauses.of("greet", START) == HandlerPause(since=START, until=START + MINUTE, note="why")
    assert pauses.of("other", START) is None
    assert pauses.of("greet", START + MINUTE - SECOND) is not None
    assert pauses.of("greet", START + MINUTE) is None
    assert pauses.resumed("greet", START + SECOND).of("greet", START + SECOND) is None


def test_every_change_is_a_revision_and_no_change_is_none() -> None:
    pauses = paused()
    assert (NO_PAUSES.revision, pauses.revision) == (0, 1)
    assert pauses.resumed("other", START) is pauses
    resumed = pauses.resumed("greet", START)
    assert resumed.revision == 2
    assert resumed.resumed("greet", START) is resumed
    assert resumed.without(resumed.ended(START)).revision == 3


def test_a_second_pause_replaces_end_and_note_and_keeps_the_beginning() -> None:
    again = paused().paused("greet", START + MINUTE, until=START + 2 * MINUTE, note=None)
    assert again.pauses["greet"] == HandlerPause(since=START, until=START + 2 * MINUTE)
    anew = again.paused("greet", START + 3 * MINUTE, until=None, note=None)
    assert anew.pauses["greet"].since == START + 3 * MINUTE, "the first was over"


def test_an_ended_pause_stays_until_it_is_settled_and_not_if_it_was_renewed() -> None:
    ended = paused(START + MINUTE)
    over = ended.ended(START + MINUTE)
    assert list(over) == ["greet"]
    assert over["greet"].ended_at == START + MINUTE
    assert ended.ended(START) == {}
    assert ended.without(over).pauses == {}
    renewed = ended.paused("greet", START + MINUTE, until=None, note=None)
    assert list(renewed.without(over).pauses) == ["greet"]
    assert paused().resumed("greet", START + SECOND).pauses["greet"].ended_at == START + SECOND


def test_only_so_many_handlers_are_paused() -> None:
    pauses = NO_PAUSES
    for number in range(MAX_PAUSES):
        pauses = pauses.paused(f"handler-{number}", START, until=None, note=None)
    with pytest.raises(WrongState, match="200 handlers are paused already"):
        pauses.paused("one-more", START, until=None, note=None)
    assert pauses.paused("handler-0", START, until=None, note="again").revision == MAX_PAUSES + 1


def test_pauses_that_ended_count_for_themselves() -> None:
    pauses = NO_PAUSES
    for number in range(MAX_PAUSES):
        pauses = pauses.paused(f"handler-{number}", START, until=None, note=None)
    pauses = pauses.resumed("handler-0", START)
    pauses = pauses.paused("one-more", START, until=None, note=None)
    with pytest.raises(WrongState, match="200 handlers are paused already"):
        pauses.paused("two-more", START, until=None, note=None)
    for number in range(MAX_ENDED - 1):
        pauses = pauses.paused(f"ended-{number}", START, until=START, note=None)
    with pytest.raises(WrongState, match="Try again in some minutes"):
        pauses.paused("ended-last", START, until=START, note=None)


WAITS = WaitsFor(WaitKind.SLOT, PAUSE, rank=5)


@pytest.mark.parametrize(
    ("fields", "pauses", "shown"),
    [
        # Parked by the pause, whether or not this process knows of it.
        (
            {"waits_for": WAITS, "enqueued_at": START - SECOND},
            NO_PAUSES,
            Waiting(kind=WaitKind.SLOT, limit="greet.pause", since=START - SECOND),
        ),
        # Parked by another limit.
        (
            {"waits_for": WaitsFor(WaitKind.SLOT, "0"), "enqueued_at": START},
            NO_PAUSES,
            Waiting(kind=WaitKind.SLOT, limit="0", since=START),
        ),
        ({"waits_for": WaitsFor(WaitKind.TIME)}, NO_PAUSES, Waiting(kind=WaitKind.TIME)),
        # Due, and never sent.
        (
            {"due_at": START - MINUTE},
            paused(at=START - SECOND),
            Waiting(kind=WaitKind.SLOT, limit="greet.pause", since=START - SECOND),
        ),
        (
            {"due_at": START - SECOND},
            paused(at=START - MINUTE),
            Waiting(kind=WaitKind.SLOT, limit="greet.pause", since=START - SECOND),
        ),
        ({"due_at": START - SECOND}, NO_PAUSES, None),
        ({"due_at": START + SECOND}, paused(), None),
        ({"due_at": START, "enqueued_at": START}, paused(), None),
        ({"status": JobStatus.RUNNING}, paused(), None),
        ({"status": JobStatus.CANCELLED, "waits_for": WAITS}, paused(), None),
    ],
)
def test_a_job_shows_what_it_waits_for(
    fields: dict[str, Any], pauses: HandlerPauses, shown: Waiting | None
) -> None:
    job = make_job(**{"status": JobStatus.PENDING, **fields})
    assert waiting_for(job, pauses, START) == shown


def test_jobs_wait_in_the_order_of_their_due_times() -> None:
    job = make_job(due_at=START + SECOND)
    assert wait_for_resume(job) == WaitsFor(WaitKind.SLOT, PAUSE, rank=to_ms(START + SECOND))


@pytest.mark.parametrize(
    ("age", "expires_after", "moves_to"),
    [
        (PUT_OFF_AFTER - SECOND, None, None),
        (PUT_OFF_AFTER, None, START + PUT_OFF_BY),
        (PUT_OFF_AFTER, PUT_OFF_BY + SECOND, START + PUT_OFF_BY),
        (PUT_OFF_AFTER, MINUTE, START + MINUTE),
    ],
)
def test_an_old_entry_moves_by_an_hour_and_not_beyond_the_expiry(
    age: timedelta, expires_after: timedelta | None, moves_to: datetime | None
) -> None:
    expires_at = None if expires_after is None else START + expires_after
    job = make_job(status=JobStatus.PENDING, due_at=START - age, expires_at=expires_at)
    assert next_look(job, START) == moves_to


def test_a_job_without_an_entry_has_none_that_moves() -> None:
    assert next_look(make_job(status=JobStatus.SUCCEEDED), START) is None
