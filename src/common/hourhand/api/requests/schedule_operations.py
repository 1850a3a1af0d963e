"""The requests that operate schedules, and those of calendars."""

import re
from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, PrivateAttr

from hourhand.api.requests import _limits as limits
from hourhand.api.requests._errors import invalid, refusal, validate
from hourhand.api.requests._exclusions import Exclusions, exclusions_of
from hourhand.api.requests._models import QueryModel, RequestModel, StrictModel
from hourhand.api.requests._rules import exclusion_faults
from hourhand.api.requests._times import Instant
from hourhand.api.requests.filters import Cursor, PageSize, whole_number
from hourhand.api.requests.jobs import (
    HandlerName,
    IdempotencyKey,
    PriorityName,
    payload_text,
)
from hourhand.api.requests.schedules import (
    FireTime,
    GivenNote,
    Note,
    OverlapPolicyName,
    ScheduleFields,
    refuse_what_jobs_have,
)
from hourhand.domain.errors import FieldError
from hourhand.domain.groups.overlap import OverlapPolicy
from hourhand.domain.schedules.backfills import NewBackfill
from hourhand.domain.schedules.recurrence import EARLIEST, LATEST, Exclusion
from hourhand.domain.schedules.schedule import (
    BackfillOrder,
    CalendarName,
    Reprocess,
    ScheduleDefinition,
)

OrderName = Annotated[BackfillOrder, Field(strict=False)]
ReprocessName = Annotated[Reprocess, Field(strict=False)]


def _month(value: object) -> date:
    match = _MONTH.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise refusal("must be a month such as 2026-12")
    first = date(int(match[1]), int(match[2]), 1)
    if not _FIRST_MONTH <= first <= _LAST_MONTH:
        raise refusal(f"must be from {_FIRST_MONTH:%Y-%m} to {_LAST_MONTH:%Y-%m}")
    return first


_MONTH = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])")
_FIRST_MONTH = date(EARLIEST.year, 2, 1)
"""In most zones, the month before begins before the earliest scheduled time."""

_LAST_MONTH = date(LATEST.year - 1, 12, 1)

Month = Annotated[date, BeforeValidator(_month, json_schema_input_type=str)]
"""The first day of a month, given as ``2026-12``."""


class NoteInput(RequestModel):
    """What may be said with a pause, a resumption, a trigger or a discard."""

    note: GivenNote = None


class TriggerInput(NoteInput):
    """What a triggered job has otherwise than its schedule says, and the key of a repeat."""

    payload: Annotated[Any, "The payload of this job. Default: the schedule's."] = None
    priority: Annotated[
        PriorityName | None, "The priority of this job. Default: the schedule's."
    ] = None
    idempotency_key: Annotated[
        IdempotencyKey | None, "A repeat with the same key returns the same job."
    ] = None

    @property
    def changes(self) -> dict[str, Any]:
        """The fields of the definition that this job has otherwise. Raises `TooLarge`."""
        changes: dict[str, Any] = {} if self.priority is None else {"priority": self.priority}
        if "payload" in self.model_fields_set:
            most = limits.MAX_SCHEDULE_PAYLOAD_BYTES
            changes["payload_text"] = payload_text(self.payload, max_bytes=most)
        return changes


class HandlerPauseInput(RequestModel):
    """Why a handler is paused, and when the pause ends by itself."""

    note: GivenNote = None
    until: Annotated[
        Instant | None, "The pause ends by itself at this time. Default: it lasts until a resume."
    ] = None


class BackfillInput(StrictModel):
    """The scheduled times to run, from ``from`` to ``to`` inclusive, and how."""

    start: Annotated[FireTime, "The earliest scheduled time to run."] = Field(alias="from")
    end: Annotated[FireTime, "The latest scheduled time to run, not in the future."] = Field(
        alias="to"
    )
    overlap: Annotated[
        OverlapPolicyName | None,
        "What to do when a job of the backfill is due while `max_active` of them run.",
    ] = OverlapPolicy.BUFFER_ALL
    order: Annotated[OrderName | None, "Which scheduled times run first."] = BackfillOrder.OLDEST
    max_active: Annotated[
        Annotated[int, Field(ge=1, le=limits.MAX_BACKFILL_ACTIVE)] | None,
        "How many jobs of the backfill may run at once.",
    ] = 1
    reprocess: Annotated[
        ReprocessName | None, "Which times that have a job run again: none, failed ones, or all."
    ] = Reprocess.NONE
    dry_run: Annotated[bool | None, "Only count the scheduled times; create nothing."] = False
    note: GivenNote = None

    @classmethod
    def parse(cls, raw: object) -> NewBackfill:
        """Return the request that ``raw`` holds; raises `InvalidInput` naming each wrong field."""
        request = validate(cls, raw, what="backfill")
        given = {name: getattr(request, name) for name in request.model_fields_set}
        return NewBackfill(**{name: value for name, value in given.items() if value is not None})


