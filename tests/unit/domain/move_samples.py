"""Moves as tests make them, on the jobs of ``job_samples``."""

from __future__ import annotations

from hourhand.domain.jobs import transitions
from hourhand.domain.jobs.job import (
    Content,
    Job,
    Outcome,
    Progress,
)
from hourhand.domain.jobs.transitions import Transition
from tests.unit.domain.condition_cases import CASES, MARGIN, SOON
from tests.unit.domain.job_samples import (
    INLINE,
    NOW,
)


def done(move: Transition, job: Job) -> Job:
    """Make a move that is allowed."""
    assert move.is_allowed(job)
    return move.apply(job)


def fail(job: Job, **changes: object) -> Transition:
    given: dict[str, object] = {
        "now": NOW,
        "actor": "worker-1",
        "outcome": Outcome.FAILED,
        "reason": "ValueError: no",
        "entry": SOON,
        "sends_now": True,
    }
    return transitions.retry_later(job, **{**given, **changes})  # type: ignore[arg-type]


def complete(job: Job, result: Content = INLINE, progress: Progress | None = None) -> Transition:
    return transitions.complete(job, now=NOW, actor="worker-1", result=result, progress=progress)


def recover(job: Job, *, sends_now: bool = True) -> Transition:
    return transitions.recover(
        job, now=NOW, margin=MARGIN, actor="scheduler", entry=SOON, sends_now=sends_now
    )


CASES_BY_BUILDER = {case.builder: case for case in CASES}
