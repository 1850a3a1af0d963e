"""The verdict on a demo: each promise, checked with the API's answers and the handlers' notes."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from hourhand.client import JobSummary
from hourhand.domain.times import rfc3339
from hourhand.local.demo.plan import PlannedJob
from hourhand.services.jobs.queries import percentile


class Run(NamedTuple):
    """One run of a handler. Times are seconds of the machine's monotonic clock.

    ``ended_at`` is when its process died, for a run without another end. ``None``: unknown.
    """

    job_id: str
    began_at: float
    ended_at: float | None


@dataclass(kw_only=True, slots=True)
class Evidence:
    """What is known of a demo.

    ``planned``: the jobs that were submitted, by id. ``jobs``: those that the API lists. Of each
    schedule, by its expression, ``times`` are expected, and the API has the ``occurrences``, each
    with its job, if it was not skipped.
    ``letters``: the type of error in the dead letter of each job. ``leaderless``: when the leader
    was killed, and when the next one led.
    """

    planned: dict[str, PlannedJob] = field(default_factory=dict)
    jobs: Mapping[str, JobSummary] = field(default_factory=dict)
    times: dict[str, list[datetime]] = field(default_factory=dict)
    occurrences: dict[str, list[tuple[datetime, str | None]]] = field(default_factory=dict)
    letters: dict[str, str | None] = field(default_factory=dict)
    runs: Sequence[Run] = ()
    leaderless: tuple[datetime, datetime] | None = None

    def expected(self) -> dict[str, PlannedJob]:
        """Return how each job must end, by id: the submitted ones and those of the schedules."""
        return self.planned | {
            job_id: PlannedJob(kind=f"run for {expression}")
            for expression, occurrences in self.occurrences.items()
            for _, job_id in occurrences
            if job_id is not None
        }

    def outcomes(self, job_id: str) -> tuple[str, ...]:
        """Return how the attempts of a job ended."""
        attempts = self.jobs[job_id].attempts if job_id in self.jobs else ()
        return tuple(attempt.outcome or "RUNNING" for attempt in attempts)


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One promise; it is kept if there are no ``problems``. ``detail`` has the figures."""

    promise: str
    detail: str
    problems: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """The result of a demo. The counts are of the jobs that were found and of their attempts.

    ``lateness_ms`` is of the first attempts: ``median``, ``p99`` and ``max``, ``None`` without any.
    """

    is_good: bool
    checks: Sequence[Check]
    submitted: int
    from_schedules: int
    started: int
    statuses: Mapping[str, int]
    outcomes: Mapping[str, int]
    lateness_ms: Mapping[str, int | None]


def judge(evidence: Evidence) -> Verdict:
    """Check every promise, and count."""
    found = sorted(evidence.jobs.keys() & evidence.expected().keys())
    submitted = len(evidence.jobs.keys() & evidence.planned.keys())
    outcomes = [evidence.outcomes(job_id) for job_id in found]
    checks = (
        _ended_once(evidence),
        _none_lost(evidence),
        _none_overlapped(evidence),
        _retried(evidence),
        _dead_letters(evidence),
        _hand_over(evidence),
        _schedules(evidence),
    )
    return Verdict(
        is_good=not any(check.problems for check in checks),
        checks=checks,
        submitted=submitted,
        from_schedules=len(found) - submitted,
        started=len(found) - outcomes.count(()),
        statuses=dict(Counter(evidence.jobs[job_id].status for job_id in found).most_common()),
        outcomes=dict(Counter(itertools.chain.from_iterable(outcomes)).most_common()),
        lateness_ms=lateness_of(evidence.jobs[job_id] for job_id in found),
    )


def lateness_of(jobs: Iterable[JobSummary]) -> dict[str, int | None]:
    """Return how late the first attempts of these jobs started, in milliseconds."""
    known = sorted(job.lateness_ms for job in jobs if job.lateness_ms is not None)
    shares = {"median": 50, "p99": 99, "max": 100}
    return {name: percentile(known, share) for name, share in shares.items()}


def read_runs(lines: Iterable[str], deaths: Mapping[int, float]) -> list[Run]:
    """Return the runs that the handlers noted. ``deaths``: when processes died, by pid."""
    began: dict[tuple[str, int, int], float] = {}
    runs: list[Run] = []
    for note in map(json.loads, lines):
        key = (note["job"], note["attempt"], note["pid"])
        if note["what"] == "begin":
            began[key] = note["at"]
        else:
            runs.append(Run(key[0], began.pop(key), note["at"]))
    return runs + [Run(key[0], at, deaths.get(key[2])) for key, at in began.items()]


