"""Cases by chance for the comparison: valid expressions, windows around changes of the clocks."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from tests.properties.recurrence_expressions import AWS_WEEKDAYS, MONTHS, WEEKDAYS
from tests.properties.recurrence_oracles import BETWEEN_EXPRESSIONS, zone_of

ZONES = (
    "America/New_York",
    "Europe/Berlin",
    "Europe/London",
    "America/Santiago",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Asia/Kathmandu",
    "UTC",
)
"""Zones whose clocks change in different ways, and two whose clocks do not change."""

ODD_ZONES = (
    "Africa/Cairo",  # gap at midnight, on a Friday
    "Africa/Casablanca",  # back and forth around Ramadan
    "America/Havana",  # gap at midnight, fold back to it
    "America/St_Johns",  # half an hour off the full one
    "Antarctica/Troll",  # two hours at once
    "Europe/Dublin",  # winter is the one that saves daylight
    "Pacific/Chatham",  # 12:45 ahead, changes at 02:45
)
"""Further kinds of changes."""

YEARS = range(2020, 2041)
NO_CHANGE_INSTANTS = 12
"""Windows of a zone whose clocks are never changed."""

APIA_SKIPS_A_DAY = datetime(2011, 12, 30, 10, tzinfo=UTC)
"""The end of 29 December; the next minute was of 31 December."""

GAPS = ("next_valid", "skip", "shift")
FOLDS = ("first", "second", "both")
SECOND = timedelta(seconds=1)

LONG = timedelta(days=30)
MAX_YEARS_AHEAD = 30
"""Of a long window: 29 February on one weekday comes every 28 years."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One expression in one zone, within one window and by one pair of policies."""

    text: str
    zone: str
    after: datetime
    until: datetime
    gap: str = GAPS[0]
    fold: str = FOLDS[0]

    @property
    def is_long(self) -> bool:
        """Too long for the brute force, which knows no shortcut."""
        return self.until - self.after > LONG

    @property
    def is_default(self) -> bool:
        """As cronsim has it."""
        return (self.gap, self.fold) == (GAPS[0], FOLDS[0])


# --- windows ---


@lru_cache
def changes_of(zone: str) -> tuple[datetime, ...]:
    """The instants of the years 2020-2040 at which the zone's offset from UTC changes."""
    clock, found = zone_of(zone), []
    at, end = datetime(YEARS.start, 1, 1, tzinfo=UTC), datetime(YEARS.stop, 1, 1, tzinfo=UTC)
    while at < end:
        following = at + timedelta(days=1)
        low, high = at, following
        if _offset(clock, low) != _offset(clock, high):
            while high - low > timedelta(minutes=1):
                middle = low + (high - low) // timedelta(minutes=2) * timedelta(minutes=1)
                low, high = (
                    (middle, high)
                    if _offset(clock, middle) == _offset(clock, low)
                    else (low, middle)
                )
            found.append(high)
        at = following
    return tuple(found)


def _offset(clock: ZoneInfo, at: datetime) -> timedelta | None:
    return at.astimezone(clock).utcoffset()


def places(chance: random.Random) -> list[tuple[str, datetime]]:
    """Every change of every zone once, and some instants of zones without any; shuffled."""
    found = [("Pacific/Apia", APIA_SKIPS_A_DAY)]
    for zone in (*ZONES, *ODD_ZONES):
        changes: Sequence[datetime] = changes_of(zone)
        if len(changes) < NO_CHANGE_INSTANTS:
            more = [_some_instant(chance) for _ in range(NO_CHANGE_INSTANTS - len(changes))]
            changes = [*changes, *more]
        found += [(zone, at) for at in changes]
    chance.shuffle(found)
    return found


def _some_instant(chance: random.Random) -> datetime:
    days = chance.randrange(366 * len(YEARS))
    return datetime(YEARS.start, 1, 1, tzinfo=UTC) + timedelta(
        days=days, hours=chance.randrange(24)
    )


