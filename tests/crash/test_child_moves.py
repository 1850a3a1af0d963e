"""Late writes on children: how long a child is kept is never shortened, nor that of another job."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from hourhand.domain.jobs import transitions
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.jobs.transitions import Transition
from hourhand.ports.job_store import Refused
from tests.scenarios.children import FamilyWorld, one
from tests.scenarios.runs import delivered_once
from tests.world.world import World


def submitted() -> tuple[World, Job]:
    """Return a world whose run waits for its child, and the child."""
    world = FamilyWorld(one)
    world.submit(id="run")
    delivered_once(world)
    return world, the_child(world)


def the_child(world: World) -> Job:
    (child,) = (job for job in world.store.jobs().values() if job.parent is not None)
    return child


def later(child: Job) -> datetime:
    assert child.parent is not None
    return child.parent.kept_until + timedelta(days=60)


def is_refused(world: World, move: Transition) -> None:
    before = world.store.jobs()
    assert isinstance(world.store.transition(move), Refused)
    assert world.store.jobs() == before


def test_a_child_that_ended_meanwhile_is_read_again_before_it_is_kept_for_longer() -> None:
    world, read = submitted()
    world.settle()
    ended = the_child(world)
    assert ended.due_at is None
    is_refused(world, transitions.prolong_child(read, kept_until=later(read)))
    world.store.transition(transitions.prolong_child(ended, kept_until=later(read)))
    assert the_child(world).keep_until == later(read)


def test_what_is_decided_about_a_child_changes_no_later_job_of_its_id() -> None:
    world, read = submitted()
    world.settle()
    ended = the_child(world)
    again = replace(ended, created_at=ended.created_at + timedelta(days=1))
    del world.store._jobs[ended.id]
    world.store.put(again)
    is_refused(world, transitions.prolong_child(ended, kept_until=later(read)))


def test_a_child_that_its_run_keeps_for_longer_is_not_finished_by_its_older_end() -> None:
    world, read = submitted()
    ended = transitions.cancel_waiting(read, now=world.clock.now(), actor="caller", reason="")
    world.store.transition(ended)
    seen = the_child(world)
    assert seen.status is JobStatus.CANCELLED
    world.store.transition(transitions.prolong_child(seen, kept_until=later(read)))
    is_refused(world, transitions.finish(seen))
    world.settle()
    kept_until = the_child(world).keep_until
    assert kept_until is not None
    assert kept_until >= later(read)


def test_a_child_that_was_redriven_meanwhile_is_not_finished() -> None:
    world, read = submitted()
    world.api.operations.cancel(read.id, actor="caller")
    for _ in range(2):
        ended = the_child(world)
        world.api.operations.redrive(read.id, actor="operator")
        world.api.operations.cancel(read.id, actor="caller")
        assert the_child(world).generation > ended.generation
        is_refused(world, transitions.finish(ended))
