"""Backfills that are paused, resumed and cancelled: no job of one begins then, and none is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from hourhand.api.requests.schedule_operations import BackfillInput
from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.schedules.backfills import BackfillChange
from hourhand.domain.schedules.schedule import Backfill, BackfillStatus
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.testing import Crash
from tests.world.faults import READS, Faults, When
from tests.world.runs import fail, fail_for_good, succeed
from tests.world.world import World

NAME = "hourly"
SPAN = {"from": "2026-01-05T01:00:00Z", "to": "2026-01-05T08:00:00Z"}
PAUSE, RESUME, CANCEL = BackfillChange


def backfilling(**body: Any) -> World:
    """Return a world whose schedule has a backfill of eight times."""
    world = World()
    world.put_schedule(NAME, expression="@hourly")
    start(world, **body)
    return world


def start(world: World, **body: Any) -> None:
    world.api.backfills.start(NAME, BackfillInput.parse({**SPAN, **body}), actor="caller")


def change(world: World, what: BackfillChange, by: Any = None) -> Backfill:
    return (by or world).api.backfills.change(NAME, 1, what, None, "caller")[0]


def jobs(world: World, *statuses: JobStatus) -> list[Job]:
    """Return the jobs of the backfill, in the order of their times."""
    found = [job for job in world.store.jobs().values() if job.schedule_revision is None]
    found.sort(key=lambda job: str(job.occurrence))
    return [job for job in found if not statuses or job.status in statuses]


def minutes(world: World, number: int) -> None:
    for _ in range(number):
        world.minute()


def status(world: World) -> BackfillStatus:
    [(backfill, schedule)], _ = world.api.backfills.list(NAME, None, 10)
    return backfill.status(schedule)


def order_of_runs(world: World) -> list[str]:
    return [str(run.job.occurrence) for run in world.runs]


# --- what stops it ---


@pytest.mark.parametrize("overlap", ["buffer_all", "allow"])
@pytest.mark.parametrize("stops_schedule", [False, True])
def test_a_pause_stops_it_and_it_goes_on_where_it_was(
    overlap: str, *, stops_schedule: bool
) -> None:
    world = backfilling(overlap=overlap, max_active=2)

    def stop_in_the_second(job: Job, pulse: Pulse) -> Finished:
        if len(world.runs) == 2:
            world.pause(NAME) if stops_schedule else change(world, PAUSE)
        return succeed(job, pulse)

    world.minute(stop_in_the_second)
    minutes(world, 5)
    assert (len(world.runs), status(world)) == (2, BackfillStatus.PAUSED)
    assert {job.status for job in jobs(world)} <= {JobStatus.SUCCEEDED, JobStatus.CANCELLED}
    if stops_schedule:
        world.resume(NAME)
    else:
        change(world, RESUME)
    assert status(world) is BackfillStatus.RUNNING
    minutes(world, 12)
    assert [job.status for job in jobs(world)] == [JobStatus.SUCCEEDED] * 8
    assert order_of_runs(world)[:8] == sorted(order_of_runs(world)[:8])
    assert status(world) is BackfillStatus.DONE


def test_a_cancelled_one_ends_its_pending_jobs_and_makes_no_more() -> None:
    world = backfilling(overlap="allow", max_active=2)
    world.deliver()
    assert change(world, CANCEL).cancelled_at is not None
    minutes(world, 5)
    assert status(world) is BackfillStatus.CANCELLED
    assert world.schedules.get(NAME).backfills == ()  # type: ignore[union-attr]
    ended = jobs(world, JobStatus.CANCELLED)
    assert [job.history[-1].reason for job in ended] == ["backfill cancelled"] * len(ended)
    assert len(jobs(world)) < 8
    assert change(world, CANCEL).cancelled_at is not None, "it may be repeated"


@pytest.mark.parametrize("what", [PAUSE, CANCEL])
def test_a_job_that_retries_ends_with_a_cancelled_one_and_outlives_a_pause(
    what: BackfillChange,
) -> None:
    world = backfilling(overlap="allow", max_active=1)
    world.deliver(fail)
    [job] = jobs(world, JobStatus.RETRYING)
    change(world, what)
    minutes(world, 5)
    ended = JobStatus.SUCCEEDED if what is PAUSE else JobStatus.CANCELLED
    assert world.job(job).status is ended


def test_one_that_was_started_in_a_pause_runs_and_the_next_pause_stops_it() -> None:
    world = World()
    world.put_schedule(NAME, expression="@hourly", paused=True)
    start(world, overlap="allow", max_active=2)
    minutes(world, 1)
    assert len(world.runs) == 2
    world.resume(NAME)
    world.advance(1)
    world.pause(NAME)
    ran = len(world.runs)
    minutes(world, 3)
    assert len(world.runs) == ran
    change(world, RESUME)
    minutes(world, 10)
    assert [job.status for job in jobs(world)] == [JobStatus.SUCCEEDED] * 8


@pytest.mark.parametrize("how", [{}, {"overlap": "allow", "max_active": 2}])
@pytest.mark.parametrize("is_paused", [False, True])
def test_pause_on_failure_counts_its_jobs(how: dict[str, Any], *, is_paused: bool) -> None:
    world = World()
    world.put_schedule(NAME, expression="@hourly", paused=is_paused, pause_on_failure=True)
    start(world, **how)
    for _ in range(10):
        world.minute(fail_for_good)
    assert len(world.runs) == 1
    assert (status(world), len(jobs(world, JobStatus.DEAD))) == (BackfillStatus.PAUSED, 1)
    change(world, RESUME)
    minutes(world, 12)
    assert len(jobs(world, JobStatus.SUCCEEDED)) == 7
    [(backfill, _)], _ = world.api.backfills.list(NAME, None, 10)
    assert (backfill.failed, status(world)) == (1, BackfillStatus.DONE)


def test_the_jobs_of_a_deleted_schedule_do_not_begin_after_a_pause_and_a_resume() -> None:
    world = backfilling()
    change(world, PAUSE)
    change(world, RESUME)
    world.delete_schedule(NAME)
    minutes(world, 3)
    assert world.runs == []


# --- dying anywhere ---


def _each_trouble(what: BackfillChange) -> Iterator[Callable[[Faults], None]]:
    faults = Faults()
    world = prepared(what)
    change(world, what, world.process(faults))
    for call in faults.calls:
        if call.method in READS:
            continue
        method = f"{call.port}.{call.method}"
        yield partial(Faults.crash, number=call.number, when=When.BEFORE)
        yield partial(Faults.crash, number=call.number, when=When.AFTER)
        yield partial(Faults.throttle, method=method, nth=call.nth)
        yield partial(Faults.lose_answer, method=method, nth=call.nth)


def prepared(what: BackfillChange) -> World:
    world = backfilling(overlap="allow", max_active=3)
    world.deliver()
    # The next three wait for a worker.
    world.tick()
    if what is RESUME:
        change(world, PAUSE)
    return world


@pytest.mark.parametrize("what", BackfillChange)
def test_a_change_that_dies_at_any_call_takes_effect_or_none(what: BackfillChange) -> None:
    for harm in _each_trouble(what):
        world = prepared(what)
        faults = Faults()
        harm(faults)
        with suppress(Crash, Unavailable):
            change(world, what, world.process(faults))
        [(backfill, _)], _ = world.api.backfills.list(NAME, None, 10)
        ran = len(world.runs)
        is_stopped = backfill.paused_at is not None or backfill.cancelled_at is not None
        # What the process that died left to the tick is refused until then.
        world.deliver()
        minutes(world, 4)
        assert (len(world.runs) == ran) is is_stopped
        if backfill.paused_at is not None:
            change(world, RESUME)
        minutes(world, 12)
        ended = [job.status for job in jobs(world)]
        if backfill.cancelled_at is None:
            assert ended == [JobStatus.SUCCEEDED] * 8
        else:
            assert set(ended) <= {JobStatus.SUCCEEDED, JobStatus.CANCELLED}


@pytest.mark.parametrize("what", [PAUSE, CANCEL])
def test_a_change_beside_any_call_of_a_visit_takes_effect(what: BackfillChange) -> None:
    counted = Faults()
    world = prepared(what)
    world.tick(world.process(counted).scheduler)
    for call in counted.calls:
        world, faults = prepared(what), Faults()
        step = partial(change, world, what)
        faults.interrupt(f"{call.port}.{call.method}", step, nth=call.nth)
        world.tick(world.process(faults).scheduler)
        ran = len(world.runs)
        minutes(world, 4)
        assert len(world.runs) == ran, call
        if what is PAUSE:
            change(world, RESUME)
            minutes(world, 12)
            assert [job.status for job in jobs(world)] == [JobStatus.SUCCEEDED] * 8, call
