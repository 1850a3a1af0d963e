"""What follows at once from a change of a schedule.

It would be done without us too: the tick visits what is due, and a job that its schedule withdrew
is refused at its claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import EventKind, Job
from hourhand.domain.schedules.changes import DEFINITION_KEPT
from hourhand.domain.schedules.journal import job_times
from hourhand.domain.schedules.schedule import Schedule, ScheduleDefinition, SkipReason
from hourhand.domain.ticks.timings import Timings
from hourhand.ports.clock import Clock
from hourhand.ports.schedule_store import ScheduleStore
from hourhand.ports.telemetry import Telemetry
from hourhand.services.schedules.visit import Materialiser
from hourhand.services.schedules.withdrawal import Withdrawal


@dataclass(frozen=True, slots=True)
class Effect:
    """What a change of a schedule did at once with its jobs: how many of them it changed so."""

    cancelled: int
    restored: int
    created: int


@dataclass(frozen=True, slots=True)
class ChangeEffects:
    """Makes and cancels jobs after a change, and keeps the definitions that are in use."""

    schedules: ScheduleStore
    materialiser: Materialiser
    withdrawal: Withdrawal
    clock: Clock
    timings: Timings
    telemetry: Telemetry

    def follow_up(
        self,
        before: Schedule | None,
        after: Schedule,
        definition: ScheduleDefinition,
        reason: SkipReason,
        actor: str,
        *,
        searches_on: bool = True,
    ) -> tuple[Schedule, Effect | None]:
        """Materialise what is due soon, and cancel what was pending and is not wanted any more.

        Return the schedule after that, and what was done; ``None``: a part of it failed. The change
        itself stands already. What fails here is done by the next tick, or at a claim.
        """
        written = after
        effect: Effect | None = None
        jobs: Sequence[Job] = ()
        cancelled = 0
        try:
            if after.next_at is not None:
                now = self.clock.now()
                horizon = now + self.timings.look_ahead
                visited = self.materialiser.visit(
                    after,
                    definition,
                    now=now,
                    horizon=horizon,
                    actor=actor,
                    searches_on=searches_on,
                    # What is on record was sent first.
                    announced=job_times(before.journal) if before is not None else (),
                )
                after, jobs = visited.schedule, visited.jobs
            if before is not None:
                cancelled = self.withdrawal.cancel(before, after, reason, actor)
                self._settle_definitions(before, written, definition)
            if written.deleted_at is not None and written.last_event is not None:
                # The item is forgotten before its events are.
                self.schedules.put_event(written.id, written.last_event)
            effect = _effect_on(jobs, cancelled)
        except Unavailable as error:
            self.telemetry.warning(
                "A schedule was changed. Its follow-up work failed and is left to the next tick.",
                schedule_id=after.id,
                reason=error.detail,
            )
        return after, effect

    def _settle_definitions(
        self, before: Schedule, written: Schedule, definition: ScheduleDefinition
    ) -> None:
        """Keep the definition that is used, and let the one expire that is not.

        Where two replace the schedule at one time, one may let expire what the other just kept:
        so each looks again, after its schedule stands.
        """
        if (written.definition, written.deleted_at) == (before.definition, before.deleted_at):
            return
        if written.deleted_at is None:
            self.schedules.put_definition(written.id, written.definition, definition)
            if written.definition == before.definition:
                return
        keep_until = written.updated_at + DEFINITION_KEPT
        self.schedules.retire_definition(before.id, before.definition, keep_until)
        current = self.schedules.get(before.id)
        if current is not None and current.definition == before.definition:
            retired = self.schedules.get_definition(current.id, current.definition)
            if retired is not None and current.deleted_at is None:
                self.schedules.put_definition(current.id, current.definition, retired)


def _effect_on(jobs: Sequence[Job], cancelled: int) -> Effect:
    """Return what was done: ``jobs`` were put for a schedule, and so many others cancelled."""
    did = [job.history[-1].kind for job in jobs]
    return Effect(
        cancelled=cancelled,
        restored=did.count(EventKind.REDRIVEN),
        created=did.count(EventKind.SUBMITTED),
    )
