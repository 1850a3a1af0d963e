"""Running a schedule's job now, on request."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import Job
from hourhand.domain.schedules.changes import newest_until, record
from hourhand.domain.schedules.occurrences import OccurrenceOrder, overlap_of
from hourhand.domain.schedules.schedule import (
    JournalEntry,
    Schedule,
    ScheduleDefinition,
    ScheduleEventKind,
)
from hourhand.domain.times import floor_ms
from hourhand.ports.clock import Clock
from hourhand.ports.job_store import JobStore
from hourhand.ports.randomness import Randomness
from hourhand.ports.telemetry import Telemetry
from hourhand.services.schedules.history import ScheduleHistory, with_event
from hourhand.services.schedules.occurrence_jobs import OccurrenceJobs

MAX_TRIGGERS_A_MILLISECOND = 20
"""Several callers may trigger one schedule in one millisecond; then the next one is taken."""

TRIGGER = "trigger"
"""What sets a triggered job apart from one that the schedule made for the same instant."""


@dataclass(frozen=True, slots=True)
class Triggers:
    """Creates jobs on request. No later change of the schedule withdraws them."""

    jobs: JobStore
    occurrence_jobs: OccurrenceJobs
    recording: ScheduleHistory
    clock: Clock
    randomness: Randomness
    telemetry: Telemetry

    def run(
        self,
        schedule: Schedule,
        definition: ScheduleDefinition,
        note: str,
        actor: str,
        trace_id: str | None,
    ) -> Job:
        """Make a job of ``schedule`` that is due now, and note it in its history.

        Raises `Unavailable`.
        """
        job = self._make(schedule, definition, actor)
        assert job.occurrence is not None
        entry = JournalEntry(first=job.occurrence, last=job.occurrence, salt=TRIGGER)

        def build(current: Schedule) -> Schedule:
            after = record(current, entry, write_id=self.randomness.nonce())
            store, kind = self.recording.schedules, ScheduleEventKind.TRIGGERED
            return with_event(store, current, after, kind, actor, note, job.created_at)

        self.recording.note(schedule, build)
        self.telemetry.info(
            "A schedule was triggered.",
            schedule_id=schedule.id,
            job_id=job.id,
            actor=actor,
            note=note,
            trace_id=trace_id,
        )
        return job

    def _make(self, schedule: Schedule, definition: ScheduleDefinition, actor: str) -> Job:
        """Make the job at the next millisecond that no other trigger has."""
        now = floor_ms(self.clock.now())
        last_made, last_fire = newest_until(schedule, now)
        order = OccurrenceOrder(
            nominal=now,
            run_at=now,
            previous=last_made,
            interval_start=last_fire,
            overlap=overlap_of(schedule.id, definition),
            salt=TRIGGER,
            reason=f"{TRIGGER} {self.randomness.nonce()}",
        )
        for milliseconds in range(MAX_TRIGGERS_A_MILLISECOND):
            wanted = replace(order, nominal=now + timedelta(milliseconds=milliseconds))
            job_id = self.occurrence_jobs.ids.of_occurrence(schedule.id, wanted.nominal, TRIGGER)
            if self.jobs.get(job_id) is not None:
                continue
            made = self.occurrence_jobs.put(schedule, definition, [wanted], now=now, actor=actor)
            [(job, _)] = made
            # Two may find a moment free at one time; the put decides whose it is.
            if job.history and job.history[0].reason == order.reason:
                self.occurrence_jobs.send(made, actor)
                return job
        raise Unavailable("The schedule was triggered too often at once; try again.")
