"""The Unix dialect of cron: five fields, six with the seconds first, and the macros."""

from __future__ import annotations

import re

from hourhand.domain.schedules.recurrence import _cron_fields as fields
from hourhand.domain.schedules.recurrence._days import Days, DaysOfMonth, DaysOfWeek
from hourhand.domain.schedules.recurrence._local_times import CronTimes
from hourhand.domain.schedules.rule import BadExpression

MACROS = {
    "@YEARLY": "0 0 1 1 *",
    "@ANNUALLY": "0 0 1 1 *",
    "@MONTHLY": "0 0 1 * *",
    "@WEEKLY": "0 0 * * 0",
    "@DAILY": "0 0 * * *",
    "@MIDNIGHT": "0 0 * * *",
    "@HOURLY": "0 * * * *",
}

_LAST = re.compile(r"(?P<before>[0-9]|[A-Z]{3})L|L(?P<after>[0-9])", re.ASCII)
_FIVE = 5
_SIX = 6


def parse_unix_cron(text: str) -> CronTimes:
    """Return the meaning of a cron of five or six fields or a macro, in upper case.

    Day of month and day of week: where both are restricted a day must match either; where one of
    them starts with ``*`` (also ``*/2``) it must match both: the rule of Vixie's cron, which
    crontab(5) documents.
    """
    if text.startswith("@") and text not in MACROS:
        allowed = ", ".join(macro.lower() for macro in MACROS)
        raise BadExpression(f"There is no macro {text.lower()!r}. Allowed: {allowed}.")
    parts = MACROS.get(text, text).split()
    if len(parts) not in (_FIVE, _SIX):
        raise BadExpression(
            "A cron expression has 5 fields (minute hour day-of-month month day-of-week), such as"
            " 0 9 * * MON-FRI, or 6 with the second first. An interval is written as"
            f" rate(1 minute). This has {len(parts)} field{'' if len(parts) == 1 else 's'}."
        )
    second = parts[0] if len(parts) == _SIX else "0"
    minute, hour, day_of_month, month, day_of_week = parts[-_FIVE:]
    return CronTimes(
        seconds=fields.values_of(fields.SECOND, second),
        minutes=fields.values_of(fields.MINUTE, minute),
        hours=fields.values_of(fields.HOUR, hour),
        days=Days(
            months=fields.values_of(fields.MONTH, month),
            of_month=_days_of_month(day_of_month),
            of_week=_days_of_week(day_of_week),
            either=not day_of_month.startswith("*") and not day_of_week.startswith("*"),
        ),
    )


def _days_of_month(text: str) -> DaysOfMonth:
    kind = fields.UNIX_DAY_OF_MONTH
    items = fields.split_items(kind, text)
    plain = (fields.item_values(kind, item) for item in items if item not in ("L", "LW"))
    return DaysOfMonth(
        plain=frozenset().union(*plain),
        before_last=frozenset({0}) if "L" in items else frozenset(),
        last_weekday="LW" in items,
    )


def _days_of_week(text: str) -> DaysOfWeek:
    kind = fields.UNIX_DAY_OF_WEEK
    every: set[int] = set()
    nth: set[tuple[int, int]] = set()
    last: set[int] = set()
    for item in fields.split_items(kind, text):
        if "#" in item:
            nth.add(fields.nth_weekday(kind, item))
        elif match := _LAST.fullmatch(item):
            last.add(fields.number(kind, match["before"] or match["after"], item))
        else:
            every.update(fields.item_values(kind, item))
    return DaysOfWeek(
        every=frozenset(day % 7 for day in every),
        nth=frozenset((day % 7, n) for day, n in nth),
        last=frozenset(day % 7 for day in last),
    )
