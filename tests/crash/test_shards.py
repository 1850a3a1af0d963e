"""Limits above 20: their slots are in several records, and no slot is idle while a job waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.jobs.waiting import WaitsFor
from hourhand.domain.limits.declarations import Concurrency
from hourhand.domain.limits.overrides import LimitChanges
from hourhand.domain.limits.slot_shards import shards_to_try, unpack_shards
from hourhand.domain.side_items import SideItemKind
from hourhand.memory import MemoryHandlerDirectory
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.services.jobs.aspects import Candidate
from hourhand.services.jobs.due import outgoing_of
from hourhand.services.limits import operations, wait_queues
from hourhand.services.limits.slot_tables import Slots
from hourhand.services.limits.wait_queues import WaitQueues
from tests.world.faults import Faults
from tests.world.limits import Crowd, holders, limited, live_holders, waiters
from tests.world.runs import fail, succeed
from tests.world.world import World

HOUR = 3600


def shards(world: World) -> dict[str, int]:
    """Return how many jobs hold a slot in each record, by its shard."""
    return {
        key.partition.rpartition(".")[2]: len(item.numbers("holders"))
        for key, item in world.side_items.items().items()
        if key.kind is SideItemKind.SLOTS
    }


def drawn_to(shard: int, size: int, count: int, start: int = 0) -> list[str]:
    """Return ids of jobs that ask this shard alone at first."""
    names = (f"job-{n}" for n in range(start, 1_000_000))
    found = (name for name in names if shards_to_try(name, size) == (shard,))
    return [next(found) for _ in range(count)]


class Holding:
    """Lets jobs run and holds them, so that a test can look while they hold their slots."""

    def __init__(self, world: World, look: Callable[[], object]) -> None:
        self.world, self.look = world, look
        self.pulses: list[Pulse] = []

    def run(self, count: int) -> None:
        """Start ``count`` jobs, each within the handler of the one before, then look."""
        self.rest = self.world.receive()
        self._left = count
        self._go_on()

    def _go_on(self) -> None:
        if not self._left:
            self.look()
            return
        self._left -= 1
        self.world.handle(self.rest.pop(0), self._behave)

    def beat(self) -> None:
        """Renew the leases of the jobs that run."""
        for pulse in self.pulses:
            pulse.beat(None)

    def _behave(self, job: Job, pulse: Pulse) -> Finished:
        self.pulses.append(pulse)
        self._go_on()
        return succeed(job, pulse)


@pytest.mark.parametrize("size", [21, 45])
def test_no_more_jobs_run_than_all_shards_allow_and_no_slot_is_idle(size: int) -> None:
    world = limited(Concurrency(size))
    jobs = [world.submit() for _ in range(size + 9)]
    crowd = Crowd(world)
    crowd.settle()
    assert crowd.most_running == size
    assert all(world.job(job).status is JobStatus.SUCCEEDED for job in jobs)
    assert waiters(world) == []
    assert live_holders(world) == set()
    assert holders(world) == {}


def test_a_job_takes_a_free_slot_of_any_shard_before_it_waits() -> None:
    size = 22
    world = limited(Concurrency(size))
    for name in drawn_to(1, size, 5):
        world.submit(id=name)

    def look() -> None:
        assert shards(world) == {"1": 2, "0": 3}

    Holding(world, look).run(5)
    assert holders(world) == {}


def test_the_slot_is_freed_in_the_shard_that_the_claim_noted() -> None:
    world = limited(Concurrency(2, key="tenant"), Concurrency(22))
    [job_id] = drawn_to(1, 22, 1)
    world.submit(id=job_id, tenant="acme")

    def look() -> None:
        assert unpack_shards(world.job(job_id).slot_shards) == {1: 1}
        assert shards(world)["1"] == 1

    Holding(world, look).run(1)
    assert shards(world)["1"] == 0
    assert list(holders(world)) == [job_id], "only the lazy limit keeps a holder that ended"


def test_a_limit_of_one_shard_notes_nothing() -> None:
    world = limited(Concurrency(20))
    job = world.submit()
    world.deliver()
    assert world.job(job).slot_shards is None


def test_a_job_that_ends_hands_its_slot_to_a_waiter_of_another_shard() -> None:
    size = 21
    world = limited(Concurrency(size))
    for name in drawn_to(0, size, 21):
        world.submit(id=name)
    late = drawn_to(0, size, 1, start=5_000)[0]
    seen: dict[str, Any] = {}

    def look() -> None:
        world.submit(id=late)
        world.deliver()
        waits_for = world.job(late).waits_for
        assert waits_for is not None
        seen["shard"] = waits_for.shard

    Holding(world, look).run(21)
    # The last one to start, which holds the one slot of the second shard, is the first to end.
    assert {held.message.slot_shard for held in world.queues.messages()} == {1}
    world.deliver()
    assert seen["shard"] == 0
    assert world.job(late).status is JobStatus.SUCCEEDED
    assert holders(world) == {}


def test_a_job_that_was_parked_and_is_cancelled_gives_its_slot_of_any_shard_back() -> None:
    size = 21
    world = limited(Concurrency(size))
    names = drawn_to(0, size, 21)
    for name in names:
        world.submit(id=name)

    def look() -> None:
        world.submit(id="late")
        world.deliver()
        assert world.job("late").waits_for is not None
        world.api.limits.change("greet.1", LimitChanges(sets_max=True, max=22), "caller")
        assert "late" in holders(world)
        world.api.operations.cancel("late", actor="caller")
        assert "late" not in holders(world)
        assert waiters(world) == []

    Holding(world, look).run(21)


def test_a_retry_keeps_its_slot_in_its_shard() -> None:
    world = limited(Concurrency(45, holds="job"))
    world.submit(id="one", retry={"max_attempts": 2, "base_seconds": 1})
    world.deliver(fail)
    before = shards(world)
    assert sum(before.values()) == 1
    world.advance(5)

    def look() -> None:
        assert shards(world) == before

    Holding(world, look).run(1)
    assert holders(world) == {}


def test_a_lowered_limit_drains_and_a_job_whose_shard_is_gone_is_judged_anew() -> None:
    size = 21
    world = limited(Concurrency(size))
    for number in range(21):
        world.submit(id=f"job-{number}")

    def look() -> None:
        for number in range(40):
            world.submit(id=f"late-{number}")
        world.deliver()
        waits = [world.job(f"late-{number}").waits_for for number in range(40)]
        assert {wait.shard for wait in waits if wait is not None} == {0, 1}
        world.api.limits.change("greet.1", LimitChanges(sets_max=True, max=1), "caller")

    Holding(world, look).run(21)
    world.settle()
    assert all(world.job(f"late-{number}").status.is_final for number in range(40))
    assert waiters(world) == []


def test_two_numbers_that_are_known_at_once_admit_no_more_than_the_larger() -> None:
    world = limited(Concurrency(20))
    older = world.process().worker
    world.handlers = MemoryHandlerDirectory(HandlerInfo(name="greet", limits=(Concurrency(21),)))
    newer = world.process().worker
    for _ in range(40):
        world.submit()
    for number, delivery in enumerate(world.receive()):
        worker = older if number < 20 else newer
        worker.execution.admit(Candidate(delivery, world.store))
    assert shards(world) == {"0": 20, "1": 1}


# --- grants in shards that a worker does not know, and grants whose message is lost ---


def fill(
    world: World, running: int, waiting: int, look: Callable[[Callable[[], None]], object]
) -> None:
    """Let jobs run and others park, then look. ``look`` gets what renews their leases."""
    for number in range(running + waiting):
        world.submit(id=f"job-{number:02d}")

    def park_others() -> None:
        for delivery in holding.rest:
            world.handle(delivery)
        look(holding.beat)

    holding = Holding(world, park_others)
    holding.run(running)


def waits(world: World) -> list[WaitsFor]:
    """Return what each job waits for that waits."""
    return [job.waits_for for job in world.store.jobs().values() if job.waits_for is not None]


def set_max(world: World, number: int) -> None:
    """Set the number of the limit in another process: this one does not know it yet."""
    other = world.process().api
    other.limits.change("greet.1", LimitChanges(sets_max=True, max=number), "caller")


def lose_messages(world: World) -> None:
    world.queues._contents.messages.clear()


def test_a_job_that_was_granted_a_slot_in_a_shard_that_its_worker_does_not_know_runs() -> None:
    world = limited(Concurrency(20))

    def look(_: Callable[[], None]) -> None:
        before = len(world.runs)
        set_max(world, 40)
        assert len(holders(world)) == 40
        world.deliver()
        assert len(world.runs) == before + 20
        assert not waiters(world)

    fill(world, 20, 20, look)
    assert holders(world) == {}


def test_a_copy_of_an_older_message_does_not_undo_a_grant_in_an_unknown_shard() -> None:
    world = limited(Concurrency(20))

    def look(_: Callable[[], None]) -> None:
        job = world.job("job-20")
        set_max(world, 40)
        world.queues.send([outgoing_of(job, world.clock.now(), world.timings.delay_rounding)])
        *granted, copy = world.receive()
        assert copy.message.job_id == "job-20"
        assert copy.message.slot_shard == 0
        world.handle(copy)
        assert world.job("job-20").waits_for is not None
        assert len(waiters(world)) == 1
        for delivery in granted:
            world.handle(delivery)
        assert world.job("job-20").status is JobStatus.SUCCEEDED

    fill(world, 20, 5, look)
    assert holders(world) == {}
    assert waiters(world) == []


def test_the_sweep_finds_a_job_that_holds_a_slot_of_another_shard_than_it_waits_in() -> None:
    world = limited(Concurrency(20))

    def look(beat: Callable[[], None]) -> None:
        set_max(world, 40)
        lose_messages(world)
        assert len(world.runs) == 20
        for _ in range(3):
            world.advance(30)
            beat()
            world.tick()
        world.deliver()
        assert len(world.runs) == 25, "the five that wait run beside the twenty"

    fill(world, 20, 5, look)
    world.settle()
    assert holders(world) == {}


def test_a_grant_in_another_shard_whose_message_is_lost_stops_no_other_waiter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = limited(Concurrency(20))

    def look(beat: Callable[[], None]) -> None:
        with monkeypatch.context() as patched:
            # The process dies between the grant and what follows it.
            patched.setattr(WaitQueues, "_wake", lambda *_: None)
            patched.setattr(wait_queues, "MAX_GRANTS", 1)
            patched.setattr(operations, "GRANTED_AT_ONCE", 1)
            set_max(world, 40)
        assert len(holders(world)) == 21
        assert len(waiters(world)) == 5
        lose_messages(world)
        world.advance(60)
        beat()
        world.tick()
        assert len(holders(world)) == 25
        assert {held.message.slot_shard for held in world.queues.messages()} == {1}
        assert waiters(world) == []

    fill(world, 20, 5, look)
    world.settle()
    assert holders(world) == {}
    assert len(world.runs) == 25


def test_an_end_sends_a_waiter_of_another_shard_that_holds_a_slot_of_this_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    size = 22
    world = limited(Concurrency(size))
    for name in drawn_to(0, size, size):
        world.submit(id=name)
    first, second = late = drawn_to(0, size, 2, start=5_000)
    woken: list[tuple[str, int]] = []
    wake = WaitQueues._wake

    def lose_the_first(self: WaitQueues, slots: Slots, woke: Any, me: Any, shard: int) -> None:
        woken.append((woke.job.id, shard))
        if len(woken) == 1:
            world.advance(60)
            return
        wake(self, slots, woke, me, shard)

    def look() -> None:
        for name in late:
            world.submit(id=name)
            world.deliver()
        # In a shard that admitted many jobs just now, another waiter than the first may be tried.
        world.advance(5)
        monkeypatch.setattr(WaitQueues, "_wake", lose_the_first)

    Holding(world, look).run(size)
    assert woken == [(first, 1), (first, 1), (second, 1)]
    world.deliver()
    assert world.job(first).status is JobStatus.SUCCEEDED
    assert world.job(second).status is JobStatus.SUCCEEDED
    assert holders(world) == {}


# --- a limit that is lowered ---


def test_a_lowered_limit_shows_all_jobs_that_run_and_wait_and_sends_those_of_closed_shards() -> (
    None
):
    world = limited(Concurrency(45))

    def look(beat: Callable[[], None]) -> None:
        before = world.api.limits.show("greet.1")
        assert (before.running, before.waiting) == (45, 20)
        for number in (20, 0):
            after, _ = world.api.limits.change(
                "greet.1", LimitChanges(sets_max=True, max=number), "caller"
            )
            assert (after.running, after.waiting) == (45, 20)
        restored, _ = world.api.limits.change(
            "greet.1", LimitChanges(sets_max=True, max=20), "caller"
        )
        assert (restored.running, restored.waiting) == (45, 20)
        world.advance(31)
        beat()
        world.deliver()
        waiting = [world.job(f"job-{number}").waits_for for number in range(45, 65)]
        assert {wait.shard for wait in waiting if wait is not None} == {0}
        world.advance(HOUR)
        assert world.process().api.limits.show("greet.1").running == 20

    fill(world, 45, 20, look)
    while world.deliver():
        pass
    assert {job.status for job in world.store.jobs().values()} == {JobStatus.SUCCEEDED}
    assert waiters(world) == []


def test_a_number_is_lowered_though_sqs_takes_no_message() -> None:
    world = limited(Concurrency(45))

    def look(_: Callable[[], None]) -> None:
        faults = Faults().fail("queues.send", Unavailable(), times=10)
        changes = LimitChanges(sets_max=True, max=20)
        after = world.process(faults).api.limits.change("greet.1", changes, "caller")[0]
        assert (after.running, after.waiting) == (45, 20)
        closed = [wait for wait in waits(world) if wait.shard]
        assert 0 < len(closed) == world.telemetry.total("send_failures")

    fill(world, 45, 20, look)
    world.settle()
    assert {job.status for job in world.store.jobs().values()} == {JobStatus.SUCCEEDED}
    assert waiters(world) == []


def test_a_job_that_keeps_a_slot_in_a_closed_shard_gives_it_back_at_its_end() -> None:
    world = limited(Concurrency(45, holds="job"))
    [name] = drawn_to(2, 45, 1)
    world.submit(id=name, retry={"max_attempts": 2, "base_seconds": 7200})
    world.deliver(fail)
    world.api.limits.change("greet.1", LimitChanges(sets_max=True, max=1), "caller")
    world.advance(2 * HOUR)
    assert list(holders(world)) == [name]
    world.api.operations.cancel(name, actor="caller")
    assert holders(world) == {}


def test_a_job_finds_the_slot_of_an_ended_job_in_any_shard_of_a_lazy_limit() -> None:
    world = limited(Concurrency(2))
    world.api.limits.change("greet.1", LimitChanges(sets_max=True, max=21), "caller")
    [ended] = drawn_to(1, 21, 1)
    world.submit(id=ended)
    world.deliver()
    assert shards(world) == {"1": 1}
    *names, late = drawn_to(0, 21, 21)
    for name in names:
        world.submit(id=name)

    def look() -> None:
        world.submit(id=late)
        world.deliver()
        assert world.job(late).status is JobStatus.SUCCEEDED

    Holding(world, look).run(20)
