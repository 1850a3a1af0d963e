"""A limit that two handlers share, one of which is paused: the other one goes on."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from hourhand.domain.jobs.job import EventKind, Job, JobStatus
from hourhand.domain.limits.declarations import Concurrency, Rate
from hourhand.domain.limits.overrides import LimitChanges
from hourhand.memory import MemoryHandlerDirectory
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.services.jobs.aspects import Candidate, Deferred
from hourhand.services.jobs.due import outgoing_of
from hourhand.services.limits.slot_admission import LimitsRule
from hourhand.services.ticks import sweep
from tests.world.faults import Faults
from tests.world.limits import holders, limited, waiters
from tests.world.runs import succeed
from tests.world.world import World

SHARED = Concurrency(1, name="shared")
BEATS = 30
"""Seconds between two heartbeats."""


def sharing(*of_greet: Concurrency) -> World:
    """Return a world whose handlers ``greet`` and ``other`` share a limit of one."""
    return World(
        handlers=(
            HandlerInfo(name="greet", limits=(*of_greet, SHARED)),
            HandlerInfo(name="other", limits=(SHARED,)),
        )
    )


def while_it_runs(world: World, look: Callable[[Callable[[int], None]], object]) -> None:
    """Work off the first message, and call ``look`` in its handler with what lets time pass."""
    first = world.receive()[0]

    def behave(job: Job, pulse: Pulse) -> Finished:
        def pass_minutes(number: int) -> None:
            for second in range(BEATS, number * 60 + 1, BEATS):
                world.advance(BEATS)
                pulse.beat(None)
                if second % 60 == 0:
                    world.tick()

        look(pass_minutes)
        return succeed(job, pulse)

    world.handle(first, behave)


def park(world: World, name: str, handler: str) -> None:
    """Submit a job, which finds the limit full."""
    world.advance(1)
    world.submit(id=name, handler=handler)
    world.deliver()
    assert world.job(name).waits_for is not None


def is_parked_for_pause(world: World, name: str) -> bool:
    waits_for = world.job(name).waits_for
    return waits_for is not None and waits_for.is_pause


def test_a_job_of_a_paused_handler_is_granted_no_slot_and_the_next_one_is() -> None:
    world = sharing()
    world.submit(id="runs", handler="other")

    def look(_: Callable[[int], None]) -> None:
        park(world, "paused", "greet")
        park(world, "next", "other")
        world.pause_handler()
        world.advance(31)

    while_it_runs(world, look)
    assert list(holders(world)) == ["next"]
    world.deliver()
    assert world.job("next").status is JobStatus.SUCCEEDED
    assert is_parked_for_pause(world, "paused")
    world.resume_handler()
    world.settle()
    assert world.job("paused").status is JobStatus.SUCCEEDED


def test_a_job_that_was_granted_a_slot_before_its_handler_was_paused_gives_it_back() -> None:
    world = sharing()
    world.submit(id="runs", handler="other")

    def look(_: Callable[[int], None]) -> None:
        park(world, "paused", "greet")
        park(world, "next", "other")

    while_it_runs(world, look)
    assert list(holders(world)) == ["paused"]
    world.pause_handler()
    world.advance(31)
    world.deliver()
    assert list(holders(world)) == ["next"]
    world.deliver()
    assert world.job("next").status is JobStatus.SUCCEEDED
    last = world.job("paused").history[-1]
    assert (last.kind, last.reason) == (EventKind.PARKED, "the handler is paused")


def test_the_sweep_takes_a_job_of_a_paused_handler_out_of_the_queues_of_its_limits() -> None:
    wide = Concurrency(1, name="wide", key="payload.wide")
    world = World(
        handlers=(
            HandlerInfo(name="greet", limits=(wide, SHARED)),
            HandlerInfo(name="other", limits=(wide,)),
            HandlerInfo(name="third", limits=(SHARED,)),
        )
    )
    world.submit(id="runs", handler="third")

    def look(pass_minutes: Callable[[int], None]) -> None:
        park(world, "holds-wide", "greet")
        assert set(holders(world)) == {"runs", "holds-wide"}
        park(world, "next", "other")
        world.pause_handler()
        pass_minutes(3)
        world.deliver()
        assert world.job("next").status is JobStatus.SUCCEEDED
        assert is_parked_for_pause(world, "holds-wide")

    while_it_runs(world, look)
    world.resume_handler()
    world.settle()
    assert world.job("holds-wide").status is JobStatus.SUCCEEDED


def test_a_worker_that_died_with_a_slot_keeps_it_for_no_pause() -> None:
    world = sharing()
    world.submit(id="paused")
    [delivery] = world.receive()
    assert world.worker.execution.admit(Candidate(delivery, world.store)) is None
    assert list(holders(world)) == ["paused"]
    world.queues.hide(delivery, 0)
    world.pause_handler()
    world.advance(31)
    world.deliver()
    world.submit(id="next", handler="other")
    world.deliver()
    assert world.job("next").status is JobStatus.SUCCEEDED


def test_a_job_that_waits_for_something_else_does_not_stop_the_queue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = sharing()
    world.submit(id="runs", handler="other")

    def look(_: Callable[[int], None]) -> None:
        world.advance(1)
        world.submit(id="paused")
        with monkeypatch.context() as patched:
            # Its worker dies between the waiter record and the park.
            patched.setattr(LimitsRule, "_wait_in", lambda *_: Deferred())
            world.deliver()
        assert len(waiters(world)) == 1
        park(world, "next", "other")
        world.pause_handler()
        job, rounding = world.job("paused"), world.timings.delay_rounding
        world.queues.send([outgoing_of(job, world.clock.now(), rounding, pauses_revision=1)])
        world.deliver()
        assert (waits := world.job("paused").waits_for) is not None
        assert waits.is_pause
        shown = world.api.queries.job("next").waits_for
        assert shown is not None
        assert shown.position == 1

    while_it_runs(world, look)
    world.deliver()
    assert world.job("next").status is JobStatus.SUCCEEDED


def test_a_limit_that_changed_its_place_is_not_stopped_by_jobs_of_its_old_place() -> None:
    other = Concurrency(5, name="wide")
    world = sharing(other)
    world.submit(id="runs", handler="other")

    def look(_: Callable[[int], None]) -> None:
        park(world, "moved", "greet")
        park(world, "next", "other")
        world.handlers = MemoryHandlerDirectory(
            HandlerInfo(name="greet", limits=(SHARED, other)),
            HandlerInfo(name="other", limits=(SHARED,)),
        )
        newer = world.process().api
        newer.limits.change("shared", LimitChanges(sets_max=True, max=2), "caller")
        assert set(holders(world)) == {"runs", "next"}

    while_it_runs(world, look)
    world.settle()
    assert world.job("moved").status is JobStatus.SUCCEEDED


def test_a_pause_keeps_the_start_time_that_a_job_got() -> None:
    hourly = Rate(1, per=3600, burst=1)
    world = World(
        handlers=(
            HandlerInfo(name="greet", limits=(hourly, SHARED)),
            HandlerInfo(name="other", limits=(SHARED,)),
        )
    )
    for number in range(4):
        world.submit(id=f"job-{number}")
    world.deliver()
    lines = {job.id: job.reservation for job in world.unfinished()}
    first, start = min(
        ((name, line.at) for name, line in lines.items() if line is not None),
        key=lambda one: one[1],
    )
    world.advance_to(start - timedelta(seconds=30))
    world.tick()
    world.submit(id="runs", handler="other")
    [runs] = [each for each in world.receive() if each.message.job_id == "runs"]

    def look(job: Job, pulse: Pulse) -> Finished:
        world.advance(31)
        world.deliver()
        world.pause_handler()
        return succeed(job, pulse)

    world.handle(runs, look)
    for _ in range(2):
        world.minute()
    assert is_parked_for_pause(world, first)
    world.resume_handler()
    world.minute()
    assert world.job(first).status is JobStatus.SUCCEEDED


@pytest.mark.no_cover
@pytest.mark.parametrize("most", [0, 1])
def test_a_waiter_whose_handler_is_paused_for_days_leaves_or_only_moves_its_entry(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(sweep, "MAX_LEFT", most)
    world = sharing()
    world.submit(id="runs", handler="other")

    def look(pass_minutes: Callable[[int], None]) -> None:
        park(world, "paused", "greet")
        world.pause_handler()
        pass_minutes(12 * 60 + 30)
        assert is_parked_for_pause(world, "paused") is bool(most)
        put_off_to = world.job("paused").due_at
        assert put_off_to is not None
        assert put_off_to > world.clock.now()

    while_it_runs(world, look)
    world.resume_handler()
    world.settle()
    assert world.job("paused").status is JobStatus.SUCCEEDED


def test_a_job_that_changes_as_it_leaves_its_queue_for_a_pause_is_judged_anew() -> None:
    world = sharing()
    world.submit(id="runs", handler="other")

    def look(_: Callable[[int], None]) -> None:
        park(world, "paused", "greet")

    while_it_runs(world, look)
    world.pause_handler()
    world.advance(31)
    faults = Faults().interrupt(
        "jobs.transition", lambda: world.api.operations.cancel("paused", actor="caller")
    )
    world.deliver(by=world.process(faults).worker)
    assert world.job("paused").status is JobStatus.CANCELLED
    world.submit(id="next", handler="other")
    world.deliver()
    assert world.job("next").status is JobStatus.SUCCEEDED


@pytest.mark.parametrize("name", [None, "shared"])
def test_jobs_that_waited_before_a_pause_run_before_those_that_came_in_it(name: str | None) -> None:
    world = limited(Concurrency(1, name=name, max_waiting=3))
    world.submit(id="a")
    order: list[str] = []

    def behave(job: Job, pulse: Pulse) -> Finished:
        order.append(job.id)
        return succeed(job, pulse)

    def look(pass_minutes: Callable[[int], None]) -> None:
        for waiting in "bcd":
            park(world, waiting, "greet")
        world.pause_handler()
        pass_minutes(2)
        world.deliver()
        for late in "ef":
            world.submit(id=late)
        pass_minutes(2)
        world.resume_handler()
        world.deliver(behave)

    while_it_runs(world, look)
    for _ in range(4):
        world.minute(behave)
    assert [world.job(name).status for name in "bcd"] == [JobStatus.SUCCEEDED] * 3
    assert order[:2] == ["b", "c"]
