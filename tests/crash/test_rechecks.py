"""The sweep's recheck of wait queues: what a lost message or a worker that died has left."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import EventKind, Job, JobStatus
from hourhand.domain.limits.declarations import Concurrency
from hourhand.domain.limits.overrides import LimitChanges
from hourhand.domain.side_items import SideItemKind
from hourhand.memory import MemoryHandlerDirectory
from hourhand.ports.control_store import LimitsSeen
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.services.limits import queue_rechecks as module
from hourhand.services.limits.wait_queues import WaitQueues
from hourhand.testing import Crash
from tests.world.faults import Faults
from tests.world.limits import holders, limited, waiters
from tests.world.runs import HandlerKilled, kill_process, succeed
from tests.world.world import World

MINUTE = 60

BEFORE_THE_NEXT_READ = 7
"""Minutes past the hour: a bucket of more than an hour is read on the half hours of its age."""


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


def test_a_granted_job_that_was_not_sent_is_sent_though_another_stands_before_it() -> None:
    """Its slot is taken, so a recheck that looks at the first waiter alone never gets to it."""
    world = limited(Concurrency(1))
    world.submit(id="first")
    world.submit(id="waits")
    one, other = world.receive()
    dying = world.process(Faults().crash_within("queues.send", 0))

    def look(job: Job, pulse: Pulse) -> Finished:
        world.handle(other)
        return succeed(job, pulse)

    with pytest.raises(Crash):
        world.handle(one, look, dying.worker)
    assert holders(world) == {"waits": 1}
    world.submit(id="urgent", priority="high")
    world.deliver()
    assert [key.rpartition(".")[2] for key in waiters(world)] == ["urgent", "waits"]
    world.settle()
    assert {world.job(name).status for name in ("waits", "urgent")} == {JobStatus.SUCCEEDED}


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


def let_it_wait_half_a_day(world: World, look: Callable[[], object]) -> Job:
    """Let a job run until the entry of the one that waits is put off; return that one."""
    world.submit(id="first")
    waiting = world.submit(id="waits")
    one, other = world.receive()

    def run(job: Job, pulse: Pulse) -> Finished:
        world.handle(other)
        world.tick()
        world.advance(13 * 3600)
        pulse.beat(None)
        world.tick()
        look()
        return succeed(job, pulse)

    world.handle(one, run)
    return waiting


def test_a_waiter_of_half_a_day_moves_its_entry_and_is_granted_as_ever() -> None:
    world = limited(Concurrency(1))

    def look() -> None:
        moved = world.job("waits")
        assert moved.history[-1].kind is EventKind.REFILED
        assert moved.due_at is not None
        assert moved.due_at > world.clock.now()

    waiting = let_it_wait_half_a_day(world, look)
    assert world.job(waiting).due_at == world.clock.now()
    world.deliver()
    assert world.job(waiting).status is JobStatus.SUCCEEDED


def test_a_waiter_of_half_a_day_whose_message_was_not_sent_is_sent_by_the_sweep(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = limited(Concurrency(1))
    with monkeypatch.context() as context:
        context.setattr(WaitQueues, "send", lambda *_: None)
        waiting = let_it_wait_half_a_day(world, lambda: None)
    assert list(holders(world)) == [waiting.id]
    # A changed number makes the sweep read all entries.
    world.api.limits.change("greet.1", LimitChanges(sets_max=True, max=2), "operator")
    assert minutes_until_all_ran(world, 4) > 0


@pytest.mark.parametrize("name", [None, "shared"])
def test_a_waiter_of_half_a_day_is_not_sent_while_its_handler_is_paused(name: str | None) -> None:
    world = limited(Concurrency(1, name=name))
    waiting = let_it_wait_half_a_day(world, world.pause_handler)
    assert not world.receive()
    put_off_to = world.job(waiting).due_at
    assert put_off_to is not None
    assert put_off_to > world.clock.now()
    world.resume_handler()
    assert minutes_until_all_ran(world, 4) > 0


def test_a_queue_that_cannot_be_read_is_rechecked_by_the_next_tick() -> None:
    world = limited(Concurrency(1))
    waiting = with_a_waiter(world)
    purge(world)
    world.advance(MINUTE)
    faults = Faults().fail("side_items.query_items", Unavailable(), times=9)
    report = world.tick(world.process(faults).scheduler)
    assert (report.failures, report.completed) == (1, True)
    assert (
        world.telemetry.sentences[-1] == "A job could not be repaired; the next tick tries again."
    )
    assert ticks_until_sent(world) == 1
    assert world.job(waiting).waits_for is not None


def pause(world: World, keys: Sequence[str] = ()) -> None:
    """Set the number of the limit to 0, or that of some of its keys."""
    changes = LimitChanges(sets_max=not keys, max=0, keys=dict.fromkeys(keys, 0))
    world.api.limits.change("greet.1", changes, "operator")
    world.advance(world.timings.control_cache.total_seconds() + 1)


def resume(world: World) -> int:
    """Restore the number of the limit; return how many jobs it granted a slot at once."""
    changes = LimitChanges(sets_max=True, max=None)
    return world.api.limits.change("greet.1", changes, "operator")[1]


def minutes_until_all_ran(world: World, most: int = 60) -> int:
    for minute in range(1, most + 1):
        world.minute()
        if not world.unfinished():
            return minute
    return 0


def test_queues_that_stay_full_do_not_keep_the_sweep_from_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_QUEUES", 1)
    world = limited(Concurrency(1, key="tenant"))
    pause(world)
    for tenant in "abcdefgh":
        world.submit(id=f"waits-{tenant}", tenant=tenant)
    world.deliver()
    pause(world, keys="abcdefg")
    assert resume(world) == 0
    for _ in range(60):
        world.minute()
    assert [job.id for job in world.unfinished()] == [f"waits-{tenant}" for tenant in "abcdefg"]


def test_what_a_sweep_rechecks_grows_much_less_than_the_number_of_queues(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_QUEUES", 4)
    world = limited(Concurrency(1, key="tenant"))
    pause(world)
    jobs = [world.submit(tenant=f"tenant-{n}") for n in range(100)]
    world.deliver()
    drawn: list[set[str]] = []
    for _ in range(2):
        world.advance(MINUTE)
        rechecks = world.scheduler.scheduling.rechecks.of_sweep(f"sweep {len(drawn)}")
        for job in jobs:
            assert rechecks.recheck(world.job(job)) is None
        drawn.append(set(rechecks._seen))
        assert len(jobs) - rechecks.left == len(rechecks._seen)
        assert 4 <= len(rechecks._seen) <= 30
    assert drawn[0] != drawn[1]
    assert world.telemetry.total("rechecks_left") > 140


@pytest.mark.parametrize("hours", [2, 14])
def test_jobs_with_keys_that_waited_long_run_soon_after_a_resume(hours: int) -> None:
    world = limited(Concurrency(1, key="tenant"))
    pause(world)
    for tenant in "abc":
        world.submit(tenant=tenant)
    world.deliver()
    for _ in range(60 * hours + BEFORE_THE_NEXT_READ):
        world.minute()
    assert len(world.unfinished()) == 3
    assert resume(world) == 0, "which keys wait is not known"
    assert minutes_until_all_ran(world) == 1


@pytest.mark.parametrize("hours", [3, 14])
def test_jobs_that_waited_long_for_a_limit_run_soon_after_it_was_removed(hours: int) -> None:
    world = limited(Concurrency(1))
    pause(world)
    for _ in range(3):
        world.submit()
    world.deliver()
    for _ in range(60 * hours + BEFORE_THE_NEXT_READ):
        world.minute()
    world.handlers = MemoryHandlerDirectory(HandlerInfo(name="greet"))
    process = world.process()
    world.scheduler, world.worker = process.scheduler, process.worker
    assert minutes_until_all_ran(world) == 1


def limits_seen(world: World) -> LimitsSeen:
    record = world.control.read_tick()
    assert record is not None
    assert record.limits is not None
    return record.limits


def test_a_change_is_followed_up_until_every_worker_knows_it_and_all_was_rechecked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = limited(Concurrency(1, key="tenant"))
    world.tick()
    first = limits_seen(world)
    assert first.changed_at == world.clock.now()
    settling = world.scheduler.scheduling.changed_limits.settling
    world.advance(settling.total_seconds() - 1)
    world.tick()
    assert limits_seen(world) == first
    world.advance(1)
    world.tick(seconds_left=0)
    assert limits_seen(world) == first, "that tick was cut short"
    world.tick()
    assert limits_seen(world) == LimitsSeen(first.fingerprint)
    pause(world)
    world.tick()
    assert limits_seen(world).changed_at == world.clock.now()
    monkeypatch.setattr(module, "MAX_QUEUES", 1)
    for tenant in "abcdefgh":
        world.submit(tenant=tenant)
    world.deliver()
    for _ in range(60):
        world.minute()
        assert limits_seen(world).changed_at is not None, "some queues are always left"
    world.minute()
    assert limits_seen(world).changed_at is None


def test_without_limits_a_tick_reads_no_numbers_of_limits() -> None:
    world = World()
    faults = Faults()
    world.tick(world.process(faults).scheduler)
    assert "read_overrides" not in [call.method for call in faults.calls]
    assert limits_seen(world) == LimitsSeen("")


def granted_behind_a_backlog(jobs: int) -> World:
    """Return a world in which so many jobs have slots, and no worker has time for them."""
    world = limited(Concurrency(jobs))
    world.tick()
    for n in range(jobs):
        world.submit(id=f"first-{n}")
    firsts = world.receive()
    for n in range(jobs):
        world.submit(id=f"waits-{n}")
    seconds = world.receive()

    def behave(job: Job, pulse: Pulse) -> Finished:
        if firsts:
            world.handle(firsts.pop(), behave)
        else:
            for delivery in seconds:
                world.handle(delivery)
        return succeed(job, pulse)

    world.handle(firsts.pop(), behave)
    assert len(world.queues.messages()) == jobs
    assert len(world.unfinished()) == jobs
    return world


def test_granted_jobs_behind_a_backlog_get_at_most_two_messages() -> None:
    world = granted_behind_a_backlog(5)
    for _ in range(25):
        world.advance(MINUTE)
        world.tick()
    assert len(world.queues.messages()) == 5, "the queue explains that they wait"
    for _ in range(20):
        world.advance(MINUTE)
        world.tick()
    assert len(world.queues.messages()) == 10, "none is explained for ever"
    world.settle()


def test_granted_jobs_that_lost_their_messages_are_sent_together_and_once() -> None:
    world = granted_behind_a_backlog(5)
    purge(world)
    world.advance(MINUTE / 2)
    world.submit(id="ahead")
    faults = Faults()
    for _ in range(20):
        world.advance(MINUTE)
        world.tick(world.process(faults).scheduler)
    sent = [call for call in faults.calls if (call.port, call.method) == ("queues", "send")]
    assert len(sent) == 1
    assert len(world.queues.messages()) == 1 + 5
    kinds = [event.kind for event in world.job("waits-0").history]
    assert kinds.count(EventKind.DISPATCHED_AGAIN) == 1
    world.settle()


def test_a_waiter_of_a_limit_that_is_gone_gets_one_message_in_a_backlog() -> None:
    world = limited(Concurrency(1))
    pause(world)
    for _ in range(5):
        world.submit()
    world.deliver()
    world.handlers = MemoryHandlerDirectory(HandlerInfo(name="greet"))
    process = world.process()
    world.scheduler, world.worker = process.scheduler, process.worker
    for _ in range(25):
        world.advance(MINUTE)
        world.tick()
    assert len(world.queues.messages()) == 5
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
