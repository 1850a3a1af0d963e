"""Late writes on durable runs: a write that was decided before the run went on changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hourhand import NotRetryable
from hourhand.domain.jobs import transitions
from hourhand.domain.jobs.job import Content, Job
from hourhand.domain.jobs.transitions import Transition
from hourhand.domain.jobs.waiting import WaitKind, WaitsFor
from hourhand.domain.ticks.buckets import Entry
from hourhand.handlers._runs.context import RunContext
from hourhand.ports.job_store import Refused
from tests.scenarios.steps import worn
from tests.world.durable import durable, durable_world
from tests.world.runs import HandlerKilled
from tests.world.world import World

Build = Callable[[World, Job], Transition]


def waits(ctx: RunContext) -> Any:
    return ctx.wait_for("approved", timeout=3_600, default="nobody")


def running(*, is_full: bool = False) -> tuple[World, Job]:
    """Return a world, and its run as the worker claimed it that died since."""
    world = durable_world()
    world.submit(id="run")
    if is_full:
        worn(world)

    def killed(_ctx: RunContext) -> None:
        raise HandlerKilled

    with pytest.raises(HandlerKilled):
        world.deliver(durable(killed, world.clock))
    return world, world.job("run")


def taken_over() -> tuple[World, Job]:
    """The same; meanwhile another worker took the run over."""
    world, job = running()
    world.advance(60)

    def killed(_ctx: RunContext) -> None:
        raise HandlerKilled

    with pytest.raises(HandlerKilled):
        world.deliver(durable(killed, world.clock))
    assert world.job("run").token == 2
    return world, job


def recovered() -> tuple[World, Job]:
    """The same; meanwhile the sweep ended the lost attempt."""
    world, job = running()
    world.advance(60)
    world.tick()
    assert world.job("run").status.is_waiting
    return world, job


def another_life() -> tuple[World, Job]:
    """The same; meanwhile the job was deleted, and another one has its id."""
    world, job = running()
    return world, replace(job, created_at=job.created_at - timedelta(days=30))


def cancelled() -> tuple[World, Job]:
    world, job = running()
    world.api.operations.cancel("run", actor="caller")
    return world, job


def refiled() -> tuple[World, Job]:
    """A run whose record is full, and to which another writer added an event."""
    world, job = running(is_full=True)
    world.api.submission.due.refile(world.job("run"), "another")
    return world, job


def suspended() -> tuple[World, Job]:
    world = durable_world()
    world.submit(id="run")
    world.deliver(durable(waits, world.clock))
    return world, world.job("run")


def dead() -> tuple[World, Job]:
    world = durable_world()
    world.submit(id="run")

    def fails(_ctx: RunContext) -> None:
        raise NotRetryable("no")

    world.settle(durable(fails, world.clock))
    return world, world.job("run")


def is_refused(world: World, move: Transition) -> None:
    before = world.job("run")
    assert isinstance(world.store.transition(move), Refused)
    assert world.job("run") == before


def suspend(world: World, job: Job) -> Transition:
    return transitions.suspend(
        job,
        now=world.clock.now(),
        actor="late",
        entry=Entry(world.clock.now() + timedelta(hours=1), 0),
        sends_now=False,
        waits_for=WaitsFor(WaitKind.SIGNAL, name="approved"),
        reason="",
    )


def restart(world: World, job: Job) -> Transition:
    return transitions.restart(
        job,
        now=world.clock.now(),
        actor="late",
        entry=Entry(world.clock.now(), 0),
        sends_now=True,
        payload=Content(size_bytes=1, text="1"),
        payload_kept_until=None,
    )


def wake(world: World, job: Job) -> Transition:
    return transitions.wake(
        job,
        now=world.clock.now(),
        actor="late",
        entry=Entry(world.clock.now(), 0),
        sends_now=True,
        reason="",
    )


def flag(_world: World, job: Job) -> Transition:
    return transitions.flag(job)


def count_signal(_world: World, job: Job) -> Transition:
    return transitions.count_signal(job, signals=1)


def clear_flag(_world: World, job: Job) -> Transition:
    return transitions.clear_flag(job)


def keep_journal(_world: World, job: Job) -> Transition:
    return transitions.keep_journal(job)


def mark_compensated(_world: World, job: Job) -> Transition:
    return transitions.mark_compensated(job, keep_until=None)


OWNED = pytest.mark.parametrize(
    "build", [suspend, restart, flag, clear_flag, keep_journal], ids=lambda one: one.__name__
)


@OWNED
def test_a_worker_whose_run_was_recovered_changes_nothing_of_it(build: Build) -> None:
    world, job = recovered()
    is_refused(world, build(world, job))


@OWNED
def test_a_worker_whose_run_was_taken_over_changes_nothing_of_it(build: Build) -> None:
    world, job = taken_over()
    is_refused(world, build(world, job))


@OWNED
def test_a_worker_whose_run_was_deleted_changes_no_other_of_its_id(build: Build) -> None:
    world, job = another_life()
    is_refused(world, build(world, job))


def test_a_signal_of_a_run_that_was_deleted_counts_for_no_other_of_its_id() -> None:
    world, job = another_life()
    is_refused(world, count_signal(world, job))


@pytest.mark.parametrize("build", [suspend, restart], ids=lambda one: one.__name__)
def test_a_run_that_was_cancelled_does_not_go_on(build: Build) -> None:
    world, job = cancelled()
    is_refused(world, build(world, job))


@pytest.mark.parametrize("build", [wake, flag, count_signal], ids=lambda one: one.__name__)
def test_the_count_of_signals_never_falls(build: Build) -> None:
    world, job = suspended() if build is wake else running()
    move = build(world, job)
    for signal_id in "123":
        world.api.signals.send("run", "another", signal_id, "1")
    is_refused(world, move)


def test_a_run_with_the_wake_flag_does_not_wait() -> None:
    world, job = running()
    world.api.signals.send("run", "approved", "1", "1")
    is_refused(world, suspend(world, job))


@pytest.mark.parametrize("build", [suspend, restart], ids=lambda one: one.__name__)
def test_a_write_on_a_full_record_drops_no_event_of_another(build: Build) -> None:
    world, job = refiled()
    is_refused(world, build(world, job))


def test_a_run_that_was_claimed_meanwhile_is_not_woken() -> None:
    world, job = suspended()
    world.advance(3_600)
    world.tick()

    def killed(_ctx: RunContext) -> None:
        raise HandlerKilled

    with pytest.raises(HandlerKilled):
        world.deliver(durable(killed, world.clock))
    # Where its state alone tells: the claim also removed what it waited for.
    is_refused(world, replace(wake(world, job), expect=_without(wake(world, job), "waits_as_read")))


def _without(move: Transition, clause: str) -> dict[str, Any]:
    return {name: one for name, one in move.expect.items() if name != clause}


def test_a_run_that_was_woken_and_waits_again_is_not_woken_by_a_late_write() -> None:
    world, job = suspended()
    world.api.operations.run_now("run", actor="caller")
    world.deliver(durable(waits, world.clock))
    assert world.job("run").waits_for == job.waits_for
    is_refused(world, wake(world, job))


def test_a_run_that_waits_for_something_else_is_not_woken() -> None:
    world, job = suspended()
    other = replace(job, waits_for=WaitsFor(WaitKind.SIGNAL, name="other"))
    is_refused(world, wake(world, other))


def test_a_run_that_was_redriven_is_not_marked_as_reversed() -> None:
    world, job = dead()
    world.api.operations.redrive("run", actor="caller")
    is_refused(world, replace(mark_compensated(world, replace(job, round=2))))


def test_a_later_round_is_not_marked_as_reversed() -> None:
    world, job = dead()
    is_refused(world, mark_compensated(world, replace(job, round=7)))


def test_a_run_is_marked_as_reversed_once() -> None:
    world, job = dead()
    world.store.transition(mark_compensated(world, job))
    is_refused(world, mark_compensated(world, job))


def test_a_run_that_was_reversed_is_not_redriven_by_a_request_that_read_it_before() -> None:
    world, job = dead()
    world.store.transition(mark_compensated(world, job))
    redrive = transitions.redrive(
        job,
        now=world.clock.now(),
        actor="late",
        entry=Entry(world.clock.now(), 0),
        sends_now=True,
        reason="",
    )
    is_refused(world, redrive)
