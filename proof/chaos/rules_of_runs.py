"""The rules about when handlers ran: never early, never side by side, never again for nothing.

What a rule looks at, it counts, and so what it lets through: for the clock of a process that had
to do with it, or because the history that would tell was cut.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from hourhand.domain.jobs.job import ATTEMPT_ENDS, EventKind, HistoryEvent
from proof.chaos.clocks import Clocks
from proof.chaos.evidence import Ending, Evidence, Kind, Violation, has, is_whole
from proof.chaos.ledger import End, Run

MILLISECOND = 0.001
"""Hourhand counts whole ones, rounded down."""

CLAIM_TO_BEGIN_SECONDS = 15.0
"""The longest that a worker takes from its look at the clock to the handler's first line."""

MAY_FOLLOW = ATTEMPT_ENDS.keys() - {EventKind.SUCCEEDED, EventKind.CANCELLED}
"""Ends of an attempt after which there may be another."""


class Verdict(StrEnum):
    """What a rule thinks of one thing that it looked at."""

    HOLDS = "as it should be"
    BROKEN = "broken"
    PAUSED = "excused: the owner was paused past its lease"
    CLOCK = "excused: the clock of one of its processes was wrong"
    LOST = "not judged: an attempt was lost"
    CUT = "not judged: its history was cut"


@dataclass(frozen=True, slots=True)
class Judged:
    """One thing that a rule looked at; ``text`` says what it would be, were it broken."""

    job_id: str
    verdict: Verdict
    text: str


def runs_do_not_overlap(evidence: Evidence) -> Iterator[Violation]:
    """Two runs of a job are never under way at once, but where a pause or a clock excuses it."""
    return broken("overlap", overlaps(evidence))


def overlaps(evidence: Evidence) -> Iterator[Judged]:
    """Judge each two runs of a job that overlap.

    The protocol has two excuses: the owner was paused past its lease; or the clock of the owner, of
    its successor, or of the process that ended the lost attempt was off by more than the margin.
    """
    clocks = Clocks(evidence)
    for job_id, runs in evidence.runs_by_job().items():
        for first, second in itertools.combinations(runs, 2):
            if first.ended_at is not None and second.began_at >= first.ended_at:
                continue
            verdict = outlived_its_lease(clocks, first, second) or Verdict.BROKEN
            text = f"runs {first.id} and {second.id} overlap: no pause and no clock excuses it"
            yield Judged(job_id, verdict, text)


def outlived_its_lease(clocks: Clocks, first: Run, second: Run) -> Verdict | None:
    """Return why ``first`` may still be under way as ``second`` begins; ``None``: it may not."""
    evidence, timings = clocks.evidence, clocks.evidence.timings
    since = first.began_at - CLAIM_TO_BEGIN_SECONDS
    paused = evidence.paused_seconds(first.pid, since, second.began_at)
    # Its last heartbeat may have been one interval before the pause.
    if paused >= (timings.job_lease - timings.heartbeat).total_seconds():
        return Verdict.PAUSED
    return Verdict.CLOCK if _took_over_by_a_wrong_clock(clocks, first, second) else None


def never_early(evidence: Evidence) -> Iterator[Violation]:
    """No first run begins before its time, by more than its own worker's clock was ahead."""
    for job_id, runs in evidence.runs_by_job().items():
        promise = evidence.promises.get(job_id)
        if promise is None:
            continue
        early = promise.run_at - runs[0].began_at
        if early > MILLISECOND + _ahead(evidence, runs[0].pid, runs[0].began_at):
            yield Violation("early", f"run {runs[0].id} began {early:.3f} s early", job_id)
    yield from broken("early", returns(evidence))


def returns(evidence: Evidence) -> Iterator[Judged]:
    """Judge each run that follows a snooze: it does not begin before the snooze is over."""
    clocks = Clocks(evidence)
    for job_id, runs in evidence.runs_by_job().items():
        ending = evidence.endings.get(job_id)
        for before, after in itertools.pairwise(runs):
            if before.how is not End.SNOOZED:
                continue
            wanted = (before.ended_at or 0.0) + before.snooze_seconds
            verdict = Verdict.HOLDS
            if after.began_at < wanted - MILLISECOND:
                verdict = _too_soon(clocks, ending, before, after)
            text = f"run {after.id} began {wanted - after.began_at:.3f} s too soon: snoozed"
            yield Judged(job_id, verdict, text)


def repeats_follow_a_recorded_end(evidence: Evidence) -> Iterator[Violation]:
    """A further run begins only after the one before is on record as failed, lost or snoozed."""
    for job_id, runs in evidence.runs_by_job().items():
        ending = evidence.endings.get(job_id)
        if ending is not None and len(runs) > ending.claims:
            text = f"it ran {len(runs)} times, and was claimed {ending.claims} times"
            yield Violation("repeat", text, job_id)
        promise = evidence.promises.get(job_id)
        if promise is not None and promise.kind is Kind.ONCE and len(runs) > 1:
            yield Violation("repeat", f"it must never run again, and ran {len(runs)}", job_id)
    yield from broken("repeat", repeats(evidence))


