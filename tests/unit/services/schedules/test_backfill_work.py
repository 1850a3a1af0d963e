"""Working off backfills, step by step, through crashes and beside others."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NoReturn

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.domain.groups.overlap import OverlapPolicy
from hourhand.domain.ids import occurrence_job_id
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.schedules import backfills
from hourhand.domain.schedules.backfills import mark_of, overlap_of
from hourhand.domain.schedules.recurrence import ExcludedTimes
from hourhand.domain.schedules.recurrence._exclusions import UNITS_TO_START
from hourhand.domain.schedules.rule import BadExpression
from hourhand.domain.schedules.schedule import (
    Backfill,
    BackfillOrder,
    CalendarName,
    JournalEntry,
    Reprocess,
    ScheduleDefinition,
)
from hourhand.memory import FAKE_SECRET, START
from hourhand.services.schedules import backfills as services
from hourhand.testing import Crash
from tests.unit.services.schedule_bench import Bench, define
from tests.world.factories import make_job
from tests.world.faults import Faults, When

HOUR = timedelta(hours=1)
FIRST = START - 9 * HOUR
HOURLY = define(payload_text='{"region": "eu"}')


class BackfillBench(Bench):
    """A schedule with one backfill of five hours."""

    definition: ScheduleDefinition = HOURLY

    def begin(self, **fields: Any) -> Backfill:
        """Store a schedule and a backfill of it."""
        standard: dict[str, Any] = {
            "id": "b1",
            "schedule_id": "s",
            "sequence": 1,
            "write_id": "begun",
            "definition": "d1",
            "start": FIRST,
            "end": FIRST + 4 * HOUR,
            "total": 5,
            "created_at": START,
        }
        backfill = Backfill(**(standard | fields))
        self.put(self.definition, backfills=("b1",))
        self.schedules.write_backfill(backfill, previous=None)
        return backfill

    def step(self, faults: Faults | None = None) -> tuple[Backfill, tuple[JournalEntry, ...]]:
        """Take one step from the backfill as it stands."""
        work = self.backfill_work(faults)
        now = self.clock.now()
        return work.step(self.schedule(), self.definition, self.backfill, now=now, actor="tick")

    @property
    def backfill(self) -> Backfill:
        found = self.schedules.get_backfill("s", "b1")
        assert found is not None
        return found

    def of(self, number: int, salt: str = "") -> str:
        """Return the id of the job of a nominal time, counted from 0."""
        return occurrence_job_id(FAKE_SECRET, "s", FIRST + number * HOUR, salt)

    def put_job(self, number: int, status: JobStatus, **fields: Any) -> Job:
        job = make_job(id=self.of(number), status=status, schedule_id="s", **fields)
        self.jobs.put(job)
        return job

    def end(self, job_id: str, status: JobStatus = JobStatus.SUCCEEDED) -> None:
        """Let a job end, whatever it takes: the store is given another one in its place."""
        ended = make_job(id=job_id, status=status, history=self.job(job_id).history)
        others = [job for job in self.jobs.jobs().values() if job.id != job_id]
        self.jobs = type(self.jobs)(clock=self.clock)
        for job in (*others, ended):
            self.jobs.put(job)

    def told(self) -> list[tuple[datetime, str]]:
        """Return what the journal's pages tell of, in order."""
        pages = self.schedules.read_journal("s", before=None, limit=99)
        return sorted((entry.first, entry.salt) for page in pages for entry in page.entries)


@pytest.fixture
def bench() -> BackfillBench:
    return BackfillBench()


# --- what is made -------------------------------------------------------------------------------


def test_each_nominal_time_gets_a_job_that_runs_now(bench: BackfillBench) -> None:
    bench.begin()
    backfill, entries = bench.step()
    assert [entry.first for entry in entries] == [FIRST + n * HOUR for n in range(5)]
    assert bench.told() == [(FIRST + n * HOUR, "") for n in range(5)]
    assert (backfill.position, backfill.made, backfill.skipped) == (5, 5, 0)
    assert backfill.position == backfill.total
    assert backfill == bench.backfill
    for number in range(5):
        job = bench.job(bench.of(number))
        assert (job.occurrence, job.run_at) == (FIRST + number * HOUR, START)
        assert job.previous_occurrence == job.interval_start == FIRST + (number - 1) * HOUR
        assert (job.status, job.schedule_revision) == (JobStatus.ENQUEUED, None)
        assert (job.overlap, job.payload.text) == (overlap_of(backfill), '{"region": "eu"}')
    assert len(bench.queues.messages()) == 5


