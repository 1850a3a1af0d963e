"""What becomes of jobs that find a limit full: how many may wait, and which are cancelled."""

from __future__ import annotations

import pytest

from hourhand.domain.jobs.job import EventKind, Job, JobStatus, Outcome
from hourhand.domain.limits.declarations import Concurrency
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.services.jobs.execution import Disposition
from hourhand.services.limits.slot_admission import LIMIT_REASON
from hourhand.services.limits.slot_tables import SlotTables
from tests.world.faults import Faults
from tests.world.limits import holders, limited, waiters, while_one_runs
from tests.world.runs import fail, succeed
from tests.world.world import World


def ends(world: World, *names: str) -> list[JobStatus]:
    return [world.job(name).status for name in names]


def reason_of(world: World, name: str) -> str | None:
    return world.job(name).history[-1].reason


def in_order(world: World, *names: str) -> None:
    """Submit jobs, each due a moment after the one before."""
    for name in names:
        world.submit(id=name)
        world.advance(0.01)


# --- max_waiting ---


@pytest.mark.parametrize("most", [1, 2, 100, 101])
def test_only_so_many_jobs_wait_and_the_others_are_cancelled(most: int) -> None:
    world = limited(Concurrency(1, max_waiting=most))
    names = [f"job-{number}" for number in range(most + 3)]
    in_order(world, *names)

    def look() -> None:
        assert len(waiters(world)) == most
        assert ends(world, *names[most + 1 :]) == [JobStatus.CANCELLED] * 2
        assert reason_of(world, names[-1]) == LIMIT_REASON

    while_one_runs(world, look)
    world.settle()
    assert set(ends(world, *names[: most + 1])) == {JobStatus.SUCCEEDED}
    assert waiters(world) == []


def test_a_seat_whose_job_ended_is_taken_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    world = limited(Concurrency(1, max_waiting=1))
    in_order(world, "first", "second")

    def look() -> None:
        with monkeypatch.context() as patch:
            # As if the process had died before it deleted the record.
            patch.setattr(SlotTables, "delete_own_waiter", lambda *_: None)
            patch.setattr(SlotTables, "delete_waiter", lambda *_: None)
            world.api.operations.cancel("second", actor="caller")
        assert len(waiters(world)) == 1
        world.submit(id="third")
        world.deliver()
        assert world.job("third").waits_for is not None

    while_one_runs(world, look)
    world.settle()
    assert ends(world, "second", "third") == [JobStatus.CANCELLED, JobStatus.SUCCEEDED]


def test_seats_count_for_all_shards_together() -> None:
    world = limited(Concurrency(21, max_waiting=2))
    names = [f"job-{number}" for number in range(26)]
    in_order(world, *names)
    deliveries = world.receive()

    def go_on(job: Job, pulse: Pulse) -> Finished:
        while deliveries:
            world.handle(deliveries.pop(0), go_on)
        return succeed(job, pulse)

    world.handle(deliveries.pop(0), go_on)
    world.settle()
    statuses = ends(world, *names)
    assert statuses.count(JobStatus.CANCELLED) == 3
    assert statuses.count(JobStatus.SUCCEEDED) == 23
    assert waiters(world) == []
    assert holders(world) == {}


def test_a_job_that_lost_every_race_for_a_seat_comes_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = limited(Concurrency(1, max_waiting=1))
    in_order(world, "first")

    def look() -> None:
        world.submit(id="second")
        with monkeypatch.context() as patch:
            patch.setattr(SlotTables, "put_seat", lambda *_: False)
            assert world.deliver() == [Disposition.KEEP]
        assert world.job("second").waits_for is None

    while_one_runs(world, look)
    world.settle()
    assert ends(world, "second") == [JobStatus.SUCCEEDED]


def test_a_job_that_has_begun_waits_without_a_seat() -> None:
    world = limited(Concurrency(1, max_waiting=1))
    world.submit(id="again", retry={"max_attempts": 2, "base_seconds": 1, "jitter": "none"})
    world.deliver(fail)
    world.advance(0.1)
    in_order(world, "first", "second")

    def look() -> None:
        world.advance(2)
        world.deliver()
        assert world.job("again").waits_for is not None
        assert [key[:2] for key in waiters(world)] == ["t.", "w."]

    while_one_runs(world, look)
    world.settle()
    assert ends(world, "again", "first", "second") == [JobStatus.SUCCEEDED] * 3


