"""Time zones: their names, and the spans of constant UTC offset of each.

Both come from the pinned package ``tzdata`` alone: every function knows the same rules. A span is
in whole seconds since 1970-01-01T00:00Z.

The standard library answers "what is the offset at this instant" but not "when does it change".
So a year is probed day by day, and each change found by bisection. No zone changed its offset
twice in one day since 1970 (a test goes through all of them).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from zoneinfo import ZoneInfo

from hourhand.domain.schedules.rule import BadExpression

DAY_SECONDS = 86_400
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_CACHED_YEARS = 4096
_CUTS = (1, 8, 15, 22)
_QUIET_DAYS = 3
_MAX_NAME_LENGTH = 64
_MAX_SUGGESTIONS = 3


@cache
def zone_names() -> frozenset[str]:
    """Return every name that the time zone database knows."""
    return frozenset(files("tzdata").joinpath("zones").read_text("utf-8").split())


def zone_named(name: str) -> ZoneInfo:
    """Return the zone of that IANA name.

    Raises `BadExpression` with the closest names where there is none. Only names on the
    database's own list are ever made into a path.
    """
    if len(name) > _MAX_NAME_LENGTH or name not in zone_names():
        raise BadExpression(_unknown(name[:_MAX_NAME_LENGTH]))
    return _load(name)


@cache  # Bounded by the list of names.
def _load(name: str) -> ZoneInfo:
    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


def _unknown(name: str) -> str:
    by_folded = {known.casefold(): known for known in sorted(zone_names())}
    by_city = {folded.rpartition("/")[2]: known for folded, known in by_folded.items()}
    wanted = name.strip().replace(" ", "_").casefold()
    close = [by_folded[wanted]] if wanted in by_folded else []
    for index in (by_folded, by_city):
        close += [index[key] for key in get_close_matches(wanted, index, _MAX_SUGGESTIONS, 0.75)]
    names = list(dict.fromkeys(close))[:_MAX_SUGGESTIONS]
    hint = f" Did you mean {' or '.join(names)}?" if names else ""
    return f"There is no time zone {name!r}: use an IANA name such as Europe/Berlin.{hint}"


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a year in which a zone's offset is the same: ``start`` <= instant < ``end``.

    ``before`` and ``after`` are the offsets just before its start and at its end: equal to
    ``offset`` where a year is cut.
    """

    start: int
    end: int
    offset: int
    before: int
    after: int

    @property
    def gap(self) -> tuple[int, int]:
        """The local times that the change at its start leaves out: from, to; empty if none."""
        return self.start + self.before, max(self.start + self.before, self.start + self.offset)

    @property
    def repeats_until(self) -> int:
        """The local time before which its local times are those of the span before, again."""
        return self.start + max(self.before, self.offset)

    @property
    def repeated_from(self) -> int:
        """The local time from which its local times come again in the next span."""
        return self.end + min(self.offset, self.after)


def to_seconds(instant: datetime) -> int:
    """Return an aware instant in whole seconds since the epoch, rounded down."""
    return (instant - _EPOCH) // timedelta(seconds=1)


def from_seconds(seconds: int) -> datetime:
    """Return the instant that many seconds after the epoch, in UTC."""
    return _EPOCH + timedelta(seconds=seconds)


def span_at(zone: str, instant: int) -> Span:
    """Return the span that holds the instant."""
    year = from_seconds(instant).year
    spans = _spans_of_year(zone, year)
    if instant < spans[0].start:
        spans = _spans_of_year(zone, year - 1)
    return next(span for span in spans if instant < span.end)


@lru_cache(maxsize=_MAX_CACHED_YEARS)
def _spans_of_year(name: str, year: int) -> tuple[Span, ...]:
    zone = zone_named(name)
    first, last = _cut(zone, year), _cut(zone, year + 1)
    changes = _changes(zone, first, last)
    offsets = [_offset(zone, instant) for instant in (first, first, *changes, last)]
    edges = [first, *changes, last]
    return tuple(
        Span(start, end, offsets[i + 1], offsets[i], offsets[i + 2])
        for i, (start, end) in enumerate(pairwise(edges))
    )


def _cut(zone: ZoneInfo, year: int) -> int:
    """Return where a year begins for us: in January, days away from any change.

    So what a change moves, by a day at most, stays within the span that begins with it.
    """
    cuts = (to_seconds(datetime(year, 1, day, tzinfo=UTC)) for day in _CUTS)
    return next(cut for cut in cuts if _is_quiet(zone, cut))


def _is_quiet(zone: ZoneInfo, instant: int) -> bool:
    days = range(-_QUIET_DAYS, _QUIET_DAYS + 1)
    return len({_offset(zone, instant + day * DAY_SECONDS) for day in days}) == 1


def _changes(zone: ZoneInfo, first: int, last: int) -> list[int]:
    """Return the instants after ``first`` and before ``last`` at which the offset changes."""
    if zone.utcoffset(None) is not None:  # The zone has one offset for ever, as UTC.
        return []
    changes = []
    known = _offset(zone, first)
    for day in range(first, last, DAY_SECONDS):
        high = day + DAY_SECONDS - 1
        offset = _offset(zone, high)
        if offset != known:
            changes.append(_change_between(zone, max(first, day - 1), high))
            known = offset
    return changes


def _change_between(zone: ZoneInfo, low: int, high: int) -> int:
    """Return the first instant after ``low`` with another offset; there is one until ``high``."""
    known = _offset(zone, low)
    while high - low > 1:  # At most 17 times: it halves a day.
        middle = (low + high) // 2
        if _offset(zone, middle) == known:
            low = middle
        else:
            high = middle
    return high


def _offset(zone: ZoneInfo, instant: int) -> int:
    offset = from_seconds(instant).astimezone(zone).utcoffset()
    assert offset is not None, "every zone of the database has an offset"
    return offset // timedelta(seconds=1)