def test_the_newest_come_first_where_it_is_asked(
    bench: BackfillBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backfills, "MAX_WAITING", 1)
    bench.begin(order=BackfillOrder.NEWEST)
    bench.step()
    assert bench.told() == [(FIRST + n * HOUR, "") for n in (3, 4)]
    assert bench.job(bench.of(3)).interval_start == FIRST + 2 * HOUR


def test_no_more_are_made_than_there_is_room_for(
    bench: BackfillBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backfills, "MAX_WAITING", 1)
    bench.begin()
    backfill, _ = bench.step()
    assert backfill.waiting == (bench.of(0), bench.of(1))
    assert bench.step() == (backfill, ())
    assert bench.backfill == backfill
    bench.end(bench.of(0))
    backfill, entries = bench.step()
    assert backfill.waiting == (bench.of(1), bench.of(2))
    assert [entry.first for entry in entries] == [FIRST + 2 * HOUR]


def test_a_job_that_was_forgotten_takes_no_room(
    bench: BackfillBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backfills, "MAX_WAITING", 0)
    bench.begin(waiting=("unknown",))
    assert bench.step()[0].waiting == (bench.of(0),)


def test_while_there_is_no_room_nothing_is_computed(
    bench: BackfillBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backfills, "MAX_WAITING", 1)
    bench.begin()
    before, _ = bench.step()

    def list_rest(*_: object) -> NoReturn:
        raise AssertionError("It takes half a second, at each tick.")

    monkeypatch.setattr(services, "list_rest", list_rest)
    assert bench.step() == (before, ())


def test_jobs_that_ended_are_noted_though_there_is_no_room_for_others(
    bench: BackfillBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backfills, "MAX_WAITING", 1)
    bench.begin()
    bench.step()
    monkeypatch.setattr(backfills, "MAX_WAITING", 0)
    bench.end(bench.of(0))
    backfill, entries = bench.step()
    assert (backfill.waiting, backfill.position, entries) == ((bench.of(1),), 2, ())
    assert bench.backfill == backfill


def test_where_all_may_run_at_once_they_are_not_judged(bench: BackfillBench) -> None:
    bench.begin(overlap=OverlapPolicy.ALLOW, max_active=3)
    assert bench.step()[0].position == 3
    assert bench.job(bench.of(0)).overlap is None


def test_a_step_looks_at_so_many_nominal_times_and_the_next_goes_on(
    bench: BackfillBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "MAX_TIMES_A_STEP", 2)
    bench.begin()
    assert [bench.step()[0].position for _ in range(4)] == [2, 4, 5, 5]
    assert len(bench.told()) == 5


def test_a_backfill_that_is_done_is_left_alone(bench: BackfillBench) -> None:
    done = bench.begin(position=5)
    faults = Faults()
    assert bench.step(faults) == (done, ())
    assert faults.calls == []


def test_its_record_is_kept_while_it_is_worked_at(bench: BackfillBench) -> None:
    bench.begin(keep_until=START + timedelta(days=1))
    assert bench.step()[0].keep_until == START + timedelta(days=90)


# --- what has a job already ---------------------------------------------------------------------


def test_what_has_a_job_is_skipped(bench: BackfillBench) -> None:
    bench.begin()
    bench.put_job(1, JobStatus.DEAD)
    bench.put_job(2, JobStatus.RUNNING)
    backfill, entries = bench.step()
    assert (backfill.made, backfill.skipped, len(entries)) == (3, 2, 3)
    assert bench.job(bench.of(1)).status is JobStatus.DEAD


def test_what_failed_is_redriven_in_the_backfills_own_group(bench: BackfillBench) -> None:
    begun = bench.begin(reprocess=Reprocess.FAILED)
    bench.put_job(0, JobStatus.SUCCEEDED)
    bench.put_job(1, JobStatus.DEAD)
    backfill, entries = bench.step()
    assert (backfill.made, backfill.skipped) == (4, 1)
    # The journal told of the redriven one when it was made.
    assert len(entries) == 3
    job = bench.job(bench.of(1))
    assert (job.status, job.round, job.overlap) == (JobStatus.ENQUEUED, 2, overlap_of(begun))
    assert (job.history[-1].reason, job.history[-1].actor) == (mark_of(begun), "tick")
    assert set(backfill.waiting) == {bench.of(number) for number in range(1, 5)}


