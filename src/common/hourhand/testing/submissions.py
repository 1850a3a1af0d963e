"""What was submitted, and what a test expects of it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from hourhand.handlers import ResultNotJson, result_text
from hourhand.testing.differences import differences, shown
from hourhand.testing.events import body_of

SUBMIT_PATHS = ("/v1/jobs", "/v1/jobs/batch")

MAX_SHOWN_JOBS = 10
MAX_SHOWN_DIFFERENCES = 5

Snapshot = Mapping[str, Any]
"""A job as the API answered its submission."""


class Anything:
    """For a field that a test does not look at."""

    def __repr__(self) -> str:
        return "ANYTHING"


ANYTHING: Final = Anything()

_TIMES = ("run_at", "expires_at")
_PARTIAL = ("tags", "retry")
"""Of these, what is named must be there; there may be more."""

FIELDS: Final = (
    *("payload", "delay", "run_at", "priority", "tags", "tenant", "idempotency_key", "id"),
    *("timeout_seconds", "expires_at", "retention_seconds", "on_lost", "retry", "limits"),
)
"""What a test may expect beside the handler."""


class SubmissionLog:
    """The jobs that were submitted, in order, as they were then; each of them once."""

    def __init__(self) -> None:
        """Start empty."""
        self._snapshots: dict[str, Snapshot] = {}
        self._lock = threading.Lock()

    def note(self, event: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """Take in how the API answered an event of API Gateway."""
        method, path = event["requestContext"]["http"]["method"], event["rawPath"]
        if method != "POST" or path not in SUBMIT_PATHS or answer["statusCode"] not in {200, 201}:
            return
        told = json.loads(body_of(answer))
        results = told.get("results", [{"job": told}])
        jobs = [result["job"] for result in results if "job" in result]
        with self._lock:
            for job in jobs:
                # One that was there before is the same submission, sent again.
                self._snapshots.setdefault(job["id"], job)

    def all(self) -> list[Snapshot]:
        """Return every submission, in order."""
        with self._lock:
            return list(self._snapshots.values())


@dataclass(frozen=True, slots=True)
class Expectation:
    """A job of ``handler`` with these ``fields`` (`FIELDS`).

    ``payload`` may be whatever a handler takes, and hold objects that compare as they like, such
    as ``unittest.mock.ANY``. ``delay`` is a timedelta, or a number of seconds, between submission
    and ``run_at``. Of ``tags`` and ``retry``, those that are named must be there.
    """

    handler: str
    fields: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise `TypeError` for a field that no submission has."""
        unknown = sorted(set(self.fields) - set(FIELDS))
        if unknown:
            raise TypeError(f"A submission has no {unknown[0]!r}; it has {', '.join(FIELDS)}.")

    def differences(self, snapshot: Snapshot) -> list[str]:
        """Say in what a submission differs from this one: empty if in nothing."""
        found = []
        if snapshot["handler"] != self.handler:
            found.append(f"the handler is {snapshot['handler']!r}, not {self.handler!r}")
        for name, expected in self._looked_at():
            found += differences(
                name, expected, _found(snapshot, name), is_whole=name not in _PARTIAL
            )
        return found

    def __str__(self) -> str:
        return f"{self.handler!r}" + "".join(
            f", {name}={shown(value)}" for name, value in self._looked_at()
        )

    def _looked_at(self) -> Iterator[tuple[str, Any]]:
        for name in FIELDS:
            value = self.fields.get(name, ANYTHING)
            if value is not ANYTHING:
                yield name, _comparable(name, value)


def list_submissions(expectation: Expectation, snapshots: Sequence[Snapshot]) -> str:
    """List what was submitted, for a failed assertion, the most similar submission first."""
    if not snapshots:
        return "Nothing was submitted."
    told = [(expectation.differences(one), one) for one in snapshots]
    told.sort(key=lambda one: (one[1]["handler"] != expectation.handler, len(one[0])))
    lines = ["These jobs were submitted, the most similar first:"]
    for found, snapshot in told[:MAX_SHOWN_JOBS]:
        reasons = found[:MAX_SHOWN_DIFFERENCES] or ["as expected"]
        if len(found) > len(reasons):
            reasons.append(f"and {len(found) - len(reasons)} more differences")
        lines.append(f"  {snapshot['handler']} (job {snapshot['id']}): {'; '.join(reasons)}")
    if len(snapshots) > MAX_SHOWN_JOBS:
        lines.append(f"  and {len(snapshots) - MAX_SHOWN_JOBS} more jobs")
    return "\n".join(lines)


def _comparable(name: str, expected: Any) -> Any:
    if name == "delay" and not isinstance(expected, timedelta):
        return timedelta(seconds=expected)
    if name == "limits" and expected is not None:
        return [{"key": None, **one} for one in expected]
    return _as_json(expected) if name in {"payload", "retry"} else expected


def _found(snapshot: Snapshot, name: str) -> Any:
    if name == "delay":
        return _time(snapshot["run_at"]) - _time(snapshot["created_at"])
    value = snapshot[name]
    return _time(value) if name in _TIMES and value is not None else value


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _as_json(value: Any) -> Any:
    """Return what the API makes of a value; one that is no JSON is compared as it stands."""
    try:
        return json.loads(result_text(value))
    except ResultNotJson:
        return value
