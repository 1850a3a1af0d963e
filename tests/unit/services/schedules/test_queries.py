"""The history of a schedule, what comes next, and previews."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hourhand.domain.errors import InvalidInput, NotFound, Unavailable
from hourhand.domain.ids import occurrence_job_id
from hourhand.domain.jobs.job import EventKind, Job, JobStatus
from hourhand.domain.schedules.schedule import (
    JournalEntry,
    Keep,
    ScheduleDefinition,
    SkipReason,
)
from hourhand.memory import FAKE_SECRET, START
from hourhand.ports.schedule_store import JournalPage
from hourhand.services.cursors import seal
from hourhand.services.schedules import queries
from hourhand.services.schedules.queries import OccurrencePage, OccurrenceQueries
from tests.unit.services.schedule_bench import Bench, define
from tests.world.factories import make_event, make_job
from tests.world.faults import Faults

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


class HistoryBench(Bench):
    """A schedule with a past. Hours are counted from the start, most of them negative."""

    def queries(self, faults: Faults | None = None) -> OccurrenceQueries:
        faults = faults or Faults()
        return OccurrenceQueries(
            schedules=faults.wrap(self.schedules, "schedules"),
            jobs=faults.wrap(self.jobs, "jobs"),
            recurrences=self.recurrences,
            clock=self.clock,
            ids=self.ids,
        )

    def history(self, limit: int = 50, cursor: str | None = None) -> OccurrencePage:
        return self.queries().history("s", limit=limit, cursor=cursor)

    def whole(self, limit: int) -> list[float]:
        """Return the hours of every page, each at most ``limit`` long."""
        hours: list[float] = []
        cursor = None
        for _ in range(99):
            page = self.history(limit, cursor)
            assert len(page.entries) <= limit
            hours += _hours(page)
            cursor = page.next_cursor
            if cursor is None:
                return hours
        raise AssertionError("the history has no end")

    def put_page(self, *entries: JournalEntry, tag: str = "") -> None:
        self.schedules.put_journal_page("s", JournalPage(entries=entries, tag=tag))

    def put_job(self, hour: float, status: JobStatus, salt: str = "", **fields: Any) -> Job:
        job_id = occurrence_job_id(FAKE_SECRET, "s", START + hour * HOUR, salt)
        job = make_job(id=job_id, status=status, schedule_id="s", **fields)
        self.jobs.put(job)
        return job


@pytest.fixture
def bench() -> HistoryBench:
    return HistoryBench()


def _made(hour: float, salt: str = "") -> JournalEntry:
    return JournalEntry(first=START + hour * HOUR, last=START + hour * HOUR, salt=salt)


def _skipped(hour: float, reason: SkipReason = SkipReason.PAUSED, count: int = 1) -> JournalEntry:
    first = START + hour * HOUR
    return JournalEntry(first=first, last=first + (count - 1) * HOUR, count=count, reason=reason)


def _hours(page: OccurrencePage) -> list[float]:
    return [(record.entry.first - START) / HOUR for record in page.entries]


# --- what a history tells -----------------------------------------------------------------------


def test_the_newest_entries_come_first_whether_in_the_hot_item_or_in_pages(
    bench: HistoryBench,
) -> None:
    bench.put(define(), journal=(_made(-3), _made(-2), _made(-1)))
    bench.put_page(_made(-6), _skipped(-5))
    bench.put_page(_made(-4))
    page = bench.history()
    assert _hours(page) == [-1, -2, -3, -4, -5, -6]
    assert page.next_cursor is None


@pytest.mark.parametrize("count", [1, 4])
def test_a_time_that_was_skipped_and_then_backfilled_is_told_once(
    bench: HistoryBench, count: int
) -> None:
    bench.put(define(), journal=(_skipped(-9, SkipReason.MISFIRE, count), _made(-2)))
    bench.put_page(_made(-9), tag="backfill")
    bench.put_job(-9, JobStatus.SUCCEEDED)
    rows = [
        ((each.entry.first - START) / HOUR, each.entry.count, each.entry.reason, each.skipped_first)
        for each in bench.history().entries
    ]
    run = [(-8, 3, "misfire", None)] if count > 1 else []
    assert rows == [(-2, 1, None, None), *run, (-9, 1, None, "misfire")]
    assert bench.whole(limit=1) == [-2, *([-8] if run else []), -9]


def test_a_broken_schedule_still_has_a_history(bench: HistoryBench) -> None:
    bench.put(define("never"), journal=(_made(-2), _made(-1)))
    assert (_hours(bench.history()), bench.history().upcoming) == ([-1, -2], ())


def test_an_entry_is_told_with_its_job_or_with_the_reason_why_there_is_none(
    bench: HistoryBench,
) -> None:
    skipped = _skipped(-5, SkipReason.WINDOW, count=3)
    bench.put(define(), journal=(skipped, _made(-2), _made(-1, "trigger")))
    made = bench.put_job(-2, JobStatus.SUCCEEDED)
    triggered = bench.put_job(-1, JobStatus.RUNNING, "trigger")
    first, second, third = bench.history().entries
    assert (first.entry, first.job, first.job_id) == (_made(-1, "trigger"), triggered, triggered.id)
    assert (second.entry, second.job, second.job_id) == (_made(-2), made, made.id)
    assert (third.entry, third.job, third.job_id) == (skipped, None, None)


def test_a_job_that_is_gone_is_told_by_its_id(bench: HistoryBench) -> None:
    bench.put(define(), journal=(_made(-1),))
    [record] = bench.history().entries
    assert (record.job, record.job_id) == (None, occurrence_job_id(FAKE_SECRET, "s", START - HOUR))


def test_what_was_made_ahead_of_its_time_is_no_past(bench: HistoryBench) -> None:
    bench.put(define(), journal=(_made(0), _made(1)))
    page = bench.history()
    assert _hours(page) == [0]
    assert page.upcoming[0] == START + HOUR


def test_pages_of_backfills_are_told_in_their_place(bench: HistoryBench) -> None:
    bench.put(define(), journal=(_made(-1),))
    bench.put_page(_made(-4), _made(-2))
    bench.put_page(_made(-5, "b1"), _made(-3, "b1"), tag="b1")
    assert _hours(bench.history()) == [-1, -2, -3, -4, -5]


def test_what_was_written_twice_is_told_once_as_the_hot_item_has_it(bench: HistoryBench) -> None:
    bench.put(define(), journal=(_skipped(-3, count=3), _made(-0.5)))
    bench.put_page(_made(-4), _skipped(-3, count=1))
    page = bench.history()
    assert _hours(page) == [-0.5, -3, -4]
    assert page.entries[1].entry.count == 3


def test_several_jobs_of_one_nominal_time_are_told_each(bench: HistoryBench) -> None:
    bench.put(define(), journal=(_skipped(-1), _made(-1), _made(-1, "b1")))
    told = [(each.entry.salt, each.skipped_first) for each in bench.history().entries]
    assert told == [("b1", None), ("", SkipReason.PAUSED)]
    assert bench.whole(1) == [-1, -1]


def test_a_history_of_a_schedule_that_does_not_exist_is_not_found(bench: HistoryBench) -> None:
    with pytest.raises(NotFound):
        bench.history()


def test_the_history_of_a_schedule_that_was_deleted_is_told_while_it_is_kept(
    bench: HistoryBench,
) -> None:
    bench.put(define(), journal=(_made(-1),), deleted_at=START)
    page = bench.history()
    assert (_hours(page), page.upcoming) == ([-1], ())


def test_a_definition_that_is_not_there_is_asked_for_again(bench: HistoryBench) -> None:
    bench.put(define())
    bench.change(definition="unknown")
    with pytest.raises(Unavailable):
        bench.history()


def test_the_next_ten_are_told(bench: HistoryBench) -> None:
    bench.put(define())
    assert bench.history().upcoming == tuple(START + n * HOUR for n in range(1, 11))
    bench.change(paused_at=START)
    assert bench.history().upcoming == ()


# --- pages --------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8])
def test_pages_of_any_size_tell_everything_once(bench: HistoryBench, limit: int) -> None:
    bench.put(define(), journal=tuple(_made(-n) for n in (3, 2, 1)))
    bench.put_page(_made(-7), _skipped(-6), _made(-5))
    bench.put_page(_made(-4, "b1"), tag="b1")
    assert bench.whole(limit) == [-1, -2, -3, -4, -5, -6, -7]


def test_a_page_that_is_just_full_ends_the_history(bench: HistoryBench) -> None:
    bench.put(define(), journal=(_made(-2), _made(-1)))
    assert bench.history(2).next_cursor is None
    assert bench.history(1).next_cursor is not None


def test_what_is_new_since_the_first_page_moves_nothing(bench: HistoryBench) -> None:
    bench.put(define(), journal=(_made(-3), _made(-2), _made(-1)))
    first = bench.history(1)
    bench.put_page(_made(-3), _made(-2))
    bench.change(journal=(_made(-1), _made(0)))
    assert _hours(bench.history(9, first.next_cursor)) == [-2, -3]


def test_the_jobs_of_a_page_are_looked_up_together(bench: HistoryBench) -> None:
    bench.put(define(), journal=(_skipped(-3), _made(-2), _made(-1)))
    faults = Faults()
    bench.queries(faults).history("s", limit=50, cursor=None)
    assert [call.method for call in faults.calls if call.port == "jobs"] == ["get_many"]


def test_no_job_is_looked_up_where_none_was_made(bench: HistoryBench) -> None:
    bench.put(define(), journal=(_skipped(-1),))
    faults = Faults()
    bench.queries(faults).history("s", limit=50, cursor=None)
    assert not [call for call in faults.calls if call.port == "jobs"]


def test_a_page_that_needs_too_many_lookups_comes_back_short(
    bench: HistoryBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "ENTRIES_A_READ", 2)
    monkeypatch.setattr(queries, "MAX_READS", 2)
    bench.put(define(), journal=tuple(_made(-n) for n in range(9, 0, -1)))
    page = bench.history()
    assert _hours(page) == [-1, -2, -3, -4]
    assert page.next_cursor is not None
    assert bench.whole(50) == [-n for n in range(1, 10)]


@pytest.mark.parametrize(
    "cursor",
    ["x", seal((1, "", "", 0, 0), "occurrences of another"), seal((1, ""), "occurrences of s")],
)
def test_a_cursor_of_another_listing_is_refused(bench: HistoryBench, cursor: str) -> None:
    bench.put(define(), journal=(_made(-1),))
    with pytest.raises(InvalidInput) as refused:
        bench.history(50, cursor)
    assert [error.field for error in refused.value.errors] == ["cursor"]


# --- the newest runs of many schedules ----------------------------------------------------------


def _recent(bench: HistoryBench, count: int, faults: Faults | None = None) -> dict[str, list[Any]]:
    names = bench.schedules.list_schedules(after=None, limit=9).names
    schedules = [bench.schedule(name) for name in names]
    found = bench.queries(faults).recent(schedules, count=count)
    return {
        name: [((r.entry.first - START) / HOUR, r.job and r.job.status) for r in records]
        for name, records in found.items()
    }


def test_the_newest_runs_come_first_and_none_is_in_the_future(bench: HistoryBench) -> None:
    bench.put(define(), journal=(_made(-3), _skipped(-2), _made(-1), _made(0.05)), made=3)
    bench.put_job(-1, JobStatus.SUCCEEDED)
    bench.put_job(-3, JobStatus.DEAD)
    assert _recent(bench, 20) == {
        "s": [(-1, JobStatus.SUCCEEDED), (-2, None), (-3, JobStatus.DEAD)]
    }
    assert _recent(bench, 2) == {"s": [(-1, JobStatus.SUCCEEDED), (-2, None)]}


def test_the_jobs_of_all_schedules_are_read_together(bench: HistoryBench) -> None:
    bench.put(define(), journal=(_made(-1),), made=1)
    bench.put(define(), "t", journal=(_made(-2), _made(-1)), made=2)
    faults = Faults()
    found = _recent(bench, 20, faults)
    assert {name: len(runs) for name, runs in found.items()} == {"s": 1, "t": 2}
    assert [call.method for call in faults.calls if call.port == "jobs"] == ["get_many"]


@pytest.mark.parametrize(("made", "reads"), [(3, 1), (1, 0)])
def test_a_page_is_read_only_where_the_item_has_too_few(
    bench: HistoryBench, made: int, reads: int
) -> None:
    bench.put(define(), journal=(_made(-1),), made=made)
    bench.put_page(_made(-3), _made(-2))
    faults = Faults()
    runs = _recent(bench, 20, faults)["s"]
    assert [call.method for call in faults.calls].count("read_journal") == reads
    assert [hour for hour, _ in runs] == ([-1, -2, -3] if reads else [-1])
    assert [hour for hour, _ in _recent(bench, 1)["s"]] == [-1]


def test_a_schedule_that_never_ran_has_no_runs(bench: HistoryBench) -> None:
    bench.put(define())
    assert _recent(bench, 20) == {"s": []}


# --- how much is kept ---------------------------------------------------------------------------


def _keep(succeeded: int, failed: int) -> ScheduleDefinition:
    return define(keep=Keep(succeeded=succeeded, failed=failed))


@pytest.mark.parametrize("limit", [1, 2, 50])
def test_only_so_many_ended_jobs_are_told_of_on_all_pages_together(
    bench: HistoryBench, limit: int
) -> None:
    bench.put(_keep(2, 1), journal=tuple(_made(-n) for n in range(8, 0, -1)))
    for hour, status in enumerate(
        (
            JobStatus.RUNNING,
            JobStatus.SUCCEEDED,
            JobStatus.DEAD,
            JobStatus.SUCCEEDED,
            JobStatus.EXPIRED,
            JobStatus.SUCCEEDED,
            JobStatus.CANCELLED,
            JobStatus.ENQUEUED,
        ),
        1,
    ):
        bench.put_job(-hour, status)
    assert bench.whole(limit) == [-1, -2, -3, -4, -8]


def test_none_are_told_of_where_none_are_to_be_kept(bench: HistoryBench) -> None:
    bench.put(_keep(0, 0), journal=(_skipped(-3), _made(-2), _made(-1)))
    bench.put_job(-1, JobStatus.SUCCEEDED)
    bench.put_job(-2, JobStatus.DEAD)
    assert bench.whole(50) == [-3]


def test_what_was_skipped_is_not_counted(bench: HistoryBench) -> None:
    bench.put(_keep(1, 1), journal=tuple(_made(-n) for n in range(4, 0, -1)))
    for hour, reason in enumerate((SkipReason.OVERLAP, SkipReason.BUFFER_FULL, "by hand"), 1):
        cancelled = make_event(
            kind=EventKind.CANCELLED, status=JobStatus.CANCELLED, reason=str(reason)
        )
        bench.put_job(-hour, JobStatus.CANCELLED, history=(make_event(), cancelled))
    bench.put_job(-4, JobStatus.DEAD)
    # The one that was cancelled by hand is the only one that failed and may be told of.
    assert bench.whole(50) == [-1, -2, -3]


def test_a_job_that_is_gone_counts_with_those_that_succeeded(bench: HistoryBench) -> None:
    bench.put(_keep(2, 0), journal=tuple(_made(-n) for n in range(4, 0, -1)))
    bench.put_job(-1, JobStatus.SUCCEEDED)
    assert bench.whole(50) == [-1, -2]
