"""The demo's report on schedules: those in real time, and those over a change of the clocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from hourhand.local.demo.clock_change import ZONE, ClockChange, Day
from hourhand.local.demo.recurring import ScheduleTally

FIRST_COLUMN = 36
HOURS_A_DAY = 24
FEW = 6
"""So many times of a day are listed; of more, the first and the last."""


def report_table(title: str) -> Table:
    """Return a table of the report: its title is the head of the first column."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(title, min_width=FIRST_COLUMN)
    table.add_column("")
    return table


def schedule_rows(tallies: Sequence[ScheduleTally]) -> Iterator[tuple[str, str]]:
    """Yield a row for each schedule that ran in real time."""
    for tally in tallies:
        came = f"{tally.ran} of {tally.expected} nominal times came"
        yield f"schedule {tally.expression}", came


def clock_change_title(change: ClockChange) -> Text:
    """Return the head of the table of `clock_change_table`."""
    days = len({day.date for day in change.days})
    return Text.assemble(
        ("Schedules over a change of the clocks (virtual time)", "bold"),
        f": {change.count} nominal times, {days} days in {change.seconds:.1f} s",
    )


def clock_change_table(change: ClockChange) -> Table:
    """Return what came on each day, by the clock on the wall and in UTC."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("day", "schedule", "runs", ZONE, "UTC", "late"):
        table.add_column(name, justify="right" if name in {"runs", "late"} else "left")
    shown = None
    for day in change.days:
        late = "-" if day.max_lateness_ms is None else f"{day.max_lateness_ms} ms"
        table.add_row(
            "" if day.date == shown else f"{day.date:%d %b}",
            day.expression,
            str(len(day.occurrences)),
            _local_times(day),
            _first_and_last([f"{one.at:%H:%M}" for one in day.occurrences]),
            late,
        )
        shown = day.date
    return table


def clock_change_notes(change: ClockChange) -> list[str]:
    """Return in words what the changes did."""
    return [one.note for day in change.days for one in day.occurrences if one.note is not None]


def seconds(milliseconds: int | None) -> str:
    """Return a lateness as the report shows it."""
    return "-" if milliseconds is None else f"{milliseconds / 1000:.3f} s"


def _local_times(day: Day) -> str:
    times = [f"{one.local:%H:%M}" for one in day.occurrences]
    if len(times) <= FEW:
        return " ".join(times)
    counted = Counter(times)
    whole_day = [f"{hour:02}:00" for hour in range(HOURS_A_DAY)]
    missing = [f"no {hour}" for hour in whole_day if hour not in counted]
    twice = [f"{hour} twice" for hour, count in counted.items() if count > 1]
    return ", ".join([_first_and_last(times), *missing, *twice])


def _first_and_last(times: Sequence[str]) -> str:
    return f"{times[0]} to {times[-1]}" if len(times) > 1 else times[0]
