"""Pauses that are over: they stay until everything that waited for them was sent."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.jobs.pauses import HandlerPauses
from tests.world.faults import Faults
from tests.world.world import World

MINUTE = timedelta(minutes=1)


@pytest.fixture
def world() -> World:
    return World()


def settle(world: World, *, sent_all: bool = True) -> HandlerPauses:
    ended = world.scheduler.scheduling.ended_pauses
    ended.settle(world.control.read_pauses(), sent_all=sent_all, may_go_on=lambda: True)
    return world.control.read_pauses()


def test_a_pause_that_holds_is_left(world: World) -> None:
    world.pause_handler()
    world.advance(3600)
    assert "greet" in settle(world).pauses


def test_an_ended_pause_is_forgotten_after_every_worker_knows_and_all_was_sent(
    world: World,
) -> None:
    world.pause_handler()
    world.resume_handler()
    settling = world.scheduler.scheduling.ended_pauses.settling
    world.advance(settling.total_seconds() - 1)
    assert "greet" in settle(world).pauses
    world.advance(1)
    assert "greet" in settle(world, sent_all=False).pauses
    assert settle(world).pauses == {}


def test_a_pause_that_is_renewed_meanwhile_stays(world: World) -> None:
    world.pause_handler()
    world.resume_handler()
    before = world.control.read_pauses()
    world.advance(3600)
    world.pause_handler()
    ended = world.scheduler.scheduling.ended_pauses
    ended.settle(before, sent_all=True, may_go_on=lambda: True)
    assert "greet" in world.control.read_pauses().pauses


def test_a_tick_that_cannot_settle_pauses_goes_on(world: World) -> None:
    world.pause_handler()
    world.resume_handler()
    faults = Faults().throttle("query_items")
    report = world.tick(world.process(faults).scheduler)
    assert report.completed
    assert world.telemetry.sentences == [
        *world.telemetry.sentences[:-1],
        "The pauses that are over could not be settled. The next tick tries again.",
    ]


def tick_with_time_for(questions: int) -> tuple[bool, bool]:
    """End a pause; tick while that may go on so often; say if it completed and settled it."""
    world = World()
    world.pause_handler()
    world.resume_handler()
    scheduling = world.scheduler.scheduling
    world.advance(scheduling.ended_pauses.settling.total_seconds())
    left = iter([55.0] * questions)
    report = scheduling.tick("short", lambda: next(left, 0.0))
    return report.completed, world.control.read_pauses().pauses == {}


def test_an_ended_pause_stays_until_a_tick_has_time_for_what_is_far_ahead() -> None:
    """Such a tick is complete: all else is read before."""
    ends = [tick_with_time_for(questions) for questions in range(120)]
    assert list(dict.fromkeys(ends)) == [(False, False), (True, False), (True, True)]
