"""The rules about limits: by the ledger, never more jobs of a key at once, nor more starts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from hourhand.domain.jobs.job import EventKind
from proof.chaos.clocks import Clocks
from proof.chaos.evidence import Evidence, Kind, Violation, has
from proof.chaos.handlers import MOST_AT_ONCE, PACE
from proof.chaos.ledger import Run
from proof.chaos.rules_of_runs import (
    CLAIM_TO_BEGIN_SECONDS,
    Judged,
    Verdict,
    broken,
    outlived_its_lease,
)

GATE_TO_BEGIN_SECONDS = 7.0
"""A gate that was passed counts for five seconds, and a worker needs a moment more."""

AT_ONCE: Mapping[Kind, int] = {Kind.LIMITED: MOST_AT_ONCE, Kind.UNIQUE: 1}
"""How many jobs of one key may run at a time, by their kind."""


def no_key_is_crowded(evidence: Evidence) -> Iterator[Violation]:
    """No more jobs of one key run at once than may, but where a pause or a clock excuses it."""
    return broken("limit", crowds(evidence))


def crowds(evidence: Evidence) -> Iterator[Judged]:
    """Judge each run of a job that has a limited key: how many others are under way as it begins.

    A job whose owner was paused past its lease may still run where another got its slot.
    """
    clocks = Clocks(evidence)
    by_key: dict[tuple[Kind, str], list[Run]] = defaultdict(list)
    for run in sorted(evidence.runs, key=lambda run: run.began_at):
        promise = evidence.promises.get(run.job_id)
        if promise is not None and promise.kind in AT_ONCE and run.key is not None:
            by_key[promise.kind, run.key].append(run)
    for (kind, key), runs in by_key.items():
        for number, run in enumerate(runs):
            beside = [one for one in runs[:number] if _is_beside(one, run)]
            excuses = {one.id: outlived_its_lease(clocks, one, run) for one in beside}
            unexcused = {one.job_id for one in beside if excuses[one.id] is None}
            verdict = Verdict.HOLDS
            if len({one.job_id for one in beside}) >= AT_ONCE[kind]:
                verdict = next((why for why in excuses.values() if why), Verdict.BROKEN)
            if len(unexcused) >= AT_ONCE[kind]:
                verdict = Verdict.BROKEN
            text = f"run {run.id} began beside {sorted(unexcused)}, all of the key {key}"
            yield Judged(run.job_id, verdict, text)


def the_pace_is_kept(evidence: Evidence) -> Iterator[Violation]:
    """No interval has more starts than the rate allows."""
    return broken("rate", paces(evidence))


def paces(evidence: Evidence) -> Iterator[Judged]:
    """Judge each start under the rate: how many there were before it, in any interval.

    A start is the first run of a job, but for one that was taken over from a lost attempt, and
    one while a clock was wrong or its own worker was paused.
    """
    starts = [
        runs[0]
        for job_id, runs in evidence.runs_by_job().items()
        if _is_paced(evidence, job_id) and not _was_disturbed(evidence, runs[0])
    ]
    starts.sort(key=lambda run: run.began_at)
    for last, run in enumerate(starts):
        verdict = Verdict.HOLDS
        for number, first in enumerate(reversed(starts[: last + 1]), start=1):
            seconds = run.began_at - first.began_at + GATE_TO_BEGIN_SECONDS
            if number > PACE.burst_size + seconds * PACE.count / PACE.per:
                verdict = Verdict.BROKEN
        yield Judged(run.job_id, verdict, f"run {run.id} began, and too many before it")


def _is_beside(one: Run, run: Run) -> bool:
    is_under_way = one.ended_at is None or one.ended_at > run.began_at
    return one.job_id != run.job_id and is_under_way


def _is_paced(evidence: Evidence, job_id: str) -> bool:
    promise, ending = evidence.promises.get(job_id), evidence.endings.get(job_id)
    is_paced = promise is not None and promise.kind is Kind.PACED
    return is_paced and ending is not None and not has(ending, EventKind.LOST)


def _was_disturbed(evidence: Evidence, run: Run) -> bool:
    since = run.began_at - CLAIM_TO_BEGIN_SECONDS
    return bool(
        evidence.clock_faults(since, run.began_at)
        or evidence.paused_seconds(run.pid, since, run.began_at)
    )
