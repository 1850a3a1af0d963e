"""Concurrency limits: how many jobs run at a time, which wait, and how slots pass on."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.jobs.job import EventKind, Job, JobStatus
from hourhand.domain.limits.declarations import Concurrency
from hourhand.domain.limits.overrides import LimitChanges
from hourhand.domain.limits.slot_shards import shards_to_try
from hourhand.domain.limits.wait_queue import STRIDE
from hourhand.domain.times import rfc3339
from hourhand.memory import START
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.services.jobs.due import outgoing_of
from tests.world.faults import Faults
from tests.world.limits import (
    Crowd,
    holders,
    limited,
    live_holders,
    running,
    waiters,
)
from tests.world.runs import HandlerKilled, fail, kill_process, succeed
from tests.world.world import World

each_size = pytest.mark.parametrize("size", [1, 2, 3, 5, 20])


def all_ended(world: World, jobs: list[Job], status: JobStatus = JobStatus.SUCCEEDED) -> bool:
    return all(world.job(job).status is status for job in jobs)


# --- how many run -------------------------------------------------------------------------------


@each_size
def test_no_more_jobs_run_than_a_limit_allows(size: int) -> None:
    world = limited(Concurrency(size))
    jobs = [world.submit() for _ in range(2 * size + 3)]
    crowd = Crowd(world)
    crowd.settle()
    assert crowd.most_running == size
    assert all_ended(world, jobs)
    assert waiters(world) == []
    assert live_holders(world) == set()


def test_jobs_of_different_keys_do_not_wait_for_each_other() -> None:
    world = limited(Concurrency(1, key="payload.account"))
    for account in ("a", "b", 1, "1", None, {"x": 1}):
        world.submit(payload={"account": account})
    same = world.submit(payload={"account": "a"})
    crowd = Crowd(world)
    crowd.work_off(world.receive())
    assert crowd.most_running == 6
    crowd.settle()
    assert all_ended(world, [same])


def test_jobs_without_the_field_of_a_key_share_one_limit() -> None:
    world = limited(Concurrency(1, key="payload.account"))
    for payload in ({}, None, {"account": None}, [1]):
        world.submit(payload=payload)
    crowd = Crowd(world)
    crowd.settle()
    assert crowd.most_running == 1


def test_a_chosen_key_is_that_of_its_submission() -> None:
    world = limited(Concurrency(1, key="payload.account"))
    for number in range(3):
        world.submit(payload={"account": number}, concurrency_key="vip")
    crowd = Crowd(world)
    crowd.settle()
    assert crowd.most_running == 1


def test_a_job_needs_a_slot_of_each_of_its_limits() -> None:
    world = limited(Concurrency(2, key="tenant"), Concurrency(3))
    jobs = [world.submit(tenant=tenant) for tenant in ("a", "b") * 5]
    crowd = Crowd(world)
    crowd.settle()
    assert crowd.most_running == 3
    assert all_ended(world, jobs)
    assert live_holders(world) == set()
    assert waiters(world) == []


def test_jobs_with_long_ids_wait_for_each_other() -> None:
    world = limited(Concurrency(1))
    names = [letter * 100 for letter in "abc"]
    jobs = [world.submit(id=name) for name in names]
    crowd = Crowd(world)
    crowd.settle()
    assert crowd.most_running == 1
    assert all_ended(world, jobs)
    assert {*holders(world)} <= {*names}


def test_a_job_from_before_a_deployment_that_added_the_limit_keeps_to_it() -> None:
    world = limited()
    jobs = [world.submit(payload={"account": 1}) for _ in range(3)]
    assert [job.limit_keys for job in jobs] == [None] * 3
    after = limited(Concurrency(1, key="payload.account"))
    after.store, after.queues = world.store, world.queues
    process = after.process()
    after.worker = process.worker
    crowd = Crowd(after)
    crowd.settle()
    assert crowd.most_running == 1
    assert all_ended(after, jobs)


# --- waiting ------------------------------------------------------------------------------------


def test_a_job_that_waits_for_a_slot_is_not_late() -> None:
    world = limited(Concurrency(1))
    first, second = world.submit(), world.submit()
    one, other = world.receive()

    def look(job: Job, pulse: Pulse) -> Finished:
        world.handle(other)
        for _ in range(30):
            world.advance(20)
            pulse.beat(None)
            world.tick()
        assert world.job(second).waits_for is not None
        record = world.control.read_tick()
        assert record is not None
        assert set(record.oldest_due_seconds.values()) == {0.0}
        return succeed(job, pulse)

    world.handle(one, look)
    assert world.job(first).status is JobStatus.SUCCEEDED


def test_a_job_that_finds_a_limit_full_is_parked_once_without_a_message() -> None:
    world = limited(Concurrency(1))
    first, second = world.submit(), world.submit()
    one, other = world.receive()

    def look(job: Job, pulse: Pulse) -> Finished:
        world.handle(other)
        parked = world.job(second)
        assert (parked.status, parked.attempt) == (JobStatus.ENQUEUED, 0)
        assert parked.waits_for is not None
        assert [event.kind for event in parked.history[-1:]] == [EventKind.PARKED]
        assert len(waiters(world)) == 1
        assert not world.receive()
        for _ in range(30):
            world.advance(20)
            pulse.beat(None)
            world.tick()
        assert not world.receive()
        assert world.job(second) == parked
        return succeed(job, pulse)

    world.handle(one, look)
    assert all_ended(world, [first])
    assert waiters(world) == []
    assert list(holders(world)) == [second.id]
    world.deliver()
    assert all_ended(world, [second])


def test_waiters_start_in_the_order_of_their_due_times_and_priority_is_a_head_start() -> None:
    world = limited(Concurrency(1))
    world.submit()
    order: list[str] = []
    one = world.receive()
    jobs = {}
    for name, priority in [("low", "low"), ("first", "medium"), ("second", "medium")]:
        world.advance(1)
        jobs[name] = world.submit(id=name, priority=priority)
    world.advance(1)
    jobs["high"] = world.submit(id="high", priority="high")

    def note(job: Job, pulse: Pulse) -> Finished:
        order.append(job.id)
        return succeed(job, pulse)

    def let_them_wait(job: Job, pulse: Pulse) -> Finished:
        for delivery in reversed(world.receive()):
            world.handle(delivery, note)
        return succeed(job, pulse)

    world.handle(one[0], let_them_wait)
    for _ in range(5):
        world.deliver(note)
    assert order == ["high", "first", "second", "low"]


def test_a_waiter_that_is_cancelled_leaves_the_queue_and_the_slot_to_the_next() -> None:
    world = limited(Concurrency(3), Concurrency(1, key="tenant"))
    _ = [world.submit(tenant="a") for _ in range(3)]
    deliveries = world.receive()
    parked: list[Job] = []

    def look(job: Job, pulse: Pulse) -> Finished:
        for delivery in deliveries[1:]:
            world.handle(delivery)
        waiting = [j for j in world.store.jobs().values() if j.waits_for is not None]
        parked.extend(waiting)
        world.api.operations.cancel(waiting[0].id, actor="caller")
        ended = world.job(waiting[0])
        assert (ended.status, ended.due_at) == (JobStatus.CANCELLED, None)
        assert len(waiters(world)) == 1
        return succeed(job, pulse)

    world.handle(deliveries[0], look)
    world.deliver()
    assert all_ended(world, parked[1:])
    assert live_holders(world) == set()


def test_a_waiter_that_expires_ends_and_blocks_no_other() -> None:
    world = limited(Concurrency(1))
    world.submit()
    in_a_minute = rfc3339(START + timedelta(seconds=60))
    expiring, last = world.submit(expires_at=in_a_minute), world.submit()
    deliveries = world.receive()

    def look(job: Job, pulse: Pulse) -> Finished:
        for delivery in deliveries[1:]:
            world.handle(delivery)
        for _ in range(5):
            world.advance(15)
            pulse.beat(None)
        return succeed(job, pulse)

    world.handle(deliveries[0], look)
    world.deliver()
    world.deliver()
    assert all_ended(world, [expiring], JobStatus.EXPIRED)
    assert all_ended(world, [last])
    assert waiters(world) == []


def test_a_waiter_that_is_rescheduled_gives_up_its_place() -> None:
    world = limited(Concurrency(1))
    jobs = [world.submit() for _ in range(3)]
    deliveries = world.receive()

    def look(job: Job, pulse: Pulse) -> Finished:
        for delivery in deliveries[1:]:
            world.handle(delivery)
        waiting = next(j for j in world.store.jobs().values() if j.waits_for is not None)
        changed = world.change(waiting, delay_seconds=1000)
        assert changed.waits_for is None
        assert len(waiters(world)) == 1
        return succeed(job, pulse)

    world.handle(deliveries[0], look)
    world.deliver()
    assert sum(world.job(job).status is JobStatus.SUCCEEDED for job in jobs) == 2
    world.advance(1000)
    world.settle()
    assert all_ended(world, jobs)


def test_two_jobs_of_a_tenant_that_begin_to_wait_at_once_get_two_places() -> None:
    world = limited(Concurrency(1, order="fair"))
    for name in ("first", "second", "third"):
        world.submit(id=name, tenant="acme")
    first, second, third = world.receive()

    def look(job: Job, pulse: Pulse) -> Finished:
        faults = Faults().interrupt("side_items.write_item", lambda: world.handle(third))
        world.handle(second, succeed, world.process(faults).worker)
        waits = [world.job(name).waits_for for name in ("third", "second")]
        ranks = [wait.rank for wait in waits if wait is not None]
        assert ranks == [0, STRIDE]
        return succeed(job, pulse)

    world.handle(first, look)
    world.settle()
    assert [run.job.id for run in world.runs] == ["first", "third", "second"]


def fill(world: World, size: int) -> list[Job]:
    """Let jobs take all slots, whose workers are not heard of until their leases expire."""
    jobs = [world.submit(id=f"running-{number}") for number in range(size)]
    for delivery in world.receive():
        with pytest.raises(HandlerKilled):
            world.handle(delivery, kill_process)
    assert len(running(world)) == size
    return jobs


def wait_in_shard(world: World, shard: int, size: int) -> str:
    """Let a job wait in a shard of a limit of so many slots, all of which are taken."""
    names = (f"late-{number}" for number in range(10_000))
    name = next(name for name in names if shards_to_try(name, size) == (shard,))
    world.submit(id=name)
    world.deliver()
    waits_for = world.job(name).waits_for
    assert waits_for is not None
    assert waits_for.shard == shard
    return name


def send_again(world: World, name: str) -> None:
    """Send the message of a job that waits, as the sweep does."""
    job, rounding = world.job(name), world.timings.delay_rounding
    world.queues.send([outgoing_of(job, world.clock.now(), rounding)])


def test_a_parked_job_that_comes_by_itself_waits_on_while_every_shard_is_full() -> None:
    size = 21
    world = limited(Concurrency(size))
    jobs = fill(world, size)
    name = wait_in_shard(world, 1, size)
    parked, records = world.job(name), waiters(world)
    send_again(world, name)
    world.deliver()
    assert world.job(name) == parked
    assert waiters(world) == records
    assert name not in holders(world)
    world.settle()
    assert all_ended(world, [*jobs, parked])


def test_a_parked_job_whose_shard_is_gone_waits_in_one_that_is_left() -> None:
    size = 21
    world = limited(Concurrency(size))
    jobs = fill(world, size)
    name = wait_in_shard(world, 1, size)
    world.api.limits.change("greet.1", LimitChanges(sets_max=True, max=20), "caller")
    send_again(world, name)
    world.deliver(by=world.process().worker)
    waits_for = world.job(name).waits_for
    assert waits_for is not None
    assert waits_for.shard == 0
    assert len(waiters(world)) == 1
    world.settle()
    assert all_ended(world, [*jobs, world.job(name)])
    assert waiters(world) == []


# --- ends ---------------------------------------------------------------------------------------


@each_size
def test_a_slot_is_free_between_two_attempts(size: int) -> None:
    world = limited(Concurrency(size))
    failing = [world.submit(retry={"base_seconds": 100}) for _ in range(size)]
    world.deliver(fail)
    assert all_ended(world, failing, JobStatus.RETRYING)
    others = [world.submit() for _ in range(size)]
    world.deliver()
    assert all_ended(world, others)
    world.settle()
    assert all_ended(world, failing)
    assert live_holders(world) == set()


@each_size
def test_the_slot_of_a_dead_worker_is_found(size: int) -> None:
    world = limited(Concurrency(size))
    lost = [world.submit() for _ in range(size)]
    for delivery in world.receive():
        with pytest.raises(HandlerKilled):
            world.handle(delivery, kill_process)
    assert len(running(world)) == size
    waiting = [world.submit() for _ in range(3)]
    world.deliver()
    assert all(world.job(job).waits_for is not None for job in waiting)
    world.settle()
    assert all_ended(world, [*lost, *waiting])
    assert waiters(world) == []


def test_an_end_of_a_lazy_limit_writes_nothing_if_no_job_waits() -> None:
    world = limited(Concurrency(2))
    job = world.submit()
    world.deliver()
    assert holders(world) == {job.id: 1}
    others = [world.submit() for _ in range(4)]
    for _ in range(3):
        world.deliver()
    assert all_ended(world, others)
    assert len(holders(world)) == 2


def test_a_job_of_an_older_generation_frees_no_slot_of_a_newer_one() -> None:
    world = limited(Concurrency(3))
    job = world.submit()
    [old] = world.receive()
    world.change(job, priority="high")
    [new] = world.receive()

    def look(running_job: Job, pulse: Pulse) -> Finished:
        world.handle(old)
        assert holders(world) == {job.id: 2}
        return succeed(running_job, pulse)

    world.handle(new, look)
    assert all_ended(world, [job])
    assert holders(world) == {}


def test_a_redrive_into_a_full_limit_waits() -> None:
    world = limited(Concurrency(1))
    job = world.submit()
    world.api.operations.cancel(job.id, actor="caller")
    world.deliver()
    blocking = world.submit()
    [delivery] = world.receive()

    def look(running_job: Job, pulse: Pulse) -> Finished:
        world.api.operations.redrive(job.id, actor="caller")
        world.deliver()
        assert world.job(job).waits_for is not None
        return succeed(running_job, pulse)

    world.handle(delivery, look)
    world.deliver()
    assert all_ended(world, [job, blocking])


def test_a_limit_that_was_lowered_drains_and_admits_no_more() -> None:
    world = limited(Concurrency(3))
    jobs = [world.submit() for _ in range(8)]
    deliveries = world.receive()
    lowered = limited(Concurrency(1))
    lowered.store, lowered.queues, lowered.clock = world.store, world.queues, world.clock
    lowered.side_items = world.side_items
    worker = lowered.process().worker
    seen: list[int] = []

    def look(job: Job, pulse: Pulse) -> Finished:
        seen.append(len(running(world)))
        if len(seen) == 1:
            world.handle(deliveries[1], look)
        elif len(seen) == 2:
            world.handle(deliveries[2], look)
        elif len(seen) == 3:
            for delivery in deliveries[3:]:
                world.handle(delivery, look, worker)
        return succeed(job, pulse)

    world.handle(deliveries[0], look)
    assert seen == [1, 2, 3]
    for _ in range(10):
        for delivery in world.receive():
            world.handle(delivery, look, worker)
    assert all_ended(world, jobs)


# --- options ------------------------------------------------------------------------------------


@each_size
def test_a_job_that_finds_a_limit_full_is_cancelled_under_skip(size: int) -> None:
    world = limited(Concurrency(size, on_full="skip"))
    jobs = [world.submit() for _ in range(size + 2)]
    crowd = Crowd(world)
    crowd.work_off(world.receive())
    assert crowd.most_running == size
    ended = [world.job(job) for job in jobs]
    assert [job.status for job in ended].count(JobStatus.CANCELLED) == 2
    reasons = {job.history[-1].reason for job in ended if job.status is JobStatus.CANCELLED}
    assert reasons == {"limit"}
    assert not world.receive()
    later = world.submit()
    world.deliver()
    assert all_ended(world, [later])


def test_a_job_that_has_begun_waits_under_skip() -> None:
    world = limited(Concurrency(1, on_full="skip"))
    job = world.submit(retry={"base_seconds": 10, "jitter": "none"})
    world.deliver(fail)
    world.advance(10)
    [retry] = world.receive()
    blocking = world.submit()
    [delivery] = world.receive()

    def look(running_job: Job, pulse: Pulse) -> Finished:
        world.handle(retry)
        assert world.job(job).waits_for is not None
        return succeed(running_job, pulse)

    world.handle(delivery, look)
    world.deliver()
    assert all_ended(world, [job, blocking])


def test_a_job_keeps_its_slot_between_attempts_under_holds_job() -> None:
    world = limited(Concurrency(3, holds="job"))
    jobs = [world.submit(retry={"base_seconds": 100, "jitter": "none"}) for _ in range(3)]
    world.deliver(fail)
    assert holders(world) == {job.id: 1 for job in jobs}
    waiting = world.submit()
    world.deliver()
    assert world.job(waiting).waits_for is not None
    for _ in range(3):
        world.minute()
    assert all_ended(world, jobs)
    assert all_ended(world, [waiting])
    assert holders(world) == {}


def test_a_job_keeps_no_slot_beyond_its_end_under_holds_job() -> None:
    world = limited(Concurrency(3, holds="job"))
    job = world.submit(retry={"max_attempts": 2, "base_seconds": 1, "jitter": "none"})
    world.deliver(fail)
    world.api.operations.cancel(job.id, actor="caller")
    assert holders(world) == {}
    redriven = world.api.operations.redrive(job.id, actor="caller")
    world.deliver()
    assert all_ended(world, [redriven])
    assert holders(world) == {}
