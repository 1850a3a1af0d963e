"""Compares what the API tells with what the model says."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from proof.reference.model import RUNNING, Seen

Told = dict[str, tuple[Any, Any]]
"""By field: what the API tells, and what the model says."""


def time_of(text: str | None) -> datetime | None:
    """Read a time as the API writes it."""
    return None if text is None else datetime.fromisoformat(text)


def differences(job: Seen, answer: dict[str, Any]) -> Told:
    """Return what an answer tells otherwise than it is. What it does not tell is not compared."""
    expected: dict[str, Any] = {
        "id": job.id,
        "status": job.status,
        "attempt": job.attempt,
        "priority": job.priority,
        "payload": job.payload,
        "result": job.result,
        "runs": job.runs,
        "letters": job.letters,
    }
    times = {
        "created_at": job.created_at,
        "run_at": job.run_at,
        "due_at": job.due_at,
        "expires_at": job.expires_at,
        "finished_at": job.finished_at,
        "started_at": job.started_at,
    }
    told: Told = {}
    for name, value in expected.items():
        if name in answer and answer[name] != value:
            told[name] = (answer[name], value)
    for name, instant in times.items():
        if time_of(answer[name]) != instant:
            told[name] = (answer[name], instant)
    lateness_ms = None if job.lateness is None else int(job.lateness.total_seconds() * 1000)
    pairs = {
        "lateness_ms": (answer["lateness_ms"], lateness_ms),
        "cancel_requested_at": (answer["cancel_requested_at"] is not None, job.asked_to_stop),
        "discarded_at": (answer["discarded_at"] is not None, job.is_discarded),
        "lease": (answer["lease"] is not None, job.status == RUNNING),
    }
    told |= {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
    attempts = tuple((one["number"], one["outcome"]) for one in answer["attempts"])
    # A listing tells what the history still holds; `dropped` says that its middle is gone.
    is_whole = "letters" in answer and not answer.get("dropped")
    if is_whole and attempts != job.attempts:
        told["attempts"] = (attempts, job.attempts)
    return told


def seen_lateness(jobs: Iterable[Seen]) -> tuple[int | None, int | None, int]:
    """Return p50 and p99 of the lateness of all jobs that started, in ms, and how many did."""
    values = sorted(int(j.lateness.total_seconds() * 1000) for j in jobs if j.lateness is not None)
    return _rank(values, 50), _rank(values, 99), len(values)


def _rank(ordered: list[int], percent: int) -> int | None:
    """Return the smallest value that so many of a hundred do not exceed."""
    for value in ordered:
        if sum(other <= value for other in ordered) * 100 >= percent * len(ordered):
            return value
    return None
