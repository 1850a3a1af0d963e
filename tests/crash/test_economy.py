"""Dispatch without marks: whatever dies, refuses or lags, each job is on time and runs once."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from datetime import timedelta
from functools import partial

import pytest

from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.ticks.unmarked_dispatch import FRESH_TICKS
from hourhand.testing import Crash
from tests.scenarios.rules import check_punctual
from tests.scenarios.steps import die, economical, live
from tests.world.checks import check_world
from tests.world.faults import Faults
from tests.world.world import World

LAG = timedelta(seconds=45)
"""As much as an index may."""

SECOND = timedelta(seconds=1)


def sent(world: World) -> Counter[str]:
    """Return how many messages of each job wait."""
    return Counter(message.message.job_id for message in world.queues.messages())


def latest(world: World) -> timedelta:
    """Return how late the latest job was started."""
    return max(timedelta(milliseconds=job.lateness_ms or 0) for job in world.store.jobs().values())


def test_a_job_seen_ahead_of_time_is_sent_once_and_never_marked() -> None:
    world = economical()
    job = world.submit(delay_seconds=500)
    for _ in range(8):
        world.tick()
        stored = world.job(job.id)
        assert (stored.status, stored.enqueued_at) == (JobStatus.PENDING, None)
        world.advance(60)
    assert sent(world) == {job.id: 1}
    assert world.telemetry.total("jobs_dispatched") == 1
    world.settle()
    check_world(world)
    assert latest(world) < 60 * SECOND


def test_without_a_whole_sweep_before_it_a_tick_marks() -> None:
    world = economical(ticks=0)
    job = world.submit(delay_seconds=310)
    world.advance(60)
    world.tick()
    assert world.job(job.id).status is JobStatus.ENQUEUED


def test_a_job_that_the_sweeps_record_would_not_cover_is_marked() -> None:
    world = economical()
    job = world.submit(delay_seconds=330)
    world.advance(35)
    world.tick()
    assert world.job(job.id).status is JobStatus.ENQUEUED


def test_a_message_that_is_lost_is_missed_a_minute_after_its_time_and_marked_then() -> None:
    world = economical()
    job = world.submit(delay_seconds=400)
    for _ in range(2):
        world.advance(60)
        world.tick()
    assert sent(world) == {job.id: 1}
    world.queues.purge()
    for _ in range(5):
        world.advance(60)
        world.tick()
        assert sent(world) == {}
    assert world.job(job.id).status is JobStatus.PENDING
    world.advance(60)
    world.tick()
    assert sent(world) == {job.id: 1}
    assert world.job(job.id).status is JobStatus.ENQUEUED
    world.settle()
    check_world(world)


@pytest.mark.parametrize("call", ["control.write_tick", "control.write_watermark", "queues.send"])
def test_a_sweep_that_dies_before_its_record_is_repeated_and_nothing_is_late(call: str) -> None:
    world = economical()
    jobs = [world.submit(delay_seconds=350 + number) for number in range(3)]
    world.advance(60)
    faults = Faults()
    faults.interrupt(call, partial(die, faults))
    with suppress(Crash):
        world.tick(world.process(faults).scheduler)
    # Its lease is over by the tick after the next one.
    world.advance(60)
    live(world, 6)
    world.settle()
    check_world(world)
    assert {run.job.id for run in world.runs} == {job.id for job in jobs}
    assert len(world.runs) == len(jobs)
    assert latest(world) < SECOND


@pytest.mark.parametrize("spoil", ["send", "read_bucket", "get_many"])
def test_a_sweep_that_could_not_do_all_leaves_no_record(spoil: str) -> None:
    world = economical()
    world.submit(delay_seconds=350)
    world.submit(delay_seconds=351, priority="low")
    world.advance(60)
    faults = Faults()
    port = "queues" if spoil == "send" else "jobs"
    faults.throttle(f"{port}.{spoil}")
    before = world.control.read_tick()
    world.tick(world.process(faults).scheduler)
    after = world.control.read_tick()
    assert before is not None
    assert after is not None
    assert after.at > before.at
    assert after.sent == before.sent
    world.advance(60)
    live(world, 6)
    world.settle()
    check_world(world)
    assert latest(world) < SECOND


def test_a_message_that_was_refused_is_sent_by_the_next_tick() -> None:
    world = economical()
    jobs = [world.submit(delay_seconds=350 + number) for number in range(2)]
    world.advance(60)
    accepts = world.queues.behaviour.refuses
    world.queues.behaviour.refuses = lambda one: "full" * (one.message.job_id == jobs[0].id) or None
    world.tick()
    world.queues.behaviour.refuses = accepts
    assert sent(world) == {jobs[1].id: 1}
    world.advance(60)
    world.tick()
    # What was accepted is sent again, as no record speaks of it: the claim drops the second.
    assert sent(world) == {jobs[0].id: 1, jobs[1].id: 2}
    live(world, 6)
    world.settle()
    check_world(world)
    assert (len(world.runs), latest(world) < SECOND) == (2, True)


def test_two_leaders_that_spare_marks_send_twice_and_every_job_runs_once() -> None:
    world = economical()
    for number in range(3):
        world.submit(delay_seconds=350 + number)
    world.advance(60)
    faults = Faults()

    def overtake() -> None:
        world.advance(40)
        world.tick()

    faults.interrupt("queues.send", overtake)
    world.tick(world.process(faults).scheduler)
    assert set(sent(world).values()) == {2}
    live(world, 6)
    world.settle()
    check_world(world)
    assert (len(world.runs), latest(world) < SECOND) == (3, True)


@pytest.mark.parametrize("seconds", range(0, 60, 5))
def test_an_index_that_lags_hides_no_job_behind_the_record(seconds: int) -> None:
    """Submitted at any moment between two ticks, due just within what the next one sweeps."""
    world = economical(index_lag=LAG)
    world.advance(seconds)
    world.submit(delay_seconds=300 + 0.001)
    world.advance(60 - seconds)
    live(world, 7)
    world.settle()
    check_world(world)
    assert latest(world) < SECOND


def test_a_job_that_is_put_off_and_back_again_is_on_time() -> None:
    world = economical()
    job = world.submit(delay_seconds=400)
    world.advance(120)
    world.tick()
    world.change(job.id, delay_seconds=900)
    world.advance(10)
    world.change(job.id, delay_seconds=310)
    world.advance(50)
    live(world, 8)
    world.settle()
    check_world(world)
    assert (len(world.runs), latest(world) < SECOND) == (1, True)


def test_shards_that_are_handed_over_are_swept_with_marks() -> None:
    world = economical(fan_out_entries=1)
    report = world.scheduler.scheduling.sweep_shards((0,), 1, world.clock.now(), "b", lambda: 60.0)
    assert report.led
    job = world.submit(delay_seconds=400)
    world.advance(120)
    world.scheduler.scheduling.sweep_shards((0,), 1, world.clock.now(), "c", lambda: 60.0)
    assert world.job(job.id).status is JobStatus.ENQUEUED


def test_after_an_outage_the_first_sweep_marks_and_the_next_spares_again() -> None:
    world = economical()
    early = world.submit(delay_seconds=3600 + 200)
    late = world.submit(delay_seconds=3600 + 340)
    world.advance(3600)
    world.tick()
    assert world.job(early.id).status is JobStatus.ENQUEUED
    world.advance(60)
    world.tick()
    assert world.job(late.id).status is JobStatus.PENDING
    assert sent(world) == {early.id: 1, late.id: 1}


def test_a_sweep_that_has_no_time_leaves_no_record() -> None:
    world = economical()
    world.submit(delay_seconds=350)
    world.advance(60)
    world.tick(seconds_left=1)
    world.advance(60)
    live(world, 7)
    world.settle()
    check_punctual(world)


def test_a_job_beyond_the_horizon_of_a_sweep_is_on_time() -> None:
    world = economical()
    world.submit(delay_seconds=600)
    live(world, 12)
    world.settle()
    check_punctual(world)


def test_where_no_sweep_sends_all_no_message_is_sent_again_and_again() -> None:
    world = economical()
    refused = world.submit(delay_seconds=700)
    taken = world.submit(delay_seconds=700)
    world.queues.behaviour.refuses = lambda one: (
        "InternalError" if one.message.job_id == refused.id else None
    )
    for _ in range(11):
        world.tick()
        world.advance(60)
    assert sent(world)[taken.id] <= FRESH_TICKS + 1
