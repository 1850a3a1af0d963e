"""Formats times for people: relative to now, or absolute in a time zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

_SECONDS_IN = {"d": 86_400, "h": 3600, "min": 60, "s": 1}
NOW_SECONDS = 0.5
"""A time nearer than this is shown as now."""

WHOLE_FROM_SECONDS = 10
NOTHING = "-"


@dataclass(frozen=True, slots=True)
class Times:
    """Formats times as of ``now``, in ``zone`` (``None``: that of this machine).

    ``is_absolute``: tables show absolute times. ``zone_name``: for headings, such as
    ``Europe/Berlin``; empty where the times themselves say enough.
    """

    now: datetime
    zone: tzinfo | None = None
    is_absolute: bool = False
    zone_name: str = ""

    def heading(self, name: str) -> str:
        """Return the name of a column of times, with their zone."""
        return f"{name} ({self.zone_name})" if self.zone_name else name

    def short(self, instant: datetime | None) -> str:
        """Return a time for a cell of a table."""
        if instant is None:
            return NOTHING
        return self.absolute(instant) if self.is_absolute else self.relative(instant)

    def full(self, instant: datetime | None) -> str:
        """Return a time, absolute and relative."""
        if instant is None:
            return NOTHING
        return f"{self.absolute(instant)} ({self.relative(instant)})"

    def relative(self, instant: datetime) -> str:
        """Return a time relative to now, such as ``in 3 min`` or ``2.5 h ago``."""
        away = instant - self.now
        if abs(away.total_seconds()) < NOW_SECONDS:
            return "now"
        length = duration(abs(away))
        return f"in {length}" if away > timedelta(0) else f"{length} ago"

    def absolute(self, instant: datetime) -> str:
        """Return a time to the second, with the name of its zone."""
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
