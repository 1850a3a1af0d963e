"""The table of schedules over a change of the clocks."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from rich.console import Console

from hourhand.cli.demo_schedules import clock_change_notes, clock_change_table
from hourhand.local.demo.clock_change import ClockChange, Day, Occurrence

BERLIN = ZoneInfo("Europe/Berlin")
HOUR = timedelta(hours=1)


def day(start: datetime, every: timedelta, count: int, expression: str = "0 * * * *") -> Day:
    times = [start + number * every for number in range(count)]
    occurrences = [
        Occurrence(at=at, local=at.astimezone(BERLIN), note=None, lateness_ms=None) for at in times
    ]
    date = times[-1].astimezone(BERLIN).date()
    return Day(date=date, expression=expression, occurrences=tuple(occurrences))


def shown(*days: Day) -> list[str]:
    change = ClockChange(days=days, problems=(), seconds=1.0)
    console = Console(file=io.StringIO(), width=120, color_system=None)
    console.print(clock_change_table(change))
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()][1:]


SPRING = datetime(2026, 3, 28, 23, tzinfo=UTC)
AUTUMN = datetime(2026, 10, 24, 22, tzinfo=UTC)


def test_a_day_of_23_hours_lacks_one_and_a_day_of_25_has_one_twice() -> None:
    [spring] = shown(day(SPRING, HOUR, 23))
    assert "  23  00:00 to 23:00, no 02:00  " in spring
    [autumn] = shown(day(AUTUMN, HOUR, 25))
    assert "  25  00:00 to 23:00, 02:00 twice  " in autumn


def test_few_times_are_listed_one_by_one() -> None:
    [line] = shown(day(AUTUMN, 6 * HOUR, 5, "rate(6 hours)"))
    assert "00:00 05:00 11:00 17:00 23:00  22:00 to 22:00" in line


def test_a_day_is_named_once_for_all_its_schedules() -> None:
    first, second = shown(day(SPRING, HOUR, 23), day(SPRING, 6 * HOUR, 4, "rate(6 hours)"))
    assert first.startswith("29 Mar  0 * * * *")
    assert second.startswith("        rate(6 hours)")


def test_a_schedule_of_which_nothing_started_has_no_lateness() -> None:
    assert shown(day(SPRING, HOUR, 1))[0].endswith("  -")


def test_nothing_is_noted_where_the_clocks_have_no_part_in_it() -> None:
    change = ClockChange(days=(day(SPRING, HOUR, 2),), problems=(), seconds=1.0)
    assert clock_change_notes(change) == []
