"""A schedule that asks for it is paused when a job of it failed, and only then."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hourhand.api.requests.schedule_operations import BackfillInput
from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.schedules.schedule import Backfill, Schedule
from hourhand.domain.times import rfc3339
from hourhand.memory import START
from hourhand.ports.publisher import Event, EventName, NoReceiver
from hourhand.services.schedules.failure_pauses import FailurePauses
from tests.unit.services.schedule_views import MINUTELY, stored
from tests.world.aspects import ended
from tests.world.factories import make_event, make_job
from tests.world.faults import Faults
from tests.world.world import World


@pytest.fixture(autouse=True)
def schedule(world: World) -> Schedule:
    world.put_schedule("s", expression=MINUTELY, pause_on_failure=True)
    return stored(world)


class Receiver:
    """Notes the events, after it failed as often as it is told."""

    def __init__(self, fails: int) -> None:
        self.fails = fails
        self.events: list[Event] = []

    def publish(self, event: Event) -> None:
        if self.fails:
            self.fails -= 1
            raise Unavailable("It does not answer.")
        self.events.append(event)


def test_a_pause_that_could_not_be_published_is_published_by_the_repeated_task(
    world: World,
) -> None:
    job, receiver = failed(world), Receiver(fails=1)
    task = replace(pauses(world), publisher=receiver)
    with pytest.raises(Unavailable):
        task.settle(ended(job))
    paused_at = stored(world).paused_at
    world.advance(5)
    task.settle(ended(job))
    assert paused_at is not None
    assert receiver.events == [Event(EventName.SCHEDULE_PAUSED, "s", paused_at)]


def pauses(world: World, faults: Faults | None = None) -> FailurePauses:
    return FailurePauses(
        schedules=(faults or Faults()).wrap(world.schedules, "schedules"),
        withdrawal=world.api.schedules.effects.withdrawal,
        publisher=NoReceiver(),
        clock=world.clock,
        randomness=world.process().api.schedules.randomness,
        telemetry=world.telemetry,
    )


def failed(world: World, schedule_id: str = "s") -> Job:
    return make_job(
        status=JobStatus.DEAD,
        schedule_id=schedule_id,
        schedule_revision=1,
        pauses_schedule=True,
        finished_at=world.clock.now(),
    )


def test_it_is_paused_and_what_is_pending_is_withdrawn(world: World) -> None:
    job = failed(world)
    pauses(world).settle(ended(job))
    assert stored(world).paused_at == world.clock.now()
    assert job.id in stored(world).note
    assert {job.status for job in world.store.jobs().values()} == {JobStatus.CANCELLED}
    assert world.telemetry.total("schedules_paused_by_failure") == 1


def test_twice_is_once(world: World) -> None:
    job = failed(world)
    pauses(world).settle(ended(job))
    before = stored(world)
    pauses(world).settle(ended(job))
    assert stored(world) == before


def test_it_is_paused_though_it_was_recomputed_since(world: World) -> None:
    job = failed(world)
    world.api.schedules.recompute("s", actor="tick")
    pauses(world).settle(ended(job))
    assert stored(world).paused_at is not None


def test_a_failure_from_before_it_was_resumed_does_not_pause_it_again(world: World) -> None:
    job = failed(world)
    world.api.schedules.pause("s", None, actor="me")
    world.api.schedules.resume("s", None, actor="me")
    pauses(world).settle(ended(job))
    assert stored(world).paused_at is None
    world.advance(1)
    pauses(world).settle(ended(failed(world)))
    assert stored(world).paused_at is not None


def test_one_that_does_not_ask_for_it_any_more_goes_on(world: World) -> None:
    world.put_schedule("s", expression=MINUTELY, pause_on_failure=False)
    pauses(world).settle(ended(failed(world)))
    assert stored(world).paused_at is None


def test_one_that_is_gone_is_left_alone(world: World) -> None:
    pauses(world).settle(ended(failed(world, "another")))
    world.api.schedules.delete("s", actor="me")
    before = stored(world)
    pauses(world).settle(ended(failed(world)))
    assert stored(world) == before


def test_a_schedule_that_changes_meanwhile_is_paused_as_it_is_then(world: World) -> None:
    faults = Faults()
    faults.interrupt("schedules.write", lambda: world.api.schedules.trigger("s", None, actor="me"))
    pauses(world, faults).settle(ended(failed(world)))
    assert stored(world).paused_at is not None
    assert any(entry.salt for entry in stored(world).journal)


def test_one_that_changes_all_the_time_is_told_of(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hourhand.services.schedules.failure_pauses.MAX_LOST_RACES", 0)
    with pytest.raises(Unavailable):
        pauses(world).settle(ended(failed(world)))


# --- a backfill that runs although its schedule is paused ----------------------------------------


def backfilled(world: World) -> Job:
    """Pause the schedule, start a backfill of it, and return a failed job of that."""
    world.pause("s")
    span = {"from": rfc3339(START - timedelta(minutes=3)), "to": rfc3339(START)}
    report = world.api.backfills.start("s", BackfillInput.parse(span), actor="caller")
    assert report.backfill is not None
    made = make_event(actor=f"backfill {report.backfill.id}")
    return replace(failed(world), schedule_revision=None, history=(made,))


def backfill_of(world: World) -> Backfill:
    [found] = world.schedules.list_backfills(stored(world).key, before=None, limit=9)
    return found


def test_it_is_paused_alone_where_its_schedule_is_paused(world: World) -> None:
    job = backfilled(world)
    before = stored(world)
    pauses(world).settle(ended(job))
    assert backfill_of(world).paused_at == world.clock.now()
    once = backfill_of(world)
    pauses(world).settle(ended(job))
    assert (backfill_of(world), stored(world)) == (once, before)


def test_a_backfill_that_changes_meanwhile_is_looked_at_again(world: World) -> None:
    job = backfilled(world)

    def step() -> None:
        found = backfill_of(world)
        after = replace(found, sequence=found.sequence + 1, write_id="another")
        assert world.schedules.write_backfill(after, previous=found.sequence)

    faults = Faults().interrupt("schedules.write_backfill", step)
    pauses(world, faults).settle(ended(job))
    assert backfill_of(world).paused_at == world.clock.now()
