"""More pieces of work than `tests.crash` has: a second trouble, or a record that is full.

Several clauses are there for what happens to a job that has met some other trouble already.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from hourhand.domain.errors import Unavailable, WrongState
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.jobs.transitions import refile
from hourhand.domain.ticks.buckets import Entry
from hourhand.services.jobs.due import make_transition
from hourhand.testing import Faults
from tests.crash.points import Scenario
from tests.crash.steps import (
    FAR,
    IN_BUCKET,
    after,
    cancel_while_running,
    cancels_from_outside,
    changes,
    delivered,
    died_owing_its_letter,
    first,
    hands_back,
    operates,
    passed,
    purged,
    stops_as_told,
    submits,
    submitted,
    ticks,
    works,
    worn,
)
from tests.world.runs import HandlerKilled, fail, fail_for_good, kill_process, snooze, succeed
from tests.world.world import Process, World

SUCCEEDED, DEAD, CANCELLED = JobStatus.SUCCEEDED, JobStatus.DEAD, JobStatus.CANCELLED
EXPIRED = JobStatus.EXPIRED
LEASE_OVER = passed(50)
STALL = 6
"""Seconds: longer than a writer may take without looking again."""


@dataclass(frozen=True, kw_only=True)
class Troubled(Scenario):
    """A piece of work that one trouble meets in any case."""

    trouble: Callable[[World, Faults], object]

    def prepare(self) -> tuple[World, Process, Faults]:
        world, process, faults = super().prepare()
        self.trouble(world, faults)
        return world, process, faults


def answer_lost(method: str, nth: int = 1) -> Callable[[World, Faults], object]:
    return lambda _world, faults: faults.lose_answer(method, nth=nth)


def refused(method: str, nth: int = 1) -> Callable[[World, Faults], object]:
    return lambda _world, faults: faults.throttle(method, nth=nth)


def stalls_at(method: str, nth: int = 1) -> Callable[[World, Faults], object]:
    return lambda world, faults: faults.interrupt(method, partial(world.advance, STALL), nth=nth)


def filed_anew(world: World, _scenario: Scenario) -> None:
    """What a writer does that stalled, or who repeats a submission: a note on the record."""
    for job_id in world.store.jobs():
        _file_anew(world, world.job(job_id))


def _file_anew(world: World, job: Job) -> None:
    now = world.clock.now()
    if job.due_at is None or job.status.is_final:
        return
    entry = Entry(max(job.due_at, now), job.shard or 0)
    make_transition(world.store, job, lambda j: refile(j, entry=entry, now=now, actor="other"))


def killed_elsewhere(world: World, _scenario: Scenario) -> None:
    """Let another claim all there is, and die running it."""
    for delivery in world.receive():
        with suppress(HandlerKilled):
            world.handle(delivery, kill_process)


def dies_elsewhere(world: World, _scenario: Scenario) -> None:
    """Let another run all there is, fail for good and owe the dead letters."""
    faults = Faults()
    faults.throttle("send_dead_letter", times=9)
    world.deliver(fail_for_good, world.process(faults).worker)


def declared_lost(world: World, _scenario: Scenario) -> None:
    """Let the leases of all that run be over, and the sweep see it; nobody claims anew."""
    world.advance(50)
    world.tick()


def taken_over(world: World, _scenario: Scenario) -> None:
    """Let another take over all that runs, and be running it."""
    world.advance(61)
    killed_elsewhere(world, _scenario)


def taken_over_and_asked_to_stop(world: World, _scenario: Scenario) -> None:
    taken_over(world, _scenario)
    for job_id in world.store.jobs():
        with suppress(WrongState):
            world.api.operations.cancel(job_id, actor="other")


def cancelled_and_not_settled(world: World, _scenario: Scenario) -> None:
    """Let another cancel what waits, and the bucket refuse to mark its payload."""
    faults = Faults()
    faults.throttle("objects.mark_finished", times=9)
    operations = world.process(faults).api.operations
    for job_id in world.store.jobs():
        with suppress(WrongState, Unavailable):
            operations.cancel(job_id, actor="other")


def cancelled_a_second_later(world: World, _scenario: Scenario) -> None:
    world.advance(1)
    for job_id in world.store.jobs():
        with suppress(WrongState):
            world.api.operations.cancel(job_id, actor="other")


def dies_once_more(world: World, _scenario: Scenario) -> None:
    """Let another redrive what ended badly, and it fail for good again and owe its letter."""
    for job_id in world.store.jobs():
        with suppress(WrongState):
            world.api.operations.redrive(job_id, actor="other")
    dies_elsewhere(world, _scenario)


def payload_replaced(world: World, _scenario: Scenario) -> None:
    for job_id, job in world.store.jobs().items():
        if job.status.is_waiting:
            world.change(job_id, payload=IN_BUCKET)


STEPS = {
    "filed anew": filed_anew,
    "declared lost": declared_lost,
    "another takes it over": taken_over,
    "another takes it over and is asked to stop": taken_over_and_asked_to_stop,
    "cancelled a second later": cancelled_a_second_later,
    "cancelled, and owing": cancelled_and_not_settled,
    "redriven, and dies once more": dies_once_more,
    "its payload is replaced": payload_replaced,
    "another claims it and dies": killed_elsewhere,
    "another fails for good": dies_elsewhere,
}

TROUBLED = [
    Troubled(
        name="submit, and the answer of the queue is lost",
        act=submits(),
        trouble=answer_lost("queues.send"),
        creates=True,
    ),
    Troubled(
        name="submit, and the queue refuses",
        act=submits(),
        trouble=refused("queues.send"),
        creates=True,
    ),
    Troubled(
        name="fail, and the answer of the queue is lost",
        arrange=submitted(),
        act=works(first(fail)),
        trouble=answer_lost("queues.send"),
    ),
    Troubled(
        name="snooze, and the queue refuses",
        arrange=submitted(),
        act=works(first(snooze(30))),
        behaviour=first(snooze(30)),
        trouble=refused("queues.send"),
    ),
    Troubled(
        name="submit after a stall",
        act=submits(delay_seconds=20),
        trouble=stalls_at("jobs.put"),
        creates=True,
        ends=(SUCCEEDED, CANCELLED, DEAD),
    ),
    Troubled(
        name="submit a payload for the bucket after a stall",
        act=submits(delay_seconds=20, payload=IN_BUCKET),
        trouble=stalls_at("jobs.put"),
        creates=True,
        ends=(SUCCEEDED, CANCELLED),
    ),
    Troubled(
        name="run now after a stall",
        arrange=submitted(delay_seconds=FAR),
        act=operates("run_now"),
        trouble=stalls_at("jobs.transition"),
        ends=(SUCCEEDED, CANCELLED, DEAD),
    ),
    Troubled(
        name="fail after a stall",
        arrange=submitted(),
        act=works(first(fail)),
        trouble=stalls_at("jobs.transition", nth=2),
    ),
]

BESIDES = [
    Scenario(
        name="cancel a job that is due",
        arrange=submitted(),
        act=operates("cancel"),
        ends=(CANCELLED, SUCCEEDED),
    ),
    Scenario(name="raise a job that is due", arrange=submitted(), act=changes(priority="high")),
    Scenario(
        name="cancel a job that runs elsewhere",
        arrange=after(submitted(), delivered(kill_process)),
        act=operates("cancel"),
        ends=(CANCELLED, SUCCEEDED),
    ),
    Scenario(
        name="fail, where lost is dead",
        arrange=submitted(on_lost="dead"),
        act=works(first(fail)),
        ends=(SUCCEEDED, DEAD),
    ),
    Scenario(
        name="finish what died",
        arrange=after(submitted(), died_owing_its_letter),
        act=ticks,
        behaviour=fail_for_good,
        ends=(DEAD,),
    ),
]

_READY = after(submitted(delay_seconds=FAR), worn)
_SENT = after(submitted(), worn)
_RUNS_NO_MORE = after(_SENT, delivered(kill_process), LEASE_OVER)

WORN = [
    Scenario(name="dispatch", arrange=after(_READY, passed(FAR - 200)), act=ticks),
    Scenario(name="dispatch again", arrange=after(_SENT, purged, passed(61)), act=ticks),
    Scenario(name="succeed", arrange=_SENT, act=works(succeed)),
    Scenario(name="fail, then succeed", arrange=_SENT, act=works(first(fail))),
    Scenario(name="hand a job back", arrange=_SENT, act=hands_back),
    Scenario(
        name="fail for good",
        arrange=_SENT,
        act=works(fail_for_good),
        behaviour=fail_for_good,
        ends=(DEAD,),
    ),
    Scenario(name="stop as told", arrange=_SENT, act=stops_as_told, ends=(CANCELLED, SUCCEEDED)),
    Scenario(
        name="cancel a running job",
        arrange=_SENT,
        act=cancels_from_outside,
        ends=(CANCELLED, SUCCEEDED),
    ),
    Scenario(name="recover a lost attempt", arrange=_RUNS_NO_MORE, act=ticks),
    Scenario(
        name="recover a job that must not be run again",
        arrange=after(submitted(on_lost="dead"), worn, delivered(kill_process), LEASE_OVER),
        act=ticks,
        ends=(DEAD,),
    ),
    Scenario(
        name="recover a job that was asked to stop",
        arrange=after(_SENT, cancel_while_running, LEASE_OVER),
        act=ticks,
        ends=(CANCELLED,),
    ),
    Scenario(
        name="take over from a dead worker",
        arrange=after(_SENT, delivered(kill_process), passed(61)),
        act=works(succeed),
    ),
    Scenario(
        name="cancel a waiting job",
        arrange=_READY,
        act=operates("cancel"),
        ends=(CANCELLED, SUCCEEDED),
    ),
    Scenario(name="put a job forward", arrange=_READY, act=changes(delay_seconds=5)),
    Scenario(name="run now", arrange=_READY, act=operates("run_now")),
    Troubled(
        name="run now, and the queue refuses",
        arrange=_READY,
        act=operates("run_now"),
        trouble=refused("queues.send"),
    ),
    Troubled(
        name="run now after a stall",
        arrange=_READY,
        act=operates("run_now"),
        trouble=stalls_at("jobs.transition"),
    ),
    Troubled(
        name="fail, and the queue refuses",
        arrange=_SENT,
        act=works(first(fail)),
        trouble=refused("queues.send"),
    ),
    Scenario(
        name="redrive a dead job",
        arrange=after(_SENT, delivered(fail_for_good)),
        act=operates("redrive"),
        ends=(SUCCEEDED, DEAD),
    ),
    Scenario(
        name="expire a waiting job",
        arrange=after(submitted(expires_at="2026-01-05T09:00:30Z"), worn, purged, passed(61)),
        act=ticks,
        ends=(EXPIRED,),
    ),
]
"""Each on a job whose record is full. A name counts within this list."""

MORE = {s.name: s for s in (*TROUBLED, *BESIDES)} | {f"{s.name}, on a full record": s for s in WORN}
