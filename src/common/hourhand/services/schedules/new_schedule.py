"""A schedule as it is to be: what stands under its id, its checks, and the anchor of a rate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from hourhand.domain.errors import FieldError, InvalidInput, WrongState
from hourhand.domain.limits.job_limits import limits_of_handler, require_costs
from hourhand.domain.schedules.changes import give_to_tenant
from hourhand.domain.schedules.nominal_times import last_nominal
from hourhand.domain.schedules.rule import MAX_WORK, Work
from hourhand.domain.schedules.schedule import Schedule, ScheduleDefinition
from hourhand.ports.calendar_store import CalendarStore
from hourhand.ports.handler_directory import HandlerDirectory
from hourhand.ports.schedule_store import ScheduleStore
from hourhand.services.jobs.new_job import PayloadCheck, accept_any, key_fields, require_handler
from hourhand.services.schedules.compiled_rules import CompiledRules

if TYPE_CHECKING:
    from hourhand.domain.schedules.recurrence import Recurrence

MAX_SECONDS_A_CHECK = 2.0
"""A put must be answered before API Gateway's 30 seconds are over, on a slow processor, too."""


class ScheduleRequest(Protocol):
    """A schedule as it is to be: a request of the API, or a declaration in code.

    ``paused``, ``note``, ``origin``: ``None`` where they stay as they are.
    """

    @property
    def definition(self) -> ScheduleDefinition:
        """What it runs and when."""

    @property
    def paused(self) -> bool | None:
        """Whether it is to be paused."""

    @property
    def note(self) -> str | None:
        """A note for people."""

    @property
    def origin(self) -> str | None:
        """What manages it; empty for people."""


@dataclass(frozen=True, slots=True)
class FoundSchedule:
    """What a put finds under its id: the record, also of a deleted schedule, and its definition."""

    record: Schedule | None
    definition: ScheduleDefinition | None

    @property
    def current(self) -> Schedule | None:
        """The schedule, unless it was deleted."""
        return self.record if self.record and self.record.deleted_at is None else None

    @property
    def current_definition(self) -> ScheduleDefinition | None:
        """The definition of the schedule, unless it was deleted."""
        return self.definition if self.current else None

    def given(self, schedule: Schedule, after: ScheduleDefinition, now: datetime) -> Schedule:
        """Return the schedule as it is put under ``after``, which may be of another tenant."""
        had = self.definition.tenant if self.definition else None
        return schedule if after.tenant in {None, had} else give_to_tenant(schedule, now=now)


def find_schedule(schedules: ScheduleStore, schedule_id: str, tenant: str | None) -> FoundSchedule:
    """Return what a put finds.

    Raises `WrongState` where that is not of ``tenant`` (``None``: any may have it).
    """
    record = schedules.get(schedule_id)
    if record is None:
        return FoundSchedule(None, None)
    definition = schedules.get_definition(schedule_id, record.definition)
    if tenant is not None and (definition is None or definition.tenant != tenant):
        # Ids are shared by all tenants, so that one is taken cannot be hidden.
        raise WrongState(f"The id {schedule_id} is taken. Choose another one.")
    return FoundSchedule(record, definition)


@dataclass(frozen=True, slots=True)
class ScheduleCheck:
    """Refuses definitions that name what does not exist, or that would never run."""

    handlers: HandlerDirectory
    calendars: CalendarStore
    recurrences: CompiledRules
    check_payload: PayloadCheck = accept_any

    def require_sensible(self, definition: ScheduleDefinition, now: datetime) -> None:
        """Raise `InvalidInput`, naming the field, for what cannot be accepted."""
        handler = require_handler(self.handlers, definition.handler)
        self.check_payload(definition.handler, definition.payload_text)
        limits = limits_of_handler(handler.name, handler.limits)
        fields = key_fields(definition.tenant, definition.tags, definition.payload_text)
        require_costs(limits, fields)
        known = self.calendars.get_calendars(definition.calendars)
        known.require_all_known()
        missing = [name for name in definition.calendars if name not in known]
        if missing:
            message = f"names calendars that do not exist: {', '.join(missing)}"
            raise _invalid("A calendar is unknown.", "exclude", message)
        if definition.end_at is not None and definition.end_at <= now:
            raise _invalid("The end of the schedule has passed.", "end_at", "must be in the future")
        # What takes longer to be found than a request should is taken to come.
        work = self.recurrences.work_within(MAX_WORK, MAX_SECONDS_A_CHECK)
        if not _fires(self.recurrences.of(definition), definition, now, work):
            message = "has no scheduled time left within its start, end and exclusions"
            raise _invalid("The schedule would never run.", "expression", message)


def _fires(
    recurrence: Recurrence, definition: ScheduleDefinition, now: datetime, work: Work
) -> bool:
    start = max(now, (definition.start_at or now) - timedelta(milliseconds=1))
    return recurrence.can_ever_fire(start, last_nominal(definition), work)


def settle_anchor(
    definition: ScheduleDefinition, before: ScheduleDefinition | None, now: datetime
) -> ScheduleDefinition:
    """Give a rate the anchor that the definition states, itself or as its start.

    Else the one that it had, unless somebody gave that; else this second. So a schedule that is put
    again keeps its beat, and the same put stays the same.
    """
    is_implied = before is not None and not before.is_anchor_given
    implied = before.anchor if before is not None and is_implied else None
    if before is not None and implied == before.start_at:
        # An older release stored it.
        implied = None
    if definition.anchor is not None:
        # What was read may be sent back.
        return replace(definition, is_anchor_given=definition.anchor != implied)
    if not any(map(is_rate, definition.expressions)):
        return definition
    if definition.start_at is not None:
        return replace(definition, anchor=definition.start_at, is_anchor_given=True)
    return replace(definition, anchor=implied or now.replace(microsecond=0))


def is_rate(expression: str) -> bool:
    """Whether an expression counts from an anchor, and so needs one."""
    return "".join(expression.lower().split()).startswith(("rate(", "every("))


def _invalid(detail: str, field: str, message: str) -> InvalidInput:
    return InvalidInput(detail, errors=(FieldError(field, message),))
