"""A schedule whose times take long to compute, and a meter of what is computed.

What a tick computes is counted, as comparisons of a scheduled time with what excludes it. A
function that makes too many of them is ended, as Lambda ends one that has no time left.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from unittest import mock

from hourhand.domain.schedules.recurrence._exclusions import ExclusionCursor
from hourhand.domain.schedules.rule import MAX_WORK
from hourhand.testing import Crash
from tests.world.world import World

EACH_SECOND = "* * * * * *"
CALENDARS = 60
AT_THE_LIMIT = 5
ENDED_AFTER = 8 * MAX_WORK
"""Comparisons in one tick: a few seconds of work. The poison of old made 720 million."""


class Meter:
    """Counts comparisons, and ends the function that makes too many."""

    def __init__(self) -> None:
        self.done, self.most = 0, ENDED_AFTER

    def count(self, units: int) -> None:
        self.done += units
        if self.done > self.most:
            raise Crash


@contextmanager
def metered() -> Iterator[Meter]:
    """Count what is compared from now on."""
    meter = Meter()
    excludes = ExclusionCursor.excludes

    def counted(cursor: ExclusionCursor, instant: int) -> bool:
        meter.count(len(cursor._exclusions.expressions))
        return excludes(cursor, instant)

    with mock.patch.object(ExclusionCursor, "excludes", counted):
        yield meter


def expressions_of(number: int) -> list[str]:
    """Return twenty expressions; only the last one of each calendar excludes the seconds."""
    few = [f"{minute} {number % 24} {1 + number // 24} 3 *" for minute in range(19)]
    return [*few, f"{number % 60} {number % 24} 28 2 *" if number else "* * * * *"]


def put_poison(world: World, calendars: int, name: str = "poison") -> None:
    """Put a schedule whose calendars grow afterwards, and let the next tick visit it."""
    names = [f"calendar-{number}" for number in range(calendars)]
    for each in names:
        world.put_calendar(each, ["2000-01-01"])
    world.put_schedule(name, expression=EACH_SECOND, exclude=names)
    for number, each in enumerate(names):
        world.put_calendar(each, expressions_of(number))
    world.advance(100)


def tick(world: World, meter: Meter) -> int:
    """Let a tick run, or die; return how many comparisons it made."""
    meter.done = 0
    with suppress(Crash):
        world.tick()
    return meter.done


def lives(world: World, meter: Meter, minutes: int) -> list[int]:
    """Let minutes pass; return what each tick did."""
    done = []
    for _ in range(minutes):
        done.append(tick(world, meter))
        for delivery in world.receive():
            world.handle(delivery)
        world.advance(60)
    return done
