"""The dialect of AWS: ``cron(minutes hours day-of-month month day-of-week year)``.

Its rules are those of the page "Cron expressions reference" of Amazon EventBridge's user guide;
where that is silent, of Quartz, from which the dialect comes.
"""

from __future__ import annotations

import re
from collections.abc import Container

from hourhand.domain.schedules.recurrence import _cron_fields as fields
from hourhand.domain.schedules.recurrence._days import Days, DaysOfMonth, DaysOfWeek
from hourhand.domain.schedules.recurrence._local_times import CronTimes
from hourhand.domain.schedules.rule import BadExpression

_SIX = 6
_BEFORE_LAST = re.compile(r"L(-([0-9]{1,2}))?", re.ASCII)
_MAX_BEFORE_LAST = 30
_NEAREST = re.compile(r"([0-9]{1,2})W", re.ASCII)
_ANY_DAY_OF_MONTH = DaysOfMonth(plain=frozenset(range(1, 32)))
_ANY_DAY_OF_WEEK = DaysOfWeek(every=frozenset(range(7)))


def parse_aws_cron(text: str) -> CronTimes:
    """Return the meaning of the six fields within ``cron()``, in upper case."""
    parts = text.split()
    if len(parts) != _SIX:
        raise BadExpression(
            "cron() has 6 fields (minutes hours day-of-month month day-of-week year), such as"
            f" cron(0 9 ? * MON-FRI *), but this has {len(parts)}. A Unix cron is written without"
            " cron()."
        )
    minute, hour, day_of_month, month, day_of_week, year = parts
    if (day_of_month == "?") == (day_of_week == "?"):
        raise BadExpression(
            "Exactly one of day of month and day of week must be '?' in cron(), but they are"
            f" {day_of_month!r} and {day_of_week!r}."
        )
    return CronTimes(
        seconds=(0,),
        minutes=fields.values_of(fields.AWS_MINUTE, minute),
        hours=fields.values_of(fields.AWS_HOUR, hour),
        days=Days(
            months=fields.values_of(fields.AWS_MONTH, month),
            of_month=_days_of_month(day_of_month),
            of_week=_days_of_week(day_of_week),
            years=_years(year),
        ),
    )


def _years(text: str) -> Container[int]:
    if "," in text:
        return frozenset(fields.values_of(fields.YEAR, text))
    # Nearly always a star: as a range it takes no room in a compiled rule.
    return fields.item_values(fields.YEAR, text)


def _days_of_month(text: str) -> DaysOfMonth:
    kind = fields.AWS_DAY_OF_MONTH
    if text == "?":
        return _ANY_DAY_OF_MONTH
    items = fields.split_items(kind, text)
    if len(items) > 1 and any(item.endswith("W") for item in items):
        raise kind.refuse(text, "has a W within a list; a W stands alone")
    plain: set[int] = set()
    before_last: set[int] = set()
    nearest: set[int] = set()
    for item in items:
        if match := _BEFORE_LAST.fullmatch(item):
            days = int(match[2] or 0)
            if days > _MAX_BEFORE_LAST:
                raise kind.refuse(item, f"is more than {_MAX_BEFORE_LAST} days before the last day")
            before_last.add(days)
        elif match := _NEAREST.fullmatch(item):
            nearest.add(fields.number(kind, match[1], item))
        elif item != "LW":
            plain.update(fields.item_values(kind, item))
    return DaysOfMonth(
        plain=frozenset(plain),
        before_last=frozenset(before_last),
        nearest_weekdays=frozenset(nearest),
        last_weekday="LW" in items,
    )


def _days_of_week(text: str) -> DaysOfWeek:
    kind = fields.AWS_DAY_OF_WEEK
    if text == "?":
        return _ANY_DAY_OF_WEEK
    items = fields.split_items(kind, text)
    if "#" in text:
        if len(items) > 1:
            raise kind.refuse(text, "has a # within a list; a # stands alone")
        weekday, nth = fields.nth_weekday(kind, text)
        return DaysOfWeek(nth=frozenset({(weekday - 1, nth)}))
    every: set[int] = set()
    last: set[int] = set()
    for item in items:
        if item == "L":
            every.add(kind.high)
        elif item.endswith("L"):
            last.add(fields.number(kind, item.removesuffix("L"), item))
        else:
            every.update(fields.item_values(kind, item))
    return DaysOfWeek(
        every=frozenset(day - 1 for day in every), last=frozenset(day - 1 for day in last)
    )
