"""Where a job goes in the index, and what a writer does that was slow."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.buckets import bucket_of
from hourhand.domain.errors import Unavailable
from hourhand.domain.model import EventKind, JobStatus
from hourhand.services.filing import Filing
from hourhand.testing import START, Faults, make_job
from tests.world.world import World

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def filing(world: World) -> Filing:
    return Filing(world.store, world.control, world.clock, world.timings)


def test_a_job_due_in_the_past_is_filed_now(filing: Filing) -> None:
    placement = filing.place("job-1", START - MINUTE, START)
    assert (placement.entry.due_at, placement.sends_now) == (START, True)


def test_a_job_is_sent_with_its_write_within_the_look_ahead_only(filing: Filing) -> None:
    assert filing.place("job-1", START + 300 * SECOND, START).sends_now
    assert not filing.place("job-1", START + 301 * SECOND, START).sends_now


def test_a_job_never_goes_to_an_older_bucket_than_its_own(filing: Filing) -> None:
    job = make_job(due_at=START + 5 * MINUTE)
    # A retry after a second, by a worker whose clock is far behind.
    placement = filing.place_after(job, START + SECOND, START)
    assert placement.entry.due_at == START + 5 * MINUTE
    later = filing.place_after(job, START + 6 * MINUTE, START)
    assert later.entry.due_at == START + 6 * MINUTE


def test_a_job_that_left_the_index_is_placed_by_the_time_alone(filing: Filing) -> None:
    job = make_job(status=JobStatus.DEAD)
    assert filing.place_after(job, START, START + SECOND).entry.due_at == START + SECOND


def test_the_shard_map_is_read_again_once_it_is_old(world: World) -> None:
    faults = Faults()
    control = faults.wrap(world.control)
    filing = Filing(world.store, control, world.clock, world.timings)
    for seconds in (0, 30, 1, 29):
        world.advance(seconds)
        filing.place("job-1", world.clock.now(), world.clock.now())
    assert len(faults.calls) == 2


def test_a_job_is_behind_once_the_sweep_may_have_closed_its_bucket(filing: Filing) -> None:
    job = make_job(due_at=START)
    closed = START + MINUTE + filing.timings.trail
    assert not filing.is_behind(job, closed - 2 * SECOND)
    # Clocks may differ by as much as is tolerated without a correction.
    assert filing.is_behind(job, closed - SECOND)
    assert not filing.is_behind(make_job(due_at=None), closed)
    assert not filing.is_behind(make_job(status=JobStatus.DEAD, due_at=START), closed)


def test_a_job_that_is_behind_is_moved_to_now_and_keeps_its_time(
    world: World, filing: Filing
) -> None:
    job = make_job(run_at=START)
    world.store.put(job)
    world.advance(600)
    moved = filing.move_to_current_bucket(job, "caller")
    assert (moved.due_at, moved.run_at) == (world.clock.now(), START)
    assert moved.history[-1].kind is EventKind.REFILED
    assert world.job(job) == moved


def test_who_stalls_while_moving_a_job_moves_it_again(world: World) -> None:
    job = make_job(run_at=START)
    world.store.put(job)
    faults = Faults()
    faults.interrupt("transition", lambda: world.advance(600))
    filing = Filing(faults.wrap(world.store), world.control, world.clock, world.timings)
    moved = filing.move_to_current_bucket(job, "caller")
    assert moved.due_at == world.clock.now() == START + 600 * SECOND


def test_a_job_due_later_keeps_its_place_when_its_writer_stalled(
    world: World, filing: Filing
) -> None:
    job = make_job(run_at=START + 600 * SECOND)
    world.store.put(job)
    world.advance(6)
    assert filing.guard(job, 0.0, "caller").due_at == job.due_at


@pytest.mark.parametrize("status", [JobStatus.SUCCEEDED, JobStatus.DEAD])
def test_a_job_that_ended_is_not_moved(world: World, filing: Filing, status: JobStatus) -> None:
    for due_at in (None, START):
        job = make_job(status=status, due_at=due_at)
        assert filing.move_to_current_bucket(job, "caller") == job


def test_who_comes_too_late_to_move_a_job_goes_on_with_what_became_of_it(
    world: World, filing: Filing
) -> None:
    job = make_job(run_at=START)
    assert filing.move_to_current_bucket(job, "caller") == job, "it is gone: nothing to move"
    world.store.put(job)
    put_off = world.change(job, delay_seconds=60)
    assert filing.move_to_current_bucket(job, "caller") == put_off


def test_a_writer_that_always_stalls_gives_up(world: World) -> None:
    faults = Faults()
    for nth in range(1, 9):
        faults.interrupt("transition", lambda: world.advance(6), nth=nth)
    job = make_job(run_at=START)
    world.store.put(job)
    filing = Filing(faults.wrap(world.store), world.control, world.clock, world.timings)
    world.advance(6)
    with pytest.raises(Unavailable, match="stalls"):
        filing.guard(job, 0.0, "caller")
    assert bucket_of(world.clock.now()) == bucket_of(world.job(job).due_at or START)