def _ended_once(evidence: Evidence) -> Check:
    ran = Counter(run.job_id for run in evidence.runs)
    problems: list[str] = []
    for job_id, planned in evidence.expected().items():
        job, attempts = evidence.jobs.get(job_id), len(evidence.outcomes(job_id))
        if job is not None and job.status != planned.status:
            problems.append(f"{_name(job_id, planned)} is {job.status}, not {planned.status}.")
        if ran[job_id] != attempts:
            both = f"has {attempts} attempts, but its handler ran {ran[job_id]} times"
            problems.append(f"{_name(job_id, planned)} {both}.")
    detail = f"{len(evidence.jobs)} jobs; their handlers ran once for each attempt"
    return Check(promise="Every job ended once, as planned", detail=detail, problems=problems)


def _none_lost(evidence: Evidence) -> Check:
    known, jobs = evidence.expected(), evidence.jobs.keys()
    lost = [f"{_name(i, planned)} is lost." for i, planned in known.items() if i not in jobs]
    strange = [f"The job {i} was not submitted." for i in sorted(jobs - known.keys())]
    detail = f"{len(evidence.planned)} submitted, {len(evidence.planned.keys() & jobs)} found"
    return Check(promise="No job was lost", detail=detail, problems=lost + strange)


def _none_overlapped(evidence: Evidence) -> Check:
    overlapped = [
        f"Two runs of the job {first.job_id} overlapped."
        for first, second in itertools.pairwise(sorted(evidence.runs, key=lambda run: run[:2]))
        # A run without a known end may still be under way.
        if first.job_id == second.job_id
        and (first.ended_at is None or second.began_at < first.ended_at)
    ]
    detail = f"{len(evidence.runs)} runs, as the handlers noted them"
    return Check(promise="No job ran twice at once", detail=detail, problems=overlapped)


def _retried(evidence: Evidence) -> Check:
    problems = [
        f"{_name(job_id, planned)} has the attempts {_listed(evidence.outcomes(job_id))}, "
        f"not {_listed(planned.outcomes)}."
        for job_id, planned in evidence.expected().items()
        if job_id in evidence.jobs and evidence.outcomes(job_id) != planned.outcomes
    ]
    retried = [job for job in evidence.planned.values() if len(job.outcomes) > 1]
    retries = sum(len(job.outcomes) - 1 for job in retried)
    detail = f"{retries} retries, of {len(retried)} jobs that had to fail or lose their worker"
    return Check(promise="Retries ended as planned", detail=detail, problems=problems)


def _dead_letters(evidence: Evidence) -> Check:
    dead, letters = (
        {i for i, job in evidence.planned.items() if job.status == "DEAD"},
        evidence.letters,
    )
    problems = [f"The dead job {i} has no dead letter." for i in sorted(dead - letters.keys())]
    problems += [f"The job {i} has a dead letter." for i in sorted(letters.keys() - dead)]
    problems += [
        f"The dead letter of {i} has no error." for i, error in letters.items() if not error
    ]
    detail = (
        f"{len(letters)} for {len(dead)} dead jobs: {_listed(sorted(map(str, letters.values())))}"
    )
    return Check(promise="Dead letters have their errors", detail=detail, problems=problems)


def _hand_over(evidence: Evidence) -> Check:
    promise = "Another scheduler took over"
    if evidence.leaderless is None:
        problem = "No leader was killed at work, or no scheduler led after it."
        return Check(promise=promise, detail="", problems=[problem])
    begin, end = evidence.leaderless
    due = [job for job in evidence.jobs.values() if begin <= job.run_at <= end]
    detail = (
        f"{(end - begin).total_seconds():.1f} s after the leader was killed at work; "
        f"{len(due)} jobs were due meanwhile, at most {lateness_of(due)['max']} ms late"
    )
    return Check(promise=promise, detail=detail)


def _schedules(evidence: Evidence) -> Check:
    details: list[str] = []
    problems: list[str] = []
    for name, expected in evidence.times.items():
        occurrences = evidence.occurrences[name]
        counted = Counter(at for at, _ in occurrences)
        created = {at for at, job_id in occurrences if job_id is not None}
        details.append(f"{name}: {len(created & set(expected))} of {len(expected)}")
        problems += [f"{name}: none at {rfc3339(at)}." for at in expected if at not in created]
        problems += [
            f"{name}: {count} at {rfc3339(at)}, which is wrong."
            for at, count in counted.items()
            if count > 1 or at not in expected
        ]
    detail = "; ".join(details)
    return Check(promise="Schedules created every occurrence", detail=detail, problems=problems)


def _name(job_id: str, planned: PlannedJob) -> str:
    return f"The job {job_id}, which had to {planned.kind},"


def _listed(outcomes: Sequence[str]) -> str:
    return ", ".join(outcomes) or "none"
