"""What a cron expression matches, read for the oracles: by crontab(5), and by AWS's reference.

Made for valid texts alone. It shares nothing with the engine that it helps to judge.
"""

from __future__ import annotations

import calendar
from dataclasses import dataclass
from datetime import date, timedelta

MONTHS = {name.upper(): number for number, name in enumerate(calendar.month_abbr) if name}
WEEKDAYS = {
    name: number for number, name in enumerate(["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"])
}
AWS_WEEKDAYS = {name: number + 1 for name, number in WEEKDAYS.items()}
AWS_YEARS = (1970, 2199)
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Days:
    """Which dates match. ``weekdays`` counts from Sunday = 0; ``years`` of None is all of them."""

    days: frozenset[int]
    before_last: frozenset[int]
    nearest_weekdays: frozenset[int]
    has_last_weekday: bool
    weekdays: frozenset[int]
    nth_weekdays: frozenset[tuple[int, int]]
    last_weekdays: frozenset[int]
    months: frozenset[int]
    years: frozenset[int] | None
    needs_both: bool

    def match(self, day: date) -> bool:
        """Vixie cron: both fields of the day if either starts with a star, else one of them."""
        if day.month not in self.months or (self.years is not None and day.year not in self.years):
            return False
        of_month, of_week = self._matches_day_of_month(day), self._matches_day_of_week(day)
        return (of_month and of_week) if self.needs_both else (of_month or of_week)

    def _matches_day_of_month(self, day: date) -> bool:
        last = calendar.monthrange(day.year, day.month)[1]
        weekdays = [n for n in range(1, last + 1) if day.replace(day=n).weekday() < 5]
        return (
            day.day in self.days
            or last - day.day in self.before_last
            or (self.has_last_weekday and day.day == weekdays[-1])
            or any(
                # By distance: Saturday's is Friday, Sunday's is Monday, within the month.
                day.day == min(weekdays, key=lambda n, wanted=wanted: abs(n - wanted))  # type: ignore[misc]
                for wanted in self.nearest_weekdays
                if wanted <= last
            )
        )

    def _matches_day_of_week(self, day: date) -> bool:
        weekday = (day.weekday() + 1) % 7
        is_last = (day + 7 * DAY).month != day.month
        return (
            weekday in self.weekdays
            or (weekday, (day.day - 1) // 7 + 1) in self.nth_weekdays
            or (weekday in self.last_weekdays and is_last)
        )


@dataclass(frozen=True)
class Expression:
    """The times of a day, the days, and whether the expression follows real time."""

    seconds: frozenset[int]
    minutes: frozenset[int]
    hours: frozenset[int]
    days: Days
    is_hourly: bool


def parse(text: str) -> Expression:
    """The expression: ``cron(...)`` of AWS, five fields of Unix, or six with seconds first."""
    text = text.upper()
    if text.startswith("CRON("):
        fields = text.removeprefix("CRON(").removesuffix(")").split()
        seconds, days = "0", _aws_days(*fields[2:])
    else:
        fields = text.split()
        seconds = fields.pop(0) if len(fields) == 6 else "0"
        days = _unix_days(*fields[2:])
    minute, hour = fields[:2]
    minutes, hours = _field(minute, 0, 59), _field(hour, 0, 23)
    return Expression(_field(seconds, 0, 59), minutes, hours, days, len(hours) == 24)


def _unix_days(day: str, month: str, weekday: str) -> Days:
    plain, nth, last = set(), set(), set()
    for item in weekday.split(","):
        if "#" in item:
            name, number = item.split("#")
            nth.add((_value(name, WEEKDAYS) % 7, int(number)))
        elif item.endswith("L"):
            last.add(int(item[:-1]) % 7)
        else:
            plain |= {number % 7 for number in _numbers(item, 0, 7, WEEKDAYS)}
    days = [item for item in day.split(",") if item not in ("L", "LW")]
    return Days(
        days=_field(",".join(days), 1, 31) if days else frozenset(),
        before_last=frozenset({0} if "L" in day.split(",") else ()),
        nearest_weekdays=frozenset(),
        has_last_weekday="LW" in day.split(","),
        weekdays=frozenset(plain),
        nth_weekdays=frozenset(nth),
        last_weekdays=frozenset(last),
        months=_field(month, 1, 12, MONTHS),
        years=None,
        needs_both=day.startswith("*") or weekday.startswith("*"),
    )


def _aws_days(day: str, month: str, weekday: str, year: str) -> Days:
    """One of the two fields is ``?``, which matches every day."""
    plain, nth, last = set(), set(), set()
    for item in weekday.replace("?", "*").split(","):
        name, mark, number = item.partition("#")
        if mark:
            nth.add((_value(name, AWS_WEEKDAYS) - 1, int(number)))
        elif item.endswith("L") and item != "L":
            last.add(_value(item[:-1], AWS_WEEKDAYS) - 1)
        else:
            # The last day of the week is Saturday.
            plain |= {n - 1 for n in _numbers(item.replace("L", "7"), 1, 7, AWS_WEEKDAYS)}
    items = day.replace("?", "*").split(",")
    days = [item for item in items if "L" not in item and "W" not in item]
    return Days(
        days=_field(",".join(days), 1, 31) if days else frozenset(),
        before_last=frozenset(
            int(item[2:] or 0) for item in items if item.startswith("L") and item != "LW"
        ),
        nearest_weekdays=frozenset(int(n[:-1]) for n in items if n[-1] == "W" and n != "LW"),
        has_last_weekday="LW" in items,
        weekdays=frozenset(plain),
        nth_weekdays=frozenset(nth),
        last_weekdays=frozenset(last),
        months=_field(month, 1, 12, MONTHS),
        years=_field(year, *AWS_YEARS),
        needs_both=True,
    )


def _field(text: str, low: int, high: int, names: dict[str, int] | None = None) -> frozenset[int]:
    return frozenset(
        number for item in text.split(",") for number in _numbers(item, low, high, names or {})
    )


def _numbers(item: str, low: int, high: int, names: dict[str, int]) -> list[int]:
    """One item of a list: ``*``, ``n`` or ``n-m``, with ``/step``; ``n/step`` goes to the end.

    A range ``n-m`` with n above m runs past the end, from the lowest number on.
    """
    body, slash, step = item.partition("/")
    start, dash, end = body.partition("-")
    first = low if start == "*" else _value(start, names)
    alone = high if start == "*" or slash else first
    last = _value(end, names) if dash else alone
    round_ = [*range(first, last + 1)] or [*range(first, high + 1), *range(low, last + 1)]
    return round_[:: int(step) if slash else 1]


def _value(text: str, names: dict[str, int]) -> int:
    return names[text] if text in names else int(text)
