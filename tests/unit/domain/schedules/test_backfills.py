"""Which past nominal times a backfill covers, and which of them run now."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hourhand.domain.groups.overlap import NO_LIMIT, Overlap, OverlapPolicy
from hourhand.domain.ids import occurrence_job_id
from hourhand.domain.jobs.job import EventKind, Job, JobStatus
from hourhand.domain.schedules import backfills
from hourhand.domain.schedules.backfills import (
    MAX_BACKFILL_TIMES,
    BackfillPlan,
    in_order,
    job_ids,
    list_nominal_times,
    list_rest,
    nominal_time_before,
    overlap_of,
    plan_step,
    room_of,
)
from hourhand.domain.schedules.recurrence import (
    EARLIEST,
    ExcludedTimes,
    Recurrence,
    Rule,
    compile_rule,
)
from hourhand.domain.schedules.schedule import (
    Backfill,
    BackfillOrder,
    JournalEntry,
    Reprocess,
    ScheduleDefinition,
    SkipReason,
)
from hourhand.memory import FAKE_SECRET
from tests.world.factories import make_event, make_job

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
NOW = START + timedelta(days=2)
HOUR = timedelta(hours=1)
HALF = timedelta(minutes=30)


def _rule(*expressions: str, exclude: tuple[Any, ...] = ()) -> Recurrence:
    return compile_rule(Rule(expressions=expressions or ("0 * * * *",), exclude=exclude))


def _define(**fields: Any) -> ScheduleDefinition:
    return ScheduleDefinition(expressions=("0 * * * *",), handler="greet", **fields)


def _backfill(**fields: Any) -> Backfill:
    backfill = Backfill(
        id="b1",
        schedule_id="s",
        sequence=1,
        write_id="w",
        definition="d",
        start=START,
        end=START + 3 * HOUR,
        total=4,
        created_at=NOW,
    )
    return replace(backfill, **fields)


def _hours(times: Iterable[datetime]) -> list[float]:
    return [(time - START) / HOUR for time in times]


# --- the range ----------------------------------------------------------------------------------


def _times(start: datetime, end: datetime, **fields: Any) -> list[float]:
    found = list_nominal_times(_rule(), _define(**fields), start, end)
    assert found.total == len(found.times)
    assert not found.is_least
    return _hours(found.times)


def test_both_ends_of_a_range_belong_to_it() -> None:
    assert _times(START, START + 2 * HOUR) == [0, 1, 2]
    assert _times(START - HALF, START + HALF) == [0]
    assert _times(START + HALF, START + HALF) == []


def test_a_range_is_cut_to_the_start_and_end_of_the_definition() -> None:
    bounds = {"start_at": START + HOUR, "end_at": START + 3 * HOUR}
    assert _times(START, START + 9 * HOUR, **bounds) == [1, 2, 3]
    assert _times(START + 2 * HOUR, START + 9 * HOUR, **bounds) == [2, 3]
    assert _times(START, START + 2 * HOUR, **bounds) == [1, 2]


def test_what_is_excluded_is_no_part_of_a_backfill() -> None:
    rule = _rule(exclude=(ExcludedTimes(START + HOUR, START + 2 * HOUR),))
    found = list_nominal_times(rule, _define(), START, START + 3 * HOUR)
    assert _hours(found.times) == [0, 2, 3]


def test_times_beyond_what_a_backfill_may_have_are_counted_only() -> None:
    end = START + timedelta(minutes=MAX_BACKFILL_TIMES + 50)
    found = list_nominal_times(_rule("* * * * *"), _define(), START, end)
    assert found.total == MAX_BACKFILL_TIMES + 51
    assert len(found.times) == MAX_BACKFILL_TIMES + 1


def test_a_range_with_more_fires_than_can_be_counted_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Twenty units to begin with, and one for each time.
    monkeypatch.setattr(backfills, "MAX_WORK", 24)
    found = list_nominal_times(_rule(), _define(), START, START + 9 * HOUR)
    assert (found.total, found.is_least) == (3, True)
    found = list_nominal_times(_rule(), _define(), START, START + 2 * HOUR)
    assert (found.total, found.is_least) == (3, False)


def test_of_too_many_times_the_first_are_held_or_the_last_where_it_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backfills, "MAX_BACKFILL_TIMES", 1)
    first = list_nominal_times(_rule(), _define(), START, START + 4 * HOUR)
    last = list_nominal_times(_rule(), _define(), START, START + 4 * HOUR, keeps_newest=True)
    assert (_hours(first.times), _hours(last.times)) == ([0, 1], [3, 4])
    assert first.total == last.total == 5


@pytest.mark.parametrize(
    ("order", "reached", "rest"),
    [
        (BackfillOrder.OLDEST, None, [0, 1, 2, 3]),
        (BackfillOrder.OLDEST, 1, [2, 3]),
        (BackfillOrder.OLDEST, 3, []),
        (BackfillOrder.NEWEST, None, [0, 1, 2, 3]),
        (BackfillOrder.NEWEST, 1, [0]),
        (BackfillOrder.NEWEST, 0, []),
    ],
)
def test_what_is_still_to_come_lies_beyond_what_was_reached(
    order: BackfillOrder, reached: int | None, rest: list[float]
) -> None:
    backfill = _backfill(
        order=order, reached=None if reached is None else START + reached * HOUR, position=9
    )
    assert _hours(list_rest(_rule(), _define(), backfill).times) == rest


def test_of_what_is_still_to_come_the_next_is_held_in_either_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backfills, "MAX_BACKFILL_TIMES", 1)
    assert _hours(list_rest(_rule(), _define(), _backfill()).times) == [0, 1]
    newest = _backfill(order=BackfillOrder.NEWEST)
    assert _hours(list_rest(_rule(), _define(), newest).times) == [2, 3]


# --- the nominal time before --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "before"),
    [
        ("*/20 * * * * *", START - timedelta(seconds=20)),
        ("* * * * *", START - timedelta(minutes=1)),
        ("0 * * * *", START - HOUR),
        ("30 8 * * *", START - HALF),
        ("0 9 * * *", START - timedelta(days=1)),
        ("0 0 1 * *", datetime(2026, 1, 1, tzinfo=UTC)),
        ("0 0 1 7 *", datetime(2025, 7, 1, tzinfo=UTC)),
        ("0 0 29 2 *", datetime(2024, 2, 29, tzinfo=UTC)),
        ("at(2010-01-01T00:00)", None),
    ],
)
def test_the_nominal_time_before_is_found_however_far_it_is(
    expression: str, before: datetime | None
) -> None:
    assert nominal_time_before(_rule(expression), _define(), START) == before


def test_the_nominal_time_before_is_not_excluded() -> None:
    rule = _rule(exclude=(ExcludedTimes(START - 5 * HOUR, START),))
    assert nominal_time_before(rule, _define(), START) == START - 6 * HOUR


def test_there_is_no_nominal_time_before_the_start_of_the_definition() -> None:
    assert nominal_time_before(_rule(), _define(start_at=START - HOUR), START) == START - HOUR
    assert nominal_time_before(_rule(), _define(start_at=START - HALF), START) is None
    assert nominal_time_before(_rule(), _define(), EARLIEST) is None


def test_the_search_for_the_nominal_time_before_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rule = _rule("* * * * *", exclude=(ExcludedTimes(START - 2 * HOUR, START),))
    assert nominal_time_before(rule, _define(), START) == START - 121 * timedelta(minutes=1)
    monkeypatch.setattr(backfills, "MAX_WORK", 100)
    assert nominal_time_before(rule, _define(), START) is None


# --- order, room, overlap -----------------------------------------------------------------------


def test_each_time_comes_with_the_one_before_it_in_either_order() -> None:
    times = [START, START + HOUR]
    oldest = [(START, START - HOUR), (START + HOUR, START)]
    assert in_order(_backfill(), times, START - HOUR) == oldest
    newest = _backfill(order=BackfillOrder.NEWEST)
    assert in_order(newest, times, START - HOUR) == oldest[::-1]
    assert in_order(newest, [], None) == []


def test_jobs_are_made_ahead_of_their_turn_but_not_without_bound() -> None:
    assert room_of(_backfill(max_active=3), 0) == 103
    assert room_of(_backfill(max_active=3), 100) == 3
    assert room_of(_backfill(max_active=3), 104) == 0


def test_where_all_may_run_at_once_no_more_are_made_than_may_run() -> None:
    backfill = _backfill(overlap=OverlapPolicy.ALLOW, max_active=3)
    assert room_of(backfill, 0) == 3
    assert overlap_of(backfill) is None


@pytest.mark.parametrize("order", BackfillOrder)
def test_a_backfill_is_judged_in_a_group_of_its_own(order: BackfillOrder) -> None:
    backfill = _backfill(overlap=OverlapPolicy.BUFFER_ALL, max_active=3, order=order)
    assert overlap_of(backfill) == Overlap(
        group="s.b1",
        policy=OverlapPolicy.BUFFER_ALL,
        max_running=3,
        buffer_limit=NO_LIMIT,
        newest_first=order is BackfillOrder.NEWEST,
    )


# --- a step -------------------------------------------------------------------------------------

MADE = make_event(actor="backfill b1")
OTHERS = make_event(actor="backfill b2")
REDRIVEN = make_event(kind=EventKind.REDRIVEN, reason="backfill b1")
FINAL = (JobStatus.SUCCEEDED, JobStatus.DEAD, JobStatus.CANCELLED, JobStatus.EXPIRED)
OPEN = (JobStatus.PENDING, JobStatus.ENQUEUED, JobStatus.RUNNING, JobStatus.RETRYING)
ID = occurrence_job_id(FAKE_SECRET, "s", START)
AGAIN_ID = occurrence_job_id(FAKE_SECRET, "s", START, "b1")


def _plan(
    *jobs: Job, reprocess: Reprocess = Reprocess.NONE, room: int = 9, times: int = 1
) -> BackfillPlan:
    pairs = [(START + n * HOUR, START + (n - 1) * HOUR) for n in range(times)]
    by_id = {job.id: job for job in jobs}
    backfill = _backfill(reprocess=reprocess)
    return plan_step(backfill, pairs, by_id, secret=FAKE_SECRET, room=room, now=NOW)


def _does(plan: BackfillPlan) -> str:
    """Say what a plan does about the only nominal time that it is made for."""
    assert plan.looked_at == 1
    assert plan.chosen + plan.skipped == 1
    if plan.orders:
        return "again" if plan.orders[0].salt == "b1" else "make"
    if plan.redrives or plan.under_way:
        assert [*plan.redrives, *plan.under_way] == [ID]
        return "redrive" if plan.redrives else "under way"
    return "skip"


@pytest.mark.parametrize("reprocess", Reprocess)
def test_a_nominal_time_without_a_job_gets_one(reprocess: Reprocess) -> None:
    assert _does(_plan(reprocess=reprocess)) == "make"


@pytest.mark.parametrize("reprocess", Reprocess)
@pytest.mark.parametrize("status", OPEN)
def test_a_job_that_has_not_ended_is_left_alone(status: JobStatus, reprocess: Reprocess) -> None:
    assert _does(_plan(make_job(id=ID, status=status), reprocess=reprocess)) == "skip"


@pytest.mark.parametrize("status", FINAL)
def test_what_becomes_of_a_job_that_ended_is_for_the_caller_to_say(status: JobStatus) -> None:
    job = make_job(id=ID, status=status)
    assert _does(_plan(job)) == "skip"
    assert _does(_plan(job, reprocess=Reprocess.ALL)) == "again"
    failed = "skip" if status is JobStatus.SUCCEEDED else "redrive"
    assert _does(_plan(job, reprocess=Reprocess.FAILED)) == failed


@pytest.mark.parametrize("reprocess", Reprocess)
@pytest.mark.parametrize("status", [*OPEN, *FINAL])
def test_a_job_that_this_backfill_made_is_its_own_however_often_the_step_is_done(
    status: JobStatus, reprocess: Reprocess
) -> None:
    job = make_job(id=ID, status=status, history=(MADE,))
    assert _does(_plan(job, reprocess=reprocess)) == "make"


@pytest.mark.parametrize("status", [*OPEN, *FINAL])
def test_a_job_that_this_backfill_made_anew_is_its_own_however_often_the_step_is_done(
    status: JobStatus,
) -> None:
    again = make_job(id=AGAIN_ID, status=status)
    ended = make_job(id=ID, status=JobStatus.SUCCEEDED)
    assert _does(_plan(ended, again, reprocess=Reprocess.ALL)) == "again"
    # The first one is forgotten meanwhile.
    assert _does(_plan(again, reprocess=Reprocess.ALL)) == "again"


@pytest.mark.parametrize("status", [*OPEN, *FINAL])
def test_a_job_that_this_backfill_redrove_is_not_redriven_again(status: JobStatus) -> None:
    job = make_job(id=ID, status=status, history=(make_event(), REDRIVEN))
    assert _does(_plan(job, reprocess=Reprocess.FAILED)) == "under way"


@pytest.mark.parametrize("history", [(), (OTHERS,), (make_event(), replace(REDRIVEN, reason="x"))])
def test_a_job_of_another_is_not_taken_for_its_own(history: tuple[Any, ...]) -> None:
    job = make_job(id=ID, status=JobStatus.DEAD, history=history)
    assert _does(_plan(job)) == "skip"
    assert _does(_plan(job, reprocess=Reprocess.FAILED)) == "redrive"


@pytest.mark.parametrize("reprocess", Reprocess)
def test_a_job_of_its_own_that_a_pause_cancelled_is_redriven(reprocess: Reprocess) -> None:
    paused = make_event(kind=EventKind.CANCELLED, reason=SkipReason.PAUSED)
    first = make_job(id=ID, status=JobStatus.CANCELLED, history=(MADE, paused))
    assert _does(_plan(first, reprocess=reprocess)) == "redrive"
    # Of two jobs of a nominal time, it is the one that this backfill made anew.
    ended = make_job(id=ID, status=JobStatus.SUCCEEDED)
    again = make_job(id=AGAIN_ID, status=JobStatus.CANCELLED, history=(MADE, paused))
    plan = _plan(ended, again, reprocess=reprocess)
    assert (plan.redrives, plan.orders, plan.skipped) == ([AGAIN_ID], [], 0)


def test_a_step_ends_when_its_room_is_used_up() -> None:
    skipped = make_job(id=ID, status=JobStatus.SUCCEEDED)
    plan = _plan(skipped, room=2, times=5)
    assert (plan.looked_at, plan.skipped, plan.chosen) == (3, 1, 2)
    assert _hours(order.nominal for order in plan.orders) == [1, 2]
    assert _plan(room=0, times=5) == BackfillPlan()


def test_what_is_made_runs_now_and_knows_its_interval() -> None:
    [order] = _plan().orders
    assert (order.nominal, order.run_at, order.revision) == (START, NOW, None)
    assert order.previous == order.interval_start == START - HOUR
    assert order.overlap == overlap_of(_backfill())


def test_the_journal_tells_of_what_is_made_oldest_first() -> None:
    pairs = [(START + n * HOUR, None) for n in (2, 1, 0)]
    ended = make_job(id=occurrence_job_id(FAKE_SECRET, "s", START + HOUR), status=JobStatus.DEAD)
    backfill = _backfill(reprocess=Reprocess.ALL, order=BackfillOrder.NEWEST)
    plan = plan_step(backfill, pairs, {ended.id: ended}, secret=FAKE_SECRET, room=9, now=NOW)
    assert plan.entries == (
        JournalEntry(first=START, last=START),
        JournalEntry(first=START + HOUR, last=START + HOUR, salt="b1"),
        JournalEntry(first=START + 2 * HOUR, last=START + 2 * HOUR),
    )


@pytest.mark.parametrize("reprocess", Reprocess)
def test_the_jobs_that_a_step_must_know_are_named(reprocess: Reprocess) -> None:
    again = [AGAIN_ID] if reprocess is Reprocess.ALL else []
    assert job_ids(FAKE_SECRET, _backfill(reprocess=reprocess), [START]) == [ID, *again]
