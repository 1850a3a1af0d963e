"""What callers see of schedules, one and in pages."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hourhand.domain.schedules import nominal_times, occurrences
from hourhand.domain.schedules.schedule import Backfill
from hourhand.memory import START
from hourhand.services.schedules import compiled_rules, new_schedule
from tests.unit.services.schedule_views import at, minute_of, stored
from tests.unit.services.schedules.test_operations import put, touch
from tests.world.world import World


def test_schedules_are_listed_by_id_without_the_deleted_ones(world: World) -> None:
    for name in ("b", "a", "d", "c"):
        put(world, name)
    world.delete_schedule("b")
    touch(world, "d", definition="gone")
    views, after = world.api.schedule_views.list(None, 2)
    assert ([view.schedule.id for view in views], after) == (["a"], "b")
    views, after = world.api.schedule_views.list(after, 2)
    assert ([view.schedule.id for view in views], after) == (["c"], None)
    assert views[0].next_occurrence == at(1)


def test_the_next_occurrence_is_the_next_one_that_will_run(world: World) -> None:
    def next_of(**body: object) -> float | None:
        put(world, "n", **body)
        found = world.api.schedule_views.get("n").next_occurrence
        return None if found is None else minute_of(found)

    assert next_of(expression="30 * * * *") == 30
    assert next_of(expression="30 * * * *", start_at="2026-01-05T12:00:00Z") == 210
    assert next_of(expression="*/20 * * * *", exclude=["20 * * * *"]) == 40
    assert next_of(expression="* * * * *", max_occurrences=1) == 1
    world.advance(90)
    assert next_of(expression="* * * * *", max_occurrences=1) is None
    assert next_of(expression="at(2026-01-05T09:05)") == 5
    world.advance(600)
    assert next_of(expression="at(2026-01-05T09:05)") is None


def test_a_view_does_not_search_long_and_a_schedule_that_it_cannot_tell_of_goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    # By minutes, and with a sixtieth of each bound, it is as by seconds, but quick.
    for place, bound in (
        (new_schedule, "MAX_WORK"),
        (compiled_rules, "MAX_WORK"),
        (occurrences, "MAX_WORK_A_LOOK"),
        (nominal_times, "MAX_WORK_A_VIEW"),
    ):
        monkeypatch.setattr(place, bound, getattr(place, bound) // 60)
    put(world, expression="* * * * *", exclude=["* * 5-25 1 *"])
    # A visit looked as far as 10,000 minutes, and goes on from there.
    due_at = stored(world).next_at
    assert due_at is not None
    assert due_at > at(9_999)
    assert world.api.schedule_views.get("s").next_occurrence is None
    world.advance_to(datetime(2026, 1, 25, 23, 58, tzinfo=UTC))
    for _ in range(4):
        world.tick()
    assert stored(world).next_at is not None
    assert world.api.schedule_views.get("s").next_occurrence == datetime(2026, 1, 26, tzinfo=UTC)


def test_a_view_shows_the_backfills_that_are_there_and_a_paused_one_fires_not(
    world: World,
) -> None:
    put(world)
    backfill = Backfill(
        id="b",
        schedule_id="s",
        sequence=1,
        write_id="w",
        definition=stored(world).definition,
        start=at(-5),
        end=at(0),
        total=6,
        created_at=START,
    )
    world.schedules.write_backfill(backfill, previous=None)
    touch(world, backfills=("b", "expired"), paused_at=START, next_at=START, journal=())
    view = world.api.schedule_views.get("s")
    assert view.backfills == (backfill,)
    assert view.next_occurrence is None


def test_a_schedule_is_of_the_tenant_that_put_it_also_after_its_deletion(world: World) -> None:
    views = world.api.schedule_views
    assert not views.is_of_tenant("s", "acme")
    put(world, tenant="acme")
    world.delete_schedule("s")
    assert views.is_of_tenant("s", "acme")
    assert not views.is_of_tenant("s", "other")
