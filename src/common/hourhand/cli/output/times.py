"""Times as people read them: how far away, and when, where they live."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

_SECONDS_IN = {"d": 86_400, "h": 3600, "min": 60, "s": 1}
NOW_SECONDS = 0.5
"""What is nearer than this is now."""

WHOLE_FROM_SECONDS = 10
NOTHING = "-"


@dataclass(frozen=True, slots=True)
class Times:
    """Tells times as of ``now``, in ``zone`` (``None``: where this machine is).

    ``is_absolute``: tables tell when something is instead of how far away it is.
    """

    now: datetime
    zone: tzinfo | None = None
    is_absolute: bool = False

    def short(self, instant: datetime | None) -> str:
        """Return a time for a cell of a table."""
        if instant is None:
            return NOTHING
        return self.absolute(instant) if self.is_absolute else self.relative(instant)

    def full(self, instant: datetime | None) -> str:
        """Return a time with all that is to say of it: when, and how far away that is."""
        if instant is None:
            return NOTHING
        return f"{self.absolute(instant)} ({self.relative(instant)})"

    def relative(self, instant: datetime) -> str:
        """Return how far away a time is, such as ``in 3 min`` or ``2.5 h ago``."""
        away = instant - self.now
        if abs(away.total_seconds()) < NOW_SECONDS:
            return "now"
        length = duration(abs(away))
        return f"in {length}" if away > timedelta(0) else f"{length} ago"

    def absolute(self, instant: datetime) -> str:
        """Return when a time is, to the second, with its zone's name."""
        local = instant.astimezone(self.zone)
        zone = "Z" if self.zone is UTC else f" {local.tzname()}"
        return f"{local:%Y-%m-%d %H:%M:%S}{zone}"


def duration(length: timedelta | float) -> str:
    """Return a duration (seconds, where a number) in its largest fitting unit: ``2.5 h``."""
    seconds = length.total_seconds() if isinstance(length, timedelta) else float(length)
    if seconds >= WHOLE_FROM_SECONDS:
        # 59.99 minutes are an hour.
        seconds = round(seconds)
    for unit, size in _SECONDS_IN.items():
        if seconds >= size:
            return f"{_rounded(seconds / size)} {unit}"
    return f"{seconds * 1000:.0f} ms"


def _rounded(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0") if number < 10 else f"{number:,.0f}"  # noqa: PLR2004