def test_what_ended_gets_another_job_where_all_is_run_again(bench: BackfillBench) -> None:
    bench.begin(reprocess=Reprocess.ALL)
    bench.put_job(0, JobStatus.SUCCEEDED)
    bench.put_job(1, JobStatus.RUNNING)
    backfill, entries = bench.step()
    assert (backfill.made, backfill.skipped) == (4, 1)
    assert entries[0] == JournalEntry(first=FIRST, last=FIRST, salt="b1")
    assert bench.job(bench.of(0, "b1")).occurrence == FIRST
    assert bench.job(bench.of(0)).status is JobStatus.SUCCEEDED


def test_a_job_that_somebody_else_redrove_meanwhile_is_skipped(bench: BackfillBench) -> None:
    bench.begin(reprocess=Reprocess.FAILED)
    bench.put_job(0, JobStatus.DEAD)
    faults = Faults()

    def redrive() -> None:
        bench.backfill_work().operations.redrive(bench.of(0), actor="caller")

    faults.interrupt("jobs.get_many", redrive, when=When.AFTER)
    backfill, _ = bench.step(faults)
    assert (backfill.made, backfill.skipped) == (4, 1)
    assert bench.job(bench.of(0)).round == 2


# --- what changes under its eyes ----------------------------------------------------------------


@pytest.mark.parametrize(("excluded_hours", "made"), [(2, 3), (9, 0)])
def test_a_backfill_ends_though_a_calendar_made_it_less_meanwhile(
    bench: BackfillBench, excluded_hours: int, made: int
) -> None:
    bench.definition = replace(HOURLY, exclude=(CalendarName("outage"),))
    bench.put_calendar("outage", ExcludedTimes(FIRST, FIRST + excluded_hours * HOUR))
    bench.begin()
    backfill, entries = bench.step()
    assert (backfill.position == backfill.total, backfill.made, len(entries)) == (True, made, made)


def test_a_backfill_ends_though_a_calendar_made_it_more_meanwhile(bench: BackfillBench) -> None:
    bench.begin(total=3)
    backfill, _ = bench.step()
    assert (backfill.position == backfill.total, backfill.made, backfill.total) == (True, 5, 5)


@pytest.mark.parametrize("order", BackfillOrder)
@pytest.mark.parametrize("is_excluded_first", [True, False])
def test_a_calendar_that_changes_midway_costs_no_nominal_time_but_those_it_excludes(
    bench: BackfillBench,
    monkeypatch: pytest.MonkeyPatch,
    order: BackfillOrder,
    is_excluded_first: bool,
) -> None:
    monkeypatch.setattr(services, "MAX_TIMES_A_STEP", 2)
    first = 0 if order is BackfillOrder.OLDEST else 3
    done_with = ExcludedTimes(FIRST + first * HOUR, FIRST + (first + 2) * HOUR)
    bench.definition = replace(HOURLY, exclude=(CalendarName("outage"),))
    bench.put_calendar("outage", *((done_with,) if is_excluded_first else ()))
    bench.begin(order=order)
    bench.step()
    # What was dealt with is excluded now, or is not any more: the rest must not shift.
    bench.put_calendar("outage", *(() if is_excluded_first else (done_with,)))
    bench.recurrences = bench.recurrences_of(bench.schedules)
    for _ in range(3):
        bench.step()
    backfill = bench.backfill
    assert backfill.position == backfill.total
    made = {job.occurrence for job in bench.jobs.jobs().values()}
    assert {FIRST + n * HOUR for n in range(5) if n not in (first, first + 1)} <= made
    assert backfill.total == backfill.position == backfill.made == len(made)


