"""A running Hourhand as its clients see it, wherever it runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from tests.acceptance.http_api import HttpApi

HANDLERS = Path(__file__).parent / "handlers"
MODULE = "acceptance_jobs"
FINAL = ("SUCCEEDED", "DEAD", "CANCELLED", "EXPIRED")

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class System:
    """``runs``: what the ledger holds of a job. ``look_ahead``: of the tick, as it is set there.

    ``patience``: how long anything may take; ``look_every``: how often to look whether it has.
    ``rate``: of a schedule that fires often enough to be waited for.
    """

    api: HttpApi
    runs: Callable[[str], list[Mapping[str, Any]]]
    look_ahead: timedelta
    patience: timedelta
    look_every: timedelta
    rate: str

    def wait(self, look: Callable[[], T | None], what: str) -> T:
        """Return what ``look`` finds; fail, telling ``what``, when patience ends."""
        until = time.monotonic() + self.patience.total_seconds()
        while time.monotonic() < until:
            found = look()
            if found is not None:
                return found
            time.sleep(self.look_every.total_seconds())
        raise AssertionError(f"after {self.patience.total_seconds():.0f} s still not: {what}")

    def submit(self, **body: Any) -> dict[str, Any]:
        answer = self.api.post("/v1/jobs", body)
        assert answer.status == 201, answer
        return answer.body

    def job(self, job_id: str) -> dict[str, Any]:
        answer = self.api.get(f"/v1/jobs/{job_id}")
        assert answer.status == 200, answer
        return answer.body

    def events(self, job_id: str) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = self.api.get(f"/v1/jobs/{job_id}/events").body["events"]
        return events

    def reach(self, job_id: str, *statuses: str) -> dict[str, Any]:
        """Wait until the job is in one of these states; fail at once if it ended in another."""

        def look() -> dict[str, Any] | None:
            job = self.job(job_id)
            if job["status"] in statuses:
                return job
            assert job["status"] not in FINAL, f"It ended otherwise: {job}"
            return None

        return self.wait(look, f"{job_id} in {' or '.join(statuses)}")

    def run(self, *, ends: str = "SUCCEEDED", **body: Any) -> dict[str, Any]:
        """Submit a job and wait for its end."""
        return self.reach(self.submit(**body)["id"], ends)

    def operate(self, job_id: str, verb: str) -> dict[str, Any]:
        """Cancel, redrive or run-now."""
        answer = self.api.post(f"/v1/jobs/{job_id}/{verb}", {})
        assert answer.status == 200, answer
        return answer.body
