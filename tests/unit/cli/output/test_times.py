"""Times are told as people read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from hourhand.cli.output.times import Times, duration

NOW = datetime(2026, 3, 28, 12, 0, tzinfo=UTC)
VIENNA = ZoneInfo("Europe/Vienna")


@pytest.mark.parametrize(
    ("away", "told"),
    [
        (timedelta(0), "now"),
        (timedelta(milliseconds=-400), "now"),
        (timedelta(seconds=1.5), "in 1.5 s"),
        (timedelta(minutes=-3), "3 min ago"),
        (timedelta(hours=2, minutes=30), "in 2.5 h"),
        (timedelta(days=-400), "400 d ago"),
    ],
)
def test_nearness_is_told_in_the_largest_unit_that_fits(away: timedelta, told: str) -> None:
    assert Times(NOW).relative(NOW + away) == told


def test_a_time_is_told_where_the_reader_lives_across_a_change_of_the_clocks() -> None:
    times = Times(NOW, VIENNA)
    assert times.absolute(NOW) == "2026-03-28 13:00:00 CET"
    assert times.full(NOW + timedelta(days=1)) == "2026-03-29 14:00:00 CEST (in 1 d)"


def test_a_table_tells_how_far_away_unless_it_is_asked_when() -> None:
    assert Times(NOW, UTC).short(NOW + timedelta(hours=1)) == "in 1 h"
    assert Times(NOW, UTC, is_absolute=True).short(NOW) == "2026-03-28 12:00:00Z"


def test_what_has_not_happened_has_no_time() -> None:
    assert (Times(NOW).short(None), Times(NOW).full(None)) == ("-", "-")


@pytest.mark.parametrize(
    ("length", "told"),
    [(0.0123, "12 ms"), (59, "59 s"), (90, "1.5 min"), (86_400 * 1234, "1,234 d")],
)
def test_a_duration_has_two_digits_or_a_whole_number(length: float, told: str) -> None:
    assert duration(length) == told