def repeats(evidence: Evidence) -> Iterator[Judged]:
    """Judge each run but the first of a job: so many ends are on record by its beginning."""
    clocks = Clocks(evidence)
    for job_id, runs in evidence.runs_by_job().items():
        ending = evidence.endings.get(job_id)
        if ending is None:
            continue
        ends = [event for event in ending.history if event.kind in MAY_FOLLOW]
        for number, run in enumerate(runs[1:], start=1):
            limit = run.began_at + 1.0
            if not is_whole(ending):
                verdict = Verdict.CUT
            elif sum(end.at.timestamp() <= limit for end in ends) >= number:
                verdict = Verdict.HOLDS
            elif sum(min(clocks.possible_times(end)) <= limit for end in ends) >= number:
                verdict = Verdict.CLOCK
            else:
                verdict = Verdict.BROKEN
            text = f"run {run.id} is the {number + 1}th, and not so many ends are on record"
            yield Judged(job_id, verdict, text)


def leases_are_honoured(evidence: Evidence) -> Iterator[Violation]:
    """No attempt is called lost before its lease can have run out."""
    return broken("lease", losses(evidence))


def losses(evidence: Evidence) -> Iterator[Judged]:
    """Judge each attempt on record as lost that began to run: its lease was over."""
    clocks = Clocks(evidence)
    lease = evidence.timings.job_lease.total_seconds()
    for job_id, runs in evidence.runs_by_job().items():
        ending = evidence.endings.get(job_id)
        for event in ending.history if ending is not None else ():
            of_attempt = [run for run in runs if run.attempt == event.attempt]
            at = event.at.timestamp()
            began = [run for run in of_attempt if run.began_at <= at] or of_attempt[:1]
            if event.kind is not EventKind.LOST or not began:
                continue
            owner = began[-1]
            since = owner.began_at - CLAIM_TO_BEGIN_SECONDS
            places = clocks.place_of(owner.pid) | clocks.places_of(event.actor)
            verdict = Verdict.BROKEN
            # The claim is a little older than the run.
            if at - owner.began_at >= lease - 1.0:
                verdict = Verdict.HOLDS
            elif evidence.paused_seconds(owner.pid, since, owner.began_at) > 0:
                # It was paused in between: the claim is much older.
                verdict = Verdict.PAUSED
            elif clocks.were_wrong(places, since, max(clocks.possible_times(event))):
                verdict = Verdict.CLOCK
            elif ending is not None and at - _claimed_at(ending, event, since) >= lease:
                # A busy machine took long from the claim to the handler's first line.
                verdict = Verdict.HOLDS
            text = f"attempt {event.attempt} was lost {at - owner.began_at:.1f} s after it began"
            yield Judged(job_id, verdict, text)


def broken(rule: str, judged: Iterator[Judged]) -> Iterator[Violation]:
    """Yield what was judged to be wrong."""
    wrong = (one for one in judged if one.verdict is Verdict.BROKEN)
    return (Violation(rule, one.text, one.job_id) for one in wrong)


def _claimed_at(ending: Ending, lost: HistoryEvent, since: float) -> float:
    """Return when the attempt that was lost was claimed; infinite: not on record since then."""
    claims = [
        event.at.timestamp()
        for event in ending.history
        if event.kind is EventKind.CLAIMED and event.token == lost.token
    ]
    return next((at for at in claims if at >= since), float("inf"))


def _took_over_by_a_wrong_clock(clocks: Clocks, first: Run, second: Run) -> bool:
    """Whether a clock can have made the lease of ``first`` end too early for it to be renewed."""
    since = first.began_at - CLAIM_TO_BEGIN_SECONDS
    if clocks.were_wrong(clocks.place_of(first.pid), since, second.began_at):
        return True
    if clocks.were_wrong(
        clocks.place_of(second.pid), second.began_at - CLAIM_TO_BEGIN_SECONDS, second.began_at
    ):
        return True
    ending = clocks.evidence.endings.get(first.job_id)
    recoverers = {
        place
        for event in (ending.history if ending is not None else ())
        if event.kind is EventKind.LOST and event.attempt == first.attempt
        for place in clocks.places_of(event.actor)
    }
    return clocks.were_wrong(recoverers, since, second.began_at)


def _too_soon(clocks: Clocks, ending: Ending | None, before: Run, after: Run) -> Verdict:
    """Say why a run came before its snooze was over."""
    if ending is None or not is_whole(ending):
        return Verdict.CUT
    if has(ending, EventKind.LOST):
        return Verdict.LOST
    since = before.began_at - CLAIM_TO_BEGIN_SECONDS
    # The one reckoned when it shall be, the other whether it is.
    if clocks.were_wrong(clocks.place_of(before.pid), since, before.ended_at or since):
        return Verdict.CLOCK
    begin = after.began_at - CLAIM_TO_BEGIN_SECONDS
    if clocks.were_wrong(clocks.place_of(after.pid), begin, after.began_at):
        return Verdict.CLOCK
    return Verdict.BROKEN


def _ahead(evidence: Evidence, pid: int, at: float) -> float:
    """Return by how much the clock of a process was ahead when it claimed."""
    name = evidence.names.get(pid)
    faults = evidence.clock_faults(at - CLAIM_TO_BEGIN_SECONDS, at)
    return max([0.0, *(fault.seconds for fault in faults if fault.name == name)])
