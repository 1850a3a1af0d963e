"""The rules about when handlers ran: never early, never side by side, never again for nothing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from hourhand.domain.model import ATTEMPT_ENDS, EventKind
from tests.proof.chaos.evidence import Evidence, Kind, Violation, has, is_whole
from tests.proof.chaos.ledger import End

MILLISECOND = 0.001
"""Hourhand counts whole ones, rounded down."""

CLAIM_TO_BEGIN_SECONDS = 15.0
"""The longest that a worker takes from its look at the clock to the handler's first line."""

MAY_FOLLOW = ATTEMPT_ENDS.keys() - {EventKind.SUCCEEDED, EventKind.CANCELLED}
"""Ends of an attempt after which there may be another."""


def runs_do_not_overlap(evidence: Evidence) -> Iterator[Violation]:
    """Two runs of a job are never under way at once, but where a pause or a clock excuses it."""
    for job_id, first, second, excuse in overlaps(evidence):
        if excuse is None:
            text = f"runs {first} and {second} overlap: nobody was paused, no clock was wrong"
            yield Violation("overlap", text, job_id)


def overlaps(evidence: Evidence) -> Iterator[tuple[str, str, str, str | None]]:
    """Yield the job, the two runs and the excuse of each overlap.

    An excuse is DESIGN's own: the owner was paused past its lease, or a clock was off by more
    than the margin.
    """
    timings = evidence.timings
    lease = timings.job_lease.total_seconds()
    beat = timings.heartbeat.total_seconds()
    for job_id, runs in evidence.runs_by_job().items():
        for first, second in itertools.combinations(runs, 2):
            if first.ended_at is not None and second.began_at >= first.ended_at:
                continue
            since = first.began_at - CLAIM_TO_BEGIN_SECONDS
            paused = evidence.paused_seconds(first.pid, since, second.began_at)
            excuse = None
            # Its last heartbeat may have been one interval before the pause.
            if paused >= lease - beat:
                excuse = "paused"
            elif evidence.clock_faults(since, second.began_at):
                excuse = "clock"
            yield job_id, first.id, second.id, excuse


def never_early(evidence: Evidence) -> Iterator[Violation]:
    """No first run begins before its time, by more than its own worker's clock was ahead."""
    for job_id, runs in evidence.runs_by_job().items():
        promise = evidence.promises.get(job_id)
        if promise is None:
            continue
        early = promise.run_at - runs[0].began_at
        if early > MILLISECOND + _ahead(evidence, runs[0].pid, runs[0].began_at):
            yield Violation("early", f"run {runs[0].id} began {early:.3f} s early", job_id)
        for before, after in itertools.pairwise(runs):
            wanted = (before.ended_at or 0.0) + before.snooze_seconds
            if before.how is not End.SNOOZED or after.began_at >= wanted - MILLISECOND:
                continue
            ending = evidence.endings.get(job_id)
            was_lost = ending is None or not is_whole(ending) or has(ending, EventKind.LOST)
            since = before.began_at - CLAIM_TO_BEGIN_SECONDS
            if not was_lost and not evidence.clock_faults(since, after.began_at):
                text = f"run {after.id} began {wanted - after.began_at:.3f} s too soon: snoozed"
                yield Violation("early", text, job_id)


def repeats_follow_a_recorded_end(evidence: Evidence) -> Iterator[Violation]:
    """A further run begins only after the one before is on record as failed, lost or snoozed."""
    for job_id, runs in evidence.runs_by_job().items():
        ending = evidence.endings.get(job_id)
        if ending is None:
            continue
        if len(runs) > ending.claims:
            text = f"it ran {len(runs)} times, and was claimed {ending.claims} times"
            yield Violation("repeat", text, job_id)
        promise = evidence.promises.get(job_id)
        if promise is not None and promise.kind is Kind.ONCE and len(runs) > 1:
            yield Violation("repeat", f"it must never run again, and ran {len(runs)}", job_id)
        if not is_whole(ending):
            continue
        recorded = sorted(e.at.timestamp() for e in ending.history if e.kind in MAY_FOLLOW)
        for number, run in enumerate(runs):
            # By wrong clocks the times on record mean nothing, but their number does.
            since = runs[0].began_at - CLAIM_TO_BEGIN_SECONDS
            is_clear = not evidence.clock_faults(since, run.began_at)
            limit = run.began_at + 1.0 if is_clear else float("inf")
            if sum(at <= limit for at in recorded) < number:
                text = f"run {run.id} is the {number + 1}th, and not so many ends are on record"
                yield Violation("repeat", text, job_id)


def leases_are_honoured(evidence: Evidence) -> Iterator[Violation]:
    """No attempt is called lost before its lease can have run out."""
    lease = evidence.timings.job_lease.total_seconds()
    for job_id, runs in evidence.runs_by_job().items():
        ending = evidence.endings.get(job_id)
        for event in ending.history if ending is not None else ():
            at = event.at.timestamp()
            began = [
                run.began_at for run in runs if run.attempt == event.attempt and run.began_at <= at
            ]
            if event.kind is not EventKind.LOST or not began:
                continue
            since = began[-1] - CLAIM_TO_BEGIN_SECONDS
            is_clear = not evidence.clock_faults(since, at) and not any(
                evidence.paused_seconds(run.pid, since, at) for run in runs
            )
            # The claim is a little older than the run.
            if is_clear and at - began[-1] < lease - 1.0:
                text = f"attempt {event.attempt} was lost {at - began[-1]:.1f} s after it began"
                yield Violation("lease", text, job_id)


def _ahead(evidence: Evidence, pid: int, at: float) -> float:
    """Return by how much the clock of a process was ahead when it claimed."""
    name = evidence.names.get(pid)
    faults = evidence.clock_faults(at - CLAIM_TO_BEGIN_SECONDS, at)
    return max([0.0, *(fault.seconds for fault in faults if fault.name == name)])