def window(
    chance: random.Random, change: datetime, *, is_dense: bool = False
) -> tuple[datetime, datetime]:
    """Some days, some hours, or from the very instant of the change or one second beside it."""
    kind = chance.random()
    if is_dense and kind < 0.7:
        start = change - timedelta(seconds=chance.randrange(75 * 60))
        return start, change + timedelta(seconds=chance.randrange(75 * 60))
    if kind < 0.5:
        start = change - timedelta(minutes=chance.randrange(60 * 48))
        return start, change + timedelta(minutes=chance.randrange(60 * 48))
    if kind < 0.8:
        start = change - timedelta(seconds=chance.randrange(4 * 3600))
        return start, change + timedelta(seconds=chance.randrange(6 * 3600))
    beside = change + chance.choice([-SECOND, timedelta(0), SECOND])
    if kind < 0.9:
        return beside, beside + timedelta(minutes=chance.randrange(60 * 30))
    return beside - timedelta(minutes=chance.randrange(60 * 30)), beside


# --- expressions ---


def expression(chance: random.Random, near: date, *, has_seconds: bool = False) -> str:
    """A valid expression; where it names days, one of them is often the date that is given."""
    day, month, weekday = "*", "*", "*"
    kind = chance.random()
    if kind < 0.25:
        weekday = _days_of_week(chance, near)
    elif kind < 0.4:
        day = _days_of_month(chance, near)
    elif kind < 0.55:
        day, weekday = _days_of_month(chance, near), _days_of_week(chance, near)
    if chance.random() < 0.15:
        month = _names(chance, _list_of(chance, 1, 12, near.month), MONTHS)
    parts = [_minutes(chance), _hours(chance), day, month, weekday]
    if has_seconds:
        parts.insert(0, chance.choice(["*", "*/20", "0", "30", "0,59", "15-45/15", "7"]))
    return " ".join(parts)


def _sparse_expression(chance: random.Random, near: date) -> str:
    """One that fires on few days of the year, or on none."""
    day, weekday = _days_of_month(chance, near), _days_of_week(chance, near)
    day = chance.choice([day, day, "29", "30", "31", "L"])
    weekday = chance.choice([weekday, "*", "*"])
    month = chance.choice([_list_of(chance, 1, 12, near.month), "2", "2", "4,6,9,11"])
    return f"{chance.randrange(60)} {chance.randrange(24)} {day} {month} {weekday}"


def aws_expression(chance: random.Random, near: date) -> str:
    """A valid expression of AWS's dialect, with the wildcards that Unix has not."""
    day, weekday = "*", "?"
    kind = chance.random()
    if kind < 0.35:
        number = chance.choice([near.day, max(1, near.day - 1), min(31, near.day + 1)])
        some = _list_of(chance, 1, 31, near.day)
        before = f"L-{chance.choice([0, 1, 2, chance.randint(0, 30)])}"
        nearest = [f"{number}W", f"{chance.randint(1, 31)}W"]
        day = chance.choice(["L", "LW", before, *nearest, some, _backwards(chance, 1, 31)])
    elif kind < 0.75:
        today = near.isoweekday() % 7 + 1
        nth = f"{today}#{chance.choice([(near.day + 6) // 7, chance.randint(1, 5)])}"
        some = _names(chance, _list_of(chance, 1, 7, today), AWS_WEEKDAYS)
        turned = _backwards(chance, 1, 7)
        day, weekday = "?", chance.choice(["*", "L", f"{today}L", nth, some, turned])
    month = "*"
    if chance.random() < 0.15:
        months = [_list_of(chance, 1, 12, near.month), _backwards(chance, 1, 12)]
        month = _names(chance, chance.choice(months), MONTHS)
    minute, hour = _minutes(chance), _hours(chance)
    if chance.random() < 0.15:
        minute, hour = chance.choice(
            [(minute, _backwards(chance, 0, 23)), (_backwards(chance, 0, 59), hour)]
        )
    years = [f"{near.year}", f"{near.year - 1}-{near.year + 3}/2", f"{near.year}/3", "2020-2040"]
    year = chance.choice(["*", "*", *years])
    return f"cron({minute} {hour} {day} {month} {weekday} {year})"


def _backwards(chance: random.Random, low: int, high: int) -> str:
    """A range that runs past the end of its field."""
    last, first = sorted(chance.sample(range(low, high + 1), 2))
    return f"{first}-{last}" + (f"/{chance.randint(1, 5)}" if chance.random() < 0.3 else "")


def _minutes(chance: random.Random) -> str:
    kind = chance.random()
    if kind < 0.05:
        return "*"
    if kind < 0.15:
        return f"*/{chance.choice([2, 5, 7, 10, 15, 20, 29, 30, 45])}"
    if kind < 0.6:
        return chance.choice(["0", "1", "15", "29", "30", "31", "40", "45", "59"])
    return _list_of(chance, 0, 59, chance.choice([0, 30]))


