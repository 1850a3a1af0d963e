"""Killers that look at an attempt: its owner, its heartbeats, its end."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import timedelta

from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.times import rfc3339
from hourhand.memory import START
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.queues import Delivery, Outgoing
from hourhand.services.jobs.execution import Disposition
from hourhand.testing import Faults, When
from proof.mutants.rules import check_rules
from tests.crash.steps import IN_BUCKET
from tests.world.runs import (
    HandlerKilled,
    fail,
    fail_for_good,
    in_turn,
    kill_process,
    snooze,
    stop_if_told,
    succeed,
)
from tests.world.world import Process, World


def a_worker_loses_its_job_to_one_who_dies() -> None:
    """The message of the first is the recovery of the second, without any tick."""
    world = World()
    job = world.submit()
    (delivery,) = world.receive()

    def be_taken_over(running: Job, pulse: Pulse) -> Finished:
        world.advance(50)
        again = Outgoing(message=delivery.message, queue=delivery.queue, delay_seconds=0)
        world.queues.send([again])
        (another,) = world.receive()
        with suppress(HandlerKilled):
            world.handle(another, kill_process)
        world.queues.delete(another)
        return succeed(running, pulse)

    world.handle(delivery, be_taken_over, world.process().worker)
    world.advance(60)
    world.deliver()
    assert world.job(job).status is JobStatus.SUCCEEDED, "no message was left for it"


def a_zombie_beats() -> None:
    """It is told that it lost its job, and extends nobody's lease."""
    for take_over in (True, False):
        world = World()
        job = world.submit(on_lost="retry" if take_over else "dead")
        (delivery,) = world.receive()
        answers: list[str] = []

        def beat_late(
            running: Job,
            pulse: Pulse,
            world: World = world,
            answers: list[str] = answers,
        ) -> Finished:
            world.advance(61)
            with suppress(HandlerKilled):
                world.deliver(kill_process)
            before = world.job(running)
            answers.append(pulse.beat(None))
            assert world.job(running) == before, "a zombie's heartbeat changed the job"
            return succeed(running, pulse)

        world.handle(delivery, beat_late, world.process().worker)
        assert answers == ["lost"], f"a zombie was told: {answers}"
        world.settle()
        check_rules(world)
        assert world.job(job).status in {JobStatus.SUCCEEDED, JobStatus.DEAD}


def heartbeats_have_no_answer() -> None:
    """Whoever cannot beat until its lease is over is told that it lost it."""
    world = World()
    world.submit()
    faults = Faults()
    faults.throttle("jobs.transition", nth=2, times=10)

    def beat(running: Job, pulse: Pulse) -> Finished:
        answers = []
        for _ in range(4):
            world.advance(15)
            answers.append(pulse.beat(None))
        assert answers[-1] == "lost", "a worker without a lease was told to go on"
        assert answers[:2] == ["alive", "alive"], "a single refusal stopped a worker"
        raise HandlerKilled

    with suppress(HandlerKilled):
        world.deliver(beat, world.process(faults).worker)
    world.settle()
    check_rules(world)


def a_handler_runs_for_minutes() -> None:
    """Its heartbeats keep lease and message: nobody else receives it, nobody recovers it."""
    world = World()
    world.submit()

    def run_on(job: Job, pulse: Pulse) -> Finished:
        for _ in range(20):
            world.advance(15)
            assert pulse.beat(None) == "alive", "an owner that beats lost its lease"
            world.tick()
            assert not world.receive(), "the message of a job that runs came again"
        return succeed(job, pulse)

    world.deliver(run_on)
    world.settle()
    check_rules(world)
    assert len(world.runs) == 1


def the_look_before_the_start_takes_long() -> None:
    """A worker that lost its lease before its handler began does not begin."""
    world = World()
    world.submit()
    faults = Faults()

    def be_overtaken() -> None:
        world.advance(61)
        world.deliver(lambda job, pulse: _hold(world, job, pulse))

    faults.interrupt("jobs.transition", be_overtaken, nth=1, when=When.AFTER)
    world.deliver(succeed, world.process(faults).worker)
    world.settle()
    check_rules(world)
    tokens = [run.token for run in world.runs]
    assert 1 not in tokens, "a handler was begun without a lease"


def _hold(world: World, job: Job, pulse: Pulse) -> Finished:
    world.advance(10)
    return succeed(job, pulse)