def test_of_two_jobs_that_come_at_once_one_takes_the_only_seat() -> None:
    world = limited(Concurrency(1, max_waiting=1))
    in_order(world, "first", "second", "third")
    first, second, third = world.receive()

    def behave(job: Job, pulse: Pulse) -> Finished:
        faults = Faults().interrupt("side_items.write_item", lambda: world.handle(third))
        world.handle(second, succeed, world.process(faults).worker)
        assert len(waiters(world)) == 1
        assert ends(world, "second", "third") == [JobStatus.CANCELLED, JobStatus.ENQUEUED]
        return succeed(job, pulse)

    world.handle(first, behave)


# --- replace_waiting ---


def test_only_the_newest_job_waits_and_it_replaces_the_one_before() -> None:
    world = limited(Concurrency(1, on_full="replace_waiting"))
    in_order(world, "first", "second", "third", "fourth")

    def look() -> None:
        assert len(waiters(world)) == 1
        assert ends(world, "second", "third") == [JobStatus.CANCELLED] * 2
        assert reason_of(world, "third") == LIMIT_REASON
        assert world.job("fourth").waits_for is not None

    while_one_runs(world, look)
    world.settle()
    assert ends(world, "first", "fourth") == [JobStatus.SUCCEEDED] * 2


def test_a_job_that_ranks_before_the_waiting_one_is_cancelled_itself() -> None:
    world = limited(Concurrency(1, on_full="replace_waiting"))
    in_order(world, "first", "second")

    def look() -> None:
        world.submit(id="older", priority="high")
        world.deliver()
        assert ends(world, "older", "second") == [JobStatus.CANCELLED, JobStatus.ENQUEUED]

    while_one_runs(world, look)


# --- cancel_running ---


def test_a_newer_job_asks_the_running_one_to_stop_and_takes_its_slot() -> None:
    world = limited(Concurrency(1, on_full="cancel_running"))
    in_order(world, "first", "second")

    def look() -> None:
        assert world.job("first").cancel_requested_at is not None
        events = [event.kind for event in world.job("first").history]
        assert EventKind.CANCEL_REQUESTED in events
        assert world.job("second").waits_for is not None

    def stop(job: Job, pulse: Pulse) -> Finished:
        return Finished(outcome=Outcome.CANCELLED)

    while_one_runs(world, look, stop)
    world.settle()
    assert ends(world, "first", "second") == [JobStatus.CANCELLED, JobStatus.SUCCEEDED]


def test_of_several_newer_jobs_only_the_newest_waits() -> None:
    world = limited(Concurrency(1, on_full="cancel_running"))
    in_order(world, "first", "second", "third")

    def look() -> None:
        assert ends(world, "second") == [JobStatus.CANCELLED]
        assert world.job("third").waits_for is not None

    while_one_runs(world, look)
    world.settle()
    assert ends(world, "third") == [JobStatus.SUCCEEDED]


def test_a_job_that_is_older_than_the_running_one_is_cancelled() -> None:
    world = limited(Concurrency(1, on_full="cancel_running"))
    world.submit(id="older", delay_seconds=1)
    world.advance(0.5)
    world.submit(id="newer", run_at="2026-01-05T09:00:02Z")
    world.advance(2)
    older, newer = sorted(world.receive(), key=lambda one: one.message.job_id, reverse=True)

    def behave(job: Job, pulse: Pulse) -> Finished:
        world.handle(older, succeed)
        return succeed(job, pulse)

    world.handle(newer, behave)
    assert ends(world, "older", "newer") == [JobStatus.CANCELLED, JobStatus.SUCCEEDED]


# --- fair order ---


def started(world: World) -> list[str]:
    return [run.job.id for run in world.runs]


def test_tenants_take_turns() -> None:
    world = limited(Concurrency(1, order="fair"))
    for number in range(12):
        world.submit(id=f"many-{number}", tenant="acme")
        world.advance(0.01)
    for number in range(3):
        world.submit(id=f"few-{number}", tenant="globex")
        world.advance(0.01)

    while_one_runs(world, lambda: None)
    world.settle()
    assert len(started(world)) == 15
    last = max(started(world).index(f"few-{number}") for number in range(3))
    assert last <= 3 * 2 + 1


def test_a_tenant_that_was_idle_has_saved_nothing_up() -> None:
    world = limited(Concurrency(1, order="fair"))

    def crowd(*tenants: str) -> None:
        for tenant in tenants:
            world.submit(tenant=tenant)
            world.advance(0.01)
        while_one_runs(world, lambda: None)
        world.settle()

    crowd(*["acme"] * 10)
    before = len(world.runs)
    crowd(*["acme"] * 4, *["globex"] * 4)
    tenants = [run.job.tenant for run in world.runs[before + 1 :]]
    assert tenants[:4].count("acme") == 2
