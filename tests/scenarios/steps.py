"""What scenarios are made of: handlers, where the work begins, and the work itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hourhand.api.requests.jobs import JobSubmission
from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import Job, Outcome
from hourhand.domain.jobs.transitions import keep_payload
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.settings import DispatchMode
from hourhand.testing import Crash
from tests.scenarios.work import Act
from tests.world.faults import Faults
from tests.world.runs import (
    Behaviour,
    HandlerKilled,
    fail_for_good,
    make_error,
    stop_if_told,
    succeed,
)
from tests.world.world import Process, World

BESIDE = "x" * 400
"""A text that is kept in an item beside its job."""

IN_BUCKET = "x" * 300_000
"""A text that is kept in the bucket."""

FAR = 400
"""Seconds, beyond the look-ahead."""


# --- handlers that look at the job alone --------------------------------------------------------


def first(behaviour: Behaviour, then: Behaviour = succeed) -> Behaviour:
    """Do one thing in the first attempt of all, another in every later one."""
    return lambda job, pulse: (behaviour if job.token == 1 else then)(job, pulse)


def first_round(behaviour: Behaviour, then: Behaviour = succeed) -> Behaviour:
    """Do one thing until the job is redriven, another afterwards."""
    return lambda job, pulse: (behaviour if job.round == 1 else then)(job, pulse)


def beat_twice(job: Job, pulse: Pulse) -> Finished:
    pulse.beat(None)
    pulse.beat(None)
    return succeed(job, pulse)


def return_text(text: str) -> Behaviour:
    return lambda _job, _pulse: Finished(outcome=Outcome.SUCCEEDED, result_text=f'"{text}"')


def ask_again_in(seconds: float) -> Behaviour:
    wait = timedelta(seconds=seconds)
    failed = Finished(outcome=Outcome.FAILED, error=make_error(), retry_after=wait)
    return lambda _job, _pulse: failed


# --- where the work begins ----------------------------------------------------------------------


def submitted(**body: Any) -> Callable[[World], object]:
    return lambda world: world.submit(**body)


def after(*steps: Callable[[World], object]) -> Callable[[World], object]:
    def arrange(world: World) -> None:
        for step in steps:
            step(world)

    return arrange


def passed(seconds: float) -> Callable[[World], object]:
    return lambda world: world.advance(seconds)


def worn(world: World) -> None:
    """Change the jobs so often that their record is full: every further write compacts it."""
    for job_id in world.store.jobs():
        for _ in range(8):
            world.change(job_id, priority="high")
            world.change(job_id, priority="medium")
        assert world.job(job_id).history_dropped > 0


def delivered(behaviour: Behaviour) -> Callable[[World], object]:
    def arrange(world: World) -> None:
        with suppress(HandlerKilled):
            world.deliver(behaviour)

    return arrange


def ticked(world: World) -> None:
    world.tick()


def purged(world: World) -> None:
    world.queues.purge()


def payload_near_its_end(world: World) -> None:
    near = world.clock.now() + world.timings.payload_renewed_below
    world.store.transition(keep_payload(the_job(world), kept_until=near))
    world.store.forget_copies()


def cancel_while_running(world: World) -> None:
    def behave(job: Job, _pulse: Pulse) -> Finished:
        world.api.operations.cancel(job.id, actor="caller")
        raise HandlerKilled

    delivered(behave)(world)


def died_owing_its_letter(world: World) -> None:
    faults = Faults()
    faults.throttle("send_dead_letter")
    world.deliver(fail_for_good, world.process(faults).worker)
    assert not world.queues.dead_letters


def discarded(world: World) -> None:
    world.api.operations.discard(the_job(world).id, actor="caller", note="a mistake")


def economical(*, ticks: int = 2, **options: object) -> World:
    """Return a world whose last sweeps were whole: the next one may spare marks."""
    world = World(dispatch=DispatchMode.ECONOMY, **options)  # type: ignore[arg-type]
    for _ in range(ticks):
        world.tick()
        world.advance(60)
    return world


def pass_minutes(world: World, minutes: int) -> None:
    """Let minutes pass with a tick at the end of each, and no worker."""
    for _ in range(minutes):
        world.advance(60)
        world.tick()


def die(faults: Faults) -> None:
    """Let the process of ``faults`` die in the call that this interrupts."""
    faults.is_crashed = True
    raise Crash


def live(world: World, minutes: int) -> None:
    """Let minutes pass with a tick each, and workers that are there in every second."""
    for _ in range(minutes):
        world.tick()
        for _ in range(60):
            world.deliver()
            world.advance(1)


def without_zone(found: Mapping[str, Job], job_id: str) -> dict[str, Job]:
    """Return the jobs with the time of one such that it cannot be compared with any other."""
    job = found.get(job_id)
    if job is None or job.due_at is None:
        return dict(found)
    return {**found, job_id: replace(job, due_at=job.due_at.replace(tzinfo=None))}


@contextmanager
def undecidable(world: World, job_id: str) -> Iterator[None]:
    """Let nothing be decided about a job while the block lasts."""
    read = world.store.get_many
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.store, "get_many", lambda ids: without_zone(read(ids), job_id))
        yield


# --- the work -----------------------------------------------------------------------------------


def submits(**body: Any) -> Act:
    return lambda world, process: world.submit(by=process.api, **body)


def submits_three(_world: World, process: Process) -> None:
    requests = [JobSubmission.parse({"handler": "greet", "payload": n}) for n in range(3)]
    process.api.submission.submit_many(requests, actor="caller")


def operates(name: str, **arguments: Any) -> Act:
    def act(world: World, process: Process) -> None:
        operate = getattr(process.api.operations, name)
        operate(the_job(world).id, actor="caller", **arguments)

    return act


def changes(**body: Any) -> Act:
    return lambda world, process: world.change(the_job(world), by=process.api, **body)


def cancels_from_outside(world: World, process: Process) -> None:
    """The API's process is the one that fails; the worker is in good health."""

    def behave(job: Job, pulse: Pulse) -> Finished:
        with suppress(Crash, Unavailable):
            process.api.operations.cancel(job.id, actor="caller")
        return stop_if_told(job, pulse)

    world.deliver(behave)


