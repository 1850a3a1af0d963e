"""What the hot item no longer holds lies on a page before the item is written without it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.domain.journal import RING_ENTRIES, RING_ENTRIES_LEFT
from hourhand.domain.schedules import JournalEntry
from hourhand.services.journal_pages import spill
from hourhand.testing import Faults
from tests.unit.services.schedule_bench import Bench, define
from tests.unit.services.schedule_views import at


def entries(count: int) -> tuple[JournalEntry, ...]:
    return tuple(JournalEntry(first=at(m), last=at(m)) for m in range(count))


def test_a_short_journal_is_left_alone() -> None:
    bench = Bench()
    schedule = replace(bench.put(define()), journal=entries(RING_ENTRIES))
    assert spill(bench.schedules, schedule, at(600)) is schedule
    assert bench.schedules.read_journal("s", before=None, limit=9) == ()


def test_of_a_long_one_the_oldest_entries_go_to_a_page() -> None:
    bench = Bench()
    schedule = replace(bench.put(define()), journal=entries(RING_ENTRIES + 1))
    spilled = spill(bench.schedules, schedule, at(600))
    (page,) = bench.schedules.read_journal("s", before=None, limit=9)
    assert page.entries + spilled.journal == schedule.journal
    assert len(spilled.journal) == RING_ENTRIES_LEFT
    assert replace(spilled, journal=schedule.journal) == schedule


def test_nothing_is_taken_from_a_journal_whose_page_was_not_written() -> None:
    bench, faults = Bench(), Faults()
    faults.throttle("put_journal_page")
    schedule = replace(bench.put(define()), journal=entries(RING_ENTRIES + 1))
    with pytest.raises(Unavailable):
        spill(faults.wrap(bench.schedules), schedule, at(600))
