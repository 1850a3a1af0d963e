"""What people are told about a change of the clocks."""

from __future__ import annotations

import pytest

from hourhand.domain.schedules.recurrence import DstFold, DstGap
from hourhand.domain.schedules.recurrence._recurrence import MAX_WARNINGS
from tests.unit.domain.schedules.recurrence.recurrence_samples import EVE, NEW_YEAR, compiled, utc

BERLIN = {"timezone": "Europe/Berlin"}
SPRING = utc("2026-03-29T01:00")
NEXT_YEAR = utc("2027-01-01")


def test_a_fire_on_any_other_day_has_no_note() -> None:
    for text in ("30 2 * * *", "0 * * * *"):
        assert compiled(text, **BERLIN).note(utc("2026-03-28T01:00")) is None


def test_an_instant_that_is_no_fire_has_no_note() -> None:
    assert compiled("30 4 * * *", **BERLIN).note(SPRING) is None


def test_a_rate_has_no_notes_and_no_warnings() -> None:
    rule = compiled("rate(1 hour)", anchor=NEW_YEAR, **BERLIN)
    assert rule.note(SPRING) is None
    assert rule.warnings(EVE, NEXT_YEAR) == ()


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("30 2 * * *", "2026-03-29 02:30 does"),
        ("0,30 2 * * *", "2026-03-29 02:00 and 02:30 do"),
        ("0,15,30 2,3 * * *", "2026-03-29 02:00, 02:15 and 02:30 do"),
        ("0-59 2 * * *", "60 times from 2026-03-29 02:00 to 02:59 do"),
        ("30 30 2 * * *", "2026-03-29 02:30:30 does"),
    ],
)
def test_a_fire_in_place_of_times_in_a_gap_says_so(text: str, missing: str) -> None:
    assert compiled(text, **BERLIN).note(SPRING) == (
        f"{missing} not exist in Europe/Berlin (the clocks go from 02:00 to 03:00):"
        " runs at 03:00, the first instant after the gap."
    )


def test_a_regular_fire_at_the_end_of_a_gap_has_no_note() -> None:
    for gap in DstGap:
        assert compiled("0 3 * * *", dst_gap=gap, **BERLIN).note(SPRING) is None


def test_a_shifted_fire_says_so() -> None:
    rule = compiled("30 2,3 * * *", dst_gap=DstGap.SHIFT, **BERLIN)
    assert rule.note(utc("2026-03-29T01:30")) == (
        "2026-03-29 02:30 does not exist in Europe/Berlin (the clocks go from 02:00 to 03:00):"
        " runs later by the length of the gap, at 03:30."
    )
    assert rule.note(utc("2026-03-30T01:30")) is None


def test_a_gap_over_midnight_is_told_with_its_dates() -> None:
    rule = compiled("0 9 * * *", timezone="Pacific/Apia")
    assert rule.note(utc("2011-12-30T10:00")) == (
        "2011-12-30 09:00 does not exist in Pacific/Apia (the clocks go from 00:00 to"
        " 2011-12-31 00:00): runs at 2011-12-31 00:00, the first instant after the gap."
    )


TWICE = "2026-10-25 02:30 occurs twice in Europe/Berlin (the clocks go from 03:00 back to 02:00)"


@pytest.mark.parametrize(
    ("fold", "at", "effect"),
    [
        (DstFold.FIRST, "2026-10-25T00:30", "runs the first time only"),
        (DstFold.SECOND, "2026-10-25T01:30", "runs the second time only"),
        (DstFold.BOTH, "2026-10-25T00:30", "runs both times; this is the first"),
        (DstFold.BOTH, "2026-10-25T01:30", "runs both times; this is the second"),
    ],
)
def test_a_fire_in_a_fold_says_which_it_is(fold: DstFold, at: str, effect: str) -> None:
    rule = compiled("30 2 * * *", dst_fold=fold, **BERLIN)
    assert rule.note(utc(at)) == f"{TWICE}: {effect}."


@pytest.mark.parametrize(("at", "which"), [("00:30", "first"), ("01:30", "second")])
def test_what_follows_real_time_says_so_in_a_fold(at: str, which: str) -> None:
    note = compiled("*/30 * * * *", **BERLIN).note(utc(f"2026-10-25T{at}"))
    assert note == f"{TWICE}: the expression follows real time; this is the {which} of the two."


