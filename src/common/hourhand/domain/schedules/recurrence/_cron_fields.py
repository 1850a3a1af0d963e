"""One field of a cron expression: which items it may hold, and the numbers that they stand for.

Our own strict reading and not croniter's, which takes much that nobody means: ``5-5`` is every
hour there, ``50-10`` wraps around, ``R`` is random.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hourhand.domain.schedules.rule import BadExpression

MAX_NTH = 5
"""A month has at most five of each day of the week."""

_ITEM = re.compile(
    r"(?P<first>\*|[0-9]{1,4}|[A-Z]{3})(-(?P<last>[0-9]{1,4}|[A-Z]{3}))?(/(?P<step>[0-9]{1,4}))?",
    re.ASCII,
)


@dataclass(frozen=True, kw_only=True)
class Field:
    """The kind of a field: its name, its numbers, the names of numbers, and what else it takes.

    Where it ``wraps``, a range may run past the end: the hours ``22-2``.
    """

    name: str
    low: int
    high: int
    names: Mapping[str, int] = field(default_factory=dict)
    special: str = ""
    wraps: bool = False

    @property
    def allowed(self) -> str:
        """What the field may hold, for people."""
        names = list(self.names)
        named = f" or {names[0]}-{names[-1]}" if names else ""
        special = f", {self.special}" if self.special else ""
        return f"{self.low}-{self.high}{named}, with * , - /{special}"

    def refuse(self, item: str, why: str = "is not understood") -> BadExpression:
        """Return the error that names the item, this field and what is allowed."""
        return BadExpression(f"The {self.name} {item!r} {why}. Allowed: {self.allowed}.")


def split_items(kind: Field, text: str) -> list[str]:
    """Return the items of a list; each is not empty."""
    items = text.split(",")
    if "" in items:
        raise kind.refuse(text, "has an empty item in its list")
    return items


def values_of(kind: Field, text: str) -> tuple[int, ...]:
    """Return the numbers, ascending, of plain items: ``*``, numbers, names, ranges, steps."""
    items = split_items(kind, text)
    return tuple(sorted({value for item in items for value in item_values(kind, item)}))


def item_values(kind: Field, item: str) -> Sequence[int]:
    """Return the numbers of one plain item, in which ``10/5`` is from 10 to the end by 5.

    Raises `BadExpression` for an item that the field does not take; a range that runs backwards
    is one where the field does not wrap.
    """
    match = _ITEM.fullmatch(item)
    if match is None or (match["first"] == "*" and match["last"] is not None):
        raise kind.refuse(item)
    if match["first"] == "*":
        low, high = kind.low, kind.high
    else:
        low = number(kind, match["first"], item)
        high = number(kind, match["last"], item) if match["last"] else low
        if match["step"] and not match["last"]:
            high = kind.high
    step = int(match["step"] or 1)
    if step == 0:
        raise kind.refuse(item, "has a step of 0")
    if low <= high:
        return range(low, high + 1, step)
    if not kind.wraps:
        both = f"write it as two: {match['first']}-{kind.high},{kind.low}-{match['last']}"
        raise kind.refuse(item, f"is a reversed range; {both}")
    size = kind.high - kind.low + 1
    return [kind.low + (n - kind.low) % size for n in range(low, high + size + 1, step)]


def number(kind: Field, text: str, item: str) -> int:
    """Return the number that a number or name of ``item`` stands for."""
    if text in kind.names:
        return kind.names[text]
    if not text.isdecimal():
        raise kind.refuse(item)
    if not kind.low <= int(text) <= kind.high:
        raise kind.refuse(item, f"is not within {kind.low} to {kind.high}")
    return int(text)


def nth_weekday(kind: Field, item: str) -> tuple[int, int]:
    """Return the weekday and the n of an item ``weekday#n``."""
    weekday, _, nth = item.partition("#")
    found = number(kind, weekday, item)
    if not re.fullmatch(r"[0-9]", nth, re.ASCII) or not 1 <= int(nth) <= MAX_NTH:
        raise kind.refuse(item, f"has a #n that is not within 1 to {MAX_NTH}")
    return found, int(nth)


_MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
_WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]

SECOND = Field(name="second", low=0, high=59)
MINUTE = Field(name="minute", low=0, high=59)
HOUR = Field(name="hour", low=0, high=23)
MONTH = Field(name="month", low=1, high=12, names={name: i for i, name in enumerate(_MONTHS, 1)})
YEAR = Field(name="year", low=1970, high=2199)
UNIX_DAY_OF_MONTH = Field(
    name="day of month",
    low=1,
    high=31,
    special="L for the last day, LW for the last weekday (Monday to Friday)",
)
UNIX_DAY_OF_WEEK = Field(
    name="day of week",
    low=0,
    high=7,
    names={name: i for i, name in enumerate(_WEEKDAYS)},
    special="5L for the last Friday and 5#2 for the second (0 and 7 are Sunday)",
)
AWS_MINUTE, AWS_HOUR, AWS_MONTH = (replace(kind, wraps=True) for kind in (MINUTE, HOUR, MONTH))
AWS_DAY_OF_MONTH = Field(
    name="day of month",
    low=1,
    high=31,
    special="? for any, L for the last day, L-3 for three days before it,"
    " 15W for the weekday nearest to the 15th, LW for the last weekday",
    wraps=True,
)
AWS_DAY_OF_WEEK = Field(
    name="day of week",
    low=1,
    high=7,
    names={name: i for i, name in enumerate(_WEEKDAYS, 1)},
    special="? for any, L for Saturday, 6L for the last Friday, 6#2 for the second (1 is Sunday)",
    wraps=True,
)
