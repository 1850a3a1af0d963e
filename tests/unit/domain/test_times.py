"""Instants in whole milliseconds, and rounding that never goes the wrong way."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from hourhand.domain.times import (
    ceil_seconds,
    floor_ms,
    floor_seconds,
    from_ms,
    rfc3339,
    to_ms,
)

NOON = datetime(2026, 11, 21, 12, 0, 0, 123_999, tzinfo=UTC)


def test_instants_before_the_epoch_are_rounded_down_too() -> None:
    before = datetime(1969, 12, 31, 23, 59, 59, 999_500, tzinfo=UTC)
    assert to_ms(before) == -1
    assert from_ms(-1) == before.replace(microsecond=999_000)


def test_another_offset_is_the_same_instant() -> None:
    there = NOON.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert to_ms(there) == to_ms(NOON)
    assert floor_ms(there).utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    ("seconds", "up", "down"),
    [(0, 0, 0), (0.001, 1, 0), (1, 1, 1), (1.001, 2, 1), (59.999, 60, 59), (-0.001, 0, 0)],
)
def test_seconds_are_rounded_as_asked(seconds: float, up: int, down: int) -> None:
    duration = timedelta(seconds=seconds)
    assert ceil_seconds(duration) == up
    assert floor_seconds(duration) == down


def test_a_delay_is_never_negative() -> None:
    assert floor_seconds(timedelta(days=-3)) == 0


def test_times_go_out_in_utc_with_z_and_milliseconds() -> None:
    assert rfc3339(NOON) == "2026-11-21T12:00:00.123Z"
    there = NOON.astimezone(timezone(timedelta(hours=-8)))
    assert rfc3339(there) == "2026-11-21T12:00:00.123Z"