def _hours(chance: random.Random) -> str:
    kind = chance.random()
    if kind < 0.15:
        return "*"
    if kind < 0.25:
        return f"*/{chance.choice([2, 3, 5, 6, 7, 12, 15, 23])}"
    if kind < 0.6:
        return chance.choice(["0", "1", "2", "3", "1-3", "2,3", "0,2", "23", "12"])
    return _list_of(chance, 0, 23, chance.choice([0, 1, 2, 3, 23]))


def _days_of_month(chance: random.Random, near: date) -> str:
    kind = chance.random()
    if kind < 0.15:
        return chance.choice(["L", "LW"])
    if kind < 0.3:
        return f"*/{chance.randrange(1, 12)}"
    text = _list_of(chance, 1, 31, near.day)
    return f"{text},L" if kind < 0.4 else text


def _days_of_week(chance: random.Random, near: date) -> str:
    kind, day = chance.random(), (near.weekday() + 1) % 7
    if kind < 0.15:
        return f"{chance.choice([day, chance.randrange(8)])}L"
    if kind < 0.35:
        number = chance.choice([(near.day + 6) // 7, chance.randrange(1, 6)])
        return _names(chance, str(day), WEEKDAYS) + f"#{number}"
    if kind < 0.45:
        return f"*/{chance.randrange(1, 8)}"
    return _names(chance, _list_of(chance, 0, 7, day), WEEKDAYS)


def _list_of(chance: random.Random, low: int, high: int, near: int) -> str:
    """Numbers, ranges and steps, a star among them now and then; often the number given."""
    items = [_item(chance, low, high, near) for _ in range(chance.choice([1, 1, 1, 2, 3]))]
    if chance.random() < 0.04:
        items.insert(chance.randrange(len(items) + 1), f"*/{chance.randrange(2, high)}")
    return ",".join(items)


def _item(chance: random.Random, low: int, high: int, near: int) -> str:
    kind = chance.random()
    first = near if chance.random() < 0.6 else chance.randint(low, high)
    if kind < 0.5:
        return str(first)
    step = f"/{chance.randint(1, high)}" if chance.random() < 0.5 else ""
    if kind < 0.6:
        return f"{first}/{chance.randint(1, high)}"
    return f"{first}-{chance.randint(first, high)}{step}"


def _names(chance: random.Random, text: str, names: dict[str, int]) -> str:
    """The same with names for numbers, in capitals or not, if chance wants them."""
    if chance.random() < 0.5 or not text.replace(",", "").isdigit():
        return _named_range(chance, text, names)
    by_number = {number: name for name, number in names.items()}
    found = [by_number.get(int(item), item) for item in text.split(",")]
    return ",".join(chance.choice([name, name.lower(), name.title()]) for name in found)


def _named_range(chance: random.Random, text: str, names: dict[str, int]) -> str:
    first, dash, last = text.partition("-")
    by_number = {str(number): name for name, number in names.items()}
    if dash and first in by_number and last in by_number and chance.random() < 0.5:
        return f"{by_number[first]}-{by_number[last]}"
    return text


def cases(chance: random.Random, zone: str, change: datetime, expressions: int) -> Iterator[Case]:
    """Some expressions around one change, each by the default policies and by two others."""
    near = change.astimezone(zone_of(zone)).date()
    for _ in range(expressions):
        if chance.random() < 0.05:
            after = change - timedelta(seconds=chance.randrange(10**8))
            until = after + timedelta(days=chance.randint(31, 366 * MAX_YEARS_AHEAD))
            yield Case(text=_sparse_expression(chance, near), zone=zone, after=after, until=until)
            continue
        text, is_dense = _text(chance, near)
        after, until = window(chance, change, is_dense=is_dense)
        case = Case(text=text, zone=zone, after=after, until=until)
        yield case
        for _ in range(2):
            other = replace(case, gap=chance.choice(GAPS), fold=chance.choice(FOLDS))
            if not other.is_default:
                yield other


def _text(chance: random.Random, near: date) -> tuple[str, bool]:
    """What fires, and whether it does so every few minutes or seconds."""
    kind = chance.random()
    if kind < 0.07:
        return expression(chance, near, has_seconds=True), True
    if kind < 0.2:
        return aws_expression(chance, near), False
    text = expression(chance, near)
    is_dense = text.startswith("*")
    if kind < 0.25:
        text = BETWEEN_EXPRESSIONS.join([text, expression(chance, near)])
    return text, is_dense
