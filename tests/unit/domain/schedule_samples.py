"""Schedules and definitions for the tests of their decisions, and visits without any store."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hourhand.domain.schedules.changes import create
from hourhand.domain.schedules.nominal_times import DatedRule
from hourhand.domain.schedules.occurrences import Decision, decide
from hourhand.domain.schedules.recurrence import Recurrence, Rule, compile_rule
from hourhand.domain.schedules.schedule import (
    JournalEntry,
    Misfire,
    MisfirePolicy,
    Schedule,
    ScheduleDefinition,
    SkipReason,
)

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
LOOK_AHEAD = timedelta(seconds=300)
MINUTELY = "* * * * *"


def at(minutes: float) -> datetime:
    """Return the instant so many minutes after noon."""
    return NOON + timedelta(minutes=minutes)


def minutes(*instants: datetime | None) -> list[float | None]:
    """Return how many minutes after noon each instant is."""
    return [None if i is None else (i - NOON) / timedelta(minutes=1) for i in instants]


def make_definition(*expressions: str, **fields: Any) -> ScheduleDefinition:
    """Return a definition of handler ``greet``: every minute unless told otherwise."""
    return ScheduleDefinition(
        expressions=expressions or (MINUTELY,), **{"handler": "greet", **fields}
    )


def misfire(policy: MisfirePolicy | str, window_seconds: int = 86_400) -> Misfire:
    """Return a misfire policy."""
    return Misfire(policy=MisfirePolicy(policy), window_seconds=window_seconds)


def recurrence_of(definition: ScheduleDefinition) -> Recurrence:
    """Return when a definition without calendars fires."""
    return compile_rule(
        Rule(
            expressions=definition.expressions,
            timezone=definition.timezone,
            anchor=definition.anchor or NOON,
            exclude=definition.exclude,  # type: ignore[arg-type]
        )
    )


def rules_of(definition: ScheduleDefinition) -> tuple[DatedRule, ...]:
    """Return a definition as the only rule of a schedule."""
    return (DatedRule(definition, recurrence_of(definition)),)


def make_schedule(definition: ScheduleDefinition, now: datetime = NOON, **fields: Any) -> Schedule:
    """Return a schedule that was put ``now`` and not visited yet, but for ``fields``."""
    created = create(
        "s", definition, now=now, zone_data="2026a", write_id="w", paused=False, note=""
    )
    return replace(created, **fields)


def visit(
    schedule: Schedule,
    definition: ScheduleDefinition,
    now: datetime,
    look_ahead: timedelta = LOOK_AHEAD,
    **bounds: Any,
) -> Decision:
    """Decide what is to be decided at ``now``."""
    return decide(
        schedule,
        rules_of(definition),
        now=now,
        horizon=now + look_ahead,
        **bounds,
    )


def ordered(decision: Decision) -> list[float | None]:
    """Return the nominal times that become jobs, in minutes after noon."""
    return minutes(*(order.nominal for order in decision.orders))


def told(schedule: Schedule) -> list[tuple[float | None, float | None, int, str]]:
    """Return a journal as (first, last, count, reason), in minutes after noon; "job" is a job."""
    return [(*_span(entry), entry.count, entry.reason or "job") for entry in schedule.journal]


def _span(entry: JournalEntry) -> tuple[float | None, float | None]:
    first, last = minutes(entry.first, entry.last)
    return first, last


def made(minute: float, **fields: Any) -> JournalEntry:
    """Return the entry of a job."""
    return JournalEntry(first=at(minute), last=at(minute), **fields)


def skipped(first: float, last: float, reason: SkipReason, count: int = 1) -> JournalEntry:
    """Return the entry of a run without jobs."""
    return JournalEntry(first=at(first), last=at(last), count=count, reason=reason)
