"""What follows at once from a change of a schedule, and what is left to the next tick."""

from __future__ import annotations

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.domain.schedules.changes import DEFINITION_KEPT
from hourhand.memory import START
from tests.unit.services.schedule_views import MINUTELY, at, job_minutes, statuses, stored, told
from tests.unit.services.schedules.test_operations import parse, put, service
from tests.world.faults import Faults, When
from tests.world.world import World


@pytest.mark.parametrize(
    "method",
    ["jobs.put", "schedules.write", "jobs.get_many", "schedules.retire_definition"],
)
def test_a_change_that_stands_is_answered_though_what_follows_from_it_fails(
    world: World, method: str
) -> None:
    put(world)
    faults = Faults()
    nth = 2 if method == "schedules.write" else 1
    faults.throttle(method, nth=nth)
    view, _ = service(world, faults).put("s", parse(expression="*/2 * * * *"), actor="caller")
    assert view.schedule.revision == 2
    world.tick()
    assert told(world) == [(2, 1, "job"), (4, 1, "job")]
    for minute in (1, 2, 3, 4, 5):
        world.advance_to(at(minute))
        world.deliver()
    assert {run.job.occurrence for run in world.runs} == {at(2), at(4)}


def test_a_job_that_no_visit_will_reach_any_more_does_not_wait_for_one(world: World) -> None:
    world.put_schedule("s", expression=MINUTELY)
    # A tick that looked further ahead, by its clock, than the replacement's own visit will.
    found = world.api.schedule_views.get("s")
    world.api.schedules.effects.materialiser.visit(
        found.schedule, found.definition, now=START, horizon=at(6), actor="tick"
    )
    assert job_minutes(world)[-1] == 6
    faults = Faults()
    faults.throttle("jobs.get_many")
    service(world, faults).put("s", parse(expression="0 0 1 1 *"), actor="caller")
    world.advance(400)
    world.tick()
    world.deliver()
    assert not world.runs
    assert set(statuses(world).values()) == {"CANCELLED"}


def test_a_put_whose_write_is_not_answered_may_be_repeated(world: World) -> None:
    faults = Faults()
    faults.lose_answer("schedules.write")
    one = service(world, faults)
    with pytest.raises(Unavailable):
        one.put("s", parse(), actor="caller")
    assert not put(world)
    world.tick()
    assert job_minutes(world) == [1, 2, 3, 4, 5]


# --- definitions that come and go ---


def test_a_replaced_definition_expires_and_the_present_one_does_not(world: World) -> None:
    put(world)
    first = stored(world).definition
    put(world, payload=1)
    kept = world.schedules.kept_definitions("s")
    assert kept[first].keep_until == START + DEFINITION_KEPT
    assert kept[stored(world).definition].keep_until is None
    put(world)
    kept = world.schedules.kept_definitions("s")
    assert kept[first].keep_until is None
    assert [d.keep_until is None for d in kept.values()].count(True) == 1


def test_a_deleted_schedules_definition_expires_and_is_kept_when_it_comes_back(
    world: World,
) -> None:
    put(world)
    world.delete_schedule("s")
    (kept,) = world.schedules.kept_definitions("s").values()
    assert kept.keep_until == START + DEFINITION_KEPT
    put(world)
    (kept,) = world.schedules.kept_definitions("s").values()
    assert kept.keep_until is None


@pytest.mark.parametrize(
    ("method", "when"),
    [
        ("schedules.retire_definition", When.BEFORE),
        ("schedules.retire_definition", When.AFTER),
        ("schedules.write", When.AFTER),
        ("queues.send", When.BEFORE),
    ],
)
def test_a_definition_in_use_never_expires_however_two_puts_race(
    world: World, method: str, when: When
) -> None:
    put(world, payload="a")
    faults = Faults()
    # As this one replaces "a" by "b", another puts "a" back.
    faults.interrupt(method, lambda: put(world, payload="a"), when=when)
    service(world, faults).put("s", parse(payload="b"), actor="caller")
    used = stored(world).definition
    assert world.schedules.kept_definitions("s")[used].keep_until is None


@pytest.mark.parametrize("when", When)
def test_a_definition_in_use_never_expires_when_a_delete_races_with_a_put(
    world: World, when: When
) -> None:
    put(world)
    faults = Faults()
    faults.interrupt("schedules.retire_definition", lambda: put(world), when=when)
    service(world, faults).delete("s", actor="caller")
    used = stored(world).definition
    assert stored(world).deleted_at is None
    assert world.schedules.kept_definitions("s")[used].keep_until is None


def test_a_definition_that_expires_at_once_is_not_put_back_from_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(world, payload="a")
    faults = Faults()

    def put_back_and_lose() -> None:
        put(world, payload="a")
        monkeypatch.setattr(world.schedules, "get_definition", lambda *_: None)

    faults.interrupt("schedules.retire_definition", put_back_and_lose, when=When.AFTER)
    service(world, faults).put("s", parse(payload="b"), actor="caller")
