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


def in_fold(*expressions: str, fold: DstFold) -> list[str]:
    return local_fires(*expressions, zone=BERLIN, after="2026-10-25", days=1, dst_fold=fold)


@pytest.mark.parametrize(
    ("gap", "expected"),
    [(NEXT_VALID, ["29 03:00+02:00"]), (SKIP, []), (SHIFT, ["29 03:30+02:00"])],
)
def test_a_time_in_the_gap(gap: DstGap, expected: list[str]) -> None:
    assert in_gap("30 2 * * *", gap=gap) == expected
    assert in_gap("at(2026-03-29T02:30)", gap=gap) == expected


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


def test_times_just_before_and_after_the_gap_are_as_always() -> None:
    for gap in DstGap:
        assert in_gap("59 1 * * *", gap=gap) == ["29 01:59+01:00"]
        assert in_gap("0 3 * * *", gap=gap) == ["29 03:00+02:00"]


@pytest.mark.parametrize(
    ("fold", "expected"),
    [
        (FIRST, ["25 02:30+02:00"]),
        (SECOND, ["25 02:30+01:00"]),
        (BOTH, ["25 02:30+02:00", "25 02:30+01:00"]),
    ],
)
def test_a_time_that_comes_twice(fold: DstFold, expected: list[str]) -> None:
    assert in_fold("30 2 * * *", fold=fold) == expected
    assert in_fold("at(2026-10-25T02:30)", fold=fold) == expected


def test_the_edges_of_the_fold() -> None:
    for fold in DstFold:
        assert in_fold("59 1 * * *", fold=fold) == ["25 01:59+02:00"]
        assert in_fold("0 3 * * *", fold=fold) == ["25 03:00+01:00"]
    assert in_fold("0 2 * * *", fold=SECOND) == ["25 02:00+01:00"]
    assert in_fold("59 2 * * *", fold=FIRST) == ["25 02:59+02:00"]


@pytest.mark.parametrize("fold", DstFold)
@pytest.mark.parametrize("gap", DstGap)
def test_what_is_wild_follows_real_time_whatever_the_policies(gap: DstGap, fold: DstFold) -> None:
    policies: dict[str, Any] = {"zone": BERLIN, "dst_gap": gap, "dst_fold": fold}
    assert len(local_fires("0 * * * *", after="2026-03-29", days=1, **policies)) == 23
    assert len(local_fires("0 * * * *", after="2026-10-25", days=1, **policies)) == 25
    assert len(local_fires("*/15 * * * *", after="2026-10-25", days=1, **policies)) == 100
    assert local_fires("*/30 2 * * *", after="2026-03-29", days=1, **policies) == []
    assert local_fires("*/30 2 * * *", after="2026-10-25", days=1, **policies) == [
        "25 02:00+02:00",
        "25 02:30+02:00",
        "25 02:00+01:00",
        "25 02:30+01:00",
    ]


def test_a_range_of_all_minutes_is_not_wild() -> None:
    assert in_gap("0-59 2 * * *", gap=NEXT_VALID) == ["29 03:00+02:00"]
    assert in_gap("cron(0/15 2 * * ? *)", gap=NEXT_VALID) == ["29 03:00+02:00"]
    assert in_gap("cron(*/15 2 * * ? *)", gap=NEXT_VALID) == []


def test_a_gap_at_midnight_keeps_the_date() -> None:
    """Santiago, Sunday 6 September 2026: no 00:00 to 00:59."""
    asked: dict[str, Any] = {"zone": "America/Santiago", "after": "2026-09-05 12:00", "days": 1}
    assert local_fires("0 0 6 9 *", **asked) == ["06 01:00-03:00"]
    assert local_fires("0 0 6 9 *", dst_gap=SHIFT, **asked) == ["06 01:00-03:00"]
    assert local_fires("30 0 6 9 *", dst_gap=SHIFT, **asked) == ["06 01:30-03:00"]


def test_a_day_that_does_not_exist() -> None:
    """Apia had no 30 December 2011; the day before was of UTC-10, the day after of UTC+14."""
    asked: dict[str, Any] = {"zone": "Pacific/Apia", "after": "2011-12-29", "days": 3}
    assert local_fires("0 9 * * *", **asked) == [
        "29 09:00-10:00",
        "31 00:00+14:00",
        "31 09:00+14:00",
    ]
    assert local_fires("0 9 * * *", dst_gap=SKIP, **asked) == ["29 09:00-10:00", "31 09:00+14:00"]
    assert local_fires("0 9 * * *", dst_gap=SHIFT, **asked) == ["29 09:00-10:00", "31 09:00+14:00"]
    assert local_fires("0 9 30 * *", dst_gap=SHIFT, **asked) == ["31 09:00+14:00"]


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
