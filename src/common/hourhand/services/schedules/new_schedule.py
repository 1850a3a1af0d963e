"""A schedule as it is to be: its checks, and the anchor of one that counts elapsed time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from hourhand.domain.errors import FieldError, InvalidInput
from hourhand.domain.schedules.nominal_times import last_nominal
from hourhand.domain.schedules.rule import MAX_WORK, Work
from hourhand.domain.schedules.schedule import ScheduleDefinition
from hourhand.ports.calendar_store import CalendarStore
from hourhand.ports.handler_directory import HandlerDirectory
from hourhand.services.jobs.new_job import PayloadCheck, accept_any
from hourhand.services.jobs.submission import require_handler
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
class ScheduleCheck:
    """Refuses definitions that name what does not exist, or that would never run."""

    handlers: HandlerDirectory
    calendars: CalendarStore
    recurrences: CompiledRules
    check_payload: PayloadCheck = accept_any

    def require_sensible(self, definition: ScheduleDefinition, now: datetime) -> None:
        """Raise `InvalidInput`, naming the field, for what cannot be accepted."""
        require_handler(self.handlers, definition.handler)
        self.check_payload(definition.handler, definition.payload_text)
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
    """Give a rate without an anchor the one that it had, else its start, else this second.

    So a schedule that is put again keeps its beat, and the same put stays the same.
    """
    if definition.anchor is not None or not any(map(is_rate, definition.expressions)):
        return definition
    if before is not None and before.anchor is not None:
        return replace(definition, anchor=before.anchor)
    return replace(definition, anchor=definition.start_at or now.replace(microsecond=0))


def is_rate(expression: str) -> bool:
    """Whether an expression counts elapsed time, and so needs an anchor."""
    return "".join(expression.lower().split()).startswith("rate(")


def _invalid(detail: str, field: str, message: str) -> InvalidInput:
    return InvalidInput(detail, errors=(FieldError(field, message),))
