"""The sweep's recheck of wait queues: what a lost message or a worker that died has left."""

from __future__ import annotations

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import EventKind, Job, JobStatus
from hourhand.domain.limits.declarations import Concurrency
from hourhand.domain.side_items import SideItemKind
from hourhand.memory import MemoryHandlerDirectory
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.services.limits import rechecks as module
from hourhand.services.limits.wait_queues import WaitQueues
from hourhand.testing import Faults
from tests.world.limits import holders, limited, waiters
from tests.world.runs import HandlerKilled, kill_process, succeed
from tests.world.world import World

MINUTE = 60


def with_a_waiter(world: World) -> Job:
    """Let one job run while another parks; return the one that waits."""
    world.submit(id="first")
    waiting = world.submit(id="waits")
    one, other = world.receive()

    def look(job: Job, pulse: Pulse) -> Finished:
        world.handle(other)
        return succeed(job, pulse)

    world.handle(one, look)
    return waiting


def purge(world: World) -> None:
    world.queues._contents.messages.clear()


def ticks_until_sent(world: World, minutes: int = 5) -> int:
    for minute in range(1, minutes + 1):
        world.advance(MINUTE)
        world.tick()
        if world.receive():
            return minute
    return 0


def test_a_job_that_got_a_slot_and_whose_message_is_lost_is_sent_again() -> None:
    world = limited(Concurrency(1))
    waiting = with_a_waiter(world)
    assert holders(world) == {"waits": 1}
    purge(world)
    world.settle()
    assert world.job(waiting).status is JobStatus.SUCCEEDED


def test_a_job_that_sqs_did_not_take_at_its_grant_is_sent_again() -> None:
    world = limited(Concurrency(1))
    faults = Faults()
    process = world.process(faults)
    world.submit(id="first")
    waiting = world.submit(id="waits")
    one, other = world.receive()

    def look(job: Job, pulse: Pulse) -> Finished:
        world.handle(other)
        faults.throttle("queues.send", nth=1)
        return succeed(job, pulse)

    world.handle(one, look, process.worker)
    assert world.telemetry.total("send_failures") == 1
    assert not world.queues.messages()
    world.settle()
    assert world.job(waiting).status is JobStatus.SUCCEEDED


def test_a_parked_job_without_a_waiter_record_is_sent() -> None:
    world = limited(Concurrency(1))
    world.submit(id="first")
    with pytest.raises(HandlerKilled):
        world.handle(world.receive()[0], kill_process)
    waiting = world.submit(id="waits")
    world.deliver()
    for key in list(world.side_items.items()):
        if key.kind is SideItemKind.WAITER:
            world.side_items._items.pop(key)
            world.side_items._order.remove((key.partition, key.sort))
    world.settle()
    assert world.job(waiting).status is JobStatus.SUCCEEDED


def test_a_waiter_that_is_not_granted_yet_is_left_alone() -> None:
    world = limited(Concurrency(1))
    world.submit(id="first")
    world.submit(id="waits")
    one, other = world.receive()

    def look(job: Job, pulse: Pulse) -> Finished:
        world.handle(other)
        for _ in range(10):
            world.advance(15)
            pulse.beat(None)
            world.tick()
        assert not world.receive()
        assert len(waiters(world)) == 1
        return succeed(job, pulse)

    world.handle(one, look)
    world.settle()


def test_the_waiters_of_a_limit_that_is_gone_are_sent() -> None:
    world = limited(Concurrency(1))
    world.submit(id="first")
    with pytest.raises(HandlerKilled):
        world.handle(world.receive()[0], kill_process)
    waiting = world.submit(id="waits")
    world.deliver()
    assert world.job(waiting).waits_for is not None
    world.handlers = MemoryHandlerDirectory(HandlerInfo(name="greet"))
    process = world.process()
    world.scheduler, world.worker = process.scheduler, process.worker
    assert ticks_until_sent(world) == 1


def test_a_waiter_of_half_a_day_moves_its_entry_and_is_granted_as_ever() -> None:
    world = limited(Concurrency(1))
    world.submit(id="first")
    waiting = world.submit(id="waits")
    one, other = world.receive()

    def look(job: Job, pulse: Pulse) -> Finished:
        world.handle(other)
        world.tick()
        world.advance(13 * 3600)
        pulse.beat(None)
        world.tick()
        moved = world.job(waiting)
        assert moved.history[-1].kind is EventKind.REFILED
        assert moved.due_at is not None
        assert moved.due_at > world.clock.now()
        return succeed(job, pulse)

    world.handle(one, look)
    woken = world.job(waiting)
    assert woken.due_at == world.clock.now()
    world.deliver()
    assert world.job(waiting).status is JobStatus.SUCCEEDED


def test_a_sweep_rechecks_a_bounded_number_of_queues(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_QUEUES", 1)
    world = limited(Concurrency(1, key="tenant"))
    for tenant in ("a", "b"):
        world.submit(id=f"first-{tenant}", tenant=tenant)
    for delivery in world.receive():
        with pytest.raises(HandlerKilled):
            world.handle(delivery, kill_process)
    for tenant in ("a", "b"):
        world.submit(id=f"waits-{tenant}", tenant=tenant)
    world.deliver()
    world.advance(MINUTE)
    world.tick()
    assert world.telemetry.total("rechecks_left") == 1
    world.settle()


def test_a_slot_that_no_component_granted_is_granted_by_the_sweep(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise Unavailable

    world = limited(Concurrency(1))
    with monkeypatch.context() as patched:
        patched.setattr(WaitQueues, "release", fail)
        waiting = with_a_waiter(world)
    assert holders(world) == {"first": 1}
    assert ticks_until_sent(world) == 1
    assert holders(world) == {"waits": 1}
    assert world.job(waiting).waits_for is not None
