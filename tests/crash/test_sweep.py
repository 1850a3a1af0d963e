"""What the sweep sees: late writers, indexes that lag, many pages, resweeps after a restore."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.ticks import watermark
from hourhand.domain.ticks.buckets import bucket_end, bucket_of
from hourhand.domain.ticks.timings import Timings
from hourhand.domain.times import rfc3339
from hourhand.memory import START
from hourhand.ports.job_store import IndexPage
from hourhand.services.ticks import sweep
from tests.scenarios.rules import check_rules
from tests.scenarios.steps import BESIDE, pass_minutes, payload_near_its_end
from tests.world.checks import assert_nothing_is_out_of_sight
from tests.world.factories import make_job
from tests.world.faults import Faults
from tests.world.runs import HandlerKilled, kill_process
from tests.world.world import World

A_YEAR = timedelta(days=365).total_seconds()


@pytest.fixture
def world() -> World:
    return World()


# --- what the watermark passes ------------------------------------------------------------------


def _file_late(lag: timedelta, first_look: float, second_look: float) -> None:
    """File a job five seconds late, in a bucket that ended; tick so and so long after its end."""
    world = World(index_lag=lag)
    pass_minutes(world, 4)
    end = bucket_end(bucket_of(world.clock.now()))
    world.advance_to(end - timedelta(milliseconds=100))
    faults = Faults()
    looked: list[float] = []

    def stand_still() -> None:
        if first_look < 4.5:
            world.advance_to(end + timedelta(seconds=first_look))
            world.tick()
            looked.append(first_look)
        world.advance_to(end + timedelta(seconds=4.8))

    faults.interrupt("jobs.put", stand_still)
    world.submit(by=world.process(faults).api)
    world.queues.purge()
    looks = [first_look, first_look + second_look, first_look + second_look + 61]
    for after_end in looks[len(looked) :]:
        world.advance_to(max(world.clock.now(), end + timedelta(seconds=after_end)))
        world.tick()
        world.queues.purge()
        assert_nothing_is_out_of_sight(world)


@pytest.mark.parametrize("first_look", [0, 1, 3, 6, 30, 59, 61])
@pytest.mark.parametrize("second_look", [46, 47, 48, 52, 60, 70])
def test_a_late_writer_and_an_index_that_lags_within_bounds_hide_nothing(
    first_look: float, second_look: float
) -> None:
    _file_late(Timings().index_lag, first_look, second_look)


@pytest.mark.parametrize("first_look", [30, 61, 62, 75, 90])
@pytest.mark.parametrize("second_look", [10, 20, 48, 60])
def test_two_looks_make_good_for_an_index_that_lags_longer_than_is_stated(
    first_look: float, second_look: float
) -> None:
    _file_late(timedelta(seconds=95), first_look, second_look)


def test_a_bucket_that_cannot_be_read_is_not_taken_for_empty(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    pass_minutes(world, 3)
    world.submit()
    world.queues.purge()
    unreadable = bucket_of(world.clock.now())
    answer = world.store.read_bucket

    def read_bucket(bucket: int, shard: int, **options: Any) -> IndexPage:
        if bucket == unreadable:
            raise Unavailable("This bucket does not answer.")
        return answer(bucket, shard, **options)

    with monkeypatch.context() as patch:
        patch.setattr(world.store, "read_bucket", read_bucket)
        pass_minutes(world, 20)
    assert_nothing_is_out_of_sight(world)
    world.settle(minutes=30)
    check_rules(world)


# --- pages --------------------------------------------------------------------------------------


def test_every_page_of_a_bucket_is_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "PAGE_ENTRIES", 2)
    for _ in range(7):
        world.submit()
    world.queues.purge()
    world.advance(61)
    world.tick()
    assert len(world.queues.messages()) == 7
    world.settle()
    check_rules(world)


def test_every_page_is_read_of_older_buckets_that_are_read_side_by_side(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sweep, "PAGE_ENTRIES", 2)
    world = World(timings=Timings(first_look_back=timedelta(hours=1)))
    for minute in range(4):
        for _ in range(1 + 2 * minute):
            world.submit(delay_seconds=400)
        world.advance(60)
    # No tick until they are all older than the minutes that are read one by one.
    world.advance(400 + 12 * 60)
    world.tick()
    assert [job.id for job in world.unfinished() if not job.is_sent] == []


# --- what nothing but the sweep does ------------------------------------------------------------


def test_a_job_whose_worker_and_message_are_lost_is_recovered_by_its_lease(world: World) -> None:
    world.submit()
    with suppress(HandlerKilled):
        world.deliver(kill_process)
    world.queues.purge()
    world.settle()
    check_rules(world)
    assert len(world.runs) == 2


def test_a_job_that_no_worker_meets_expires(world: World) -> None:
    job = world.submit(expires_at=rfc3339(START + timedelta(seconds=30)))
    world.queues.purge()
    pass_minutes(world, 2)
    assert world.job(job).status is JobStatus.EXPIRED


def test_the_payload_of_a_job_that_waits_is_kept_longer(world: World) -> None:
    job = world.submit(payload=BESIDE, delay_seconds=330)
    payload_near_its_end(world)
    before = world.job(job).payload_kept_until
    world.tick()
    after = world.job(job).payload_kept_until
    assert before is not None
    assert after is not None
    assert after > before


@pytest.mark.parametrize("method", ["jobs.extend_text", "jobs.transition"])
def test_a_payload_lasts_for_a_job_that_is_put_off_as_it_is_renewed(
    world: World, method: str
) -> None:
    job = world.submit(payload=BESIDE, delay_seconds=330)
    payload_near_its_end(world)
    faults = Faults()
    faults.interrupt(method, lambda: world.change(job, delay_seconds=A_YEAR))
    world.tick(world.process(faults).scheduler)
    after = world.job(job)
    assert after.payload_kept_until is not None
    assert after.payload_kept_until > after.run_at, "the job forgets how long its payload lasts"
    (text,) = world.store.kept_texts(job.id).values()
    assert text.keep_until > after.run_at, "the payload ends before the job begins"


# --- after a restore ----------------------------------------------------------------------------


def _restored(world: World, *, minutes_ago: float) -> Job:
    """Put a job back that was due then, as a restore does."""
    due_at = world.clock.now() - timedelta(minutes=minutes_ago)
    job = make_job(id="restored", created_at=due_at, run_at=due_at, due_at=due_at, handler="greet")
    world.store.put(job)
    return job


def test_a_resweep_finds_what_is_back_below_the_watermark_and_ends(world: World) -> None:
    pass_minutes(world, 30)
    job = _restored(world, minutes_ago=25)
    pass_minutes(world, 5)
    assert not world.job(job).is_sent, "it was found without a resweep: this shows nothing"
    world.api.resweeps.request(world.clock.now() - timedelta(minutes=40))
    pass_minutes(world, 2)
    assert_nothing_is_out_of_sight(world)
    assert world.job(job).is_sent
    world.settle(minutes=30)
    assert world.job(job).status is JobStatus.SUCCEEDED
    assert world.api.resweeps.progress().state == "done"


def test_a_resweep_closes_no_bucket_by_a_look_of_before_its_request() -> None:
    world = World(index_lag=timedelta(seconds=40))
    pass_minutes(world, 30)
    world.advance(45)
    world.api.resweeps.request(world.clock.now() - timedelta(minutes=40))
    job = _restored(world, minutes_ago=25)
    world.advance(5)
    world.tick()
    pass_minutes(world, 6)
    assert_nothing_is_out_of_sight(world)
    assert world.job(job).is_sent


def test_a_job_that_is_lost_during_a_long_resweep_does_not_wait_for_its_end(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watermark, "MAX_BACKLOG_PER_SWEEP", 60)
    pass_minutes(world, 30)
    world.api.resweeps.request(world.clock.now() - timedelta(days=1))
    pass_minutes(world, 2)
    job = world.submit(retry={"max_attempts": 3})

    def lose(minutes: int) -> int:
        for _ in range(minutes):
            world.queues.purge()
            pass_minutes(world, 1)
        assert world.api.resweeps.progress().state == "running", "it is over: this shows nothing"
        return world.store.moves_of(job.id).count("redispatch_mark")

    assert lose(15) < lose(25)
