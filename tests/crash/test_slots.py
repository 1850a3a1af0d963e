"""Slots between two calls of another component: every race ends as if one had come first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import Job, JobStatus, Priority
from hourhand.domain.jobs.waiting import put_waiter
from hourhand.domain.limits.declarations import Concurrency, Rate
from hourhand.domain.limits.slot_writes import SLOTS_KEPT
from hourhand.domain.limits.slots import WAITERS_READ
from hourhand.domain.side_items import SideItemKind
from hourhand.memory import MemoryHandlerDirectory
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.services.jobs.aspects import Candidate
from hourhand.services.jobs.due import outgoing_of
from hourhand.services.limits import wait_queues
from hourhand.services.limits.aspect import LimitsAspect
from hourhand.services.limits.slot_tables import SlotTables
from hourhand.services.limits.wait_queues import WaitQueues
from hourhand.testing import Crash
from tests.world.faults import READS, Faults
from tests.world.limits import Crowd, holders, limited, waiters, while_one_runs
from tests.world.runs import Behaviour, HandlerKilled, fail, kill_process, succeed
from tests.world.world import FUNCTION_SECONDS, World

SLOT_WRITES = "side_items.write_item"


def admitted(world: World, job: Job) -> None:
    """Let a job take its slots, and its worker die before the claim."""
    for delivery in world.receive():
        if delivery.message.job_id == job.id:
            candidate = Candidate(delivery, world.store)
            assert world.worker.execution.admit(candidate) is None
        world.queues.hide(delivery, 0)


def beside(
    world: World, step: Callable[[], object], call: str = SLOT_WRITES, nth: int = 1
) -> Faults:
    """Work off the first message in a process, with a step before one of its calls."""
    faults = Faults()
    process = world.process(faults)
    delivery, *others = world.receive()
    for other in others:
        world.queues.hide(other, 0)
    faults.interrupt(call, step, nth=nth)
    world.handle(delivery, succeed, process.worker)
    return faults


def partition_of(world: World) -> str:
    """Return the partition of the one limit that holds slots."""
    [key] = [key for key in world.side_items.items() if key.kind is SideItemKind.SLOTS]
    return key.partition


def put_strays(world: World, partition: str, count: int) -> None:
    """Put waiter records of jobs that are gone, before all others."""
    keep_until = world.clock.now() + SLOTS_KEPT
    for number in range(count):
        world.side_items.write_item(put_waiter(partition, number, f"gone-{number}", 1, keep_until))


# --- the admission check ---


def test_a_job_behind_stray_records_parks_and_gets_the_free_slot_at_once() -> None:
    world = limited(Concurrency(1, key="tenant"), Concurrency(3))
    before = world.submit(tenant="a")
    world.deliver()
    tenant_partition = next(
        key.partition for key, item in world.side_items.items().items() if item.numbers("holders")
    )
    world.side_items._items.clear()
    world.side_items._order.clear()
    put_strays(world, tenant_partition, 2)
    job = world.submit(tenant="a")
    world.deliver()
    assert world.job(job).status is JobStatus.SUCCEEDED
    assert world.job(before).status is JobStatus.SUCCEEDED
    assert world.telemetry.total("jobs_parked") == 1
    assert waiters(world) == []


def test_a_worker_reads_on_if_more_slots_are_free_than_waiters_were_read() -> None:
    world = limited(Concurrency(20))
    world.submit()
    world.deliver()
    put_strays(world, partition_of(world), WAITERS_READ + 1)
    job = world.submit()
    world.deliver()
    assert world.job(job).status is JobStatus.SUCCEEDED
    assert world.telemetry.total("jobs_parked") == 0
    assert len(waiters(world)) <= WAITERS_READ + 1


def test_a_slot_that_another_job_takes_meanwhile_is_not_taken_twice() -> None:
    world = limited(Concurrency(1))
    world.submit(id="a")
    world.deliver()
    first, second = world.submit(id="first"), world.submit(id="second")
    beside(world, lambda: admitted(world, second))
    assert holders(world) == {"second": 1}
    assert world.job(first).waits_for is not None
    world.settle()
    assert world.job(first).status is JobStatus.SUCCEEDED


def test_the_slot_of_a_dead_holder_that_is_redriven_meanwhile_is_not_taken() -> None:
    world = limited(Concurrency(1))
    holder = world.submit(id="holder", retry={"max_attempts": 1})
    world.deliver(fail)
    job = world.submit(id="job")

    def the_holder_comes_back() -> None:
        world.api.operations.redrive("holder", actor="caller")
        admitted(world, holder)

    beside(world, the_holder_comes_back)
    assert list(holders(world)) == ["holder"]
    assert world.job(job).waits_for is not None
    world.settle()
    assert {world.job(one).status for one in (holder, job)} == {JobStatus.SUCCEEDED}


def test_a_free_slot_that_another_job_takes_meanwhile_is_not_taken_twice() -> None:
    world = limited(Concurrency(3))
    jobs = [world.submit(id=name) for name in ("a", "b", "c", "d")]
    admitted(world, jobs[2])
    admitted(world, jobs[3])
    beside(world, lambda: admitted(world, jobs[1]))
    assert set(holders(world)) == {"b", "c", "d"}
    assert world.job(jobs[0]).waits_for is not None
    world.settle()
    assert {world.job(job).status for job in jobs} == {JobStatus.SUCCEEDED}


def test_a_job_that_never_wins_a_slot_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    world = limited(Concurrency(3))
    job = world.submit()
    with monkeypatch.context() as patched:
        for write in ("take", "grant"):
            patched.setattr(SlotTables, write, lambda *_: False)
        world.deliver()
    assert world.job(job).waits_for is not None
    world.settle()
    assert world.job(job).status is JobStatus.SUCCEEDED


def test_a_slot_that_is_free_before_a_job_parked_is_granted_by_its_own_recheck() -> None:
    world = limited(Concurrency(1))
    holder, job = world.submit(id="holder"), world.submit(id="job")
    admitted(world, holder)
    world.queues._contents.messages = {
        key: held
        for key, held in world.queues._contents.messages.items()
        if held.message.job_id == job.id
    }
    beside(world, lambda: world.api.operations.cancel("holder", actor="caller"))
    assert world.job(job).status is JobStatus.SUCCEEDED


def test_dead_holders_above_a_lowered_max_are_dropped_before_one_is_replaced() -> None:
    world = limited(Concurrency(2))
    for name in ("a", "b"):
        world.submit(id=name)
        world.deliver()
    assert set(holders(world)) == {"a", "b"}
    world.handlers = MemoryHandlerDirectory(HandlerInfo(name="greet", limits=(Concurrency(1),)))
    world.worker = world.process().worker
    job = world.submit(id="c")
    world.deliver()
    assert world.job(job).status is JobStatus.SUCCEEDED
    assert set(holders(world)) == {"c"}


def test_a_waiter_behind_dead_holders_above_a_lowered_max_is_granted_a_slot() -> None:
    world = limited(Concurrency(2))
    lost = [world.submit(id=name) for name in ("a", "b")]
    for delivery in world.receive():
        with pytest.raises(HandlerKilled):
            world.handle(delivery, kill_process)
    waiting = world.submit(id="c")
    world.deliver()
    world.handlers = MemoryHandlerDirectory(HandlerInfo(name="greet", limits=(Concurrency(1),)))
    process = world.process()
    world.worker, world.scheduler, world.api = process.worker, process.scheduler, process.api
    for job in lost:
        stored = world.job(job)
        world.store._jobs[job.id] = replace(
            stored,
            status=JobStatus.SUCCEEDED,
            lease=None,
            due_at=None,
            shard=None,
        )
    purged = world.queues._contents.messages
    purged.clear()
    for _ in range(3):
        world.minute()
    assert world.job(waiting).status is JobStatus.SUCCEEDED
    assert set(holders(world)) == {"c"}


# --- parking ---


def test_a_job_that_is_changed_while_it_is_parked_leaves_no_record() -> None:
    world = limited(Concurrency(1))
    holder, job = world.submit(id="holder"), world.submit(id="job")
    admitted(world, holder)
    drop_messages_of(world, holder)
    beside(world, lambda: world.change(job, priority="high"), "jobs.transition")
    assert world.job(job).waits_for is None
    assert waiters(world) == []
    world.settle()
    assert world.job(job).status is JobStatus.SUCCEEDED


def test_a_job_that_a_copy_of_its_message_starts_meanwhile_leaves_no_record() -> None:
    world = limited(Concurrency(1))
    world.queues.behaviour.copies = 2
    holder, job = world.submit(id="holder"), world.submit(id="job")
    admitted(world, holder)
    drop_messages_of(world, holder)

    def another_worker_starts_it() -> None:
        world.api.operations.cancel("holder", actor="caller")
        [copy] = world.receive()
        with pytest.raises(HandlerKilled):
            world.handle(copy, kill_process)

    beside(world, another_worker_starts_it, "jobs.transition")
    assert world.job(job).status is JobStatus.RUNNING
    assert waiters(world) == []
    world.settle()
    assert world.job(job).status is JobStatus.SUCCEEDED


def test_a_job_that_a_copy_of_its_message_parks_meanwhile_keeps_its_record() -> None:
    world = limited(Concurrency(1))
    holder, job = world.submit(id="holder"), world.submit(id="job")
    admitted(world, holder)
    drop_messages_of(world, holder)

    def another_worker_parks_it() -> None:
        [held] = [h for h in world.queues.messages() if h.message.job_id == job.id]
        held.visible_at = world.clock.now()
        world.advance(0.5)
        world.deliver()

    beside(world, another_worker_parks_it, "jobs.transition")
    assert world.job(job).waits_for is not None
    assert len(waiters(world)) == 1
    assert world.telemetry.total("jobs_parked") == 1


def drop_messages_of(world: World, job: Job) -> None:
    contents = world.queues._contents.messages
    for key, held in list(contents.items()):
        if held.message.job_id == job.id:
            del contents[key]


# --- skip ---


def test_under_skip_a_stray_record_takes_no_slot() -> None:
    world = limited(Concurrency(1, on_full="skip"))
    world.submit()
    world.deliver()
    partition = partition_of(world)
    world.side_items._items.clear()
    world.side_items._order.clear()
    put_strays(world, partition, 1)
    job = world.submit()
    world.deliver()
    assert world.job(job).status is JobStatus.SUCCEEDED


def test_a_job_that_is_changed_before_it_is_skipped_is_judged_anew() -> None:
    world = limited(Concurrency(1, on_full="skip"))
    holder, job = world.submit(id="holder"), world.submit(id="job")
    admitted(world, holder)
    drop_messages_of(world, holder)
    beside(world, lambda: world.change(job, delay_seconds=1000), "jobs.transition")
    assert world.job(job).status is JobStatus.PENDING
    assert world.telemetry.total("jobs_skipped") == 0


# --- releases and grants ---


def let_others_wait(
    world: World,
    deliveries: list[Any],
    then: Callable[[], object],
    ends: Behaviour = succeed,
) -> Behaviour:
    def behave(job: Job, pulse: Pulse) -> Finished:
        for delivery in deliveries:
            world.handle(delivery)
        then()
        return ends(job, pulse)

    return behave


def test_a_release_passes_over_stray_records() -> None:
    world = limited(Concurrency(1))
    world.submit(id="first")
    waiting = world.submit(id="waits")
    one, other = world.receive()
    behave = let_others_wait(world, [other], lambda: put_strays(world, partition_of(world), 30))
    world.handle(one, behave)
    world.settle()
    assert world.job(waiting).status is JobStatus.SUCCEEDED
    assert waiters(world) == []


def test_a_release_leaves_the_record_of_a_job_that_is_about_to_park() -> None:
    world = limited(Concurrency(3))
    jobs = [world.submit(id=name) for name in ("a", "b", "c", "d")]
    deliveries = world.receive()
    for delivery in deliveries[1:3]:
        with pytest.raises(HandlerKilled):
            world.handle(delivery, kill_process)

    def put_the_record_of_the_fourth() -> None:
        keep_until = world.clock.now() + SLOTS_KEPT
        world.side_items.write_item(put_waiter(partition_of(world), 1, "d", 1, keep_until))

    world.handle(deliveries[0], let_others_wait(world, [], put_the_record_of_the_fourth))
    assert "a" not in holders(world)
    assert len(waiters(world)) == 1
    world.handle(deliveries[3])
    assert world.job(jobs[3]).status is JobStatus.SUCCEEDED


def test_one_call_grants_a_bounded_number_of_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wait_queues, "MAX_GRANTS", 1)
    world = limited(Concurrency(1))
    jobs = [world.submit() for _ in range(4)]
    one, *others = world.receive()
    world.handle(one, let_others_wait(world, others, lambda: None))
    world.settle()
    assert {world.job(job).status for job in jobs} == {JobStatus.SUCCEEDED}


def test_a_release_that_fails_stands_in_the_way_of_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise Unavailable

    world = limited(Concurrency(3))
    job = world.submit()
    with monkeypatch.context() as patched:
        patched.setattr(WaitQueues, "release", fail)
        world.deliver()
    assert world.job(job).status is JobStatus.SUCCEEDED
    assert world.telemetry.total("releases_failed") == 1
    assert holders(world) == {job.id: 1}
    world.advance(60)
    others = [world.submit() for _ in range(4)]
    world.deliver()
    assert {world.job(other).status for other in others} == {JobStatus.SUCCEEDED}


def test_a_message_of_an_ended_job_without_limits_releases_nothing() -> None:
    world = World()
    job = world.submit()
    [delivery] = world.receive()
    world.api.operations.cancel(job.id, actor="caller")
    assert world.handle(delivery) == "done"
    assert world.side_items.items() == {}


def test_a_rate_beside_a_limit_takes_no_slot_of_its_own() -> None:
    world = limited(Rate(1, per=60), Concurrency(1))
    jobs = [world.submit() for _ in range(3)]
    one, *others = world.receive()
    world.handle(one, let_others_wait(world, others, lambda: None))
    world.settle()
    assert {world.job(job).status for job in jobs} == {JobStatus.SUCCEEDED}
    kinds = [key.kind for key in world.side_items.items()]
    assert sorted(kinds) == [SideItemKind.RATE, SideItemKind.SLOTS]


def test_jobs_with_ids_of_any_length_leave_nothing_beside_the_slots() -> None:
    world = limited(Concurrency(3))
    for job_id in ("x" * 100, str(UUID(int=7)), "short"):
        world.submit(id=job_id)
    one, *others = world.receive()

    def look() -> None:
        assert len(holders(world)) == 1

    world.handle(one, let_others_wait(world, others, look))
    assert [key.kind for key in world.side_items.items()] == [SideItemKind.SLOTS]
    assert holders(world) == {}


# --- generations ---


def runs_elsewhere(world: World, *names: str) -> list[Job]:
    """Let jobs run in processes that are never heard of again."""
    jobs = []
    for name in names:
        jobs.append(world.submit(id=name))
        for delivery in world.receive():
            with pytest.raises(HandlerKilled):
                world.handle(delivery, kill_process)
    return jobs


def admit_anew(world: World, job: Job) -> None:
    """Open a new generation of a job, and let a worker take a slot for it."""
    world.change(job, priority="high", delay_seconds=0)
    for delivery in world.receive(Priority.HIGH):
        candidate = Candidate(delivery, world.store)
        assert world.worker.execution.admit(candidate) is None
        world.queues.hide(delivery, 0)


def test_an_old_worker_takes_no_slot_from_a_newer_generation() -> None:
    world = limited(Concurrency(3))
    job = world.submit(id="job")
    world.submit(id="before")
    one, before = world.receive()
    world.handle(before)
    faults = Faults()
    process = world.process(faults)
    faults.interrupt(SLOT_WRITES, lambda: admit_anew(world, job))
    world.handle(one, succeed, process.worker)
    assert holders(world) == {"job": 2}
    world.settle()
    assert world.job(job).status is JobStatus.SUCCEEDED


def test_a_late_release_frees_no_slot_of_a_newer_generation() -> None:
    world = limited(Concurrency(3))
    job = world.submit(id="job", retry={"base_seconds": 100})
    faults = Faults()
    process = world.process(faults)
    [delivery] = world.receive()
    faults.interrupt(SLOT_WRITES, lambda: admit_anew(world, job), nth=2)
    world.handle(delivery, fail, process.worker)
    assert holders(world) == {"job": 3}
    world.settle()
    assert world.job(job).status is JobStatus.SUCCEEDED
    assert holders(world) == {}


def test_a_late_hand_off_takes_no_slot_of_a_newer_generation() -> None:
    world = limited(Concurrency(1))
    job = world.submit(id="job", retry={"base_seconds": 0.001, "jitter": "none"})
    waiting = world.submit(id="waits")
    faults = Faults()
    process = world.process(faults)
    one, other = world.receive()

    def the_retry_renews_its_slot() -> None:
        world.advance(1)
        retry = world.job(job)
        world.queues.send([outgoing_of(retry, world.clock.now(), world.timings.delay_rounding)])
        for delivery in world.receive():
            candidate = Candidate(delivery, world.store)
            assert world.worker.execution.admit(candidate) is None
            world.queues.hide(delivery, 0)
        assert holders(world) == {"job": 2}

    faults.interrupt(SLOT_WRITES, the_retry_renews_its_slot, nth=2)
    behave = let_others_wait(world, [other], lambda: None, fail)
    world.handle(one, behave, process.worker)
    assert holders(world) == {"job": 2}
    assert world.job(waiting).waits_for is not None
    world.settle()
    assert {world.job(each).status for each in (job, waiting)} == {JobStatus.SUCCEEDED}


def test_a_late_hand_off_overwrites_no_slot_of_a_newer_generation() -> None:
    world = limited(Concurrency(2))
    world.submit(id="job")
    other = world.submit(id="other")
    world.submit(id="waits", retry={"base_seconds": 0.001, "jitter": "none"})
    admitted(world, other)
    drop_messages_of(world, other)
    faults = Faults()
    process = world.process(faults)
    one, waiting = world.receive()

    def another_grants_first_and_its_job_begins_anew() -> None:
        world.api.operations.cancel("other", actor="caller")
        world.deliver(fail)
        world.advance(1)
        for delivery in world.receive():
            candidate = Candidate(delivery, world.store)
            assert world.worker.execution.admit(candidate) is None
            world.queues.hide(delivery, 0)
        assert holders(world)["waits"] == 2

    faults.interrupt(SLOT_WRITES, another_grants_first_and_its_job_begins_anew, nth=2)
    world.handle(one, let_others_wait(world, [waiting], lambda: None), process.worker)
    assert holders(world) == {"waits": 2}


def test_a_dead_holder_is_not_replaced_above_a_lowered_max() -> None:
    world = limited(Concurrency(2))
    older = world.process().worker
    world.handlers = MemoryHandlerDirectory(HandlerInfo(name="greet", limits=(Concurrency(1),)))
    world.worker = world.process().worker
    world.submit(id="ended")
    world.deliver()
    job, other = world.submit(id="job"), world.submit(id="other")

    def a_worker_that_knows_the_older_number_takes_a_slot() -> None:
        for delivery in world.receive():
            assert older.execution.admit(Candidate(delivery, world.store)) is None
            world.queues.hide(delivery, 0)

    drop_messages_of(world, other)
    delivery, *_ = world.receive()
    faults = Faults()
    process = world.process(faults)
    world.queues.send([outgoing_of(other, world.clock.now(), world.timings.delay_rounding)])
    faults.interrupt(SLOT_WRITES, a_worker_that_knows_the_older_number_takes_a_slot)
    world.handle(delivery, succeed, process.worker)
    assert holders(world) == {"other": 1}
    assert world.job(job).waits_for is not None


def test_the_record_of_a_job_that_was_put_off_does_not_stop_its_queue() -> None:
    world = limited(Concurrency(1))
    for name in ("job", "put-off", "waits"):
        world.submit(id=name)
        world.advance(0.001)

    def its_record_stays() -> None:
        without_side_items = world.process(Faults().throttle(SLOT_WRITES, times=100))
        world.change("put-off", by=without_side_items.api, delay_seconds=100)
        assert len(waiters(world)) == 2

    one, *others = world.receive()
    world.handle(one, let_others_wait(world, others, its_record_stays))
    world.deliver()
    assert world.job("waits").status is JobStatus.SUCCEEDED


def test_the_record_of_a_newer_generation_is_not_deleted_by_a_late_delete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = limited(Concurrency(1))
    holder, waiting = world.submit(id="holder"), world.submit(id="waits")
    admitted(world, holder)
    drop_messages_of(world, holder)
    world.deliver()
    with monkeypatch.context() as patched:
        # Who changes it dies before the record of the older generation is deleted.
        patched.setattr(LimitsAspect, "after_move", lambda *_: None)
        world.change(waiting, payload="new")
    world.advance(1)
    late = world.submit(id="late")
    newer, message = world.receive()
    assert message.message.job_id == late.id
    faults = Faults().interrupt(SLOT_WRITES, lambda: world.handle(newer), nth=2)
    world.handle(message, succeed, world.process(faults).worker)
    assert [key.rpartition(".")[2] for key in waiters(world)] == ["waits", "late"]
    world.settle()
    assert {world.job(job).status for job in (waiting, late)} == {JobStatus.SUCCEEDED}


def test_the_slot_of_a_job_that_was_put_off_is_found() -> None:
    world = limited(Concurrency(1))
    job = world.submit(id="job")
    admitted(world, job)
    world.change(job, delay_seconds=1000)
    other = world.submit(id="other")
    world.deliver()
    assert world.job(other).status is JobStatus.SUCCEEDED


# --- who comes next ---


def test_a_job_behind_one_that_waits_does_not_overtake_it() -> None:
    world = limited(Concurrency(3))
    world.submit(id="first")
    world.deliver()
    before = [world.submit(id=f"before-{number}") for number in range(3)]
    keep_until = world.clock.now() + SLOTS_KEPT
    partition = partition_of(world)
    for number, job in enumerate(before):
        world.side_items.write_item(put_waiter(partition, number, job.id, 1, keep_until))
    last = world.submit(id="last")
    [delivery] = [d for d in world.receive() if d.message.job_id == "last"]
    world.handle(delivery)
    assert world.job(last).waits_for is not None
    world.advance(FUNCTION_SECONDS)
    world.settle()
    assert {world.job(job).status for job in (*before, last)} == {JobStatus.SUCCEEDED}


def test_a_job_that_parks_while_a_slot_is_freed_gets_it() -> None:
    world = limited(Concurrency(3))
    runs_elsewhere(world, "left", "right")
    job = world.submit(id="job")
    [delivery] = world.receive()
    faults = Faults()
    process = world.process(faults)
    waiting = world.submit(id="waits")

    def another_parks() -> None:
        for held in world.receive():
            if held.message.job_id == "waits":
                world.handle(held)
        assert world.job(waiting).waits_for is not None

    faults.interrupt(SLOT_WRITES, another_parks, nth=2)
    world.handle(delivery, succeed, process.worker)
    world.deliver()
    assert {world.job(each).status for each in (job, waiting)} == {JobStatus.SUCCEEDED}


@pytest.mark.parametrize("size", [1, 3])
def test_a_waiter_gets_the_slot_of_a_job_that_ended_without_a_tick(size: int) -> None:
    world = limited(Concurrency(size))
    jobs = [world.submit() for _ in range(3 * size)]
    crowd = Crowd(world)
    crowd.settle()
    assert crowd.most_running == size
    assert {world.job(job).status for job in jobs} == {JobStatus.SUCCEEDED}
    assert waiters(world) == []


def test_jobs_whose_handlers_state_two_limits_in_two_orders_do_not_wait_for_each_other() -> None:
    shared = (Concurrency(1, name="a"), Concurrency(1, name="b"))
    world = World(
        handlers=(
            HandlerInfo(name="greet", limits=shared),
            HandlerInfo(name="other", limits=shared[::-1]),
        )
    )
    jobs = [world.submit(), world.submit(handler="other")]
    deliveries = world.receive()
    faults = Faults()
    process = world.process(faults)
    faults.interrupt(SLOT_WRITES, lambda: world.handle(deliveries[1]), nth=2)
    world.handle(deliveries[0], succeed, process.worker)
    world.settle()
    assert {world.job(job).status for job in jobs} == {JobStatus.SUCCEEDED}


# --- what a component that dies leaves ---


def die() -> None:
    raise Crash


def test_the_message_of_a_worker_that_died_before_it_freed_its_slot_frees_it() -> None:
    world = limited(Concurrency(3))
    job = world.submit(id="job")
    faults = Faults()
    process = world.process(faults)
    faults.interrupt(SLOT_WRITES, die, nth=2)
    [delivery] = world.receive()
    with pytest.raises(Crash):
        world.handle(delivery, succeed, process.worker)
    assert world.job(job).status is JobStatus.SUCCEEDED
    assert holders(world) == {"job": 1}
    world.advance(FUNCTION_SECONDS)
    world.deliver()
    assert holders(world) == {}


def test_a_job_that_is_changed_gives_its_slot_to_the_next_at_once() -> None:
    world = limited(Concurrency(1))
    job, waiting = world.submit(id="job"), world.submit(id="waits")
    admitted(world, job)
    drop_messages_of(world, job)
    world.deliver()
    assert world.job(waiting).waits_for is not None
    world.change(job, delay_seconds=1000)
    world.deliver()
    assert world.job(waiting).status is JobStatus.SUCCEEDED


def test_a_slot_is_not_given_away_before_its_job_moved() -> None:
    world = limited(Concurrency(1))
    job, waiting = world.submit(id="job"), world.submit(id="waits")
    faults = Faults()
    process = world.process(faults)
    one, other = world.receive()
    faults.interrupt("jobs.transition", die, nth=2)
    with pytest.raises(Crash):
        world.handle(one, let_others_wait(world, [other], lambda: None), process.worker)
    assert world.job(job).status is JobStatus.RUNNING
    assert holders(world) == {"job": 1}
    world.settle()
    assert {world.job(each).status for each in (job, waiting)} == {JobStatus.SUCCEEDED}


def test_a_slot_is_freed_if_its_waiter_got_another_one_in_the_same_second() -> None:
    world = limited(Concurrency(2))
    world.submit(id="job")
    other = world.submit(id="other")
    world.submit(id="waits")
    admitted(world, other)
    drop_messages_of(world, other)
    faults = Faults()
    process = world.process(faults)
    one, waiting = world.receive()

    def another_component_grants_first() -> None:
        world.api.operations.cancel("other", actor="caller")
        assert set(holders(world)) == {"job", "waits"}
        assert set(holders(world)) == {"job", "waits"}

    faults.interrupt(SLOT_WRITES, another_component_grants_first, nth=2)
    world.handle(one, let_others_wait(world, [waiting], lambda: None), process.worker)
    assert holders(world) == {"waits": 1}


@pytest.mark.parametrize(("hand_offs", "writes"), [(5, 4), (1, 5)])
def test_a_slot_whose_waiter_got_another_one_is_handed_to_the_next_waiter(
    monkeypatch: pytest.MonkeyPatch, hand_offs: int, writes: int
) -> None:
    """With the same write again; the last one is freed and granted, by two writes."""
    monkeypatch.setattr(wait_queues, "MAX_HAND_OFFS", hand_offs)
    world = limited(Concurrency(3))
    for name in ("job", "other", "third", "waits", "waits-too"):
        world.submit(id=name)
        world.advance(0.001)
    for name in ("other", "third"):
        admitted(world, world.job(name))
        drop_messages_of(world, world.job(name))
    faults = Faults(ignoring=READS)
    process = world.process(faults)
    one, *waiting = world.receive()

    def another_component_grants_first() -> None:
        world.api.operations.cancel("other", actor="caller")
        assert set(holders(world)) == {"job", "third", "waits"}

    faults.interrupt(SLOT_WRITES, another_component_grants_first, nth=2)
    world.handle(one, let_others_wait(world, waiting, lambda: None), process.worker)
    assert set(holders(world)) == {"third", "waits", "waits-too"}
    assert [call.port for call in faults.calls].count("side_items") == writes


def test_a_waiter_is_sent_by_the_component_that_granted_it_and_by_no_other() -> None:
    """Each job that finds the queue meanwhile would send one more message of the same waiter."""
    world = limited(Concurrency(1))
    jobs = [world.submit() for _ in range(2)]
    first, second = world.receive()
    faults = Faults()
    process = world.process(faults)

    def let_the_second_wait(job: Job, pulse: Pulse) -> Finished:
        world.handle(second, succeed)
        return succeed(job, pulse)

    def come_late() -> None:
        jobs.append(world.submit())
        [late] = world.receive()
        world.handle(late, succeed)

    faults.interrupt("queues.send", come_late)
    world.handle(first, let_the_second_wait, process.worker)
    assert world.telemetry.total("slots_granted") == 1
    Crowd(world).settle()
    assert world.telemetry.total("slots_granted") == 2
    assert {world.job(job).status for job in jobs} == {JobStatus.SUCCEEDED}


def test_a_waiter_that_no_message_followed_is_sent_by_the_next_that_finds_it() -> None:
    world = limited(Concurrency(1))
    jobs = [world.submit() for _ in range(2)]
    first, second = world.receive()
    faults = Faults()
    process = world.process(faults)

    def let_the_second_wait(job: Job, pulse: Pulse) -> Finished:
        world.handle(second, succeed)
        return succeed(job, pulse)

    def die() -> None:
        raise Crash("before the send")

    faults.interrupt("queues.send", die)
    with pytest.raises(Crash):
        world.handle(first, let_the_second_wait, process.worker)
    world.advance(world.timings.stall_bound.total_seconds() + 1)
    jobs.append(world.submit())
    Crowd(world).settle()
    assert {world.job(job).status for job in jobs} == {JobStatus.SUCCEEDED}


def test_a_free_slot_goes_to_a_waiter_behind_those_that_were_just_granted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The records of many waiters may stand while the messages of their slots are sent."""
    world = limited(Concurrency(1))
    jobs = [world.submit() for _ in range(7)]

    def raise_the_limit() -> None:
        assert len(waiters(world)) == 6
        raised = HandlerInfo(name="greet", limits=(Concurrency(6),))
        world.handlers = MemoryHandlerDirectory(raised)
        jobs.append(world.submit())
        [late] = world.receive()
        with monkeypatch.context() as patched:
            patched.setattr(SlotTables, "delete_waiter", lambda *_: None)
            world.handle(late, succeed, world.process().worker)
        assert len(holders(world)) == 6

    while_one_runs(world, raise_the_limit)
    world.settle()
    assert {world.job(job).status for job in jobs} == {JobStatus.SUCCEEDED}
