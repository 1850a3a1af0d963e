"""Asking for a backfill: what is refused, what a report says, and how it is begun."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from hourhand.api.requests.schedule_operations import BackfillInput
from hourhand.domain.errors import InvalidInput, NotFound, Unavailable, WrongState
from hourhand.domain.groups.overlap import OverlapPolicy
from hourhand.domain.schedules import backfills
from hourhand.domain.schedules.backfills import BackfillChange
from hourhand.domain.schedules.schedule import (
    Backfill,
    BackfillOrder,
    BackfillStatus,
    Reprocess,
    SkipReason,
)
from hourhand.domain.times import rfc3339
from hourhand.memory import START, MemoryRandomness
from hourhand.services.schedules import backfills as module
from hourhand.services.schedules.backfills import BackfillReport, BackfillService
from hourhand.services.schedules.history import ScheduleHistory
from tests.unit.services.schedule_bench import Bench, define
from tests.world.faults import Faults

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def _service(bench: Bench, faults: Faults | None = None) -> BackfillService:
    store = (faults or Faults()).wrap(bench.schedules)
    return BackfillService(
        store,
        bench.recurrences,
        bench.backfill_work(faults),
        ScheduleHistory(bench.schedules, bench.timings, bench.telemetry),
        bench.clock,
        bench.randomness,
        bench.telemetry,
    )


def _start(
    bench: Bench,
    start: datetime = START - 4 * HOUR,
    end: datetime = START,
    *,
    faults: Faults | None = None,
    **body: Any,
) -> BackfillReport:
    request = BackfillInput.parse({"from": rfc3339(start), "to": rfc3339(end), **body})
    return _service(bench, faults).start("s", request, actor="caller")


def _stored(bench: Bench, report: BackfillReport) -> Backfill:
    assert report.backfill is not None
    found = bench.schedules.get_backfill("s", report.backfill.id)
    assert found is not None
    return found


# --- begun --------------------------------------------------------------------------------------


def test_a_backfill_is_stored_and_its_schedule_wants_a_visit(bench: Bench) -> None:
    bench.put(define(), next_at=START + HOUR)
    bench.clock.advance(1)
    report = _start(bench, note="lost on Monday", order="newest", reprocess="failed", max_active=3)
    backfill = _stored(bench, report)
    assert backfill == report.backfill
    assert (backfill.start, backfill.end, backfill.total) == (START - 4 * HOUR, START, 5)
    assert (backfill.overlap, backfill.order) == (OverlapPolicy.BUFFER_ALL, BackfillOrder.NEWEST)
    assert (backfill.reprocess, backfill.max_active) == (Reprocess.FAILED, 3)
    assert (backfill.definition, backfill.note) == ("d1", "lost on Monday")
    assert backfill.keep_until == bench.clock.now() + 90 * DAY
    schedule = bench.schedule()
    assert (schedule.backfills, schedule.next_at) == ((backfill.id,), bench.clock.now())


def test_a_schedule_that_is_paused_can_be_backfilled(bench: Bench) -> None:
    bench.put(define(), paused_at=START, next_at=None)
    assert _start(bench).backfill is not None
    assert bench.schedule().next_at == START


@pytest.mark.parametrize(
    ("body", "max_active"),
    [({}, 100), ({"max_active": 1}, 1), ({"max_active": 7}, 7)],
)
def test_where_all_may_run_at_once_the_most_do_unless_it_is_said(
    bench: Bench, body: dict[str, Any], max_active: int
) -> None:
    bench.put(define())
    assert _stored(bench, _start(bench, overlap="allow", **body)).max_active == max_active


def test_a_report_names_the_first_fires_in_the_order_in_which_they_run(bench: Bench) -> None:
    bench.put(define("* * * * *"))
    oldest = _start(bench)
    assert (oldest.first, oldest.last, oldest.total) == (START - 4 * HOUR, START, 241)
    assert (len(oldest.fires), oldest.fires[0], oldest.dry_run) == (100, oldest.first, False)
    assert oldest.fires[99] == START - 4 * HOUR + timedelta(minutes=99)
    newest = _start(bench, order="newest")
    assert (newest.first, newest.last) == (oldest.first, oldest.last)
    assert newest.fires[:2] == (START, START - timedelta(minutes=1))


def test_a_dry_run_tells_the_same_and_begins_nothing(bench: Bench) -> None:
    before = bench.put(define())
    report = _start(bench, dry_run=True)
    assert (report.backfill, report.total, report.dry_run) == (None, 5, True)
    assert (report.first, report.last) == (START - 4 * HOUR, START)
    assert bench.schedule() == before


def test_a_range_without_nominal_times_begins_nothing(bench: Bench) -> None:
    before = bench.put(define())
    report = _start(bench, START - HOUR / 2, START - HOUR / 3)
    assert report == BackfillReport(None, None, None, 0, (), dry_run=False, schedule=before)
    assert bench.schedule() == before


def test_its_first_jobs_are_made_at_once(bench: Bench) -> None:
    bench.put(define())
    report = _start(bench, overlap="allow", max_active=2)
    made = sorted(job.occurrence for job in bench.jobs.jobs().values() if job.occurrence)
    assert made == [START - 4 * HOUR, START - 3 * HOUR]
    assert report.backfill is not None
    assert (report.backfill.position, report.backfill.total) == (2, 5)
    assert bench.schedule().backfills == (report.backfill.id,)
    assert len(bench.queues.messages()) == 2


def test_first_jobs_that_fail_to_be_made_are_left_to_the_next_tick(bench: Bench) -> None:
    bench.put(define())
    report = _start(bench, faults=Faults().throttle("jobs.get_many"))
    assert _stored(bench, report) == report.backfill
    assert bench.schedule().backfills
    assert bench.jobs.jobs() == {}
    [warning] = bench.telemetry.warnings
    assert (
        warning.sentence == "A backfill was started or changed. Its jobs are left to the next tick."
    )


def test_a_backfill_of_one_instant_runs_the_time_that_it_is(bench: Bench) -> None:
    bench.put(define())
    one = START - HOUR
    assert [_start(bench, one, end, dry_run=True).total for end in (one, START)] == [1, 2]
    beside = one + timedelta(milliseconds=1)
    assert _start(bench, beside, beside, dry_run=True).total == 0


# --- refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (START - HOUR, START - 2 * HOUR),
        (START - HOUR, START + timedelta(milliseconds=1)),
    ],
)
def test_a_range_that_is_reversed_or_not_of_the_past_is_refused(
    bench: Bench, start: datetime, end: datetime
) -> None:
    bench.put(define())
    with pytest.raises(InvalidInput) as refused:
        _start(bench, start, end)
    assert [error.field for error in refused.value.errors] == ["to"]


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_range_of_too_many_nominal_times_is_refused_naming_their_number(
    bench: Bench, dry_run: bool
) -> None:
    bench.put(define("* * * * *"))
    most = timedelta(minutes=backfills.MAX_BACKFILL_TIMES)
    assert _start(bench, START - most + timedelta(minutes=1), dry_run=True).total == 10_000
    with pytest.raises(InvalidInput) as refused:
        _start(bench, START - most, dry_run=dry_run)
    [error] = refused.value.errors
    assert error.field == "from"
    assert "has 10,001 scheduled times" in error.message


def test_a_range_of_more_than_can_be_counted_is_refused(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Twenty units to begin with, and one for each time.
    monkeypatch.setattr(backfills, "MAX_WORK", 24)
    bench.put(define())
    with pytest.raises(InvalidInput) as refused:
        _start(bench)
    assert "more than 3 scheduled times" in refused.value.errors[0].message


def test_a_schedule_that_does_not_exist_or_is_deleted_is_not_found(bench: Bench) -> None:
    with pytest.raises(NotFound):
        _start(bench)
    bench.put(define(), deleted_at=START)
    with pytest.raises(NotFound):
        _start(bench)


def test_a_definition_that_is_not_there_is_asked_for_again(bench: Bench) -> None:
    bench.put(define())
    bench.change(definition="unknown")
    with pytest.raises(Unavailable):
        _start(bench)


def test_a_schedule_has_only_so_many_backfills_at_a_time(bench: Bench) -> None:
    bench.put(define())
    for _ in range(5):
        _start(bench)
    with pytest.raises(WrongState, match="5 backfills under way"):
        _start(bench)
    assert _start(bench, dry_run=True).total == 5
    assert len(bench.schedule().backfills) == 5


# --- beside others, and dying -------------------------------------------------------------------


def test_a_schedule_that_changed_meanwhile_is_judged_as_it_stands(bench: Bench) -> None:
    bench.put(define())
    report = _start(bench, faults=Faults().interrupt("write", lambda: _start(bench)))
    assert report.backfill is not None
    assert len(bench.schedule().backfills) == 2
    assert bench.schedule().backfills[1] == report.backfill.id


def test_the_last_place_among_the_backfills_is_given_once(bench: Bench) -> None:
    bench.put(define(), backfills=("1", "2", "3", "4"))
    faults = Faults().interrupt("write", lambda: _start(bench))
    with pytest.raises(WrongState):
        _start(bench, faults=faults)


def test_a_schedule_that_was_deleted_meanwhile_is_not_found(bench: Bench) -> None:
    bench.put(define())
    faults = Faults().interrupt("write", lambda: bench.change(deleted_at=START))
    with pytest.raises(NotFound):
        _start(bench, faults=faults)


def test_a_schedule_that_changes_all_the_time_is_given_up(bench: Bench) -> None:
    bench.put(define())
    faults = Faults()
    for nth in range(1, module.MAX_LOST_RACES + 1):
        faults.interrupt("write", partial(bench.change, note=str(nth)), nth=nth)
    with pytest.raises(Unavailable):
        _start(bench, faults=faults)


def test_what_was_begun_by_half_is_worked_at_by_nobody_and_expires(bench: Bench) -> None:
    bench.put(define())
    faults = Faults().throttle("write")
    with pytest.raises(Unavailable):
        _start(bench, faults=faults)
    assert bench.schedule().backfills == ()
    assert bench.schedules.delete_expired(START + 91 * DAY) == 1


def test_an_id_that_is_taken_is_not_written_over(bench: Bench) -> None:
    bench.put(define())
    taken = replace(
        _stored(bench, _start(bench)),
        id=f"000002-{MemoryRandomness(7).nonce()}",
        write_id="another",
    )
    bench.schedules.write_backfill(taken, previous=None)
    bench.randomness = MemoryRandomness(7)
    with pytest.raises(Unavailable):
        _start(bench)
    assert bench.schedules.get_backfill("s", taken.id) == taken


# --- changed ------------------------------------------------------------------------------------


def _change(
    bench: Bench, change: BackfillChange, number: int = 1, faults: Faults | None = None
) -> Backfill:
    return _service(bench, faults).change("s", number, change, "why", "local")[0]


def test_a_change_is_on_record_with_its_caller(bench: Bench) -> None:
    bench.put(define())
    _start(bench)
    assert _change(bench, BackfillChange.PAUSE).paused_at == START
    event = bench.schedule().last_event
    assert event is not None
    assert (event.kind.name, event.actor, event.note) == (
        "CHANGED",
        "local",
        "backfill 1 paused: why",
    )
    sequence = bench.schedule().sequence
    _change(bench, BackfillChange.PAUSE)
    assert bench.schedule().sequence == sequence, "it was paused already"


def test_one_that_ended_is_not_changed_and_one_that_is_not_there_is_not_found(bench: Bench) -> None:
    bench.put(define())
    _start(bench)
    _change(bench, BackfillChange.CANCEL)
    assert _change(bench, BackfillChange.CANCEL).cancelled_at == START
    with pytest.raises(WrongState, match="Backfill 1 of schedule s is cancelled"):
        _change(bench, BackfillChange.RESUME)
    for number in (2, 10):
        with pytest.raises(NotFound):
            _change(bench, BackfillChange.PAUSE, number)


def test_a_record_that_lost_its_number_to_another_one_is_not_shown(bench: Bench) -> None:
    bench.put(define())
    faults = Faults().interrupt("write", lambda: bench.change(note="other"))
    _start(bench, faults=faults)
    assert len(bench.schedules.list_backfills("s", before=None, limit=9)) == 2
    found, after = _service(bench).list("s", None, 9)
    assert ([one.number for one, _ in found], after) == ([1], None)
    # One record before it, on a page of one, which may be empty.
    pages, place = [], None
    for _ in range(3):
        page, place = _service(bench).list("s", place, 1)
        pages.append(len(page))
    assert (sorted(pages), place) == ([0, 0, 1], None)


def test_a_change_beside_a_step_is_made_after_it(bench: Bench) -> None:
    bench.put(define())
    _start(bench)

    def step() -> None:
        [found] = bench.schedules.list_backfills("s", before=None, limit=1)
        after = replace(found, sequence=found.sequence + 1, write_id="another")
        assert bench.schedules.write_backfill(after, previous=found.sequence)

    faults = Faults().interrupt("write_backfill", step)
    assert _change(bench, BackfillChange.PAUSE, faults=faults).paused_at == START
    faults = Faults()
    for nth in range(1, module.MAX_LOST_RACES + 1):
        faults.interrupt("write_backfill", step, nth=nth)
    with pytest.raises(Unavailable):
        _change(bench, BackfillChange.RESUME, faults=faults)


def test_a_backfill_whose_definition_is_gone_can_be_cancelled(bench: Bench) -> None:
    bench.put(define())
    _start(bench)
    bench.schedules.retire_definition("s", "d1", START)
    bench.schedules.delete_expired(START + HOUR)
    cancelled = _change(bench, BackfillChange.CANCEL)
    assert cancelled.status(bench.schedule()) is BackfillStatus.CANCELLED


def test_the_status_is_that_of_the_backfill_and_of_its_schedule(bench: Bench) -> None:
    bench.put(define())
    backfill = _stored(bench, _start(bench))
    schedule = bench.schedule()
    assert backfill.status(schedule) is BackfillStatus.RUNNING
    assert backfill.status(replace(schedule, paused_at=START)) is BackfillStatus.PAUSED
    done = replace(backfill, waiting=(), position=backfill.total)
    assert done.status(schedule) is BackfillStatus.DONE
    assert backfill.status(replace(schedule, backfills=())) is BackfillStatus.CANCELLED
    assert backfill.stopped_by(replace(schedule, deleted_at=START)) is SkipReason.DELETED
    assert (backfill.number, replace(backfill, id="older").number) == (1, 0)
