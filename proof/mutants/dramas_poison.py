"""Killers that look at schedules whose times take long to compute."""

from __future__ import annotations

from contextlib import suppress

from hourhand.domain.schedules.jitter import MAX_WORK_A_LOOK
from hourhand.domain.schedules.rule import MAX_WORK
from hourhand.testing import Crash, Faults
from tests.crash.poison import AT_THE_LIMIT, CALENDARS, lives, metered, put_poison, tick
from tests.world.world import World


def jobs_are_swept_first() -> None:
    """A tick that dies as soon as it looks at schedules has sent what is due."""
    world = World()
    job = world.submit(delay_seconds=400)
    world.advance(200)
    faults = Faults()
    faults.interrupt("schedules.read_due", _die)
    with suppress(Crash):
        world.tick(world.process(faults).scheduler)
    assert world.job(job).is_sent, "a job was not swept, for a schedule"
    assert world.control.read_tick() is not None, "the sweep left no record"


def what_excludes_too_much_is_broken() -> None:
    """A poison schedule is marked, and visited no more."""
    world = World()
    with metered() as meter:
        put_poison(world, CALENDARS)
        done = lives(world, meter, 5)
    found = world.schedules.get("poison")
    assert found is not None
    assert max(done) < MAX_WORK, "a tick went through more than it may"
    assert found.broken, "it is not marked"
    assert found.next_at is None, "it is visited again and again"


def a_search_is_not_met_again() -> None:
    """A tick that dies in a long search left how far it had come."""
    world = World()
    with metered() as meter:
        put_poison(world, AT_THE_LIMIT)
        meter.most = 8 * MAX_WORK_A_LOOK
        tick(world, meter)
        found = world.schedules.get("poison")
    assert found is not None
    assert found.next_at is not None
    horizon = world.clock.now() + world.timings.look_ahead
    assert found.next_at > horizon, "the next tick begins the same search"


def a_visit_stands_still() -> None:
    """What another visit recorded as missed gets no job, but where the put itself comes late."""
    world = World()
    misfire = {"policy": "all", "window_seconds": 60}
    world.put_schedule("s", expression="10 9 * * *", misfire=misfire)
    world.advance(400)
    faults = Faults()

    def stand_still() -> None:
        world.advance(900)
        world.tick()

    faults.interrupt("slots.read_slots", stand_still)
    world.tick(world.process(faults).scheduler)
    assert not world.store.jobs(), "a job was made for a time that is on record as missed"


def _die() -> None:
    raise Crash
