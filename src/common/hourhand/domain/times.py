"""Instants as the stores keep them: whole milliseconds since 1970-01-01T00:00Z, always UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def to_ms(instant: datetime) -> int:
    """Return ``instant`` in whole milliseconds, rounded down."""
    return (instant - _EPOCH) // _MILLISECOND


def from_ms(milliseconds: int) -> datetime:
    """Return the instant that many milliseconds after the epoch."""
    return _EPOCH + milliseconds * _MILLISECOND


def floor_ms(instant: datetime) -> datetime:
    """Return ``instant`` without its fraction of a millisecond, as every store keeps it."""
    return from_ms(to_ms(instant))


def ceil_seconds(duration: timedelta) -> int:
    """Return ``duration`` in whole seconds, rounded up."""
    return -int(-duration // timedelta(seconds=1))


def floor_seconds(duration: timedelta) -> int:
    """Return ``duration`` in whole seconds, rounded down and never below 0."""
    return max(0, int(duration // timedelta(seconds=1)))


def rfc3339(instant: datetime) -> str:
    """Return ``instant`` as RFC 3339 in UTC with ``Z`` and milliseconds."""
    return instant.astimezone(UTC).isoformat("T", "milliseconds")[: -len("+00:00")] + "Z"
