"""The part of the composition root that wires recurring work, for the API and the scheduler."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hourhand.domain.timings import Timings
from hourhand.ports import Chance, Clock, HandlerDirectory, JobStore, Telemetry
from hourhand.schedule_ports import CalendarStore, ScheduleStore, SlotStore
from hourhand.services.contents import ContentKeeper
from hourhand.services.derived_ids import DerivedIds
from hourhand.services.dispatch import ACTOR
from hourhand.services.due import DueJobs
from hourhand.services.recurrences import Recurrences

if TYPE_CHECKING:
    from hourhand.services.backfills import BackfillService
    from hourhand.services.calendars import CalendarService
    from hourhand.services.materialisation import Materialiser
    from hourhand.services.occurrence_jobs import OccurrenceJobs
    from hourhand.services.occurrences import OccurrenceQueries
    from hourhand.services.operations import OperationsService
    from hourhand.services.schedule_sweep import ScheduleSweep
    from hourhand.services.schedules import ScheduleService


@dataclass(frozen=True, kw_only=True, slots=True)
class Recurring:
    """The services of recurring work that the API has."""

    schedules: ScheduleService
    backfills: BackfillService
    calendars: CalendarService
    occurrences: OccurrenceQueries


@dataclass(frozen=True, kw_only=True, slots=True)
class RecurringParts:
    """What they are made of; ``operations`` once somebody asks for them."""

    schedules: ScheduleStore
    calendars: CalendarStore
    slots: SlotStore
    jobs: JobStore
    handlers: HandlerDirectory
    contents: ContentKeeper
    due: DueJobs
    operations: Callable[[], OperationsService]
    clock: Clock
    chance: Chance
    timings: Timings
    telemetry: Telemetry
    ids: DerivedIds


def wire_recurring(parts: RecurringParts) -> Recurring:
    """Wire what the API does with schedules."""
    from hourhand.services.backfills import BackfillService
    from hourhand.services.calendars import CalendarService
    from hourhand.services.occurrences import OccurrenceQueries

    recurrences, occurrence_jobs = _wire_recurrences(parts), _wire_occurrence_jobs(parts)
    materialiser = _wire_materialiser(parts, recurrences, occurrence_jobs)
    return Recurring(
        schedules=_wire_schedules(parts, recurrences, occurrence_jobs, materialiser),
        backfills=BackfillService(
            schedules=parts.schedules,
            recurrences=recurrences,
            steps=materialiser.backfills,
            clock=parts.clock,
            chance=parts.chance,
            telemetry=parts.telemetry,
        ),
        calendars=CalendarService(
            calendars=parts.calendars,
            schedules=parts.schedules,
            clock=parts.clock,
            chance=parts.chance,
            telemetry=parts.telemetry,
        ),
        occurrences=OccurrenceQueries(
            schedules=parts.schedules,
            jobs=parts.jobs,
            recurrences=recurrences,
            clock=parts.clock,
            telemetry=parts.telemetry,
            ids=parts.ids,
        ),
    )


def wire_schedule_sweep(parts: RecurringParts) -> ScheduleSweep:
    """Wire what the tick does with schedules; most of it once there is a schedule to visit."""
    from hourhand.services.schedule_sweep import ScheduleSweep
    from hourhand.services.schedule_walk import ScheduleWalk

    recurrences = _wire_recurrences(parts)
    occurrence_jobs = functools.cache(lambda: _wire_occurrence_jobs(parts))

    @functools.cache
    def materialiser() -> Materialiser:
        return _wire_materialiser(parts, recurrences, occurrence_jobs())

    @functools.cache
    def schedules() -> ScheduleService:
        return _wire_schedules(parts, recurrences, occurrence_jobs(), materialiser())

    return ScheduleSweep(
        schedules=parts.schedules,
        materialiser=materialiser,
        walk=ScheduleWalk(
            schedules=parts.schedules,
            calendars=parts.calendars,
            recurrences=recurrences,
            recompute=_recompute_by_tick(schedules),
            chance=parts.chance,
            timings=parts.timings,
            telemetry=parts.telemetry,
        ),
        telemetry=parts.telemetry,
    )


def _wire_recurrences(parts: RecurringParts) -> Recurrences:
    return Recurrences(parts.calendars, parts.clock, parts.timings, parts.telemetry)


def _wire_occurrence_jobs(parts: RecurringParts) -> OccurrenceJobs:
    from hourhand.services.occurrence_jobs import OccurrenceJobs

    return OccurrenceJobs(
        jobs=parts.jobs,
        contents=parts.contents,
        due=parts.due,
        handlers=parts.handlers,
        clock=parts.clock,
        timings=parts.timings,
        telemetry=parts.telemetry,
        ids=parts.ids,
    )


def _wire_materialiser(
    parts: RecurringParts, recurrences: Recurrences, occurrence_jobs: OccurrenceJobs
) -> Materialiser:
    from hourhand.services.backfill_work import BackfillWork
    from hourhand.services.materialisation import Materialiser

    return Materialiser(
        schedules=parts.schedules,
        slots=parts.slots,
        recurrences=recurrences,
        occurrence_jobs=occurrence_jobs,
        backfills=BackfillWork(
            schedules=parts.schedules,
            jobs=parts.jobs,
            recurrences=recurrences,
            occurrence_jobs=occurrence_jobs,
            operations=parts.operations(),
            chance=parts.chance,
            telemetry=parts.telemetry,
        ),
        chance=parts.chance,
        timings=parts.timings,
        telemetry=parts.telemetry,
    )


def _wire_schedules(
    parts: RecurringParts,
    recurrences: Recurrences,
    occurrence_jobs: OccurrenceJobs,
    materialiser: Materialiser,
) -> ScheduleService:
    from hourhand.services.new_schedule import ScheduleCheck
    from hourhand.services.recording import Recording
    from hourhand.services.schedules import ScheduleService
    from hourhand.services.triggers import Triggers
    from hourhand.services.withdrawal import Withdrawal

    recording = Recording(parts.schedules, parts.timings, parts.telemetry)
    return ScheduleService(
        schedules=parts.schedules,
        check=ScheduleCheck(parts.handlers, parts.calendars, recurrences),
        materialiser=materialiser,
        triggers=Triggers(
            jobs=parts.jobs,
            occurrence_jobs=occurrence_jobs,
            recording=recording,
            clock=parts.clock,
            chance=parts.chance,
            telemetry=parts.telemetry,
        ),
        withdrawal=Withdrawal(
            parts.jobs, recording, parts.clock, parts.chance, parts.telemetry, parts.ids
        ),
        recurrences=recurrences,
        clock=parts.clock,
        chance=parts.chance,
        timings=parts.timings,
        telemetry=parts.telemetry,
    )


def _recompute_by_tick(schedules: Callable[[], ScheduleService]) -> Callable[[str], None]:
    # Wired when it is first needed: hardly any tick finds that a calendar was changed.
    def recompute(schedule_id: str) -> None:
        schedules().recompute(schedule_id, actor=ACTOR)

    return recompute
