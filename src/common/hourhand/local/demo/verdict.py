"""Whether every job ended as it should: judged from the API's answers and the handlers' ledger."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from hourhand.domain.model import Outcome
from hourhand.local.demo.ledger import Run, overlapping_jobs
from hourhand.local.demo.plan import PlannedJob
from hourhand.local.demo.recurring import ScheduleTally
from hourhand.services.queries import percentile

_WAITING = frozenset({"ENQUEUED", "RETRYING"})
"""States in which a job's message is in a queue, as long as it is due within the look-ahead."""


class Group(StrEnum):
    """Under which row of the report a job's lateness stands."""

    OTHERS = "all others"
    PURGED = "message purged"
    BESIDE_POISON = "beside the poison job"


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    """A job as it was planned, and as the API shows it in the end (``None``: not at all)."""

    planned: PlannedJob
    job_id: str
    job: Mapping[str, Any] | None
    events: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Disturbances:
    """What was done to the system. Instants are in UTC, windows have a beginning and an end.

    ``beside_poison``: ids of the jobs whose messages a killed worker held beside the poison job.
    ``leaderless``: from the leader's death until the next one led. ``unplanned``: what befell the
    system that nobody meant to, or did not although it was meant to, in words.
    """

    purge: tuple[datetime, datetime] | None = None
    leaderless: tuple[datetime, datetime] | None = None
    beside_poison: frozenset[str] = frozenset()
    unplanned: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Lateness:
    """Lateness of first attempts in ms; ``None`` where no job started."""

    jobs: int
    p50_ms: int | None
    p99_ms: int | None
    max_ms: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """The judgement. ``problems`` is empty exactly when everything was as it should be."""

    problems: tuple[str, ...]
    by_status: Mapping[str, int]
    by_outcome: Mapping[str, int]
    lateness: Mapping[Group, Lateness]
    leaderless: Lateness
    dispatched_again: int
    runs: int
    dead_letters: int
    schedules: tuple[ScheduleTally, ...] = ()


def judge(
    observed: Sequence[Observed],
    runs: Sequence[Run],
    dead_letters: Iterable[str],
    disturbances: Disturbances,
) -> Verdict:
    """Compare what was observed with what was planned. ``dead_letters``: ids found in the DLQ."""
    letters = set(dead_letters)
    jobs = [one.job for one in observed if one.job is not None]
    groups = {one.job_id: group_of(one, disturbances) for one in observed}
    problems = [p for one in observed if (p := problem_of(one, groups[one.job_id])) is not None]
    problems += _problems_of_runs(observed, runs, groups)
    problems += _problems_of_letters(observed, letters)
    problems += disturbances.unplanned
    attempts = [attempt for job in jobs for attempt in job["attempts"]]
    return Verdict(
        problems=tuple(problems),
        by_status=_count(job["status"] for job in jobs),
        by_outcome=_count(attempt["outcome"] for attempt in attempts),
        lateness={
            group: lateness_of(one for one in observed if groups[one.job_id] is group)
            for group in Group
        },
        leaderless=lateness_of(
            one
            for one in observed
            if groups[one.job_id] is Group.OTHERS and _was_due_leaderless(one, disturbances)
        ),
        dispatched_again=sum(
            any(event["kind"] == "DISPATCHED_AGAIN" for event in one.events) for one in observed
        ),
        runs=len(runs),
        dead_letters=len(letters),
    )


def group_of(one: Observed, disturbances: Disturbances) -> Group:
    """Return the row of a job: decided by what was done to it, never by how late it was."""
    if one.job_id in disturbances.beside_poison:
        return Group.BESIDE_POISON
    if disturbances.purge is not None:
        begin, end = disturbances.purge
        if any(_had_message(one.events, instant) for instant in (begin, end)):
            return Group.PURGED
    return Group.OTHERS


def problem_of(one: Observed, group: Group) -> str | None:
    """Return what is wrong with how a job ended, if anything is."""
    name = f"{one.planned.name} ({one.job_id})"
    if one.job is None:
        return f"{name}: lost, the API knows no such job"
    expected = one.planned.expected
    if one.job["status"] != expected.status:
        return f"{name}: ended {one.job['status']}, expected {expected.status}"
    outcomes = tuple(attempt["outcome"] for attempt in one.job["attempts"])
    if group is Group.BESIDE_POISON:
        # It ran in the process that the poison job killed: that attempt is lost, no other.
        outcomes = tuple(outcome for outcome in outcomes if outcome != Outcome.LOST)
    if outcomes != expected.outcomes:
        return f"{name}: attempts {_listed(outcomes)}, expected {_listed(expected.outcomes)}"
    return None


def lateness_of(observed: Iterable[Observed]) -> Lateness:
    """Return how late the first attempts of these jobs started."""
    lateness = sorted(
        one.job["lateness_ms"]
        for one in observed
        if one.job is not None and one.job["lateness_ms"] is not None
    )
    return Lateness(
        jobs=len(lateness),
        p50_ms=percentile(lateness, 50),
        p99_ms=percentile(lateness, 99),
        max_ms=lateness[-1] if lateness else None,
    )


def _had_message(events: Sequence[Mapping[str, Any]], instant: datetime) -> bool:
    """Whether the job waited for its message to arrive at ``instant``, by its own history."""
    before = [event for event in events if _instant(event["at"]) <= instant]
    return bool(before) and before[-1]["status"] in _WAITING


def _was_due_leaderless(one: Observed, disturbances: Disturbances) -> bool:
    if disturbances.leaderless is None or one.job is None:
        return False
    begin, end = disturbances.leaderless
    return begin <= _instant(one.job["run_at"]) <= end


def _problems_of_runs(
    observed: Sequence[Observed], runs: Sequence[Run], groups: Mapping[str, Group]
) -> list[str]:
    """Compare the handlers' own notes with the attempts that the API tells of."""
    problems = [f"{job}: two runs of it overlapped" for job in overlapping_jobs(runs)]
    counted = _count(run.job_id for run in runs)
    for one in observed:
        ran, expected = counted.get(one.job_id, 0), len(one.planned.expected.outcomes)
        most = expected
        if groups[one.job_id] is Group.BESIDE_POISON and one.job is not None:
            # Each attempt that was lost with the process may have begun to run, or not yet.
            most += sum(attempt["outcome"] == Outcome.LOST for attempt in one.job["attempts"])
        if not expected <= ran <= most:
            problems.append(f"{one.planned.name} ({one.job_id}): ran {ran} times, not {expected}")
    strangers = set(counted) - {one.job_id for one in observed}
    return problems + [f"{job}: ran, and was never submitted" for job in sorted(strangers)]


def _problems_of_letters(observed: Sequence[Observed], letters: Collection[str]) -> list[str]:
    due = {one.job_id for one in observed if one.planned.expected.status == "DEAD"}
    missing = [f"{job}: no dead letter was sent" for job in sorted(due - set(letters))]
    return missing + [f"{job}: a dead letter too many" for job in sorted(set(letters) - due)]


def _count(values: Iterable[str]) -> dict[str, int]:
    counted: dict[str, int] = {}
    for value in values:
        counted[value] = counted.get(value, 0) + 1
    return counted


def _listed(outcomes: Iterable[str]) -> str:
    return ", ".join(outcomes) or "none"


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)
