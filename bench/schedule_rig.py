"""The scheduler over counted memory stores, and schedules to visit."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from bench.counted_ports import SETTINGS, CountedServices, Ledger
from hourhand.api.requests.jobs import JobSubmission
from hourhand.domain.jobs.job import Job
from hourhand.domain.schedules.recurrence import TZDATA_VERSION
from hourhand.domain.schedules.schedule import Schedule, ScheduleDefinition
from hourhand.domain.times import rfc3339
from hourhand.memory import MemoryClock

HANDLER = "report"
DEFINITION = "d1"


@dataclass(slots=True)
class SharedLedger(Ledger):
    """A ledger in which a call may cost less time.

    Of the calls named in ``shares`` only that part passes, as if such calls were made together.
    """

    shares: Mapping[str, float] = field(default_factory=dict)

    def waits_of(self, name: str, requests: int) -> float:
        """Return how many round trips such a call waits for."""
        return requests * self.shares.get(name, 1.0)


class Rig(CountedServices):
    """The scheduler's services over counted memory stores, in virtual time."""

    def __init__(self, start: datetime) -> None:
        """Wire everything; the clock stands at ``start``."""
        self.ledger = SharedLedger(MemoryClock(start))
        super().__init__(self.ledger, HANDLER, settings=replace(SETTINGS, fan_out_entries=10**9))

    def put(self, schedule_id: str, definition: ScheduleDefinition, /, **fields: Any) -> Schedule:
        """Store a schedule as its last visit left it, and its definition. Not counted."""
        now = self.clock.now()
        standard: dict[str, Any] = {
            "sequence": 1,
            "revision": 1,
            "write_id": "bench",
            "definition": DEFINITION,
            "created_at": now,
            "updated_at": now,
            "effective_from": now,
            "cursor": now,
            "zone_data": TZDATA_VERSION,
            "next_at": now,
        }
        schedule = Schedule(id=schedule_id, **(standard | fields))
        self.schedules.put_definition(schedule_id, schedule.definition, definition)
        self.schedules.write(schedule, previous=None)
        return schedule

    def submit(self, run_at: datetime) -> Job:
        """Submit a job that no schedule has to do with."""
        body = {"handler": HANDLER, "run_at": rfc3339(run_at)}
        return self.api.submission.submit(JobSubmission.parse(body), actor="bench").job

    def visit_due(self) -> tuple[int, float]:
        """Visit what is due; return how many, and the services' own CPU seconds."""
        now = self.clock.now()
        self.ledger.reset()
        began = time.process_time()
        counts = self.scheduler.scheduling.schedule_sweep.run(
            now=now, horizon=now + self.timings.look_ahead, may_go_on=lambda: True
        )
        spent = time.process_time() - began - self.ledger.cpu_seconds
        if counts.failed or not counts.is_complete:
            raise RuntimeError(f"visits failed: {self.telemetry.logs[:3]}")
        return counts.visited, spent
