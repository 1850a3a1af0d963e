"""What cannot be computed, or takes long: marked, told, searched for apart, and in bounds."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hourhand.domain.schedules import backfills, occurrences
from hourhand.domain.schedules.jitter import MAX_WORK_A_LOOK
from hourhand.domain.schedules.recurrence import ExcludedDate, ExcludedExpression
from hourhand.domain.schedules.rule import MAX_EXCLUSIONS, BadExpression
from hourhand.domain.schedules.schedule import (
    Backfill,
    BackfillOrder,
    CalendarName,
    Schedule,
    ScheduleDefinition,
)
from hourhand.memory import START
from hourhand.services.schedules import due_schedules
from hourhand.services.schedules.backfills import BackfillWork
from tests.unit.services.schedule_bench import Bench, define
from tests.unit.services.schedule_views import recorded, stored
from tests.world.faults import Faults
from tests.world.world import World

LOOK_AHEAD = timedelta(seconds=300)
BAD = "CRON_TZ=Nowhere/City * * * * *"


@pytest.fixture
def seldom(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return a schedule that is excluded for eleven months: further than a visit looks.

    By days, and not by minutes, so that a search of eleven months is quick.
    """
    monkeypatch.setattr(occurrences, "MAX_WORK_A_LOOK", MAX_WORK_A_LOOK // 1440)
    return {"expression": "0 0 * * *", "exclude": ["* * * 1-11 *"]}


def break_definition(world: World, name: str = "s") -> Schedule:
    """Let a schedule run by a definition that cannot be computed any more."""
    schedule = stored(world, name)
    key = (name, schedule.definition)
    definition = world.schedules.get_definitions([key])[key]
    broken = replace(definition, expressions=(BAD,))
    world.schedules.put_definition(name, "broken", broken)
    after = replace(
        schedule,
        sequence=schedule.sequence + 1,
        write_id="x",
        definition="broken",
        next_at=START,
    )
    world.schedules.write(after, previous=schedule.sequence)
    return after


def begin_backfill(world: World, name: str, definition: str) -> None:
    """Let a schedule have a backfill of nine times, of which nothing is made yet."""
    schedule = stored(world, name)
    backfill = Backfill(
        id="b",
        schedule_id=name,
        sequence=1,
        write_id="w",
        definition=definition,
        start=START - timedelta(minutes=9),
        end=START,
        total=9,
        created_at=START,
    )
    world.schedules.write_backfill(backfill, previous=None)
    due = replace(
        schedule, sequence=schedule.sequence + 1, write_id="x", backfills=("b",), next_at=START
    )
    world.schedules.write(due, previous=schedule.sequence)


def visit(world: World, faults: Faults | None = None, **fields: Any) -> Schedule:
    materialiser = world.process(faults or Faults()).api.schedules.effects.materialiser
    schedule = stored(world)
    key = ("s", schedule.definition)
    definition = world.schedules.get_definitions([key])[key]
    now = world.clock.now()
    return materialiser.visit(
        schedule, definition, now=now, horizon=now + LOOK_AHEAD, actor="test", **fields
    ).schedule


# --- what cannot be computed ---


def test_exclusions_are_limited_in_number_whatever_they_are() -> None:
    bench = Bench()
    days = [ExcludedDate((START + timedelta(days=day)).date()) for day in range(MAX_EXCLUSIONS)]
    bench.put_calendar("holidays", *days)
    definition = define(exclude=(CalendarName("holidays"),))
    assert bench.recurrences.of(definition) is bench.recurrences.of(definition)
    one_more = ExcludedDate((START - timedelta(days=1)).date())
    with pytest.raises(BadExpression, match="5,001 entries; at most 5,000"):
        bench.recurrences.of(replace(definition, exclude=(*definition.exclude, one_more)))


def test_what_never_comes_is_no_work() -> None:
    impossible = ExcludedExpression("0 0 31 2 *")
    recurrence = Bench().recurrences.of(define("0 0 31 2 *", "0 * * * *", exclude=(impossible,)))
    assert recurrence.weight == 1
    assert recurrence.next_fire(START, START + timedelta(days=1)) == START + timedelta(hours=1)


def test_a_schedule_whose_rule_is_not_understood_any_more_can_be_replaced(world: World) -> None:
    world.put_schedule("s", expression="* * * * *")
    break_definition(world)
    world.tick()
    assert stored(world).broken.startswith("In 'CRON_TZ=Nowhere/City")
    assert stored(world).next_at is None
    world.advance(600)
    world.put_schedule("s", expression="* * * * *")
    assert (stored(world).broken, stored(world).next_at is None) == ("", False)


def test_a_broken_schedule_is_deleted_and_no_time_is_made_up_that_it_missed(world: World) -> None:
    world.put_schedule("s", expression="* * * * *")
    break_definition(world)
    world.advance(600)
    before = recorded(world)
    world.delete_schedule("s")
    assert stored(world).deleted_at == world.clock.now()
    assert {entry.first for entry in recorded(world)} <= {entry.first for entry in before}


def test_a_broken_schedule_is_warned_of_once(world: World) -> None:
    world.put_schedule("s", expression="* * * * *")
    break_definition(world)
    for _ in range(2):
        world.tick()
        broken = stored(world)
        due = replace(broken, sequence=broken.sequence + 1, next_at=world.clock.now())
        world.schedules.write(due, previous=broken.sequence)
        world.advance(60)
    warned = [each for each in world.telemetry.sentences if "A schedule is broken" in each]
    assert len(warned) == 1


def test_a_schedule_is_shown_as_broken_until_a_visit_has_seen_what_changed(world: World) -> None:
    world.put_schedule("s", expression="* * * * *")
    schedule = stored(world)
    broken = replace(
        schedule, sequence=schedule.sequence + 1, write_id="x", broken="too much", next_at=None
    )
    world.schedules.write(broken, previous=schedule.sequence)
    view = world.api.schedule_views.get("s")
    assert (view.broken_reason, view.next_occurrence) == ("too much", None)


def test_a_paused_schedule_is_not_marked(world: World) -> None:
    world.put_schedule("s", expression="* * * * *", paused=True)
    break_definition(world)
    assert (visit(world).broken, stored(world).next_at) == ("", None)


def test_a_backfill_that_cannot_be_computed_stops_neither_its_schedule_nor_another(
    world: World,
) -> None:
    world.put_schedule("s", expression="* * * * *")
    world.schedules.put_definition("s", "broken", define(BAD))
    begin_backfill(world, "s", "broken")
    world.advance(60)
    world.tick()
    assert stored(world).cursor == world.clock.now() + LOOK_AHEAD
    assert stored(world).backfills == ("b",)
    assert any("A backfill is stopped until" in each for each in world.telemetry.sentences)


@pytest.mark.parametrize(("most", "are_last"), [(100, True), (1, False)])
def test_so_many_backfills_are_left_until_every_schedule_had_its_visit(
    world: World, monkeypatch: pytest.MonkeyPatch, most: int, are_last: bool
) -> None:
    monkeypatch.setattr(due_schedules, "MAX_LEFT_FOR_LAST", most)
    names = [f"s{number}" for number in range(9)]
    for name in names:
        world.put_schedule(name, expression="* * * * *")
        begin_backfill(world, name, stored(world, name).definition)
    plain = [f"p{number}" for number in range(9)]
    for name in plain:
        world.put_schedule(name, expression="* * * * *")
        world.api.schedules.recompute(name, actor="test")
    world.advance(60)
    reached = world.clock.now() + LOOK_AHEAD
    seen: list[bool] = []
    step = BackfillWork.step

    def look_and_step(*given: Any, **named: Any) -> Any:
        seen.append(all(stored(world, name).cursor == reached for name in plain))
        return step(*given, **named)

    monkeypatch.setattr(BackfillWork, "step", look_and_step)
    world.tick()
    assert (len(seen), all(seen)) == (len(names), are_last)
    assert {stored(world, name).cursor for name in names} == {reached}


def test_a_backfill_for_which_there_was_no_time_comes_before_those_that_had_some(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.put_schedule("s", expression="* * * * *")
    begin_backfill(world, "s", stored(world).definition)
    world.advance(60)
    sweep, now = world.scheduler.scheduling.schedule_sweep, world.clock.now()
    # One question for each shard, and one for the visit; the next one is before the backfill.
    left = iter(range(9))
    sweep.run(now=now, horizon=now + LOOK_AHEAD, may_go_on=lambda: next(left, None) is not None)
    assert (stored(world).next_at, stored(world).cursor) == (START, now + LOOK_AHEAD)
    stepped: list[str] = []

    def note(
        _work: BackfillWork, schedule: Schedule, _: Any, backfill: Backfill, **_named: Any
    ) -> Any:
        stepped.append(schedule.id)
        return backfill, ()

    monkeypatch.setattr(BackfillWork, "step", note)
    sweep.run(now=now, horizon=now + LOOK_AHEAD, may_go_on=lambda: True)
    assert (stepped, stored(world).next_at) == (["s"], now)


# --- long searches ---


def test_the_next_time_is_searched_for_after_its_visit_was_stored(
    world: World, seldom: dict[str, Any]
) -> None:
    world.put_schedule("s", **seldom)
    reached = stored(world).next_at
    assert reached is not None
    assert reached > START + timedelta(days=150)


def test_who_loses_the_race_for_what_a_search_found_leaves_it(
    world: World, seldom: dict[str, Any]
) -> None:
    world.put_schedule("s", **seldom)
    schedule = stored(world)
    due = replace(schedule, sequence=schedule.sequence + 1, write_id="x", next_at=START)
    world.schedules.write(due, previous=schedule.sequence)
    faults = Faults()

    def change() -> None:
        world.pause("s")

    faults.interrupt("schedules.write", change, nth=2)
    assert visit(world, faults).paused_at is not None


def test_a_search_that_a_change_wants_is_left_to_the_next_tick(
    world: World, seldom: dict[str, Any]
) -> None:
    world.put_schedule("s", **seldom)
    world.api.schedules.recompute("s", actor="test")
    assert stored(world).next_at == START
    world.tick()
    reached = stored(world).next_at
    assert reached is not None
    assert reached > START + timedelta(days=150)


@pytest.mark.parametrize("most", [0, 1])
def test_searches_of_one_tick_are_bounded(
    world: World, seldom: dict[str, Any], monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(due_schedules, "MAX_LEFT_FOR_LAST", most)
    for name in ("a", "b"):
        world.put_schedule(name, **seldom)
        world.api.schedules.recompute(name, actor="test")
    world.tick()
    far = START + timedelta(days=150)
    reached = [stored(world, name).next_at for name in ("a", "b")]
    assert sum(at is not None and at > far for at in reached) == most


def test_no_search_begins_without_time_for_it(world: World, seldom: dict[str, Any]) -> None:
    world.put_schedule("s", **seldom)
    world.api.schedules.recompute("s", actor="test")
    sweep = world.scheduler.scheduling.schedule_sweep
    # One question for each shard, one for the visit, and the next one is before the search.
    left = iter(range(9))
    now = world.clock.now()
    sweep.run(now=now, horizon=now + LOOK_AHEAD, may_go_on=lambda: next(left, None) is not None)
    reached = stored(world).next_at
    assert reached is not None
    assert now < reached < now + timedelta(days=60)


# --- backfills in bounds ---


@pytest.mark.parametrize("order", [BackfillOrder.OLDEST, BackfillOrder.NEWEST])
def test_a_backfill_whose_rest_cannot_be_counted_stands_still(
    monkeypatch: pytest.MonkeyPatch, order: BackfillOrder
) -> None:
    monkeypatch.setattr(backfills, "MAX_WORK", 60)
    bench = Bench()
    everything = (ExcludedExpression("* * * * *"),)
    definition: ScheduleDefinition = define("* * * * *", exclude=everything)
    schedule = bench.put(definition)
    backfill = Backfill(
        id="b",
        schedule_id="s",
        sequence=1,
        write_id="w",
        definition="d1",
        start=START - timedelta(hours=9),
        end=START,
        total=9,
        created_at=START,
        order=order,
    )
    with pytest.raises(BadExpression, match="cannot be counted"):
        bench.backfill_work().step(schedule, definition, backfill, now=START, actor="test")


def test_the_work_of_a_visit_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    one, other = bench.recurrences.work(lambda: True), bench.recurrences.work(lambda: True)
    one.spend(one.most)
    assert (one.is_over, other.is_over) == (True, False)
    bench.clock.advance(60)
    assert not other.look_at_time()
    assert one.most > MAX_WORK_A_LOOK
