"""The journal: runs, what may be joined, and what goes to a page."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from hourhand.domain.schedules.journal import (
    RING_ENTRIES,
    RING_ENTRIES_LEFT,
    SETTLED_AFTER,
    Runs,
    fill_in,
    job_times,
    merge_runs,
    skipped_runs,
    split_journal,
)
from hourhand.domain.schedules.recurrence import ExcludedTimes
from hourhand.domain.schedules.rule import MAX_WORK, Work
from hourhand.domain.schedules.schedule import JournalEntry, ScheduleDefinition, SkipReason
from tests.unit.domain.schedule_samples import (
    NOON,
    at,
    made,
    make_definition,
    minutes,
    recurrence_of,
    skipped,
)

WORK_OF_THREE = 24
"""Twenty units to begin with, and one for each time."""

PAUSED, MISFIRE, EXCLUDED = SkipReason.PAUSED, SkipReason.MISFIRE, SkipReason.EXCLUDED


# --- runs ---


def test_neighbours_that_were_skipped_for_one_reason_are_one_entry() -> None:
    runs = Runs(now=at(10))
    for minute in (1, 2, 3):
        runs.skip(at(minute), PAUSED)
    runs.skip(at(4), MISFIRE)
    runs.make(at(5))
    runs.skip(at(6), MISFIRE)
    runs.close()
    assert runs.entries == [
        skipped(1, 3, PAUSED, 3),
        skipped(4, 4, MISFIRE),
        made(5),
        skipped(6, 6, MISFIRE),
    ]


def test_what_is_skipped_ahead_of_its_time_stands_alone_as_a_change_may_take_it_back() -> None:
    # A minute is the margin: the clock of whoever changes it may be behind.
    runs = Runs(now=at(2) + SETTLED_AFTER)
    for minute in (1, 2, 3, 4):
        runs.skip(at(minute), EXCLUDED)
    runs.close()
    assert runs.entries == [
        skipped(1, 2, EXCLUDED, 2),
        skipped(3, 3, EXCLUDED),
        skipped(4, 4, EXCLUDED),
    ]


def test_what_was_noted_apart_is_added_after_what_is_there() -> None:
    runs, apart, nothing = Runs(now=at(10)), Runs(now=at(10)), Runs(now=at(10))
    runs.skip(at(1), PAUSED)
    runs.take(nothing)
    runs.skip(at(2), PAUSED)
    apart.skip(at(3), PAUSED)
    runs.take(apart)
    runs.close()
    assert runs.entries == [skipped(1, 2, PAUSED, 2), skipped(3, 3, PAUSED)]


def _skipped_runs(
    definition: ScheduleDefinition,
    until: datetime,
    reason: SkipReason,
    made_before: Set[datetime] = frozenset(),
    most: int = MAX_WORK,
) -> tuple[JournalEntry, ...]:
    work = Work(most)
    fires = recurrence_of(definition).fires(NOON, until, work)
    return skipped_runs(fires, until, work, reason, made_before)


def test_what_nobody_will_decide_is_told_with_its_reason_and_exclusions_with_theirs() -> None:
    definition = make_definition(exclude=(ExcludedTimes(at(3), at(4)),))
    found = _skipped_runs(definition, at(5), SkipReason.REPLACED)
    assert found == (
        skipped(1, 2, SkipReason.REPLACED, 2),
        skipped(3, 3, EXCLUDED),
        skipped(4, 4, SkipReason.REPLACED),
        skipped(5, 5, SkipReason.REPLACED),
    )
    assert _skipped_runs(definition, NOON, PAUSED) == ()


def test_too_many_to_be_counted_are_told_as_at_least_so_many() -> None:
    (entry,) = _skipped_runs(make_definition(), at(9), PAUSED, most=WORK_OF_THREE)
    assert (entry.first, entry.last, entry.count, entry.is_least) == (at(1), at(9), 3, True)
    whole = _skipped_runs(make_definition(), at(3), PAUSED, most=WORK_OF_THREE)
    assert whole == (skipped(1, 2, PAUSED, 2), skipped(3, 3, PAUSED))


def test_a_time_with_a_job_does_not_stand_for_those_that_are_not_counted() -> None:
    there = {at(3), at(4)}
    found = _skipped_runs(make_definition(), at(9), PAUSED, there, WORK_OF_THREE)
    first, *jobs, rest = found
    assert (first, jobs) == (skipped(1, 2, PAUSED, 2), [made(3), made(4)])
    assert (rest.first, rest.last, rest.reason, rest.is_least) == (at(5), at(9), PAUSED, True)


# --- filling in ---


def _fill(
    *entries: JournalEntry, definition: ScheduleDefinition | None = None
) -> list[tuple[float | None, float | None, int, SkipReason]]:
    recurrence = None if definition is None else recurrence_of(definition)
    left, _ = fill_in(entries, recurrence, Work(1_000))
    return [
        (*minutes(each.first, each.last), each.count, each.reason)  # type: ignore[misc] # two of them
        for each in left
        if each.reason is not None
    ]


def test_what_has_a_job_by_now_is_taken_from_the_middle_of_a_run() -> None:
    run, definition = skipped(1, 9, PAUSED, 9), make_definition()
    assert _fill(run, made(4), made(5), definition=definition) == [
        (1, 3, 3, PAUSED),
        (6, 9, 4, PAUSED),
    ]
    everything = [made(minute) for minute in range(1, 10)]
    left, skipped_first = fill_in([run, *everything], recurrence_of(definition), Work(1_000))
    assert left == everything
    assert skipped_first == {at(minute): PAUSED for minute in range(1, 10)}


def test_of_a_run_by_another_rule_only_its_ends_are_known() -> None:
    run = skipped(1, 9, PAUSED, 5)
    for definition in (None, make_definition()):
        assert _fill(run, made(1), made(4), definition=definition) == [(1, 9, 4, PAUSED)]
    assert _fill(skipped(1, 9, PAUSED, 2), made(1)) == [(9, 9, 1, PAUSED)]
    at_least = replace(run, count=9, is_least=True)
    assert _fill(at_least, made(4), definition=make_definition()) == [(1, 9, 9, PAUSED)]


def test_what_takes_too_long_to_be_taken_apart_is_left_as_it_is() -> None:
    run, recurrence = skipped(1, 900, PAUSED, 900), recurrence_of(make_definition())
    left, _ = fill_in([run, made(4)], recurrence, Work(100))
    assert left == [run, made(4)]


def test_jobs_made_by_hand_and_excluded_times_are_told_apart() -> None:
    definition = make_definition(exclude=(ExcludedTimes(at(3), at(6)),))
    excluded = skipped(3, 5, SkipReason.EXCLUDED, 3)
    assert _fill(excluded, made(4), definition=definition) == [
        (3, 3, 1, SkipReason.EXCLUDED),
        (5, 5, 1, SkipReason.EXCLUDED),
    ]
    by_hand = replace(made(4), salt="trigger")
    assert _fill(excluded, by_hand, definition=definition) == [(3, 5, 3, SkipReason.EXCLUDED)]


# --- joining ---


def test_settled_runs_of_one_reason_are_joined_over_visits() -> None:
    merged = merge_runs([skipped(1, 2, PAUSED, 2), skipped(3, 5, PAUSED, 3)], at(6))
    assert merged == (skipped(1, 5, PAUSED, 5),)


@pytest.mark.parametrize(
    "journal_of",
    [
        pytest.param([skipped(1, 1, PAUSED), skipped(2, 2, MISFIRE)], id="another reason"),
        pytest.param([made(1), made(2)], id="jobs"),
        pytest.param([skipped(1, 1, PAUSED), made(2), skipped(3, 3, PAUSED)], id="not neighbours"),
        pytest.param([skipped(1, 1, PAUSED), skipped(10, 10, PAUSED)], id="not settled"),
    ],
)
def test_other_entries_are_not_joined(journal_of: list[JournalEntry]) -> None:
    now = at(10) + SETTLED_AFTER - timedelta(milliseconds=1)
    assert merge_runs(journal_of, now) == tuple(journal_of)


def test_what_is_settled_is_so_to_the_millisecond() -> None:
    entries = [skipped(1, 1, PAUSED), skipped(10, 10, PAUSED)]
    assert merge_runs(entries, at(10) + SETTLED_AFTER) == (skipped(1, 10, PAUSED, 2),)


def test_a_run_that_is_not_counted_out_stays_so_when_it_is_joined() -> None:
    least = JournalEntry(first=at(1), last=at(2), count=2, reason=PAUSED, is_least=True)
    for entries in ([least, skipped(3, 3, PAUSED)], [skipped(0, 0, PAUSED), least]):
        (merged,) = merge_runs(entries, at(60))
        assert (merged.count, merged.is_least) == (3, True)


def test_what_was_triggered_in_a_pause_lies_in_its_place_among_what_is_decided_later() -> None:
    trigger = made(5.5, salt="trigger")
    run = skipped(1, 9, PAUSED, 9)
    assert merge_runs([made(0), trigger, run], at(60)) == (made(0), run, trigger)


# --- pages ---


def journal_of(count: int) -> tuple[JournalEntry, ...]:
    return tuple(made(minute) for minute in range(count))


def test_a_ring_that_is_not_full_is_left_alone() -> None:
    full = journal_of(RING_ENTRIES)
    assert split_journal(full, at(600)) == ((), full)


def test_a_full_ring_is_split_oldest_first_and_nothing_is_lost() -> None:
    over = journal_of(RING_ENTRIES + 1)
    paged, kept = split_journal(over, at(600))
    assert paged + kept == over
    assert len(kept) == RING_ENTRIES_LEFT
    assert all(a.last < b.first for a, b in pairwise(over))


def test_what_is_not_settled_stays_in_the_ring_and_is_not_counted() -> None:
    entries = journal_of(100)
    now = at(RING_ENTRIES - 1) + SETTLED_AFTER
    assert split_journal(entries, now) == ((), entries)
    paged, kept = split_journal(entries, now + timedelta(minutes=1))
    assert paged == entries[: RING_ENTRIES + 1 - RING_ENTRIES_LEFT]
    assert paged + kept == entries


def test_a_run_that_reaches_into_what_is_not_settled_stays_with_what_comes_after_it() -> None:
    entries = (*journal_of(30), skipped(30, 90, PAUSED, 61), made(91, salt="x"))
    paged, kept = split_journal(entries, at(60))
    assert kept == entries[30 - RING_ENTRIES_LEFT :]
    assert paged + kept == entries


def test_a_page_that_is_written_again_holds_the_same_entries_or_more() -> None:
    entries = journal_of(60)
    before: tuple[JournalEntry, ...] = ()
    for minute in range(20, 120):
        paged, _ = split_journal(entries, at(minute))
        assert paged[: len(before)] == before
        before = paged


def test_jobs_of_the_schedule_are_told_from_skips_and_from_those_made_by_hand() -> None:
    entries = [made(1), skipped(2, 3, PAUSED, 2), made(4, salt="trigger"), made(5)]
    assert job_times(entries) == [at(1), at(5)]
