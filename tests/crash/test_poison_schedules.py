"""A schedule whose times take long to compute stops no tick, no job and no other schedule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hourhand.domain.errors import InvalidInput
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.schedules import rule
from hourhand.domain.schedules.jitter import MAX_WORK_A_LOOK
from hourhand.domain.schedules.nominal_times import MAX_WORK_A_VIEW
from hourhand.domain.ticks.buckets import bucket_of
from hourhand.memory import START
from hourhand.services.schedules import compiled_rules
from hourhand.testing import Crash
from tests.scenarios.poison import (
    AT_THE_LIMIT,
    CALENDARS,
    EACH_SECOND,
    Meter,
    expressions_of,
    lives,
    metered,
    put_poison,
    tick,
)
from tests.unit.services.schedule_views import stored
from tests.world.faults import Faults
from tests.world.world import World

MAX_WORK = rule.MAX_WORK // 3
"""What a visit may do here: a third, since it takes time to count what is compared."""


@pytest.fixture
def meter(monkeypatch: pytest.MonkeyPatch) -> Iterator[Meter]:
    monkeypatch.setattr(compiled_rules, "MAX_WORK", MAX_WORK)
    with metered() as meter:
        yield meter


@pytest.fixture
def world() -> World:
    return World()


def view(world: World, name: str = "poison") -> Any:
    return world.api.schedule_views.get(name)


# --- beyond the limit ---


def test_a_poison_schedule_is_marked_broken_and_every_job_still_runs(
    world: World, meter: Meter
) -> None:
    jobs = [world.submit(delay_seconds=delay) for delay in (400, 500, 700)]
    world.put_schedule("healthy", expression="* * * * *")
    put_poison(world, CALENDARS)
    done = lives(world, meter, 15)
    assert max(done) < rule.MAX_WORK
    assert [world.job(job).status for job in jobs] == [JobStatus.SUCCEEDED] * 3
    assert stored(world, "healthy").made >= 15
    marked = stored(world, "poison")
    assert marked.next_at is None
    assert "exclude 1,200 expressions; at most 100" in marked.broken
    assert view(world).broken_reason == marked.broken
    assert view(world).next_occurrence is None


def test_it_is_marked_once_and_not_visited_again(world: World, meter: Meter) -> None:
    put_poison(world, CALENDARS)
    lives(world, meter, 10)
    before = stored(world, "poison")
    failed = world.telemetry.total("schedule_visits_failed")
    lives(world, meter, 10)
    assert stored(world, "poison") == before
    assert world.telemetry.total("schedule_visits_failed") == failed > 0


def test_a_further_change_of_a_calendar_heals_it(world: World, meter: Meter) -> None:
    put_poison(world, CALENDARS)
    lives(world, meter, 5)
    for number in range(CALENDARS):
        world.put_calendar(f"calendar-{number}", ["2000-01-01"])
    lives(world, meter, 5)
    healed = stored(world, "poison")
    assert (healed.broken, view(world).broken_reason) == ("", None)
    assert healed.made > 0
    assert healed.next_at is not None


def test_it_can_be_shown_listed_replaced_and_deleted(world: World, meter: Meter) -> None:
    put_poison(world, CALENDARS)
    put_poison(world, CALENDARS, "another")
    lives(world, meter, 3)
    meter.done = 0
    shown, _ = world.api.schedule_views.list(None, 10)
    assert [each.broken_reason is not None for each in shown] == [True, True]
    page = world.api.occurrences.history("poison", limit=10, cursor=None)
    assert page.upcoming == ()
    world.pause("another")
    assert view(world, "another").broken_reason is not None
    world.delete_schedule("another")
    world.put_schedule("poison", expression="* * * * *")
    assert view(world).broken_reason is None
    assert stored(world, "poison").broken == ""
    assert meter.done < MAX_WORK_A_VIEW


def test_what_excludes_too_much_is_refused_with_its_field_named(world: World) -> None:
    names = [f"calendar-{number}" for number in range(6)]
    for number, name in enumerate(names):
        world.put_calendar(name, expressions_of(number))
    with pytest.raises(InvalidInput) as refused:
        world.put_schedule("poison", expression=EACH_SECOND, exclude=names)
    assert [error.field for error in refused.value.errors] == ["exclude"]
    assert "at most 100 expressions" in refused.value.errors[0].message
    world.put_schedule("poison", expression="0 * * * *", exclude=names[1:])


# --- at the limit ---


def test_a_schedule_at_the_limit_takes_a_bounded_part_of_each_tick(
    world: World, meter: Meter
) -> None:
    jobs = [world.submit(delay_seconds=delay) for delay in (400, 500, 700)]
    world.put_schedule("healthy", expression="* * * * *")
    put_poison(world, AT_THE_LIMIT)
    done = lives(world, meter, 12)
    assert max(done) < 4 * MAX_WORK
    # It is looked at again when the time comes to which its search came, not in each tick.
    assert sum(each > 4 * MAX_WORK_A_LOOK for each in done) <= 3
    assert [world.job(job).status for job in jobs] == [JobStatus.SUCCEEDED] * 3
    assert stored(world, "healthy").made >= 12


def test_a_tick_that_dies_in_a_long_search_is_not_killed_by_it_again(
    world: World, meter: Meter
) -> None:
    put_poison(world, AT_THE_LIMIT)
    meter.most = 8 * MAX_WORK_A_LOOK
    assert tick(world, meter) > meter.most, "it died in the search"
    reached = stored(world, "poison").next_at
    assert reached is not None
    assert reached > world.clock.now() + world.timings.look_ahead
    # It dies again only when the time comes to which it looked, or when a calendar has changed.
    done = lives(world, meter, 20)
    assert sum(each > 4 * MAX_WORK_A_LOOK for each in done) <= 6
    further = stored(world, "poison").next_at
    assert further is not None
    assert further > reached
    assert world.control.read_watermark() is not None


def test_no_schedule_takes_what_another_may_use(world: World, meter: Meter) -> None:
    names = [f"poison-{number}" for number in range(4)]
    for name in names:
        put_poison(world, AT_THE_LIMIT, name)
    world.put_schedule("healthy", expression="* * * * *")
    meter.most = 100 * MAX_WORK
    lives(world, meter, 3)
    reached = {stored(world, name).next_at for name in names}
    assert all(at is not None and at > world.clock.now() for at in reached)
    assert stored(world, "healthy").made >= 7


def test_a_view_of_a_schedule_at_the_limit_is_quick(world: World, meter: Meter) -> None:
    put_poison(world, AT_THE_LIMIT)
    for _ in range(3):
        meter.done = 0
        view(world)
        world.api.occurrences.history("poison", limit=10, cursor=None)
        assert meter.done <= 2 * MAX_WORK_A_VIEW
        lives(world, meter, 1)


# --- jobs before schedules ---


def test_jobs_are_swept_and_the_sweep_is_recorded_before_a_schedule_is_looked_at(
    world: World,
) -> None:
    job = world.submit(delay_seconds=400)
    world.advance(200)
    faults = Faults()
    faults.interrupt("schedules.read_due", _die)
    with pytest.raises(Crash):
        world.tick(world.process(faults).scheduler)
    assert world.job(job).is_sent
    record = world.control.read_tick()
    assert record is not None
    assert record.at == world.clock.now()
    state = world.control.read_watermark()
    assert state is not None
    assert state.candidate is not None
    assert bucket_of(START) >= state.low


def _die() -> None:
    raise Crash


def test_a_visit_that_stood_still_makes_nothing_that_another_told_as_missed(world: World) -> None:
    misfire = {"policy": "all", "window_seconds": 60}
    world.put_schedule("s", expression="10 9 * * *", misfire=misfire)
    world.advance(400)
    faults = Faults()

    def stand_still() -> None:
        world.advance(900)
        world.tick()

    faults.interrupt("side_items.count_items", stand_still)
    world.tick(world.process(faults).scheduler)
    assert not world.store.jobs()
