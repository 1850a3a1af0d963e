"""The rules about the faults themselves: as many as were asked for, and clocks that were audited.

A run in which nothing was done to the product shows nothing of it, whatever it came to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from proof.chaos.evidence import Evidence, Fault, Kind, Tick, Trouble, Violation
from proof.chaos.rules_of_runs import Verdict

SCHEDULER = "scheduler"


def as_much_was_done_as_asked(evidence: Evidence) -> Iterator[Violation]:
    """The jobs, the kills and each kind of fault that such a run must have were there."""
    demand = evidence.demand
    done = Counter(fault.trouble for fault in evidence.faults)
    jobs = sum(promise.kind is not Kind.OCCURRENCE for promise in evidence.promises.values())
    jobs += evidence.met
    if jobs < demand.jobs:
        yield Violation("asked", f"{jobs} jobs were accepted, and {demand.jobs} asked for")
    if done[Trouble.KILL] < demand.kills:
        text = f"{done[Trouble.KILL]} processes were killed, and {demand.kills} asked for"
        yield Violation("asked", text)
    for trouble in sorted(demand.troubles - done.keys()):
        yield Violation("asked", f"no fault of this kind was done: {trouble}")
    if demand.pauses and not pauses_past_a_lease(evidence):
        yield Violation("asked", "nobody who held a lease was paused until it was over")
    if demand.audits and not any(verdict in _JUDGED for _, verdict, _ in audits(evidence)):
        yield Violation("asked", "no tick came to its end by a wrong clock: no audit was judged")


def pauses_past_a_lease(evidence: Evidence) -> list[Fault]:
    """Return the pauses of leaders, and of workers in a run, that outlasted the lease held."""
    job_lease = evidence.timings.job_lease.total_seconds()
    leader_lease = evidence.timings.leader_lease.total_seconds()
    found = []
    for fault in evidence.faults:
        if fault.trouble is not Trouble.PAUSE:
            continue
        lasted = fault.ended_at - fault.began_at
        if is_scheduler(fault):
            is_past = fault.is_leader and lasted > leader_lease
        else:
            is_past = lasted > job_lease and _was_at_work(evidence, fault)
        if is_past:
            found.append(fault)
    return found


def clocks_are_audited(evidence: Evidence) -> Iterator[Violation]:
    """The first whole tick of a scheduler whose clock was stepped finds it, and acts by it."""
    for _, verdict, text in audits(evidence):
        if verdict is Verdict.BROKEN:
            yield Violation("audit", text)


_JUDGED = {Verdict.HOLDS, Verdict.BROKEN}


def audits(evidence: Evidence) -> Iterator[tuple[Fault, Verdict | None, str]]:
    """Judge the audit of each step of a scheduler's clock; ``None``: there was none to judge."""
    refuses = evidence.timings.skew_refuses.total_seconds()
    for fault in evidence.clock_faults(0.0, float("inf")):
        if not is_scheduler(fault):
            continue
        first = _first_whole_tick(evidence, fault)
        if first is None or _was_paused(evidence, first.name, first.began_at, first.ended_at):
            yield fault, None, ""
            continue
        expected = "refuse" if abs(fault.seconds) > refuses else "widen"
        if expected == "widen" and not first.led:
            # Who finds another leader tells no verdict: it would not have acted by it.
            yield fault, None, ""
            continue
        is_wrong = first.verdict != expected or (expected == "refuse" and first.led)
        did = "led" if first.led else "did not lead"
        text = (
            f"{fault.name}, its clock off by {fault.seconds:.1f} s, judged"
            f" '{first.verdict}', not '{expected}', and {did}"
        )
        yield fault, Verdict.BROKEN if is_wrong else Verdict.HOLDS, text


def is_scheduler(fault: Fault) -> bool:
    """Whether it was done to a scheduler."""
    return fault.name.startswith(SCHEDULER)


def _first_whole_tick(evidence: Evidence, fault: Fault) -> Tick | None:
    ticks = [
        tick
        for tick in evidence.ticks
        if tick.name == fault.name
        and fault.began_at <= tick.began_at
        and tick.ended_at <= fault.ended_at
    ]
    return min(ticks, key=lambda tick: tick.began_at, default=None)


def _was_at_work(evidence: Evidence, fault: Fault) -> bool:
    """Whether a worker that was paused was in the midst of a run then."""
    return any(
        run.pid == fault.pid
        and run.began_at <= fault.began_at
        and (run.ended_at is None or run.ended_at >= fault.began_at)
        for run in evidence.runs
    )


def _was_paused(evidence: Evidence, name: str, begin: float, end: float) -> bool:
    pids = [pid for pid, owner in evidence.names.items() if owner == name]
    return any(evidence.paused_seconds(pid, begin, end) > 0 for pid in pids)
