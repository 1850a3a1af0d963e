"""Pausing and resuming handlers on request."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.errors import InvalidInput, Unavailable
from hourhand.domain.jobs.pauses import NO_PAUSES
from hourhand.domain.schedules.schedule import ScheduleEventKind
from hourhand.memory import START
from hourhand.services.jobs.pauses import MAX_LOST_RACES
from tests.world.faults import Faults
from tests.world.world import World

MINUTE = timedelta(minutes=1)


@pytest.fixture
def world() -> World:
    return World()


def test_an_end_that_is_over_is_refused(world: World) -> None:
    for until in (START, START - MINUTE):
        with pytest.raises(InvalidInput) as refused:
            world.api.pauses.pause("greet", until=until, note=None, actor="caller")
        assert [error.field for error in refused.value.errors] == ["until"]
    assert world.control.read_pauses() == NO_PAUSES


def test_a_pause_and_its_end_are_kept_for_the_audit(world: World) -> None:
    world.pause_handler()
    world.advance(60)
    world.resume_handler()
    world.resume_handler()
    events = world.schedules.read_events("handler.greet", before=None, limit=10)
    assert [(e.kind, e.at, e.note, e.actor) for e in events] == [
        (ScheduleEventKind.RESUMED, START + MINUTE, "", "caller"),
        (ScheduleEventKind.PAUSED, START, "a test", "caller"),
    ]


def test_a_resume_of_what_is_not_paused_changes_nothing(world: World) -> None:
    world.resume_handler()
    assert world.control.read_pauses() == NO_PAUSES
    assert world.schedules.read_events("handler.greet", before=None, limit=10) == ()


def test_a_change_that_meets_another_is_made_on_top_of_it(world: World) -> None:
    def pause_another() -> None:
        world.api.pauses.pause("other", until=None, note=None, actor="caller")

    faults = Faults().interrupt("write_pauses", pause_another)
    world.pause_handler(by=world.process(faults).api)
    assert set(world.control.read_pauses().pauses) == {"greet", "other"}


def test_a_record_that_changes_again_and_again_makes_the_call_fail(world: World) -> None:
    world.pause_handler()
    faults = Faults()
    for number in range(1, MAX_LOST_RACES + 1):
        faults.interrupt("write_pauses", world.pause_handler, nth=number)
    with pytest.raises(Unavailable, match="changed too often"):
        world.resume_handler(by=world.process(faults).api)
