"""Gaps and folds: each policy, and what follows real time instead."""

from __future__ import annotations

from typing import Any

import pytest

from hourhand.domain.schedules.recurrence import DstFold, DstGap
from tests.unit.domain.schedules.recurrence.recurrence_samples import fires, local_fires

NEXT_VALID, SKIP, SHIFT = DstGap
FIRST, SECOND, BOTH = DstFold
BERLIN = "Europe/Berlin"


def in_gap(*expressions: str, gap: DstGap) -> list[str]:
    return local_fires(*expressions, zone=BERLIN, after="2026-03-29", days=1, dst_gap=gap)


def test_several_times_in_one_gap_collapse_into_one_fire_also_with_a_regular_one() -> None:
    assert in_gap("0,30 2 * * *", gap=NEXT_VALID) == ["29 03:00+02:00"]
    assert in_gap("0,30 2,3 * * *", gap=NEXT_VALID) == ["29 03:00+02:00", "29 03:30+02:00"]
    assert in_gap("30 2 * * *", "0 3 * * *", gap=NEXT_VALID) == ["29 03:00+02:00"]


def test_shifted_times_mingle_with_regular_ones_in_order_and_each_once() -> None:
    assert in_gap("15,30 2,3 * * *", gap=SHIFT) == ["29 03:15+02:00", "29 03:30+02:00"]
    assert in_gap("15 2 * * *", "0,30 3 * * *", gap=SHIFT) == [
        "29 03:00+02:00",
        "29 03:15+02:00",
        "29 03:30+02:00",
    ]


def test_a_range_of_all_minutes_is_not_wild() -> None:
    assert in_gap("0-59 2 * * *", gap=NEXT_VALID) == ["29 03:00+02:00"]
    assert in_gap("cron(0/15 2 * * ? *)", gap=NEXT_VALID) == ["29 03:00+02:00"]
    assert in_gap("cron(*/15 2 * * ? *)", gap=NEXT_VALID) == []


@pytest.mark.parametrize("gap", [NEXT_VALID, SHIFT])
def test_a_window_that_begins_within_the_moved_times_shows_only_those_inside(gap: DstGap) -> None:
    asked: dict[str, Any] = {"timezone": BERLIN, "dst_gap": gap, "days": 1}
    later = "2026-03-29T01:15"
    expected = ["2026-03-29T01:30"] if gap is SHIFT else []
    assert fires("0,30 2 29 3 *", after=later, **asked) == expected


def test_a_fold_over_midnight_gives_each_date_its_own_fires() -> None:
    """St. John's, 2007: at 00:01 of 4 November the clocks went back to 23:01 of the 3rd."""
    asked: dict[str, Any] = {"zone": "America/St_Johns", "after": "2007-11-03 12:00", "days": 1}
    times = ("0 0 * * *", "30 23 * * *")
    assert local_fires(*times, dst_fold=FIRST, **asked) == ["03 23:30-02:30", "04 00:00-02:30"]
    assert local_fires(*times, dst_fold=SECOND, **asked) == ["03 23:30-03:30", "04 00:00-03:30"]
    assert local_fires(*times, dst_fold=BOTH, **asked) == [
        "03 23:30-02:30",
        "04 00:00-02:30",
        "03 23:30-03:30",
        "04 00:00-03:30",
    ]