class PreviewedSchedule(ScheduleFields):
    """A schedule to be looked at: its handler may be left out."""

    handler: Annotated[HandlerName | None, "May be left out."] = None


_Count = Annotated[int, Field(ge=1, le=limits.MAX_PREVIEW_FIRES)]
PreviewCount = Annotated[
    _Count,
    # Null means: not given, as it does for every other field.
    BeforeValidator(
        lambda count: limits.DEFAULT_PREVIEW_FIRES if count is None else count,
        json_schema_input_type=_Count | None,
    ),
]


class PreviewInput(StrictModel):
    """Of which schedule the fires are asked, how many, and strictly after when.

    ``month``: count them for each of its days, too.
    """

    schedule: Annotated[PreviewedSchedule, "A schedule as for `PUT /v1/schedules/{id}`."]
    count: Annotated[PreviewCount, "The number of scheduled times to return."] = (
        limits.DEFAULT_PREVIEW_FIRES
    )
    after: Annotated[FireTime | None, "Only times later than this. Default now."] = None
    month: Annotated[Month | None, "A month such as `2026-12`, whose days are counted, too."] = None

    @classmethod
    def parse(cls, raw: object) -> Self:
        """Return the request that ``raw`` holds.

        Raises `InvalidInput` naming each wrong field, `NotSupportedYet` and `TooLarge`.
        """
        if isinstance(raw, Mapping):
            refuse_what_jobs_have(raw.get("schedule"), prefix="schedule.")
        request = validate(cls, raw, what="preview")
        request.schedule.settle(request.schedule.handler or "", prefix="schedule.")
        return request

    @property
    def definition(self) -> ScheduleDefinition:
        """The schedule's; its handler is empty where none was given."""
        return self.schedule.definition


class CalendarInput(StrictModel):
    """A calendar: the exclusions of the schedules that name it."""

    exclude: Exclusions
    note: Note | None = None

    _exclusions: tuple[Exclusion, ...] = PrivateAttr(default=())

    @classmethod
    def parse(cls, raw: object) -> Self:
        """Return the calendar that ``raw`` holds; raises `InvalidInput` naming each wrong field."""
        request = validate(cls, raw, what="calendar")
        exclusions = exclusions_of(request.exclude)
        own = tuple(one for one in exclusions if not isinstance(one, CalendarName))
        faults = [
            FieldError(
                f"exclude[{index}]",
                "must not name a calendar: a calendar contains only dates, ranges and expressions",
            )
            for index, one in enumerate(exclusions)
            if isinstance(one, CalendarName)
        ]
        faults += exclusion_faults("exclude", exclusions)
        if faults:
            raise invalid("calendar", faults)
        request._exclusions = own
        return request

    @property
    def exclusions(self) -> tuple[Exclusion, ...]:
        """What it excludes."""
        return self._exclusions


class PutQuery(QueryModel):
    """The query of a put. ``dry_run``: only answer what the schedule would be."""

    dry_run: Annotated[
        Literal["true", "false"],
        "Only check the schedule, and answer it as it would be; change nothing.",
    ] = "false"


class PageRequest(QueryModel):
    """The query of a listing without filters."""

    limit: Annotated[PageSize, "The maximum number of entries in a page."] = (
        limits.DEFAULT_PAGE_JOBS
    )
    cursor: Annotated[Cursor | None, "The `next_cursor` of the page before."] = None


class SchedulePageRequest(PageRequest):
    """The query of the listing of schedules; ``recent``: how many of its newest runs each shows."""

    limit: Annotated[
        PageSize, "The maximum number of schedules in a page; with `recent`, at most 50."
    ] = limits.DEFAULT_PAGE_JOBS
    recent: Annotated[
        int,
        whole_number(0, limits.MAX_RECENT_RUNS),
        Field(ge=0, le=limits.MAX_RECENT_RUNS),
        "How many of its newest runs each schedule has, at most 20. Default 0.",
    ] = 0


class GridRequest(QueryModel):
    """The query of the grid of a schedule; ``runs``: how many of its newest runs it shows."""

    runs: Annotated[
        int,
        whole_number(1, limits.MAX_GRID_RUNS),
        Field(ge=1, le=limits.MAX_GRID_RUNS),
        "The maximum number of runs. Default 25.",
    ] = limits.DEFAULT_GRID_RUNS
