"""Pauses a schedule after one of its jobs failed permanently, if the schedule asks for that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from hourhand.domain.errors import Unavailable
from hourhand.domain.groups.admission import backfill_of
from hourhand.domain.jobs.job import Job
from hourhand.domain.schedules.changes import pause
from hourhand.domain.schedules.schedule import Schedule, SkipReason
from hourhand.ports.clock import Clock
from hourhand.ports.job_store import JobDetails
from hourhand.ports.publisher import Event, EventName, Publisher
from hourhand.ports.randomness import Randomness
from hourhand.ports.schedule_store import ScheduleStore, Written
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.aspects import DONE, Settled
from hourhand.services.schedules.withdrawal import Withdrawal

MAX_LOST_RACES = 20
"""How often the schedule may change between the read and the write before the call fails."""

ACTOR = "pause_on_failure"


@dataclass(frozen=True, slots=True)
class FailurePauses:
    """Pauses schedules after a failure; for the scheduler and the API, never for workers."""

    schedules: ScheduleStore
    withdrawal: Withdrawal
    publisher: Publisher
    clock: Clock
    randomness: Randomness
    telemetry: Telemetry

    def settle(self, ended: JobDetails) -> Settled:
        """Pause the schedule of a DEAD job, unless it asks for that no more.

        It does not where it was resumed since the failure, or has another definition. Where it is
        paused, pause the backfill that runs in spite of that and made the job.

        Raises `Unavailable`.
        """
        job = ended.job
        note = f"paused, since job {job.id} failed"
        for _ in range(MAX_LOST_RACES):
            current = self.schedules.get(job.schedule_id or "")
            if current is None or current.deleted_at is not None:
                return DONE
            if job.schedule_incarnation != current.incarnation:
                return DONE
            if current.paused_at is not None:
                if current.note == note:
                    # Whoever paused it may have died before it said so.
                    self._publish(current.id, current.paused_at)
                if self._pause_backfill(current, backfill_of(job)):
                    return DONE
                continue
            if not self._asks_for_it(current) or _was_resumed_since(current, job):
                return DONE
            now = self.clock.now()
            after = pause(current, now=now, write_id=self.randomness.nonce(), note=note)
            if isinstance(self.schedules.write(after, previous=current.sequence), Written):
                self.telemetry.warning(
                    "A schedule was paused, because one of its jobs failed.",
                    schedule_id=current.id,
                    job_id=job.id,
                )
                self.telemetry.count("schedules_paused_by_failure")
                self.withdrawal.cancel(current, after, SkipReason.PAUSED, ACTOR)
                self._publish(current.id, now)
                return DONE
        raise Unavailable("The schedule of a failed job changed too often; try again.")

    def _publish(self, schedule_id: str, paused_at: datetime) -> None:
        self.publisher.publish(Event(EventName.SCHEDULE_PAUSED, schedule_id, paused_at))

    def _pause_backfill(self, schedule: Schedule, backfill_id: str | None) -> bool:
        """Pause a backfill; false where it changed just then. Its next step cancels what waits."""
        found = self.schedules.get_backfill(schedule.key, backfill_id) if backfill_id else None
        if found is None or found.stopped_by(schedule) is not None:
            return True
        now, write_id = self.clock.now(), self.randomness.nonce()
        paused = replace(found, paused_at=now, sequence=found.sequence + 1, write_id=write_id)
        return self.schedules.write_backfill(paused, previous=found.sequence)

    def _asks_for_it(self, schedule: Schedule) -> bool:
        definition = self.schedules.get_definition(schedule.id, schedule.definition)
        return definition is not None and definition.pause_on_failure


def _was_resumed_since(schedule: Schedule, job: Job) -> bool:
    resumed_at = schedule.resumed_at
    return resumed_at is not None and job.finished_at is not None and job.finished_at <= resumed_at