def an_owner_beats_as_it_is_taken_for_lost() -> None:
    """Between a look at its lease and the write that follows: it is alive, and stays the owner."""
    for by_scheduler in (False, True):
        world = World()
        world.queues.behaviour.copies = 2
        world.submit()
        first, second = world.receive()
        faults = Faults()
        other = world.process(faults)

        def be_met(
            job: Job,
            pulse: Pulse,
            world: World = world,
            other: Process = other,
            faults: Faults = faults,
            by_scheduler: bool = by_scheduler,
            second: Delivery = second,
        ) -> Finished:
            world.advance(48)
            answers: list[str] = []
            nth = 1 if by_scheduler else 2
            faults.interrupt("jobs.transition", lambda: answers.append(pulse.beat(None)), nth=nth)
            if by_scheduler:
                world.tick(other.scheduler)
            else:
                world.handle(second, by=other.worker)
            assert answers == ["alive"]
            assert pulse.beat(None) == "alive", "an owner that gave a sign of life lost its job"
            return succeed(job, pulse)

        world.handle(first, be_met)
        world.settle()
        check_rules(world)
        assert len(world.runs) == 1


def clocks_of_workers_differ() -> None:
    """Within the margin no live job is taken over, and none is recovered."""
    for skew in (-1.0, 1.0):
        for by_scheduler in (False, True):
            world = World()
            world.queues.behaviour.copies = 2
            world.queues.behaviour.answers_probes = False
            world.submit()
            first, second = world.receive()
            other = world.process(clock=world.clock.view(timedelta(seconds=skew)))

            def meet(
                job: Job,
                pulse: Pulse,
                world: World = world,
                other: Process = other,
                by_scheduler: bool = by_scheduler,
                second: Delivery = second,
            ) -> Finished:
                world.clock.advance(world.timings.job_lease)
                if by_scheduler:
                    world.tick(other.scheduler)
                else:
                    world.handle(second, by=other.worker)
                assert pulse.beat(None) == "alive", "a live job was taken from its owner"
                return succeed(job, pulse)

            world.handle(first, meet)
            world.settle()
            check_rules(world)
            assert len(world.runs) == 1


def little_time_is_left() -> None:
    """No handler is begun that cannot end within the function's time; it costs no attempt."""
    world = World()
    job = world.submit(timeout_seconds=100)
    (delivery,) = world.receive()
    assert world.handle(delivery, seconds_left=110.0) is Disposition.KEEP
    world.advance(6)
    (delivery,) = world.receive()
    left = iter([130.0, 105.0])
    runs = len(world.runs)
    execution = world.worker.execution
    runner = _Runner(world)
    execution.handle(delivery, runner, lambda: next(left, 100.0))
    assert len(world.runs) == runs
    assert not runner.began, "a handler was begun without the time that it may take"
    assert world.job(job).attempt == 0


class _Runner:
    """Implements the port `HandlerRunner`: notes that it was asked to."""

    def __init__(self, world: World) -> None:
        self.began = False

    def run(self, job: Job, payload_text: str, last_error: object, pulse: Pulse) -> Finished:
        self.began = True
        return succeed(job, pulse)


def a_process_ends_for_another_job() -> None:
    """What it hands back starts again when it is over, at no attempt; not what must not."""
    world = World()
    job = world.submit()

    def hand_back_and_die(running: Job, _pulse: Pulse) -> Finished:
        assert world.worker.execution.hand_back(running.id, "the process must end")
        world.advance(0.5)
        raise HandlerKilled

    with suppress(HandlerKilled):
        world.deliver(hand_back_and_die)
    world.deliver()
    world.settle()
    check_rules(world)
    begun = [run.started_at for run in world.runs]
    assert begun[1] - START >= timedelta(seconds=2), "it began while its process still ran"
    assert world.job(job).attempt == 1, "handing back cost an attempt"
    world = World()
    world.submit(on_lost="dead")

    def try_to_hand_back(running: Job, _pulse: Pulse) -> Finished:
        world.worker.execution.hand_back(running.id, "the process must end")
        raise HandlerKilled

    with suppress(HandlerKilled):
        world.deliver(try_to_hand_back)
    world.settle()
    assert len(world.runs) == 1, "a job that must not run again was handed back"


def a_job_snoozes_many_times() -> None:
    """A snooze costs no attempt."""
    world = World()
    job = world.submit(retry={"max_attempts": 2})
    world.settle(in_turn(*[snooze(20)] * 5, fail, succeed))
    check_rules(world)
    assert world.job(job).status is JobStatus.SUCCEEDED
    assert world.job(job).attempt == 2


