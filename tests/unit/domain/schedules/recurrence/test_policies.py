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


EQUAL_RULES = [
    ["0 0,12 * * *", "0 */12 * * *", "0 0-23/12 * * *", "cron(0 0/12 * * ? *)"],
    ["0 0 * * *", "0 */24 * * *", "*/60 0 * * *", "@daily", "cron(*/60 */24 * * ? *)"],
    ["0,15,30,45 2 * * *", "*/15 2 * * *", "0/15 2 * * *", "cron(*/15 2 * * ? *)"],
    ["0-59 1-3 * * *", "* 1-3 * * *", "*/1 1,2,3 * * *", "cron(0/1 1-3/1 * * ? *)"],
    ["20 * * * *", "20 */1 * * *", "20 0-23 * * *", "20 0/1 * * *", "cron(20 0/1 * * ? *)"],
    ["0,20,40 * * * *", "*/20 * * * *", "*/20 0-23 * * *"],
]


@pytest.mark.parametrize("rules", EQUAL_RULES)
@pytest.mark.parametrize(
    ("zone", "after"),
    [
        *((BERLIN, "2026-03-28"), (BERLIN, "2026-10-24")),
        *(("America/Santiago", "2026-09-05"), ("America/Santiago", "2026-04-04")),
        *(("Australia/Lord_Howe", "2026-10-03"), ("Australia/Lord_Howe", "2026-04-04")),
    ],
)
@pytest.mark.parametrize("gap", DstGap)
@pytest.mark.parametrize("fold", DstFold)
def test_equal_rules_behave_equally(
    rules: list[str], zone: str, after: str, gap: DstGap, fold: DstFold
) -> None:
    asked: dict[str, Any] = {"zone": zone, "after": after, "days": 3}
    runs = [local_fires(rule, dst_gap=gap, dst_fold=fold, **asked) for rule in rules]
    assert runs[0]
    assert runs == [runs[0]] * len(rules)


def test_a_step_of_hours_names_times_of_day() -> None:
    """The case of an issue: midnight does not exist in Santiago on 6 September 2026."""
    asked: dict[str, Any] = {"zone": "America/Santiago", "after": "2026-09-06", "days": 1}
    for hours in ("0,12", "*/12"):
        assert local_fires(f"0 {hours} * * *", **asked) == ["06 01:00-03:00", "06 12:00-03:00"]


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
