"""Running a schedule's job now, on request."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from hourhand.domain.errors import Unavailable
from hourhand.domain.ids import occurrence_job_id
from hourhand.domain.model import Job
from hourhand.domain.occurrences import OccurrenceOrder, overlap_of
from hourhand.domain.schedule_changes import newest_until, record
from hourhand.domain.schedules import JournalEntry, Schedule, ScheduleDefinition
from hourhand.domain.times import floor_ms
from hourhand.ports import Chance, Clock, JobStore, Telemetry
from hourhand.schedule_ports import ScheduleStore, Written
from hourhand.services.journal_pages import spill
from hourhand.services.occurrence_jobs import OccurrenceJobs

MAX_TRIGGERS_A_MILLISECOND = 20
"""Several people may trigger one schedule in one millisecond; then the next one is taken."""

MAX_RECORDINGS = 10
"""How often the schedule may change while its history is written."""

TRIGGER = "trigger"
"""What sets a triggered job apart from one that the schedule made for the same instant."""


@dataclass(frozen=True, slots=True)
class Triggers:
    """Makes jobs that no rule asks for. Nothing the schedule does later withdraws them."""

    schedules: ScheduleStore
    jobs: JobStore
    occurrence_jobs: OccurrenceJobs
    clock: Clock
    chance: Chance
    telemetry: Telemetry

    def run(
        self,
        schedule: Schedule,
        definition: ScheduleDefinition,
        note: str,
        actor: str,
        trace_id: str | None,
    ) -> Job:
        """Make a job of ``schedule`` that is due now, and note it in its history."""
        now = floor_ms(self.clock.now())
        nominal = self._free_moment(schedule.id, now)
        last_made, last_fire = newest_until(schedule, now)
        order = OccurrenceOrder(
            nominal=nominal,
            run_at=now,
            previous=last_made,
            interval_start=last_fire,
            overlap=overlap_of(schedule.id, definition),
            salt=TRIGGER,
        )
        [job] = self.occurrence_jobs.make(schedule, definition, [order], now=now, actor=actor)
        self._record(schedule, JournalEntry(first=nominal, last=nominal, salt=TRIGGER), now)
        self.telemetry.info(
            "A schedule was triggered.",
            schedule_id=schedule.id,
            job_id=job.id,
            actor=actor,
            note=note,
            trace_id=trace_id,
        )
        return job

    def _free_moment(self, schedule_id: str, now: datetime) -> datetime:
        for milliseconds in range(MAX_TRIGGERS_A_MILLISECOND):
            nominal = now + timedelta(milliseconds=milliseconds)
            if self.jobs.get(occurrence_job_id(schedule_id, nominal, TRIGGER)) is None:
                return nominal
        raise Unavailable("The schedule was triggered too often at once; try again.")

    def _record(self, schedule: Schedule, entry: JournalEntry, now: datetime) -> None:
        """Note the job, which is made already: a failure here costs its line in the history."""
        reason = "it changed too often"
        try:
            current: Schedule | None = schedule
            for _ in range(MAX_RECORDINGS):
                if current is None:
                    return
                after = record(current, entry, write_id=self.chance.nonce())
                after = spill(self.schedules, after, now)
                answer = self.schedules.write(after, previous=current.sequence)
                if isinstance(answer, Written):
                    return
                current = answer.current
        except Unavailable as error:
            reason = error.detail
        self.telemetry.warning(
            "A triggered job could not be noted in its schedule's history.",
            schedule_id=schedule.id,
            reason=reason,
        )
