"""A second copy of a write, which arrives only after others have written, changes nothing.

botocore sends a request again that had no answer. The first copy may still be on its way, and
arrive much later. `tests.world.watched_store` judges every earlier write of a job after each
later one, in all the worlds of these tests; here are lives that hold as many writes as possible.
"""

from __future__ import annotations

from contextlib import suppress

import pytest

from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.jobs.transitions import Transition
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.job_store import WriteResult
from tests.scenarios.rules import check_rules
from tests.world.checks import check_world
from tests.world.runs import (
    Behaviour,
    HandlerKilled,
    fail,
    fail_for_good,
    kill_process,
    snooze,
    stop_if_told,
    succeed,
)
from tests.world.world import World


class Copying:
    """Keeps the writes of one name, to send the first once more when a test wants."""

    def __init__(self, world: World, name: str) -> None:
        self.copies: list[Transition] = []
        real = self._write = world.store.transition

        def transition(move: Transition) -> WriteResult:
            if move.name == name:
                self.copies.append(move)
            return real(move)

        world.store.transition = transition  # type: ignore[method-assign]  # of this world alone

    def arrive(self) -> None:
        """Let another copy of the first write arrive now."""
        self._write(self.copies[0])


@pytest.fixture
def world() -> World:
    return World()


def beat(world: World, pulse: Pulse) -> None:
    for _ in range(3):
        world.advance(15)
        pulse.beat(None)


def test_a_late_copy_of_a_request_to_stop_stops_no_later_round(world: World) -> None:
    requests = Copying(world, "request_cancel")
    job = world.submit()

    def be_cancelled(running: Job, pulse: Pulse) -> Finished:
        world.advance(1)
        world.api.operations.cancel(running.id, actor="caller")
        return stop_if_told(running, pulse)

    world.deliver(be_cancelled)
    assert world.job(job).status is JobStatus.CANCELLED
    world.advance(1)
    world.api.operations.redrive(job.id, actor="caller")

    def meet_the_copy(running: Job, pulse: Pulse) -> Finished:
        world.advance(1)
        assert len(requests.copies) == 1
        requests.arrive()
        return stop_if_told(running, pulse)

    world.deliver(meet_the_copy)
    assert world.job(job).status is JobStatus.SUCCEEDED


def test_a_late_copy_of_a_request_to_stop_stops_no_later_job_of_the_id(world: World) -> None:
    requests = Copying(world, "request_cancel")
    world.submit(id="one", retention_seconds=0)

    def be_cancelled(running: Job, pulse: Pulse) -> Finished:
        world.api.operations.cancel(running.id, actor="caller")
        return stop_if_told(running, pulse)

    world.deliver(be_cancelled)
    world.advance(600)
    assert world.store.delete_expired(world.clock.now()) > 0
    job = world.submit(id="one", payload="another job")

    def meet_the_copy(running: Job, pulse: Pulse) -> Finished:
        requests.arrive()
        return stop_if_told(running, pulse)

    world.deliver(meet_the_copy)
    assert world.job(job).status is JobStatus.SUCCEEDED
    check_rules(world)


def test_a_late_copy_of_a_heartbeat_does_not_shorten_the_lease(world: World) -> None:
    beats = Copying(world, "heartbeat")
    job = world.submit()

    def meet_the_copy(running: Job, pulse: Pulse) -> Finished:
        beat(world, pulse)
        before = world.job(job).at("lease.until")
        beats.arrive()
        assert world.job(job).at("lease.until") == before
        return succeed(running, pulse)

    world.deliver(meet_the_copy)
    assert len(beats.copies) == 3


LIVES: dict[str, tuple[Behaviour, ...]] = {
    "fails, then succeeds": (fail, succeed),
    "snoozes, then fails": (snooze(5), fail, succeed),
    "fails for good and is redriven": (fail_for_good, succeed),
    "dies with its worker": (kill_process, succeed),
    "is stopped, and redriven": (stop_if_told, succeed),
    "fails twice for good, is discarded and redriven": (fail_for_good, fail_for_good, succeed),
}


@pytest.mark.parametrize("life", LIVES)
def test_no_write_of_a_life_applies_again_when_its_copy_is_late(world: World, life: str) -> None:
    job = world.submit(delay_seconds=400, payload="x" * 500)
    world.advance(1)
    world.change(job, delay_seconds=420)
    world.advance(1)
    world.change(job, priority="high")
    world.advance(1)
    world.api.operations.run_now(job.id, actor="caller")
    world.advance(1)
    behaviours = iter(LIVES[life])

    def live(running: Job, pulse: Pulse) -> Finished:
        behave = next(behaviours, succeed)
        beat(world, pulse)
        if behave is stop_if_told:
            world.api.operations.cancel(running.id, actor="caller")
            world.advance(1)
        return behave(running, pulse)

    with suppress(HandlerKilled):
        world.deliver(live)
    world.settle(live)
    while world.job(job).status is not JobStatus.SUCCEEDED:
        world.advance(1)
        if world.job(job).status is JobStatus.DEAD:
            world.api.operations.discard(job.id, actor="caller")
            world.advance(1)
        world.api.operations.redrive(job.id, actor="caller")
        world.settle(live)
    assert world.job(job).status is JobStatus.SUCCEEDED
    check_world(world)


def test_a_late_copy_of_a_discard_discards_no_later_round(world: World) -> None:
    discards = Copying(world, "discard")
    job = world.submit()
    world.settle(fail_for_good)
    world.api.operations.discard(job.id, actor="caller")
    world.advance(1)
    world.api.operations.redrive(job.id, actor="caller")
    world.settle(fail_for_good)
    discards.arrive()
    assert len(discards.copies) == 1
    assert world.job(job).is_unresolved
    check_rules(world)
