"""Two oracles of when a cron expression fires; neither shares a line with what they judge.

``brute_force`` walks the window minute by minute over UTC and reads a clock on the wall of the
zone, with every policy for gaps and folds. It is written from crontab(5) and
docs/explanation/schedules.md: slow, and simple enough to be believed. ``cronsim_fires`` asks the
library cronsim, which knows the default policies alone.
"""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from itertools import pairwise
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from tests.properties.recurrence_expressions import DAY, Expression, parse

MINUTE = timedelta(minutes=1)

MARGIN_DAYS = 2
"""Seen around a window: Apia's gap of a whole day, and an offset from UTC of up to 14 hours."""

CRONSIM_LEAD = timedelta(days=2)
"""For fixed times, cronsim starts this much before a window: it takes any pass of a fold for the
first, and would start in the wrong one.
"""

MAX_FIRES = 100_000
"""In one window; more is a mistake in a test."""

BETWEEN_EXPRESSIONS = " | "
"""Parts the expressions of a union, here in the tests alone."""


@lru_cache
def zone_of(name: str) -> ZoneInfo:
    """The zone by the tzdata package, whatever the system's own zones say."""
    source = importlib.resources.files("tzdata.zoneinfo").joinpath(*name.split("/"))
    with source.open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


# --- a clock on the wall ---


@dataclass(frozen=True)
class Jump:
    """The clock is put forward: after the minute that shows ``before`` comes ``after``."""

    before: datetime
    after: datetime
    before_utc: datetime
    after_utc: datetime


@dataclass(frozen=True)
class Wall:
    """What the clock on the wall of a zone shows in each minute of some days of UTC."""

    minutes: tuple[tuple[datetime, datetime], ...]
    instants: dict[datetime, tuple[datetime, ...]]
    jumps: tuple[Jump, ...]

    @property
    def dates(self) -> Iterator[date]:
        """Every date from the first that is shown to the last, those left out by a jump too."""
        first, last = self.minutes[0][1].date(), self.minutes[-1][1].date()
        return (first + n * DAY for n in range((last - first).days + 1))


@lru_cache(maxsize=16)
def wall_of(zone: str, first: date, last: date) -> Wall:
    """The clock of the zone from the first to the last day of UTC, both included."""
    clock, instant = zone_of(zone), datetime.combine(first, time(), UTC)
    minutes = []
    for _ in range(((last - first).days + 1) * 24 * 60):
        minutes.append((instant, instant.astimezone(clock).replace(tzinfo=None, fold=0)))
        instant += MINUTE
    instants: dict[datetime, tuple[datetime, ...]] = {}
    for at, shown in minutes:
        instants[shown] = (*instants.get(shown, ()), at)
    jumps = [
        Jump(shown, next_shown, at, next_at)
        for (at, shown), (next_at, next_shown) in pairwise(minutes)
        if next_shown > shown + MINUTE
    ]
    return Wall(tuple(minutes), instants, tuple(jumps))


def _wall_around(zone: str, after: datetime, until: datetime) -> Wall:
    margin = MARGIN_DAYS * DAY
    return wall_of(
        zone, (after.astimezone(UTC) - margin).date(), (until.astimezone(UTC) + margin).date()
    )


# --- the brute force ---


def brute_force(
    text: str,
    zone: str,
    after: datetime,
    until: datetime,
    *,
    gap: str = "next_valid",
    fold: str = "first",
) -> list[datetime]:
    """All fires after one instant and up to another (included), ascending, in UTC."""
    wall, found = _wall_around(zone, after, until), set[datetime]()
    for expression in map(parse, text.split(BETWEEN_EXPRESSIONS)):
        if expression.is_hourly:
            found |= _fires_in_real_time(expression, wall)
        else:
            for local in _local_times(expression, wall):
                found |= _instants_of(local, wall, gap, fold)
    fires = sorted(at for at in found if after < at <= until)
    assert len(fires) <= MAX_FIRES
    return fires


def _fires_in_real_time(expression: Expression, wall: Wall) -> set[datetime]:
    """Each second of UTC at which the clock on the wall shows a time that matches."""
    days = {day for day in wall.dates if expression.days.match(day)}
    return {
        at.replace(second=second)
        for at, shown in wall.minutes
        if shown.minute in expression.minutes
        and shown.hour in expression.hours
        and shown.date() in days
        for second in expression.seconds
    }


def _local_times(expression: Expression, wall: Wall) -> Iterator[datetime]:
    """Each second of each date of the calendar that matches, shown by any clock or not."""
    times = [
        time(hour, minute, second)
        for hour in expression.hours
        for minute in expression.minutes
        for second in expression.seconds
    ]
    for day in wall.dates:
        if expression.days.match(day):
            yield from (datetime.combine(day, at) for at in times)


def _instants_of(local: datetime, wall: Wall, gap: str, fold: str) -> set[datetime]:
    """When the local time is, by the policies: never, once or twice."""
    shown, seconds = local.replace(second=0), timedelta(seconds=local.second)
    instants = wall.instants.get(shown, ())
    if instants:
        chosen = {"first": instants[:1], "second": instants[-1:], "both": instants}[fold]
        return {at + seconds for at in chosen}
    # Of no jump is what lies before or behind all that the wall has shown.
    jump = next((j for j in wall.jumps if j.before < local < j.after), None)
    if jump is None or gap == "skip":
        return set()
    if gap == "next_valid":
        return {jump.after_utc}
    # As if the clock had not been put forward: 02:30 comes an hour and a half after 01:00.
    return {jump.before_utc + (local - jump.before)}


# --- cronsim ---

RANGE_OF_ONE = re.compile(r"\b(\w+)-\1/\d+", re.IGNORECASE)
"""``3-3/2`` is 3 by crontab(5), which takes steps through a range; cronsim reads it as ``3/2``."""


def for_cronsim(text: str) -> str:
    """The same in words that cronsim reads as everybody does.

    Whether it follows real time it decides by a star in minute or hour, we by the hours.
    """
    *seconds, minute, hour, day, month, weekday = RANGE_OF_ONE.sub(r"\1", text).split()
    hour = "*" if parse(text).is_hourly else hour.replace("*", "0-23")
    return " ".join([*seconds, minute.replace("*", "0-59"), hour, day, month, weekday])


def cronsim_fires(text: str, zone: str, after: datetime, until: datetime) -> list[datetime]:
    """The same by cronsim, which knows only the default policies."""
    start = after if parse(text).is_hourly else after - CRONSIM_LEAD
    try:
        simulation = CronSim(for_cronsim(text), start.astimezone(zone_of(zone)))
    except CronSimError as error:
        # It refuses days that no month has (30 February); what is valid at all has no such error.
        assert str(error) == "Bad day-of-month", text  # noqa: PT017 - not a test of the error
        return []
    fires: list[datetime] = []
    for at in simulation:
        instant = at.astimezone(UTC)
        if instant > until:
            break
        assert not fires or instant > fires[-1], f"cronsim turns back: {text} in {zone}"
        fires.append(instant)
        assert len(fires) <= MAX_FIRES, f"{text} fires more than {MAX_FIRES} times"
    return [at for at in fires if at > after]