def handler_paused(seconds: float) -> Callable[[World], object]:
    return lambda world: world.pause_handler(seconds=seconds)


def pauses_handler(world: World, process: Process) -> None:
    world.pause_handler(by=process.api, seconds=120)


def resumes_handler(world: World, process: Process) -> None:
    world.resume_handler(by=process.api)


def ticks(world: World, process: Process) -> None:
    world.tick(process.scheduler)


def sweeps_shards(world: World, process: Process) -> None:
    process.scheduler.scheduling.sweep_shards([0, 1], 1, world.clock.now(), "other", lambda: 55.0)


def works(behaviour: Behaviour) -> Act:
    return lambda world, process: world.deliver(behaviour, process.worker)


def stops_as_told(world: World, process: Process) -> None:
    """The worker's process is the one that fails; the API is in good health."""

    def behave(job: Job, pulse: Pulse) -> Finished:
        world.api.operations.cancel(job.id, actor="caller")
        return stop_if_told(job, pulse)

    world.deliver(behave, process.worker)


def hands_back(world: World, process: Process) -> None:
    def behave(job: Job, _pulse: Pulse) -> Finished:
        if job.token == 1:
            process.worker.execution.hand_back(job.id, "the process must end")
            raise HandlerKilled
        return succeed(job, _pulse)

    with suppress(HandlerKilled):
        world.deliver(behave, process.worker)


def the_job(world: World) -> Job:
    (job,) = world.store.jobs().values()
    return job


def world_with_jobs_to_dispatch() -> World:
    """Return a world with three jobs that the next tick sees ahead of their time."""
    world = World()
    for _ in range(3):
        world.submit(delay_seconds=400)
    world.advance(200)
    return world
