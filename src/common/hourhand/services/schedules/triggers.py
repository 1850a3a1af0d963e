"""Running a schedule's job now, on request."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from hourhand.domain.errors import IdempotencyConflict, Unavailable
from hourhand.domain.ids import KEYED, content_hash
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
        key: str | None = None,
    ) -> Job:
        """Make a job of ``schedule`` that is due now, and note it in its history.

        ``key``: the same again returns the job that there is. Raises `Unavailable`, and
        `IdempotencyConflict` for a key whose job has another payload or priority.
        """
        salt = TRIGGER if key is None else KEYED + content_hash("trigger", key)
        job = self._make(schedule, definition, salt, actor)
        assert job.occurrence is not None
        entry = JournalEntry(first=job.occurrence, last=job.occurrence, salt=salt)

        def build(current: Schedule) -> Schedule | None:
            if entry in current.journal:
                return None
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

    def _make(
        self, schedule: Schedule, definition: ScheduleDefinition, salt: str, actor: str
    ) -> Job:
        """Make the job at the next millisecond that no other trigger has, or find that of a key."""
        is_keyed = salt != TRIGGER
        asked = content_hash(definition.payload_text, str(definition.priority))
        now = floor_ms(self.clock.now())
        last_made, last_fire = newest_until(schedule, now)
        order = OccurrenceOrder(
            nominal=now,
            run_at=now,
            previous=last_made,
            interval_start=last_fire,
            overlap=overlap_of(schedule.key, definition),
            salt=salt,
            reason=f"{TRIGGER} {asked if is_keyed else self.randomness.nonce()}",
        )
        for milliseconds in range(MAX_TRIGGERS_A_MILLISECOND):
            wanted = replace(order, nominal=now + timedelta(milliseconds=milliseconds))
            job_id = self.occurrence_jobs.ids.of_occurrence(schedule.key, wanted.nominal, salt)
            if not is_keyed and self.jobs.get(job_id) is not None:
                continue
            made = self.occurrence_jobs.put(schedule, definition, [wanted], now=now, actor=actor)
            [(job, _)] = made
            # Two may find a moment free at one time; the put decides whose it is.
            if job.history and job.history[0].reason == order.reason:
                self.occurrence_jobs.send(made, actor)
                return job
            if is_keyed:
                raise IdempotencyConflict(
                    "The idempotency_key was used with another payload or priority."
                )
        raise Unavailable("The schedule was triggered too often at once; try again.")
