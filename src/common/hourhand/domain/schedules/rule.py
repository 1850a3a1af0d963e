"""What a schedule says about when it fires: expressions, zone, policies and exclusions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import Literal, TypeAlias

import tzdata

from hourhand.domain.errors import InvalidInput

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
"""Nothing fires before it: AWS's first year, and from here on zones are well recorded."""

LATEST = datetime(2201, 1, 1, tzinfo=UTC)
"""Nothing fires at or after it: the API takes times up to the year 2200."""

MAX_EXPRESSIONS = 20
"""Expressions in one union; and, where exclusions are taken in, in one set of them."""

MAX_EXCLUDED_EXPRESSIONS = 100
"""Expressions that a schedule excludes, those of its calendars included. Each of them is compared
with each of its scheduled times."""

MAX_EXCLUSIONS = 5_000
"""Dates, ranges and expressions that a schedule excludes, those of its calendars included."""

MAX_WORK = 1_200_000
"""What one visit or one search may do: more than a year of minutes with one excluding expression.
It takes about half a second, on a usual core."""

UNITS_BETWEEN_QUESTIONS = 20_000
"""After so much work, about 20 ms of it, the time that is left is looked at again."""

MAX_EXCLUDED_SECONDS = 20 * 365 * 86_400
"""About twenty years: a schedule whose fires are all excluded for so long counts as one without."""

TZDATA_VERSION: str = tzdata.IANA_VERSION
"""The release of the time zone database in use, such as ``2026a``."""


class BadExpression(InvalidInput):
    """The rule of a schedule is wrong; the detail says what, and what is allowed."""


def _always() -> bool:
    return True


@dataclass(slots=True)
class Work:
    """How much computing of scheduled times is allowed, and how much of it was done.

    A unit is one scheduled time that is compared with one expression. ``may_go_on`` knows the time
    that is left; it is asked once in `UNITS_BETWEEN_QUESTIONS` units, and not again after a "no".
    ``most_times``: a visit looks at no more scheduled times than that.
    """

    most: int
    may_go_on: Callable[[], bool] = _always
    most_times: int | None = None
    done: int = field(default=0, init=False)
    _asked_at: int = field(default=0, init=False)
    _is_late: bool = field(default=False, init=False)

    @property
    def is_over(self) -> bool:
        """Whether no more may be done."""
        return self._is_late or self.done >= self.most

    def spend(self, units: int) -> None:
        """Count units that were done."""
        self.done += units
        if self.done - self._asked_at >= UNITS_BETWEEN_QUESTIONS:
            self._asked_at = self.done
            self.look_at_time()

    def look_at_time(self) -> bool:
        """Ask now whether to go on."""
        self._is_late = self._is_late or not self.may_go_on()
        return not self._is_late


class DstGap(StrEnum):
    """What becomes of local times that do not exist, because the clocks are put forward.

    ``next_valid``: they fire once, together, at the first instant after the gap. ``skip``: they do
    not fire. ``shift``: each fires later by the length of the gap (02:30 at 03:30).
    """

    NEXT_VALID = "next_valid"
    SKIP = "skip"
    SHIFT = "shift"


DstGapChoice: TypeAlias = DstGap | Literal["next_valid", "skip", "shift"]
"""What callers write for it."""


class DstFold(StrEnum):
    """At which of the two instants a local time fires that comes twice, as clocks are put back."""

    FIRST = "first"
    SECOND = "second"
    BOTH = "both"


DstFoldChoice: TypeAlias = DstFold | Literal["first", "second", "both"]
"""What callers write for it."""


@dataclass(frozen=True, slots=True)
class ExcludedDate:
    """No fire on this local date of the schedule's zone."""

    date: date


@dataclass(frozen=True, slots=True)
class ExcludedDates:
    """No fire from one local date of the schedule's zone to another, both included."""

    first: date
    last: date


@dataclass(frozen=True, slots=True)
class ExcludedTimes:
    """No fire at or after the instant ``start`` and before ``end``; both are aware."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class ExcludedExpression:
    """No fire at an instant at which this expression would fire, in the same zone and policies."""

    text: str


Exclusion = ExcludedDate | ExcludedDates | ExcludedTimes | ExcludedExpression


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """When a schedule fires: at every instant of any of its expressions (a union).

    ``anchor``: an expression ``rate()`` fires at the anchor plus each whole multiple of its
    interval, before and after; it needs one. An expression with all 24
    hours follows real time; the policies apply to every other one, however its values are written.
    """

    expressions: tuple[str, ...]
    timezone: str = "UTC"
    anchor: datetime | None = None
    dst_gap: DstGap = DstGap.NEXT_VALID
    dst_fold: DstFold = DstFold.FIRST
    exclude: tuple[Exclusion, ...] = ()


@dataclass(frozen=True, slots=True)
class Fire:
    """A nominal time of a schedule (UTC, whole seconds), and whether an exclusion removes it.

    ``is_replaced``: an edit of the schedule removed it (`fires_of`).
    """

    at: datetime
    is_excluded: bool
    is_replaced: bool = False

    @property
    def is_wanted(self) -> bool:
        """Whether neither removes it."""
        return not (self.is_excluded or self.is_replaced)


@dataclass(frozen=True, slots=True)
class Found:
    """A search met a fire that is not excluded."""

    at: datetime


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A search met excluded fires alone, from ``since`` to ``at``; there may be others later.

    It gives up when its work or its time is used up, or all were excluded for very long.
    """

    since: datetime
    at: datetime

    @property
    def is_for_good(self) -> bool:
        """Whether the search is over: all were excluded for `MAX_EXCLUDED_SECONDS`."""
        return self.at - self.since > timedelta(seconds=MAX_EXCLUDED_SECONDS)
