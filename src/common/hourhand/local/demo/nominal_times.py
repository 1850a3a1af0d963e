"""Whether a schedule's history holds each of its nominal times exactly once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hourhand.client import Client
from hourhand.domain.times import rfc3339
from hourhand.local.demo.client import DemoFailed

PAGE = 200
MAX_ROWS = 10_000
"""A history in the demo has a few dozen rows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fire:
    """A row of a schedule's history. ``reason``: why its job did not run, if it did not."""

    at: datetime
    job_id: str | None
    reason: str | None


def read_history(client: Client, schedule_id: str) -> list[Fire]:
    """Return what became of a schedule's own nominal times, the oldest first.

    Raises `DemoFailed` where the history does not end, and `ClientError`.
    """
    found = client.schedules.occurrences(schedule_id, page_size=PAGE, limit=MAX_ROWS)
    rows = list(found)
    if len(rows) == MAX_ROWS:
        raise DemoFailed(f"The history of {schedule_id} does not end.")
    fires = [
        Fire(at=row.at, job_id=row.job_id, reason=row.reason)
        for row in rows
        if row.kind == "schedule"
    ]
    return fires[::-1]


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
