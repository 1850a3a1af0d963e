"""Triggers with a payload, a priority and a key."""

from __future__ import annotations

from contextlib import suppress

import pytest

from hourhand.domain.errors import IdempotencyConflict
from hourhand.domain.jobs.job import Job, Priority
from hourhand.testing import Crash
from tests.world.faults import Faults, When
from tests.world.world import World


@pytest.fixture(autouse=True)
def schedule(world: World) -> None:
    world.put_schedule("s", expression="@yearly", payload={"n": 1}, overlap="allow")


def trigger(world: World, by: object = None, **options: object) -> Job:
    services = by or world
    return services.api.schedules.trigger("s", None, actor="caller", **options)  # type: ignore[attr-defined, no-any-return]


def history(world: World) -> list[str | None]:
    page = world.api.occurrences.history("s", limit=99, cursor=None)
    return [record.job_id for record in page.entries]


def test_a_trigger_has_a_payload_and_a_priority_of_its_own(world: World) -> None:
    job = trigger(world, payload_text='{"n":2}', priority=Priority.HIGH)
    assert (job.payload.text, job.priority, job.queue) == ('{"n":2}', Priority.HIGH, Priority.HIGH)
    assert trigger(world).payload.text == '{"n":1}'


def test_the_same_key_is_the_same_job_also_later(world: World) -> None:
    first = trigger(world, key="order-7")
    world.deliver()
    world.advance(3600)
    again = trigger(world, key="order-7")
    assert (again.id, again.occurrence) == (first.id, first.occurrence)
    assert (len(world.runs), history(world)) == (1, [first.id])
    assert trigger(world, key="order-8").id != first.id


@pytest.mark.parametrize("other", [{"payload_text": "2"}, {"priority": Priority.LOW}])
def test_a_key_with_another_request_is_refused(world: World, other: dict[str, object]) -> None:
    trigger(world, key="order-7")
    with pytest.raises(IdempotencyConflict):
        trigger(world, key="order-7", **other)
    assert len(world.store.jobs()) == 1


def test_a_key_of_a_deleted_schedule_is_free_again(world: World) -> None:
    first = trigger(world, key="order-7")
    world.delete_schedule("s")
    world.advance(1)
    world.put_schedule("s", expression="@yearly", payload={"n": 1})
    assert trigger(world, key="order-7").id != first.id


def test_a_trigger_that_dies_anywhere_makes_one_job_that_is_noted_by_its_repeat(
    world: World,
) -> None:
    counted = Faults()
    trigger(world, world.process(counted), key="counted")
    for call in counted.calls:
        key = f"call-{call.number}"
        faults = Faults().crash(call.number, When.AFTER)
        with suppress(Crash):
            trigger(world, world.process(faults), key=key)
        job = trigger(world, key=key)
        assert history(world).count(job.id) == 1
        world.deliver()
        assert len([run for run in world.runs if run.job.id == job.id]) == 1
