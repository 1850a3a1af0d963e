"""What the hot item no longer holds lies on a page before the item is written without it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.domain.schedules.journal import RING_ENTRIES, RING_ENTRIES_LEFT, SETTLED_AFTER
from hourhand.domain.schedules.schedule import JournalEntry
from hourhand.domain.ticks.timings import Timings
from hourhand.services.schedules.history import spill
from tests.unit.services.schedule_bench import Bench, define
from tests.unit.services.schedule_views import at
from tests.world.faults import Faults


def entries(count: int) -> tuple[JournalEntry, ...]:
    return tuple(JournalEntry(first=at(m), last=at(m)) for m in range(count))


def test_a_short_journal_is_left_alone() -> None:
    bench = Bench()
    schedule = replace(bench.put(define()), journal=entries(RING_ENTRIES), cursor=at(600))
    assert spill(bench.schedules, schedule, Timings()) is schedule
    assert bench.schedules.read_journal("s", before=None, limit=9) == ()


def test_of_a_long_one_the_oldest_entries_go_to_a_page() -> None:
    bench = Bench()
    schedule = replace(bench.put(define()), journal=entries(RING_ENTRIES + 1), cursor=at(600))
    spilled = spill(bench.schedules, schedule, Timings())
    (page,) = bench.schedules.read_journal("s", before=None, limit=9)
    assert page.entries + spilled.journal == schedule.journal
    assert len(spilled.journal) == RING_ENTRIES_LEFT
    assert replace(spilled, journal=schedule.journal) == schedule


def test_nothing_is_taken_from_a_journal_whose_page_was_not_written() -> None:
    bench, faults = Bench(), Faults()
    faults.throttle("put_journal_page")
    schedule = replace(bench.put(define()), journal=entries(RING_ENTRIES + 1), cursor=at(600))
    with pytest.raises(Unavailable):
        spill(faults.wrap(bench.schedules), schedule, Timings())


def test_what_a_change_may_still_take_back_goes_to_no_page() -> None:
    bench, timings = Bench(), Timings()
    newest = at(RING_ENTRIES + 9)
    schedule = replace(bench.put(define()), journal=entries(RING_ENTRIES + 10))
    # A visit looks ahead, by a clock that may be off; so the cursor may be that far in the future.
    looked_ahead = newest + timings.look_ahead + timings.skew_refuses
    assert spill(bench.schedules, replace(schedule, cursor=looked_ahead), timings) != schedule
    (page,) = bench.schedules.read_journal("s", before=None, limit=9)
    assert page.entries[-1].last <= newest - SETTLED_AFTER
    assert spill(bench.schedules, replace(schedule, cursor=at(9)), timings).journal == (
        schedule.journal
    )


def test_what_was_triggered_in_a_long_pause_goes_to_a_page() -> None:
    bench = Bench()
    by_hand = tuple(replace(entry, salt="trigger") for entry in entries(RING_ENTRIES + 1))
    paused = replace(bench.put(define()), journal=by_hand, cursor=at(-600))
    assert len(spill(bench.schedules, paused, Timings()).journal) == RING_ENTRIES_LEFT
