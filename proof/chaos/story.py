"""The story of one job, from all that is known of it: for a reader who looks for a cause."""

from __future__ import annotations

from datetime import UTC, datetime

from proof.chaos.evidence import Evidence, Fault, Trouble

NEAR_SECONDS = 30.0
MOST_FAULTS = 40


def story_of(job_id: str, evidence: Evidence) -> str:
    """Return what was promised, noted, recorded and done around a job, in the order of time."""
    lines: list[tuple[float, str]] = []
    promise, ending = evidence.promises.get(job_id), evidence.endings.get(job_id)
    if promise is not None:
        lines.append((promise.run_at, f"due ({promise.kind})"))
        if promise.cancel is not None:
            cancel = promise.cancel
            lines.append((cancel.answered_at, f"cancel answered: {cancel.status or 'too late'}"))
    for run in evidence.runs_by_job().get(job_id, []):
        who = f"{evidence.names.get(run.pid, '?')} (pid {run.pid})"
        lines.append((run.began_at, f"LEDGER run {run.id} begins: attempt {run.attempt}, {who}"))
        if run.ended_at is not None:
            lines.append((run.ended_at, f"LEDGER run {run.id} {run.how}"))
    for event in ending.history if ending is not None else ():
        who = f"{event.kind.name} by {event.actor}: attempt {event.attempt}, token {event.token}"
        lines.append((event.at.timestamp(), f"RECORD {who} -> {event.status} {event.reason}"))
    lines += [(fault.began_at, _told(fault)) for fault in _near(evidence, lines)]
    lines += [
        (0.0, f"LOG {commit.worker} committed attempt {commit.attempt}: {commit.outcome}")
        for commit in evidence.commits
        if commit.job_id == job_id
    ]
    told = [f"  {_clock(at)} {text}" for at, text in sorted(lines)]
    if ending is not None:
        told.append(f"  in the end: {ending.status}, claimed {ending.claims} times")
    return "\n".join([f"The story of {job_id}:", *told])


def _near(evidence: Evidence, lines: list[tuple[float, str]]) -> list[Fault]:
    """Return the faults around what is told already, but for the far away."""
    begin = min((at for at, _ in lines), default=0.0) - NEAR_SECONDS
    end = max((at for at, _ in lines), default=0.0)
    near = [fault for fault in evidence.faults if begin <= fault.ended_at and fault.began_at <= end]
    return near[:MOST_FAULTS]


def _told(fault: Fault) -> str:
    lasted = fault.ended_at - fault.began_at
    who = f"{fault.name} (pid {fault.pid})" if fault.pid else fault.name
    leader = ", the leader" if fault.is_leader else ""
    match fault.trouble:
        case Trouble.PAUSE:
            return f"FAULT {who}{leader} was paused for {lasted:.1f} s"
        case Trouble.CLOCK:
            return f"FAULT the clock of {who} was {fault.seconds:+.1f} s off for {lasted:.1f} s"
        case _:
            return f"FAULT {fault.trouble}: {who}{leader}"


def _clock(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%H:%M:%S.%f}"[:-3] if at else " " * 12
