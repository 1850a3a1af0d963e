"""More pieces of work: one trouble that comes in any case, or a record that is full.

Several clauses are there for what happens to a job that has met some other trouble already. The
mutants of those clauses are noticed here alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from hourhand.domain.jobs.job import JobStatus
from tests.scenarios.steps import (
    FAR,
    IN_BUCKET,
    after,
    cancel_while_running,
    cancels_from_outside,
    changes,
    delivered,
    died_owing_its_letter,
    first,
    first_round,
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
from tests.scenarios.work import Work
from tests.world.faults import Faults
from tests.world.runs import fail, fail_for_good, kill_process, succeed
from tests.world.world import World

SUCCEEDED, DEAD, CANCELLED = JobStatus.SUCCEEDED, JobStatus.DEAD, JobStatus.CANCELLED
EXPIRED = JobStatus.EXPIRED
LEASE_OVER = passed(50)
STALL = 6
"""Seconds: longer than a writer may take without looking again."""


def answer_lost(method: str) -> Callable[[World, Faults], object]:
    return lambda _world, faults: faults.lose_answer(method)


def refused(method: str) -> Callable[[World, Faults], object]:
    return lambda _world, faults: faults.throttle(method)


def stalls_at(method: str) -> Callable[[World, Faults], object]:
    return lambda world, faults: faults.interrupt(method, partial(world.advance, STALL))


TROUBLED = [
    Work(
        name="submit, and the answer of the queue is lost",
        act=submits(),
        trouble=answer_lost("queues.send"),
        creates=True,
    ),
    Work(
        name="fail, and the answer of the queue is lost",
        arrange=submitted(),
        act=works(first(fail)),
        trouble=answer_lost("queues.send"),
    ),
    Work(
        name="submit after a stall",
        act=submits(delay_seconds=20),
        trouble=stalls_at("jobs.put"),
        creates=True,
        ends=(SUCCEEDED, CANCELLED, DEAD),
    ),
    Work(
        name="submit a payload for the bucket after a stall",
        act=submits(delay_seconds=20, payload=IN_BUCKET),
        trouble=stalls_at("jobs.put"),
        creates=True,
        ends=(SUCCEEDED, CANCELLED),
    ),
]

BESIDES = [
    Work(
        name="cancel a job that is due",
        arrange=submitted(),
        act=operates("cancel"),
        ends=(CANCELLED, SUCCEEDED),
    ),
    Work(name="raise a job that is due", arrange=submitted(), act=changes(priority="high")),
    Work(
        name="cancel a job that runs elsewhere",
        arrange=after(submitted(), delivered(kill_process)),
        act=operates("cancel"),
        ends=(CANCELLED, SUCCEEDED),
    ),
    Work(
        name="finish what died",
        arrange=after(submitted(), died_owing_its_letter),
        act=ticks,
        behaviour=fail_for_good,
        ends=(DEAD,),
    ),
]

_READY = after(submitted(delay_seconds=FAR), worn)
_SENT = after(submitted(), worn)
_IS_DEAD = after(_SENT, delivered(fail_for_good), passed(1))
_RUNS_NO_MORE = after(_SENT, delivered(kill_process), LEASE_OVER)

WORN = [
    Work(name="dispatch", arrange=after(_READY, passed(FAR - 200)), act=ticks),
    Work(name="dispatch again", arrange=after(_SENT, purged, passed(61)), act=ticks),
    Work(name="succeed", arrange=_SENT, act=works(succeed)),
    Work(name="fail, then succeed", arrange=_SENT, act=works(first(fail))),
    Work(name="hand a job back", arrange=_SENT, act=hands_back),
    Work(
        name="fail for good",
        arrange=_SENT,
        act=works(fail_for_good),
        behaviour=fail_for_good,
        ends=(DEAD,),
    ),
    Work(name="stop as told", arrange=_SENT, act=stops_as_told, ends=(CANCELLED, SUCCEEDED)),
    Work(
        name="cancel a running job",
        arrange=_SENT,
        act=cancels_from_outside,
        ends=(CANCELLED, SUCCEEDED),
    ),
    Work(name="recover a lost attempt", arrange=_RUNS_NO_MORE, act=ticks),
    Work(
        name="recover a job that must not be run again",
        arrange=after(submitted(on_lost="dead"), worn, delivered(kill_process), LEASE_OVER),
        act=ticks,
        ends=(DEAD,),
    ),
    Work(
        name="recover a job that was asked to stop",
        arrange=after(_SENT, cancel_while_running, LEASE_OVER),
        act=ticks,
        ends=(CANCELLED,),
    ),
    Work(
        name="take over from a dead worker",
        arrange=after(_SENT, delivered(kill_process), passed(61)),
        act=works(succeed),
    ),
    Work(
        name="cancel a waiting job",
        arrange=_READY,
        act=operates("cancel"),
        ends=(CANCELLED, SUCCEEDED),
    ),
    Work(name="put a job forward", arrange=_READY, act=changes(delay_seconds=5)),
    Work(
        name="run now, and the queue refuses",
        arrange=_READY,
        act=operates("run_now"),
        trouble=refused("queues.send"),
    ),
    Work(
        name="run now after a stall",
        arrange=_READY,
        act=operates("run_now"),
        trouble=stalls_at("jobs.transition"),
    ),
    Work(
        name="fail, and the queue refuses",
        arrange=_SENT,
        act=works(first(fail)),
        trouble=refused("queues.send"),
    ),
    Work(
        name="redrive a dead job",
        arrange=_IS_DEAD,
        act=operates("redrive"),
        behaviour=first_round(fail_for_good),
        ends=(SUCCEEDED, DEAD),
    ),
    Work(
        name="discard a dead job",
        arrange=_IS_DEAD,
        act=operates("discard", note="the list was wrong"),
        behaviour=first_round(fail_for_good),
        ends=(DEAD, SUCCEEDED),
    ),
    Work(
        name="expire a waiting job",
        arrange=after(submitted(expires_at="2026-01-05T09:00:30Z"), worn, purged, passed(61)),
        act=ticks,
        ends=(EXPIRED,),
    ),
]
"""Each on a job whose record is full. A name counts within this list."""

MORE = {s.name: s for s in (*TROUBLED, *BESIDES)} | {f"{s.name}, on a full record": s for s in WORN}
