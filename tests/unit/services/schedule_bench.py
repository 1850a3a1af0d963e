"""The stores and services that recurring work needs, wired without any function around them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from hourhand.domain.jobs.job import Job
from hourhand.domain.schedules.recurrence import TZDATA_VERSION
from hourhand.domain.schedules.schedule import Calendar, Schedule, ScheduleDefinition
from hourhand.domain.ticks.timings import Timings
from hourhand.memory import (
    START,
    MemoryClock,
    MemoryControlStore,
    MemoryHandlerDirectory,
    MemoryJobStore,
    MemoryObjectStore,
    MemoryQueues,
    MemoryRandomness,
    MemoryScheduleStore,
    MemorySideItemStore,
    RecordingTelemetry,
)
from hourhand.services.callers import Callers
from hourhand.services.jobs.due import DueJobs
from hourhand.services.jobs.known_pauses import KnownPauses
from hourhand.services.jobs.new_job import DerivedIds
from hourhand.services.jobs.operations import OperationsService
from hourhand.services.jobs.payload_store import PayloadStore
from hourhand.services.jobs.quota_gate import QuotaGate
from hourhand.services.jobs.recovery import RecoveryService
from hourhand.services.jobs.unique_jobs import UniqueRecords
from hourhand.services.jobs.waiter_records import WaiterRecords
from hourhand.services.schedules.backfills import BackfillWork
from hourhand.services.schedules.compiled_rules import CompiledRules
from hourhand.services.schedules.occurrence_jobs import OccurrenceJobs
from tests.world.aspects import no_limits
from tests.world.faults import Faults


def define(*expressions: str, **fields: Any) -> ScheduleDefinition:
    """Return a definition of handler ``greet``, hourly unless told otherwise."""
    fields = {"handler": "greet", **fields}
    return ScheduleDefinition(expressions=expressions or ("0 * * * *",), **fields)


class Bench:
    """Memory stores, a clock that stands still, and `CompiledRules` over them."""

    def __init__(self) -> None:
        self.clock = MemoryClock()
        self.randomness = MemoryRandomness()
        self.ids = DerivedIds(MemoryControlStore(), self.randomness)
        self.timings = Timings()
        self.telemetry = RecordingTelemetry()
        self.schedules = MemoryScheduleStore()
        self.jobs = MemoryJobStore(clock=self.clock)
        self.queues = MemoryQueues(self.clock)
        self.recurrences = self.recurrences_of(self.schedules)

    def recurrences_of(self, calendars: Any) -> CompiledRules:
        """Return new ones, with nothing in mind yet."""
        return CompiledRules(calendars, self.clock, self.timings, self.telemetry)

    def put(
        self, definition: ScheduleDefinition, schedule_id: str = "s", **fields: Any
    ) -> Schedule:
        """Store a schedule that was put now, and its definition."""
        now = self.clock.now()
        standard: dict[str, Any] = {
            "sequence": 1,
            "revision": 1,
            "write_id": f"put-{schedule_id}",
            "definition": "d1",
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

    def schedule(self, schedule_id: str = "s") -> Schedule:
        """Return a schedule as it stands."""
        found = self.schedules.get(schedule_id)
        assert found is not None
        return found

    def change(self, schedule_id: str = "s", **fields: Any) -> Schedule:
        """Change the item of a schedule, as another writer does."""
        before = self.schedule(schedule_id)
        after = replace(before, sequence=before.sequence + 1, write_id="another", **fields)
        self.schedules.write(after, previous=before.sequence)
        return after

    def put_calendar(self, name: str, *exclude: Any, at: datetime = START) -> Calendar:
        """Store a calendar; its revision is one more than before."""
        before = self.schedules.get_calendar(name)
        revision = 1 if before is None else before.revision + 1
        calendar = Calendar(name=name, revision=revision, exclude=exclude, updated_at=at)
        self.schedules.put_calendar(calendar, previous=None if before is None else before.revision)
        return calendar

    def job(self, job_id: str) -> Job:
        """Return a job as it stands."""
        found = self.jobs.get(job_id)
        assert found is not None
        return found

    def backfill_work(self, faults: Faults | None = None) -> BackfillWork:
        """Return what works off backfills, over ports that may be faulty."""
        faults = faults or Faults()
        jobs = faults.wrap(self.jobs, "jobs")
        schedules = faults.wrap(self.schedules, "schedules")
        control, clock, timings = MemoryControlStore(), self.clock, self.timings
        contents = PayloadStore(jobs, MemoryObjectStore())
        waiters = WaiterRecords(MemorySideItemStore(), self.telemetry)
        pauses = KnownPauses(control, clock, timings)
        due = DueJobs(
            jobs, control, self.queues, clock, timings, self.telemetry, pauses, waiters, no_limits()
        )
        common: dict[str, Any] = {
            "jobs": jobs,
            "contents": contents,
            "due": due,
            "clock": clock,
            "timings": timings,
            "telemetry": self.telemetry,
        }
        recovery = RecoveryService(waiters=waiters, end_tasks={}, **common)
        handlers = MemoryHandlerDirectory("greet")
        return BackfillWork(
            schedules=schedules,
            jobs=jobs,
            recurrences=self.recurrences,
            occurrence_jobs=OccurrenceJobs(
                handlers=handlers,
                ids=self.ids,
                quotas=QuotaGate(
                    pauses, MemorySideItemStore(), Callers(control, self.telemetry), clock
                ),
                **common,
            ),
            operations=OperationsService(
                recovery=recovery,
                handlers=handlers,
                unique=UniqueRecords(MemorySideItemStore(), jobs, self.ids),
                **common,
            ),
            randomness=self.randomness,
        )