def test_of_a_union_the_expression_with_an_effect_speaks() -> None:
    assert "02:30 does not exist" in str(compiled("0 3 * * *", "30 2 * * *", **BERLIN).note(SPRING))


def test_a_cron_of_another_zone_speaks_of_that() -> None:
    note = compiled("CRON_TZ=Europe/London 30 1 * * *", **BERLIN).note(SPRING)
    assert note is not None
    assert "01:30 does not exist in Europe/London" in note


def test_times_that_are_skipped_are_a_warning() -> None:
    rule = compiled("30 2 * * *", dst_gap=DstGap.SKIP, **BERLIN)
    assert rule.warnings(EVE, NEXT_YEAR) == (
        "2026-03-29 02:30 does not exist in Europe/Berlin (the clocks go from 02:00 to 03:00):"
        " no run.",
    )
    assert rule.warnings(SPRING, NEXT_YEAR) == ()
    assert rule.warnings(EVE, utc("2026-03-29T00:59:59")) == ()


@pytest.mark.parametrize("minutes", ["*/30", "0,30", "0/30"])
def test_minutes_of_an_hour_that_is_left_out_are_a_warning(minutes: str) -> None:
    rule = compiled(f"{minutes} 2 * * *", dst_gap=DstGap.SKIP, **BERLIN)
    assert rule.warnings(EVE, NEXT_YEAR) == (
        "2026-03-29 02:00 and 02:30 do not exist in Europe/Berlin"
        " (the clocks go from 02:00 to 03:00): no run.",
    )


@pytest.mark.parametrize("text", ["0 * * * *", "0 1-23/2 * * *", "30 4 * * *"])
def test_what_misses_nothing_is_warned_of_nothing(text: str) -> None:
    assert compiled(text, dst_gap=DstGap.SKIP, **BERLIN).warnings(EVE, NEXT_YEAR) == ()


def test_a_step_of_hours_that_is_left_out_is_a_warning() -> None:
    skipping = compiled("0 */2 * * *", dst_gap=DstGap.SKIP, **BERLIN)
    assert len(skipping.warnings(EVE, NEXT_YEAR)) == 1
    assert compiled("0 */2 * * *", **BERLIN).warnings(EVE, NEXT_YEAR) == ()


BEYOND = "has a step beyond its field"
NO_DIVISOR = "does not divide its field"
UNION = "the day of month or the day of week"


@pytest.mark.parametrize(
    ("text", "hints"),
    [
        ("0 */24 * * *", [BEYOND]),
        ("*/60 2 * * *", [BEYOND]),
        ("0 5/20 * * *", [BEYOND]),
        ("*/7 * * * *", [NO_DIVISOR]),
        ("0 */5 * * *", [NO_DIVISOR]),
        ("0 0 */2 * *", [NO_DIVISOR]),
        ("0 0 * * */2", [NO_DIVISOR]),
        ("*/15 2 * * *", []),
        ("* 2 * * *", []),
        ("0 0 13 * FRI", [UNION]),
        ("CRON_TZ=Europe/Berlin 0 0 13 * FRI", [UNION]),
        ("30 0 0 13 * FRI", [UNION]),
        ("cron(*/7 * ? * MON-FRI *)", [NO_DIVISOR]),
        ("cron(0 0 ? * MON-FRI 2026/3)", []),
        ("10-50/7 3 * * *", []),
        ("5/20 * * * *", []),
        ("*/15 * * * *", []),
        ("0 0,12 * * *", []),
        ("@daily", []),
        ("rate(7 minutes)", []),
        ("at(2027-01-01T09:00)", []),
    ],
)
def test_a_hint_names_what_an_author_may_not_expect(text: str, hints: list[str]) -> None:
    found = compiled(text, **BERLIN, anchor=EVE).hints()
    assert [any(hint in one for one in found) for hint in hints] == [True] * len(hints)
    assert len(found) == len(hints)


def test_what_fires_after_all_is_no_warning() -> None:
    assert compiled("30 2 * * *", **BERLIN).warnings(EVE, NEXT_YEAR) == ()


def test_the_number_of_warnings_is_bounded() -> None:
    rule = compiled("30 2 * * *", "15 2 * * *", dst_gap=DstGap.SKIP, **BERLIN)
    found = rule.warnings(EVE, utc("2100-01-01"))
    assert len(found) == MAX_WARNINGS
    assert found[0].startswith("2026-03-29 02:30")