def a_job_fails_until_its_attempts_are_used_up() -> None:
    """It runs as often as it may, and ends DEAD, with a letter that tells each attempt."""
    world = World()
    job = world.submit(retry={"max_attempts": 3})
    world.settle(fail)
    check_rules(world)
    assert len(world.runs) == 3, f"it ran {len(world.runs)} times"
    (letter,) = world.queues.dead_letters
    told = json.loads(letter.body)
    assert [attempt["number"] for attempt in told["attempts"]] == [1, 2, 3]
    assert told["error"]["type"] == "ValueError"
    assert world.job(job).status is JobStatus.DEAD


def an_error_that_no_retry_heals() -> None:
    """`NotRetryable` ends the job at once."""
    world = World()
    world.submit()
    world.settle(fail_for_good)
    check_rules(world)
    assert len(world.runs) == 1, "a job was tried again, against its handler's word"


def objects_expire_once_their_job_ended() -> None:
    """For every end, what lies in the bucket is marked; and what is redriven is not."""
    for behaviour in (succeed, fail_for_good):
        world = World()
        job = world.submit(payload=IN_BUCKET)
        world.settle(behaviour)
        check_rules(world)
        assert set(world.objects.finished()) == world.objects.keys(), "an object never expires"
        if behaviour is fail_for_good:
            world.api.operations.redrive(job.id, actor="caller")
            assert not world.objects.finished(), "the payload of a job to be run expires"
            world.objects.delete_expired(START + timedelta(days=900))
            world.settle()
            assert world.job(job).status is JobStatus.SUCCEEDED
    world = World()
    job = world.submit(payload=IN_BUCKET, delay_seconds=1000)
    world.api.operations.cancel(job.id, actor="caller")
    world.settle()
    assert set(world.objects.finished()) == world.objects.keys(), "an object never expires"


def a_handler_is_told_to_stop() -> None:
    """By its next heartbeat; if it then fails instead of stopping, the job ends just so."""
    for last in (stop_if_told, fail, fail_for_good, snooze(30)):
        world = World()
        job = world.submit()

        def behave(
            running: Job, pulse: Pulse, world: World = world, last: object = last
        ) -> Finished:
            world.api.operations.cancel(running.id, actor="caller")
            assert callable(last)
            ended = last(running, pulse)
            assert isinstance(ended, Finished)
            return ended

        world.deliver(behave)
        assert world.job(job).status is JobStatus.CANCELLED, "a request to stop was not honoured"
        world.settle()
        check_rules(world)


def an_expired_job_waits_without_workers() -> None:
    """The sweep ends it."""
    world = World()
    job = world.submit(expires_at=rfc3339(START + timedelta(seconds=30)))
    world.queues.purge()
    for _ in range(2):
        world.advance(60)
        world.tick()
    assert world.job(job).status is JobStatus.EXPIRED, "it waits on"


def a_slow_worker_claims_as_the_job_expires() -> None:
    """Within the margin a worker's clock may be behind: what it claimed is not expired."""
    world = World()
    world.queues.behaviour.answers_probes = False
    job = world.submit(expires_at=rfc3339(START + timedelta(seconds=30)))
    world.advance(30.5)
    slow = world.process(clock=world.clock.view(-timedelta(seconds=1))).worker
    faults = Faults()

    def claim_and_hold() -> None:
        with suppress(HandlerKilled):
            world.deliver(kill_process, slow)

    faults.interrupt("jobs.transition", claim_and_hold)
    world.tick(world.process(faults).scheduler)
    assert world.job(job).status is JobStatus.RUNNING, "a job was expired while it ran"


def workers_meet_stale_messages() -> None:
    """They are done with: none goes round and round."""
    world = World()
    job = world.submit(delay_seconds=100)
    world.change(job, delay_seconds=1000)
    world.change(job, delay_seconds=600)
    for _ in range(30):
        world.minute()
    check_rules(world)
    told = {w.sentence for w in world.telemetry.warnings}
    assert "A claim was refused for no reason that its job shows." not in told
    world = World()
    job = world.submit()
    world.change(job, priority="high")
    (stale,) = world.receive(job.priority)
    assert world.handle(stale) is Disposition.DONE, "a stale message was kept"
    assert not world.runs, "a stale message started a job"
