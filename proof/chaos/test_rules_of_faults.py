"""A run in which too little was done is a violation, whatever came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from proof.chaos.evidence import Demand, Evidence, Fault, Tick, Trouble
from proof.chaos.ledger import End
from proof.chaos.plan import Size, demand_of
from proof.chaos.rules import judge
from proof.chaos.rules_of_faults import audits, pauses_past_a_lease
from proof.chaos.rules_of_runs import Verdict
from proof.chaos.test_rules import (
    DUE,
    LEASE,
    PID,
    SCHEDULER_PID,
    TIMINGS,
    a_run,
    good,
    kill,
    pause,
    with_runs,
    wrong_clock,
)

LEADERS_LEASE = TIMINGS.leader_lease.total_seconds()
PURGE = Fault(trouble=Trouble.PURGE, name="queues", pid=0, began_at=DUE, ended_at=DUE)
STEPPED = wrong_clock("scheduler-1", -5, 20, 240.0)
WHOLE_TICK = Tick(name="scheduler-1", began_at=DUE, ended_at=DUE + 1, led=False, verdict="refuse")
EVERYTHING = (kill(1.0), PURGE, STEPPED, pause(0.2, LEASE + 3))
"""One of each kind; the pause is of the worker in its run, past its lease."""

ALL = Demand(jobs=1, kills=1, troubles=frozenset(Trouble), pauses=True, audits=True)


def done(*, without: Trouble | None = None, demand: Demand = ALL) -> Evidence:
    faults = [fault for fault in EVERYTHING if fault.trouble is not without]
    evidence = with_runs(a_run(1, 0.1, LEASE + 4, End.RAISED))(good())
    return replace(evidence, demand=demand, faults=faults, ticks=[WHOLE_TICK])


def complaints(evidence: Evidence) -> list[str]:
    return [violation.text for violation in judge(evidence) if violation.rule == "asked"]


def test_where_all_was_done_nothing_is_said() -> None:
    assert complaints(done()) == []


@pytest.mark.parametrize("trouble", Trouble)
def test_a_kind_of_fault_that_was_never_done_is_a_violation(trouble: Trouble) -> None:
    assert any(str(trouble) in text for text in complaints(done(without=trouble)))


def test_fewer_kills_or_jobs_than_asked_are_a_violation() -> None:
    kills = complaints(done(demand=replace(ALL, kills=2)))
    jobs = complaints(done(demand=replace(ALL, jobs=2)))

    assert kills == ["1 processes were killed, and 2 asked for"]
    assert jobs == ["1 jobs were accepted, and 2 asked for"]


def test_a_run_without_a_pause_past_a_lease_or_a_judged_audit_is_a_violation() -> None:
    idle = replace(done(), runs=[])
    unheard = replace(done(), ticks=[])

    assert complaints(idle) == ["nobody who held a lease was paused until it was over"]
    assert complaints(unheard) == ["no tick came to its end by a wrong clock: no audit was judged"]


def leaders_pause(seconds: float, *, is_leader: bool) -> Fault:
    return Fault(
        trouble=Trouble.PAUSE,
        name="scheduler-1",
        pid=SCHEDULER_PID,
        began_at=DUE,
        ended_at=DUE + seconds,
        is_leader=is_leader,
    )


@pytest.mark.parametrize(
    ("faults", "count"),
    [
        ([pause(0.2, LEASE + 3)], 1),
        ([pause(0.2, LEASE - 1)], 0),  # over before its lease
        ([pause(LEASE + 5, 3 * LEASE)], 0),  # it ran nothing
        ([pause(-1.0, LEASE + 3)], 0),  # its run began later
        ([leaders_pause(LEADERS_LEASE + 1, is_leader=True)], 1),
        ([leaders_pause(LEADERS_LEASE + 1, is_leader=False)], 0),
        ([leaders_pause(LEADERS_LEASE - 1, is_leader=True)], 0),
    ],
)
def test_only_who_held_a_lease_is_counted_as_paused_past_it(
    faults: Sequence[Fault], count: int
) -> None:
    assert len(pauses_past_a_lease(replace(done(), faults=faults))) == count


def test_who_runs_without_an_end_is_at_work() -> None:
    endless = replace(done(), runs=[replace(a_run(1, 0.1, None, None), pid=PID)])

    assert len(pauses_past_a_lease(endless)) == 1


def test_what_was_audited_is_counted_and_so_is_what_was_not() -> None:
    of_a_worker = wrong_clock("worker-1", -5, 20, 240.0)
    unseen = wrong_clock("scheduler-1", 30, 50, 240.0)
    evidence = replace(done(), faults=[STEPPED, of_a_worker, unseen])

    assert [(fault, verdict) for fault, verdict, _ in audits(evidence)] == [
        (STEPPED, Verdict.HOLDS),
        (unseen, None),
    ]


def test_the_whole_size_demands_all_of_it_and_a_small_one_what_it_can_have() -> None:
    whole, small = demand_of(Size()), demand_of(Size(jobs=60, kills=4))

    assert whole == Demand(
        jobs=5000, kills=300, troubles=frozenset(Trouble), pauses=True, audits=True
    )
    assert small == Demand(jobs=60, kills=4, troubles=frozenset(Trouble))
