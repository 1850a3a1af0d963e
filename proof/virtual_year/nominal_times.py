"""When a schedule of the virtual year should fire, worked out without any code of `hourhand`.

Crons, and local times of ``at(...)`` written as crons, go through the brute force of
`tests.properties.recurrence_oracles`, which walks a clock on the wall minute by minute; rates are
plain arithmetic. Expressions of AWS's dialect come with the words of crontab that mean the same.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

from tests.properties.recurrence_oracles import brute_force, zone_of

SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Cron:
    """A cron expression in the words of crontab; ``only_on``: it is an ``at(...)`` of that day."""

    text: str
    only_on: date | None = None

    @property
    def has_seconds(self) -> bool:
        """Whether it has six fields: then only short windows can be asked for."""
        return len(self.text.split()) == 6


@dataclass(frozen=True)
class Excluded:
    """What removes fires: local dates, spans of time ``[start, end)``, and crons."""

    dates: tuple[tuple[date, date], ...] = ()
    spans: tuple[tuple[datetime, datetime], ...] = ()
    crons: tuple[Cron, ...] = ()


@dataclass(frozen=True)
class Clockwork:
    """A zone and its policies."""

    zone: str
    gap: str
    fold: str


@dataclass(frozen=True)
class Beat:
    """When a schedule fires: the union of crons and rates (in seconds, from ``anchor``).

    ``anchor`` ``None``: its start, or when it was put. ``excluded``: its own exclusions;
    ``calendars``: those that it shares.
    """

    clockwork: Clockwork
    crons: tuple[Cron, ...] = ()
    rates: tuple[int, ...] = ()
    anchor: datetime | None = None
    start: datetime | None = None
    end: datetime | None = None
    excluded: Excluded = Excluded()
    calendars: tuple[str, ...] = ()


_Month = tuple[int, int]
_Key = tuple[Cron, Clockwork, _Month]


@dataclass
class FireTable:
    """The fires of crons, month by month: asked for once, and kept."""

    _fires: dict[_Key, list[datetime]] = field(default_factory=dict)

    def prepare(self, wanted: Iterable[tuple[Cron, Clockwork, datetime, datetime]]) -> None:
        """Work out what will be asked for in the order that walks each wall once."""
        keys = {
            (cron, clockwork, month)
            for cron, clockwork, after, until in wanted
            if not cron.has_seconds
            for month in _months(after, until)
        }
        for key in sorted(keys, key=lambda k: (k[1].zone, k[2], k[0].text)):
            self._of_month(*key)

    def fires(
        self, cron: Cron, clockwork: Clockwork, after: datetime, until: datetime
    ) -> list[datetime]:
        """Every fire later than ``after``, at most at ``until``."""
        if until <= after:
            return []
        if cron.has_seconds:
            return _brute_force(cron, clockwork, after, until)
        found: list[datetime] = []
        for month in _months(after, until):
            found += self._of_month(cron, clockwork, month)
        found = found[bisect_right(found, after) : bisect_right(found, until)]
        if cron.only_on is None:
            return found
        noon = datetime(cron.only_on.year, cron.only_on.month, cron.only_on.day, 12, tzinfo=UTC)
        return [at for at in found if abs(at - noon) < 3 * DAY]

    def fires_at(self, cron: Cron, clockwork: Clockwork, at: datetime) -> bool:
        """Whether it fires at that very second."""
        if cron.has_seconds:
            return bool(self.fires(cron, clockwork, at - SECOND, at))
        found = self._of_month(cron, clockwork, next(_months(at - SECOND, at)))
        place = bisect_left(found, at)
        return place < len(found) and found[place] == at

    def _of_month(self, cron: Cron, clockwork: Clockwork, month: _Month) -> list[datetime]:
        key = (cron, clockwork, month)
        if key not in self._fires:
            first, last = _bounds(month)
            self._fires[key] = _brute_force(cron, clockwork, first, last)
        return self._fires[key]


def nominal_times(
    beat: Beat, anchor: datetime | None, after: datetime, until: datetime, table: FireTable
) -> list[datetime]:
    """Every nominal time later than ``after``, at most at ``until``, excluded ones included."""
    if beat.start is not None:
        after = max(after, beat.start - timedelta(milliseconds=1))
    if beat.end is not None:
        until = min(until, beat.end)
    found: set[datetime] = set()
    for cron in beat.crons:
        found.update(table.fires(cron, beat.clockwork, after, until))
    for seconds in beat.rates:
        assert anchor is not None
        found.update(_beats(anchor, seconds, after, until))
    return sorted(found)


def is_excluded(at: datetime, excluded: Excluded, clockwork: Clockwork, table: FireTable) -> bool:
    """Whether a fire is removed."""
    if excluded.dates:
        local = at.astimezone(zone_of(clockwork.zone)).date()
        if any(first <= local <= last for first, last in excluded.dates):
            return True
    if any(start <= at < end for start, end in excluded.spans):
        return True
    # A cron that names no seconds stands for its whole minutes.
    minute = at.replace(second=0)
    return any(
        table.fires_at(cron, clockwork, at if cron.has_seconds else minute)
        for cron in excluded.crons
    )


def _beats(anchor: datetime, seconds: int, after: datetime, until: datetime) -> Iterator[datetime]:
    interval = timedelta(seconds=seconds)
    at = anchor + ((after - anchor) // interval + 1) * interval
    while at <= until:
        yield at
        at += interval


def _brute_force(
    cron: Cron, clockwork: Clockwork, after: datetime, until: datetime
) -> list[datetime]:
    return brute_force(
        cron.text, clockwork.zone, after, until, gap=clockwork.gap, fold=clockwork.fold
    )


def _months(after: datetime, until: datetime) -> Iterator[_Month]:
    """The months of UTC with an instant later than ``after`` and at most at ``until``."""
    year, month = _month_of(after + timedelta(milliseconds=1))
    last = _month_of(until)
    while (year, month) <= last:
        yield year, month
        year, month = (year, month + 1) if month < 12 else (year + 1, 1)


def _month_of(at: datetime) -> _Month:
    # The first instant of a month is the last of the window before it.
    at -= timedelta(milliseconds=1)
    return at.year, at.month


def _bounds(month: _Month) -> tuple[datetime, datetime]:
    first = datetime(*month, 1, tzinfo=UTC)
    return first, (first + 32 * DAY).replace(day=1)
