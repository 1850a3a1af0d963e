"""Killers that watch dispatch without marks: on time, and no message more than it takes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from hourhand.domain.ticks.unmarked_dispatch import FRESH_TICKS
from proof.mutants.rules import check_punctual, check_rules
from tests.crash.steps import economical, live
from tests.world.world import World

FAR = 350
"""Seconds: unsent at once, and within the look-ahead of the next tick but one."""


def _after_a_tick(spoilt: Callable[[World], object]) -> None:
    """Let a job be swept by a tick that is spoilt, and then lived through: it must be on time."""
    world = economical()
    world.submit(delay_seconds=FAR)
    world.advance(60)
    spoilt(world)
    world.advance(60)
    live(world, 7)
    world.settle()
    check_punctual(world)


def a_job_is_seen_at_every_tick() -> None:
    """Each job is sent once, and marked only where no record will speak of it."""
    world = economical()
    world.submit(delay_seconds=FAR)
    world.advance(40)
    world.submit(delay_seconds=310)
    world.advance(20)
    for _ in range(4):
        world.tick()
        world.advance(60)
    assert len(world.queues.messages()) == 2, "a message was sent twice"
    world.settle()
    check_rules(world)


def an_index_lags() -> None:
    """A job that a sweep cannot have seen is not taken for one that it sent."""
    for seconds in range(0, 60, 5):
        world = economical(index_lag=timedelta(seconds=45))
        world.advance(seconds)
        world.submit(delay_seconds=300.001)
        world.advance(60 - seconds)
        live(world, 7)
        world.settle()
        check_punctual(world)


def a_queue_refuses_a_message() -> None:
    """A sweep that could not send all of it says nothing of what it sent."""

    def refused(world: World) -> None:
        accepts = world.queues.behaviour.refuses
        world.queues.behaviour.refuses = lambda _: "InternalError"
        world.tick()
        world.queues.behaviour.refuses = accepts

    _after_a_tick(refused)


def a_tick_has_no_time() -> None:
    """A sweep that did not read all of it says nothing, either."""
    _after_a_tick(lambda world: world.scheduler.scheduling.tick("hurried", lambda: 1.0))


def a_sweep_ends_short_of_a_job() -> None:
    """A job beyond the horizon of a sweep was not sent by it."""
    world = economical()
    world.submit(delay_seconds=600)
    live(world, 12)
    world.settle()
    check_punctual(world)


def a_message_is_lost() -> None:
    """It is missed a minute after the job was due, mark or no mark."""
    world = economical()
    world.submit(delay_seconds=FAR)
    world.advance(60)
    world.tick()
    world.queues.purge()
    world.advance(60)
    live(world, 7)
    assert world.unfinished() == [], "nobody sent it again"
    check_rules(world)


def no_sweep_sends_all() -> None:
    """Where no sweep leaves a record, marks are not spared: each would send everything again."""
    world = economical()
    refused = world.submit(delay_seconds=700)
    taken = world.submit(delay_seconds=700)
    world.queues.behaviour.refuses = lambda one: (
        "InternalError" if one.message.job_id == refused.id else None
    )
    for _ in range(11):
        world.tick()
        world.advance(60)
    ids = [message.message.job_id for message in world.queues.messages()]
    assert ids.count(taken.id) <= FRESH_TICKS + 1, "a message was sent again and again"
