"""Killers that let something arrive late: copies of writes, the end of a process that hangs."""

from __future__ import annotations

from contextlib import suppress

from hourhand.domain.jobs.job import Job, JobStatus, Outcome
from hourhand.domain.jobs.transitions import Transition
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.job_store import WriteResult
from hourhand.testing import Faults, When
from hourhand.worker import RunLimits
from proof.mutants.rules import check_rules
from tests.world.runs import HandlerKilled, make_error, stop_if_told, succeed
from tests.world.world import World

BEAT_SECONDS = 15.0
AT_ONCE = {"max_attempts": 2, "backoff": "fixed", "base_seconds": 0, "jitter": "none"}


def a_copy_of_a_request_to_stop_arrives_in_the_next_round() -> None:
    """It was meant for an attempt that is over: the job runs to its end."""
    world = World()
    requests = _kept(world, "request_cancel")
    job = world.submit()

    def be_stopped(running: Job, pulse: Pulse) -> Finished:
        world.api.operations.cancel(running.id, actor="caller")
        return stop_if_told(running, pulse)

    world.deliver(be_stopped)
    world.advance(1)
    world.api.operations.redrive(job.id, actor="caller")

    def meet_the_copy(running: Job, pulse: Pulse) -> Finished:
        world.store.transition(requests[0])
        return stop_if_told(running, pulse)

    world.deliver(meet_the_copy)
    assert world.job(job).status is JobStatus.SUCCEEDED, "an old request stopped a new round"
    check_rules(world)


def a_copy_of_a_request_to_stop_arrives_at_the_next_job_of_the_id() -> None:
    """It was meant for a job that is deleted: the next one runs to its end."""
    world = World()
    requests = _kept(world, "request_cancel")
    world.submit(id="one", retention_seconds=0)

    def be_stopped(running: Job, pulse: Pulse) -> Finished:
        world.api.operations.cancel(running.id, actor="caller")
        return stop_if_told(running, pulse)

    world.deliver(be_stopped)
    world.advance(600)
    assert world.store.delete_expired(world.clock.now()) > 0
    job = world.submit(id="one", payload="another job")

    def meet_the_copy(running: Job, pulse: Pulse) -> Finished:
        world.store.transition(requests[0])
        return stop_if_told(running, pulse)

    world.deliver(meet_the_copy)
    assert world.job(job).status is JobStatus.SUCCEEDED, "an old request stopped the next job"
    check_rules(world)


def a_copy_of_a_heartbeat_arrives_after_the_next() -> None:
    """The lease that its owner counts on stands."""
    world = World()
    beats = _kept(world, "heartbeat")
    job = world.submit()

    def beat(running: Job, pulse: Pulse) -> Finished:
        for _ in range(2):
            world.advance(BEAT_SECONDS)
            pulse.beat(None)
        before = world.job(job).lease_until
        world.store.transition(beats[0])
        assert world.job(job).lease_until == before, "an old heartbeat shortened a lease"
        return succeed(running, pulse)

    world.deliver(beat)
    check_rules(world)


def a_queue_is_slow_as_a_stuck_process_ends() -> None:
    """Until its timer ends the process, nobody else runs its job, however slow its calls are."""
    for is_handed_back in (True, False):
        _a_slow_queue(is_handed_back=is_handed_back)


def _a_slow_queue(*, is_handed_back: bool) -> None:
    world, faults = World(), Faults()
    job = world.submit(retry=AT_ONCE)
    process = world.process(faults).worker

    def let_time_pass() -> None:
        for _ in range(8):
            world.advance(RunLimits().process_end / 8 - 0.01)
            world.deliver()
        assert len(world.runs) == 1, "another attempt began while the process lived"

    def hang(running: Job, pulse: Pulse) -> Finished:
        if is_handed_back:
            process.execution.hand_back(running.id, "the process must end")
            raise HandlerKilled
        return _stuck(running, pulse)

    faults.interrupt("queues.send", let_time_pass, when=When.AFTER)
    with suppress(HandlerKilled):
        world.deliver(hang, process)
    world.settle()
    assert world.job(job).status is JobStatus.SUCCEEDED
    check_rules(world)


def a_job_dies_whose_handler_still_runs() -> None:
    """What follows its end is left to a tick: its process must end first."""
    world = World()
    job = world.submit(retry={"max_attempts": 1})
    world.deliver(_stuck)
    assert world.job(job).status is JobStatus.DEAD
    assert not world.queues.dead_letters, "its end was settled while its handler ran"
    world.settle()
    check_rules(world)


def _stuck(_running: Job, _pulse: Pulse) -> Finished:
    return Finished(outcome=Outcome.TIMED_OUT, error=make_error(), still_runs=True)


def _kept(world: World, name: str) -> list[Transition]:
    """Return the list that each write of that name is put into."""
    kept: list[Transition] = []
    real = world.store.transition

    def transition(move: Transition) -> WriteResult:
        if move.name == name:
            kept.append(move)
        return real(move)

    world.store.transition = transition  # type: ignore[method-assign]  # of this world alone
    return kept
