"""What becomes of a job that finds a limit full, where another worker has been at it before."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hourhand.domain.errors import WrittenByNewer
from hourhand.domain.jobs.job import EventKind, Job, JobStatus
from hourhand.domain.jobs.waiting import WAITERS_KEPT, put_waiter
from hourhand.domain.limits.declarations import MAX_SEATS, Concurrency
from hourhand.domain.limits.overrides import LimitChanges
from hourhand.domain.side_items import SideItemKind
from hourhand.ports import Found
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.queues import Delivery
from hourhand.services.jobs.aspects import Candidate
from hourhand.services.jobs.due import outgoing_of
from hourhand.services.jobs.execution import Disposition
from hourhand.services.limits.slot_admission import LIMIT_REASON
from hourhand.services.limits.slot_tables import SlotTables
from hourhand.testing import Crash
from tests.world.faults import Faults
from tests.world.limits import holders, limited, waiters, while_one_runs
from tests.world.runs import HandlerKilled, kill_process, succeed
from tests.world.world import World


def in_order(world: World, *names: str) -> list[Delivery]:
    """Submit jobs, each due a moment after the one before, and receive their messages."""
    for name in names:
        world.submit(id=name)
        world.advance(0.01)
    return world.receive()


def ends(world: World, *names: str) -> list[JobStatus]:
    return [world.job(name).status for name in names]


def take_slot(world: World, delivery: Delivery) -> None:
    """Let a job take its slot, by a worker that dies before the claim."""
    candidate = Candidate(delivery, world.store)
    assert world.worker.execution.admit(candidate) is None


def die() -> None:
    raise Crash


# --- seats ---


def test_a_job_whose_worker_died_after_it_took_a_seat_parks_in_that_seat() -> None:
    world = limited(Concurrency(1, max_waiting=1))
    first, second, third = in_order(world, "first", "second", "third")

    def look(job: Job, pulse: Pulse) -> Finished:
        faults = Faults().interrupt("jobs.transition", die)
        with pytest.raises(Crash):
            world.handle(second, succeed, world.process(faults).worker)
        seats = waiters(world)
        assert len(seats) == 1
        assert world.job("second").waits_for is None
        world.handle(second)
        world.handle(third)
        assert world.job("second").waits_for is not None
        assert waiters(world) == seats
        assert ends(world, "third") == [JobStatus.CANCELLED]
        return succeed(job, pulse)

    world.handle(first, look)
    world.settle()
    assert ends(world, "first", "second") == [JobStatus.SUCCEEDED] * 2


def test_a_job_that_is_cancelled_leaves_its_seat_to_the_next() -> None:
    world = limited(Concurrency(1, max_waiting=1))
    world.submit(id="first")
    world.submit(id="second")

    def look() -> None:
        assert len(waiters(world)) == 1
        world.api.operations.cancel("second", actor="caller")
        assert waiters(world) == []
        world.submit(id="third")
        world.deliver()
        assert world.job("third").waits_for is not None

    while_one_runs(world, look)
    world.settle()
    assert ends(world, "second", "third") == [JobStatus.CANCELLED, JobStatus.SUCCEEDED]


def test_a_job_that_comes_by_itself_to_its_slot_leaves_its_seat() -> None:
    world = limited(Concurrency(1, max_waiting=1))
    first, second = in_order(world, "first", "second")

    def let_second_wait(job: Job, pulse: Pulse) -> Finished:
        world.handle(second)
        return succeed(job, pulse)

    # The worker dies after it handed the slot off: the record stays, and no message is sent.
    faults = Faults().interrupt("queues.send", die)
    with pytest.raises(Crash):
        world.handle(first, let_second_wait, world.process(faults).worker)
    assert (len(waiters(world)), list(holders(world))) == (1, ["second"])
    waiting, rounding = world.job("second"), world.timings.delay_rounding
    world.queues.send([outgoing_of(waiting, world.clock.now(), rounding)])

    def look(job: Job, pulse: Pulse) -> Finished:
        assert waiters(world) == []
        return succeed(job, pulse)

    world.deliver(look)
    assert ends(world, "second") == [JobStatus.SUCCEEDED]


# --- more waiting jobs than there are seats ---

MANY = MAX_SEATS + 1


def put_waiters(world: World, count: int) -> set[str]:
    """Put waiter records of jobs that the table does not have; return the ids."""
    [slots] = [key for key in world.side_items.items() if key.kind is SideItemKind.SLOTS]
    ids = {f"gone-{number}" for number in range(count)}
    for rank, name in enumerate(sorted(ids)):
        kept_until = world.clock.now() + WAITERS_KEPT
        world.side_items.write_item(put_waiter(slots.partition, rank, name, 1, kept_until))
    return ids


def test_records_of_jobs_that_are_gone_keep_no_job_from_waiting() -> None:
    world = limited(Concurrency(1, max_waiting=MANY))
    world.submit(id="first")

    def look() -> None:
        put_waiters(world, MANY)
        world.submit(id="second")
        world.deliver()
        assert world.job("second").waits_for is not None

    while_one_runs(world, look)
    world.settle()
    assert ends(world, "second") == [JobStatus.SUCCEEDED]
    assert waiters(world) == []


def test_records_of_jobs_that_a_newer_version_wrote_are_left_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = limited(Concurrency(1, max_waiting=MANY))
    world.submit(id="first")
    get, get_many = world.store.get, world.store.get_many

    def look() -> None:
        newer = put_waiters(world, MANY)

        def get_one(job_id: str) -> Job | None:
            if job_id in newer:
                raise WrittenByNewer(ids=[job_id])
            return get(job_id)

        def get_several(job_ids: Sequence[str]) -> Found[str, Job]:
            return Found(get_many(job_ids), WrittenByNewer(ids=newer.intersection(job_ids)))

        world.submit(id="second")
        with monkeypatch.context() as patch:
            patch.setattr(world.store, "get", get_one)
            patch.setattr(world.store, "get_many", get_several)
            assert world.deliver() == [Disposition.DONE]
        assert len(waiters(world)) == MANY
        assert ends(world, "second") == [JobStatus.CANCELLED]

    while_one_runs(world, look)


def test_a_job_that_waited_for_another_limit_is_refused_by_a_crowded_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crowded = Concurrency(1, name="stripe", max_waiting=MANY)
    world = limited(Concurrency(1, key="tenant", name="tenants"), crowded)
    for name, tenant in [("first", "acme"), ("second", "acme"), ("other", "globex")]:
        world.submit(id=name, tenant=tenant)
    first, second, other = world.receive()

    def park_second(job: Job, pulse: Pulse) -> Finished:
        world.handle(second)
        waits_for = world.job("second").waits_for
        assert waits_for is not None
        assert waits_for.limit == "0", "the limit of the tenant comes first"
        return succeed(job, pulse)

    def look(job: Job, pulse: Pulse) -> Finished:
        monkeypatch.setattr(SlotTables, "count_waiting", lambda *_: MANY)
        assert world.deliver() == [Disposition.DONE]
        assert ends(world, "second") == [JobStatus.CANCELLED]
        assert world.job("second").history[-1].reason == LIMIT_REASON
        return succeed(job, pulse)

    world.handle(first, park_second)
    world.handle(other, look)
    assert ends(world, "first", "other") == [JobStatus.SUCCEEDED] * 2


# --- cancel_running ---


def test_a_newer_job_cancels_an_older_one_that_has_the_slot_and_has_not_begun() -> None:
    world = limited(Concurrency(1, on_full="cancel_running"))
    first, second = in_order(world, "first", "second")
    take_slot(world, first)
    world.handle(second)
    assert ends(world, "first", "second") == [JobStatus.CANCELLED, JobStatus.SUCCEEDED]
    assert world.job("first").history[-1].reason == LIMIT_REASON
    world.handle(first)
    assert [run.job.id for run in world.runs] == ["second"]


def test_an_older_job_that_begins_as_a_newer_one_cancels_it_is_asked_to_stop() -> None:
    world = limited(Concurrency(1, on_full="cancel_running"))
    first, second = in_order(world, "first", "second")
    take_slot(world, first)

    def begin() -> None:
        with pytest.raises(HandlerKilled):
            world.handle(first, kill_process)

    faults = Faults().interrupt("jobs.transition", begin)
    world.handle(second, succeed, world.process(faults).worker)
    running = world.job("first")
    assert (running.status, running.history[-1].kind) == (
        JobStatus.RUNNING,
        EventKind.CANCEL_REQUESTED,
    )
    assert running.cancel_requested_at is not None
    assert world.job("second").waits_for is not None
    world.settle()
    assert ends(world, "first", "second") == [JobStatus.CANCELLED, JobStatus.SUCCEEDED]
    assert "first" not in holders(world)


def test_while_the_number_is_0_the_newest_job_waits_and_none_that_runs_is_stopped() -> None:
    world = limited(Concurrency(1, on_full="cancel_running"))
    world.submit(id="running")

    def look() -> None:
        world.api.limits.change("greet.1", LimitChanges(sets_max=True, max=0), "caller")
        world.advance(31)
        for name in ("older", "newer"):
            world.advance(1)
            world.submit(id=name)
            world.deliver()
        assert world.job("running").cancel_requested_at is None
        assert world.job("older").status is JobStatus.CANCELLED
        assert world.job("newer").waits_for is not None

    while_one_runs(world, look)
    world.advance(1)
    world.submit(id="newest")
    world.deliver()
    assert ends(world, "running", "newer") == [JobStatus.SUCCEEDED, JobStatus.CANCELLED]
    world.api.limits.change("greet.1", LimitChanges(sets_max=True, max=None), "caller")
    world.settle()
    assert ends(world, "newest") == [JobStatus.SUCCEEDED]


def test_a_job_that_was_redriven_waits_and_stops_none_that_runs() -> None:
    world = limited(Concurrency(1, on_full="cancel_running"))
    redriven = world.submit(id="redriven", delay_seconds=3600)
    world.api.operations.cancel("redriven", actor="caller")
    world.submit(id="older")

    def look() -> None:
        world.api.operations.redrive(redriven.id, actor="caller")
        world.deliver()
        assert world.job("redriven").waits_for is not None
        assert world.job("older").cancel_requested_at is None

    while_one_runs(world, look)
    world.settle()
    for name in ("older", "redriven"):
        assert ends(world, name) == [JobStatus.SUCCEEDED]
