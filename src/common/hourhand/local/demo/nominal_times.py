"""Whether a schedule's history holds each of its nominal times exactly once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any, Protocol

from hourhand.domain.times import rfc3339
from hourhand.local.demo.client import Answer, DemoFailed

PAGE = 200
MAX_PAGES = 50
"""A history in the demo has a few dozen rows."""


class Reader(Protocol):
    """What a history is read from."""

    def get(self, path: str) -> Answer:
        """Read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fire:
    """A row of a schedule's history. ``reason``: why its job did not run, if it did not."""

    at: datetime
    job_id: str | None
    reason: str | None


def read_history(api: Reader, schedule_id: str) -> list[Fire]:
    """Return what became of a schedule's own nominal times, the oldest first.

    Raises `DemoFailed` where the history cannot be read, or does not end.
    """
    fires: list[Fire] = []
    cursor = ""
    for _ in range(MAX_PAGES):
        answer = api.get(f"/v1/schedules/{schedule_id}/occurrences?limit={PAGE}{cursor}")
        if answer.status != HTTPStatus.OK:
            raise DemoFailed(f"The history of {schedule_id} cannot be read: {answer.body}.")
        fires += [_fire(row) for row in answer.body["occurrences"] if row["kind"] == "schedule"]
        if answer.body["next_cursor"] is None:
            return fires[::-1]
        cursor = f"&cursor={answer.body['next_cursor']}"
    raise DemoFailed(f"The history of {schedule_id} does not end.")


def problems_of_fires(
    name: str,
    fires: Sequence[Fire],
    *,
    expected: Collection[datetime],
    allowed: Collection[datetime] = (),
) -> list[str]:
    """Return in words what keeps ``fires`` from being each ``expected`` time once, as a job.

    ``allowed`` may be among them or not: it was being changed just then.
    """
    counted = Counter(fire.at for fire in fires)
    missing = [f"{name}: nothing came of {rfc3339(at)}" for at in expected if at not in counted]
    twice = [f"{name}: {rfc3339(at)} came {n} times" for at, n in counted.items() if n > 1]
    known = {*expected, *allowed}
    strange = [f"{name}: {rfc3339(at)} is no time of it" for at in counted if at not in known]
    skipped = [
        f"{name}: {rfc3339(fire.at)} did not run ({fire.reason or 'no job'})"
        for fire in fires
        if fire.reason is not None or fire.job_id is None
    ]
    return missing + twice + strange + skipped


def problems_of_result(job: Mapping[str, Any] | None) -> list[str]:
    """Return in words what is wrong with the nominal time that a handler says it was told."""
    if job is None or job["status"] != "SUCCEEDED":
        return []
    told, nominal = (job["result"] or {}).get("at"), job["occurrence"]
    if told is not None and datetime.fromisoformat(told) == datetime.fromisoformat(nominal):
        return []
    return [f"{job['id']}: its handler was told {told}, not {nominal}"]


def _fire(row: Mapping[str, Any]) -> Fire:
    at = datetime.fromisoformat(row["at"])
    return Fire(at=at, job_id=row["job_id"], reason=row["reason"])
