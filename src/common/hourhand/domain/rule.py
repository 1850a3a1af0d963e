"""What a schedule says about when it fires: expressions, zone, policies and exclusions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum

from hourhand.domain.errors import InvalidInput

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
"""Nothing fires before it: AWS's first year, and from here on zones are well recorded."""

LATEST = datetime(2201, 1, 1, tzinfo=UTC)
"""Nothing fires at or after it: the API takes times up to the year 2200."""

MAX_EXPRESSIONS = 20
"""Expressions in one union; and, where exclusions are taken in, in one set of them."""


class BadExpression(InvalidInput):
    """The rule of a schedule is wrong; the detail says what, and what is allowed."""


class DstGap(StrEnum):
    """What becomes of local times that do not exist, because the clocks are put forward.

    ``next_valid``: they fire once, together, at the first instant after the gap. ``skip``: they do
    not fire. ``shift``: each fires later by the length of the gap (02:30 at 03:30).
    """

    NEXT_VALID = "next_valid"
    SKIP = "skip"
    SHIFT = "shift"


class DstFold(StrEnum):
    """At which of the two instants a local time fires that comes twice, as clocks are put back."""

    FIRST = "first"
    SECOND = "second"
    BOTH = "both"


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
    interval, before and after; it needs one. The policies apply to local times of fixed hour and
    minute; where either field starts with ``*`` the expression follows real time.
    """

    expressions: tuple[str, ...]
    timezone: str = "UTC"
    anchor: datetime | None = None
    dst_gap: DstGap = DstGap.NEXT_VALID
    dst_fold: DstFold = DstFold.FIRST
    exclude: tuple[Exclusion, ...] = ()


@dataclass(frozen=True, slots=True)
class Fire:
    """A nominal time of a schedule (UTC, whole seconds), and whether an exclusion removes it."""

    at: datetime
    is_excluded: bool
