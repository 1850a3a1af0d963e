"""What another actor does between two calls of a piece of work: races by order, not by luck."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from hourhand.domain.errors import InvalidInput, NotFound, Unavailable, WrongState
from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.transitions import refile
from hourhand.domain.ticks.buckets import Entry
from hourhand.services.jobs.due import make_transition
from tests.scenarios.steps import IN_BUCKET
from tests.scenarios.work import Work
from tests.world.faults import Faults
from tests.world.occurrences import SCHEDULE, put_schedule
from tests.world.runs import HandlerKilled, fail_for_good, kill_process
from tests.world.world import World

Step = Callable[[World, Work], object]


def _each_job(operation: Callable[[World, str], object]) -> Step:
    def step(world: World, _work: Work) -> None:
        for job_id in world.store.jobs():
            with suppress(WrongState, NotFound, InvalidInput):
                operation(world, job_id)

    return step


def _in_turn(*steps: Step) -> Step:
    def step(world: World, work: Work) -> None:
        for each in steps:
            each(world, work)

    return step


def _passed(seconds: float) -> Step:
    return lambda world, _work: world.advance(seconds)


def _minutes(count: int) -> Step:
    def step(world: World, work: Work) -> None:
        for _ in range(count):
            world.minute(work.behaviour)

    return step


def _tick(world: World, _work: Work) -> None:
    world.tick()


def _deliver(world: World, work: Work) -> None:
    world.deliver(work.behaviour)


def _deliver_to_the_dying(world: World, _work: Work) -> None:
    """Let others claim all there is, and be running it for as long as their leases last."""
    for delivery in world.receive():
        with suppress(HandlerKilled):
            world.handle(delivery, kill_process)


def _deliver_to_the_failing(world: World, _work: Work) -> None:
    """Let another run all there is, fail for good and owe the dead letters."""
    faults = Faults()
    faults.throttle("send_dead_letter", times=9)
    world.deliver(fail_for_good, world.process(faults).worker)


def _replace_schedule(world: World, _work: Work) -> None:
    stored = world.schedules.get(SCHEDULE)
    assert stored is not None
    put_schedule(world, revision=stored.revision + 1)


def _file_anew(world: World, job_id: str) -> None:
    """Do what a writer does that stalled, or that repeats a submission: a note on the record."""
    job, now = world.job(job_id), world.clock.now()
    if job.due_at is None or job.status.is_final:
        return
    entry = Entry(max(job.due_at, now), job.shard or 0)
    make_transition(world.store, job, lambda j: refile(j, entry=entry, now=now, actor="other"))


def _cancel_and_owe(world: World, _work: Work) -> None:
    """Let another cancel what waits, and the bucket refuse to mark its payload."""
    faults = Faults()
    faults.throttle("objects.mark_finished", times=9)
    operations = world.process(faults).api.operations
    for job_id in world.store.jobs():
        with suppress(WrongState, Unavailable):
            operations.cancel(job_id, actor="other")


def _replace_payload(world: World, job_id: str) -> None:
    job: Job = world.job(job_id)
    if job.status.is_waiting:
        world.change(job_id, payload=IN_BUCKET)


_cancel = _each_job(lambda world, i: world.api.operations.cancel(i, actor="other"))
_run_now = _each_job(lambda world, i: world.api.operations.run_now(i, actor="other"))
_redrive = _each_job(lambda world, i: world.api.operations.redrive(i, actor="other"))
_discard = _each_job(lambda world, i: world.api.operations.discard(i, actor="other"))
_put_off = _each_job(lambda world, i: world.change(world.job(i), delay_seconds=400))
_take_over = _in_turn(_passed(61), _deliver_to_the_dying)

BESIDE_JOBS: Mapping[str, Step] = {
    "another leader ticks": _tick,
    "another worker works": _deliver,
    # Longer than every lease lasts, while the others go on.
    "it is paused past its lease": _in_turn(
        _passed(50), _tick, _deliver, _passed(20), _tick, _deliver
    ),
    # Until the sweep has closed the bucket in which it works.
    "it is paused for minutes": _minutes(5),
    "cancelled": _cancel,
    "run now": _run_now,
    "redriven": _redrive,
    "discarded": _discard,
    "put off": _put_off,
    "raised": _each_job(lambda world, i: world.change(world.job(i), priority="high")),
}

BESIDE_OCCURRENCES: Mapping[str, Step] = {
    "another leader ticks": _tick,
    "another worker works": _deliver,
    "others run all there is": _deliver_to_the_dying,
    # Longer than every lease and every turn lasts.
    "it is paused for minutes": _minutes(3),
    "cancelled": _cancel,
    "run now": _run_now,
    "redriven": _redrive,
    "cancelled, redriven and running elsewhere": _in_turn(_cancel, _redrive, _deliver_to_the_dying),
    "put off": _put_off,
    "its schedule is replaced": _replace_schedule,
}

BESIDE_TROUBLED: Mapping[str, Step] = {
    "filed anew": _each_job(_file_anew),
    # Nobody claims anew what the sweep declared lost.
    "declared lost": _in_turn(_passed(50), _tick),
    "another takes it over": _take_over,
    "another takes it over and is asked to stop": _in_turn(_take_over, _cancel),
    "cancelled a second later": _in_turn(_passed(1), _cancel),
    "cancelled, and owing": _cancel_and_owe,
    "redriven, and dies once more": _in_turn(_redrive, _deliver_to_the_failing),
    "discarded a second later": _in_turn(_passed(1), _discard),
    "its payload is replaced": _each_job(_replace_payload),
    "another claims it and dies": _deliver_to_the_dying,
}