def test_what_one_step_cannot_count_out_is_left_to_the_next_ones(
    bench: BackfillBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.begin()
    # Its calendars may make each time so expensive meanwhile that few are counted at a time.
    monkeypatch.setattr(backfills, "MAX_WORK", UNITS_TO_START + 3)
    steps = [bench.step()[0] for _ in range(3)]
    assert [(b.position, b.position == b.total) for b in steps] == [
        (2, False),
        (4, False),
        (5, True),
    ]
    assert bench.told() == [(FIRST + n * HOUR, "") for n in range(5)]


@pytest.mark.parametrize(
    ("order", "excluded_hours"), [(BackfillOrder.NEWEST, 1), (BackfillOrder.OLDEST, 5)]
)
def test_a_rest_whose_next_time_cannot_be_found_is_an_error_and_makes_nothing(
    bench: BackfillBench,
    monkeypatch: pytest.MonkeyPatch,
    order: BackfillOrder,
    excluded_hours: int,
) -> None:
    bench.definition = replace(HOURLY, exclude=(CalendarName("outage"),))
    bench.put_calendar("outage", ExcludedTimes(FIRST, FIRST + excluded_hours * HOUR))
    begun = bench.begin(order=order)
    # The newest is not known until all are counted, the oldest as soon as one is not excluded.
    monkeypatch.setattr(backfills, "MAX_WORK", UNITS_TO_START + 3)
    with pytest.raises(BadExpression, match="cannot be counted"):
        bench.step()
    assert (bench.backfill, bench.jobs.jobs(), bench.told()) == (begun, {}, [])


def test_a_step_that_another_visit_took_as_well_counts_once(bench: BackfillBench) -> None:
    bench.begin()
    backfill, _ = bench.step(Faults().interrupt("schedules.write_backfill", bench.step))
    assert backfill == bench.backfill
    assert (backfill.made, backfill.sequence) == (5, 2)
    assert len(bench.jobs.jobs()) == len(bench.told()) == 5


def test_a_record_that_is_gone_ends_no_visit(bench: BackfillBench) -> None:
    begun = bench.begin()
    faults = Faults()

    def lose() -> None:
        expiring = replace(begun, sequence=2, write_id="other", keep_until=START)
        bench.schedules.write_backfill(expiring, previous=1)
        bench.schedules.delete_expired(START + HOUR)

    faults.interrupt("schedules.write_backfill", lose)
    stepped, _ = bench.step(faults)
    assert stepped.position == stepped.total


# --- dying anywhere -----------------------------------------------------------------------------


@pytest.mark.parametrize("reprocess", Reprocess)
@pytest.mark.parametrize("when", When)
def test_a_step_that_dies_anywhere_makes_nothing_twice(when: When, reprocess: Reprocess) -> None:
    crashes = 0
    for number in range(1, 100):
        bench = BackfillBench()
        bench.begin(reprocess=reprocess)
        for job, status in enumerate((JobStatus.SUCCEEDED, JobStatus.DEAD, JobStatus.RUNNING)):
            bench.put_job(job, status)
        faults = Faults().crash(number, when)
        try:
            bench.step(faults)
        except Crash:
            crashes += 1
            bench.step()
        again = {Reprocess.NONE: (), Reprocess.FAILED: (), Reprocess.ALL: (0, 1)}[reprocess]
        made = {*map(bench.of, range(5)), *(bench.of(job, "b1") for job in again)}
        assert {*bench.jobs.jobs()} == made
        assert bench.told() == sorted(
            [(FIRST + n * HOUR, "") for n in (3, 4)] + [(FIRST + n * HOUR, "b1") for n in again]
        )
        redriven = reprocess is Reprocess.FAILED
        assert bench.job(bench.of(1)).round == (2 if redriven else 1)
        assert bench.backfill.made == 2 + len(again) + redriven
        assert bench.backfill.position == 5
        if not faults.is_crashed:
            break
    assert crashes >= 5


def test_a_redriven_job_that_failed_again_before_the_step_is_repeated_is_let_be(
    bench: BackfillBench,
) -> None:
    bench.begin(reprocess=Reprocess.FAILED)
    bench.put_job(0, JobStatus.DEAD)
    faults = Faults().throttle("schedules.write_backfill")
    with pytest.raises(Unavailable):
        bench.step(faults)
    bench.end(bench.of(0), JobStatus.DEAD)
    backfill, _ = bench.step()
    assert (backfill.made, backfill.skipped) == (5, 0)
    assert bench.of(0) not in backfill.waiting
    assert bench.job(bench.of(0)).status is JobStatus.DEAD
