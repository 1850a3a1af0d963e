"""Previews: when the rule of a schedule that need not exist would fire, and what to know of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from hourhand.domain.schedules.nominal_times import (
    DayOfTimes,
    FirstFires,
    first_fires,
    times_by_day,
)
from hourhand.domain.schedules.schedule import CalendarName, ScheduleDefinition
from hourhand.domain.times import rfc3339
from hourhand.ports.clock import Clock
from hourhand.services.schedules.compiled_rules import CompiledRules
from hourhand.services.schedules.new_schedule import settle_anchor

if TYPE_CHECKING:
    from hourhand.domain.schedules.recurrence import Recurrence

_TICK = timedelta(milliseconds=1)

MAX_SECONDS_A_PREVIEW = 10.0
"""A preview must end before API Gateway's 30 seconds are over."""

MAX_WORK_A_PREVIEW = 400_000
"""More than two days of seconds, or four months of minutes, with one excluding expression: about
0.2 s on a usual core."""

_CUT = "The search for more scheduled times took too long, so there may be more than are listed."


@dataclass(frozen=True, slots=True)
class PreviewFire:
    """A nominal time: in UTC, as RFC 3339 in the schedule's zone, and what a change of clocks does.

    ``note`` is absent where no change has a part in it.
    """

    at: datetime
    local: str
    note: str | None


@dataclass(frozen=True, slots=True)
class PreviewDay:
    """A day of a month: its nominal times, the first of them, and which calendars exclude some."""

    times: DayOfTimes
    first: tuple[PreviewFire, ...]
    excluded_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """When a schedule would fire, and what its author should know."""

    fires: tuple[PreviewFire, ...]
    warnings: tuple[str, ...]
    days: tuple[PreviewDay, ...] = ()


@dataclass(frozen=True, slots=True)
class Previews:
    """Previews rules for the API; changes nothing."""

    recurrences: CompiledRules
    clock: Clock

    def preview(
        self,
        definition: ScheduleDefinition,
        *,
        count: int,
        after: datetime | None,
        month: date | None = None,
    ) -> Preview:
        """Return the scheduled times of a definition, strictly after ``after`` (default: now).

        ``month``: also those of each day of the month that has this first day. Jitter is left out.
        Raises `BadExpression`, `Unavailable`.
        """
        now = self.clock.now()
        after = now if after is None else after
        definition = settle_anchor(definition, None, now)
        recurrence = self.recurrences.of(definition)
        wanted = min(count, definition.max_occurrences or count)
        found = self._first_fires(definition, recurrence, after, wanted)
        fires = found.times
        return Preview(
            fires=tuple(_previewed(recurrence, fire) for fire in fires),
            days=() if month is None else self._days(definition, recurrence, month),
            warnings=(
                *self._unknown_calendars(definition),
                *recurrence.hints(),
                *([_CUT] if found.is_cut else _early_end(fires, after, count)),
                *_left_out(recurrence, after, fires),
            ),
        )

    def _days(
        self, definition: ScheduleDefinition, recurrence: Recurrence, month: date
    ) -> tuple[PreviewDay, ...]:
        work = self.recurrences.work_within(MAX_WORK_A_PREVIEW, MAX_SECONDS_A_PREVIEW)
        days = times_by_day(definition, recurrence, month, work)
        by_calendar = {
            name: self.recurrences.of(replace(definition, exclude=(CalendarName(name),)))
            for name in definition.calendars
        }
        return tuple(
            PreviewDay(
                times=day,
                first=tuple(_previewed(recurrence, fire) for fire in day.first),
                excluded_by=tuple(
                    name
                    for name, alone in by_calendar.items()
                    if day.first_excluded and _excludes(alone, day.first_excluded)
                ),
            )
            for day in days
        )

    def _first_fires(
        self,
        definition: ScheduleDefinition,
        recurrence: Recurrence,
        after: datetime,
        count: int,
    ) -> FirstFires:
        work = self.recurrences.work_within(MAX_WORK_A_PREVIEW, MAX_SECONDS_A_PREVIEW)
        return first_fires(definition, recurrence, after=after, count=count, work=work)

    def _unknown_calendars(self, definition: ScheduleDefinition) -> list[str]:
        missing = self.recurrences.missing_calendars(definition)
        return [f"There is no calendar {name}, so it excludes nothing." for name in missing]


def _previewed(recurrence: Recurrence, fire: datetime) -> PreviewFire:
    return PreviewFire(
        at=fire,
        local=recurrence.local(fire).isoformat(timespec="milliseconds"),
        note=recurrence.note(fire),
    )


def _excludes(recurrence: Recurrence, nominal: datetime) -> bool:
    return any(fire.is_excluded for fire in recurrence.fires(nominal - _TICK, nominal))


def _early_end(fires: Sequence[datetime], after: datetime, count: int) -> list[str]:
    """Return in words that a schedule ends before as many fires as were asked for."""
    if len(fires) >= count:
        return []
    if not fires:
        return [f"The schedule has no scheduled times after {rfc3339(after)}."]
    times = "once more" if len(fires) == 1 else f"{len(fires)} more times"
    return [f"The schedule runs {times}, then never again."]


def _left_out(
    recurrence: Recurrence, after: datetime, fires: Sequence[datetime]
) -> tuple[str, ...]:
    """Return in words which times are left out between ``after`` and the last fire."""
    return recurrence.warnings(after, fires[-1]) if fires else ()
