"""How far the local clock is from AWS's own, as an interval, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from hourhand.domain.ticks.timings import Timings

ZERO = timedelta(0)


@dataclass(frozen=True, slots=True)
class TimeSample:
    """AWS's time and ours for one exchange.

    AWS stamped a time between ``server_earliest`` and ``server_latest`` on something that we sent
    at ``sent_at`` and had back at ``received_at`` by the local clock.
    """

    sent_at: datetime
    received_at: datetime
    server_earliest: datetime
    server_latest: datetime


@dataclass(frozen=True, slots=True)
class Skew:
    """AWS's time minus ours lies between ``low`` and ``high``."""

    low: timedelta
    high: timedelta

    @property
    def correction(self) -> timedelta:
        """What must at least be added to the local clock: nothing where zero is possible."""
        if self.low <= ZERO <= self.high:
            return ZERO
        return self.low if self.low > ZERO else self.high

    @property
    def uncertainty(self) -> timedelta:
        """Half the width of the interval."""
        return (self.high - self.low) / 2


class SkewVerdict(StrEnum):
    """What a scheduler with this skew may do."""

    FINE = "fine"
    WIDEN = "widen"
    REFUSE = "refuse"


def estimate_skew(samples: Iterable[TimeSample]) -> Skew | None:
    """Intersect what every sample allows; ``None`` without samples.

    Where samples contradict one another (a clock was stepped between them) the last one counts.
    A sample during which the local clock was set back says nothing.
    """
    skew: Skew | None = None
    for sample in samples:
        low = sample.server_earliest - sample.received_at
        high = sample.server_latest - sample.sent_at
        if low > high:
            continue
        if skew is not None and max(skew.low, low) <= min(skew.high, high):
            low, high = max(skew.low, low), min(skew.high, high)
        skew = Skew(low, high)
    return skew


def judge_skew(skew: Skew | None, timings: Timings) -> SkewVerdict:
    """Say whether a scheduler may lead.

    Beyond one bound it widens its windows, beyond the other it refuses. Without any sample
    nothing is known against the clock.
    """
    size = abs(skew.correction) if skew else ZERO
    if size > timings.skew_refuses:
        return SkewVerdict.REFUSE
    if size > timings.skew_widens:
        return SkewVerdict.WIDEN
    return SkewVerdict.FINE
