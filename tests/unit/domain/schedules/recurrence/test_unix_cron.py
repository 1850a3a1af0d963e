"""The Unix dialect: what each field takes, what it means, and what is refused in words."""

from __future__ import annotations

import pytest

from tests.unit.domain.schedules.recurrence.recurrence_samples import fires, refusal


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("* * * * *", ["2026-01-01T00:00", "2026-01-01T00:01", "2026-01-01T00:02"]),
        ("30 4 * * *", ["2026-01-01T04:30", "2026-01-02T04:30", "2026-01-03T04:30"]),
        ("*/25 0 * * *", ["2026-01-01T00:00", "2026-01-01T00:25", "2026-01-01T00:50"]),
        ("10/25 0 * * *", ["2026-01-01T00:10", "2026-01-01T00:35", "2026-01-02T00:10"]),
        ("10-40/20 0 * * *", ["2026-01-01T00:10", "2026-01-01T00:30", "2026-01-02T00:10"]),
        ("5,1,5-6 0 * * *", ["2026-01-01T00:01", "2026-01-01T00:05", "2026-01-01T00:06"]),
        ("0 0 1 */6 *", ["2026-01-01T00:00", "2026-07-01T00:00", "2027-01-01T00:00"]),
        ("0 0 1 feb,Apr-MAY *", ["2026-02-01T00:00", "2026-04-01T00:00", "2026-05-01T00:00"]),
        ("0 0 * * mon-Tue", ["2026-01-05T00:00", "2026-01-06T00:00", "2026-01-12T00:00"]),
        ("0 0 * * 6-7", ["2026-01-03T00:00", "2026-01-04T00:00", "2026-01-10T00:00"]),
        ("  0\t0  1 1 *  ", ["2026-01-01T00:00", "2027-01-01T00:00", "2028-01-01T00:00"]),
        ("00 09 01 1 *", ["2026-01-01T09:00", "2027-01-01T09:00", "2028-01-01T09:00"]),
    ],
)
def test_five_fields(text: str, expected: list[str]) -> None:
    assert fires(text, count=3) == expected


@pytest.mark.parametrize("sunday", ["0", "7", "SUN", "sun"])
def test_sunday_has_three_names(sunday: str) -> None:
    assert fires(f"0 0 * * {sunday}", count=2) == ["2026-01-04T00:00", "2026-01-11T00:00"]
    assert fires(f"0 0 * * {sunday}#2", count=2) == ["2026-01-11T00:00", "2026-02-08T00:00"]
    assert fires(f"0 0 * * {sunday}L", count=2) == ["2026-01-25T00:00", "2026-02-22T00:00"]


def test_a_range_of_one_number_is_that_number() -> None:
    """In croniter 7 it is every hour."""
    assert fires("0 5-5 * * *", count=2) == ["2026-01-01T05:00", "2026-01-02T05:00"]


def test_the_last_day_of_a_month_alone_and_in_a_list() -> None:
    assert fires("0 0 L * *", count=2) == ["2026-01-31T00:00", "2026-02-28T00:00"]
    assert fires("0 0 L 2 *", count=3)[2] == "2028-02-29T00:00"
    assert fires("0 0 LW * *", count=3)[2] == "2026-03-31T00:00"
    assert fires("0 0 LW 1,5 *", count=2) == ["2026-01-30T00:00", "2026-05-29T00:00"]
    assert fires("0 0 15,LW * *", count=2) == ["2026-01-15T00:00", "2026-01-30T00:00"]
    assert fires("0 0 15,l * *", count=2) == ["2026-01-15T00:00", "2026-01-31T00:00"]


def test_the_nth_and_the_last_weekday_of_a_month() -> None:
    assert fires("0 0 * * 5#2", count=2) == ["2026-01-09T00:00", "2026-02-13T00:00"]
    assert fires("0 0 * * 5#5", count=2) == ["2026-01-30T00:00", "2026-05-29T00:00"]
    assert fires("0 0 * * 5L", count=2) == fires("0 0 * * L5", count=2)
    assert fires("0 0 * * FRIL", count=2) == ["2026-01-30T00:00", "2026-02-27T00:00"]


def test_weekdays_plain_nth_and_last_stand_side_by_side() -> None:
    assert fires("0 0 * 1 MON#1,5L,WED", count=4) == [
        "2026-01-05T00:00",
        "2026-01-07T00:00",
        "2026-01-14T00:00",
        "2026-01-21T00:00",
    ]


def test_two_restricted_day_fields_are_an_or() -> None:
    """crontab(5): "30 4 1,15 * 5" is 4:30 on the 1st and 15th, and on every Friday."""
    assert fires("30 4 1,15 * 5", count=5) == [
        "2026-01-01T04:30",
        "2026-01-02T04:30",
        "2026-01-09T04:30",
        "2026-01-15T04:30",
        "2026-01-16T04:30",
    ]
    assert fires("0 0 13 * 5#2", count=3) == [
        "2026-01-09T00:00",
        "2026-01-13T00:00",
        "2026-02-13T00:00",
    ]
    assert fires("0 0 1-31 * 1", count=2) == ["2026-01-01T00:00", "2026-01-02T00:00"]


def test_a_day_field_that_starts_with_a_star_is_an_and() -> None:
    """Vixie: "0 0 */2 * MON" is the Mondays among the odd days."""
    assert fires("0 0 */2 * MON", count=2) == ["2026-01-05T00:00", "2026-01-19T00:00"]
    assert fires("0 0 13 * */5", count=2) == ["2026-02-13T00:00", "2026-03-13T00:00"]
    assert fires("0 0 * * MON", count=1) == ["2026-01-05T00:00"]


def test_six_fields_have_the_second_first() -> None:
    assert fires("*/30 0 0 1 1 *", count=3) == [
        "2026-01-01T00:00",
        "2026-01-01T00:00:30",
        "2027-01-01T00:00",
    ]
    assert fires("5-6 * * * * *", count=3) == [
        "2026-01-01T00:00:05",
        "2026-01-01T00:00:06",
        "2026-01-01T00:01:05",
    ]


@pytest.mark.parametrize(
    ("macro", "same"),
    [
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        ("@monthly", "0 0 1 * *"),
        ("@Weekly", "0 0 * * 0"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@HOURLY", "0 * * * *"),
    ],
)
def test_a_macro_is_short_for_five_fields(macro: str, same: str) -> None:
    assert fires(macro) == fires(same)


@pytest.mark.parametrize(
    ("text", "field", "why"),
    [
        ("60 * * * *", "minute", "'60' is not within 0 to 59"),
        ("0-60 * * * *", "minute", "'0-60' is not within 0 to 59"),
        ("* 24 * * *", "hour", "'24' is not within 0 to 23"),
        ("* * 0 * *", "day of month", "'0' is not within 1 to 31"),
        ("* * * 13 *", "month", "'13' is not within 1 to 12"),
        ("* * * * 8", "day of week", "'8' is not within 0 to 7"),
        ("* * * * 8#1", "day of week", "'8#1' is not within 0 to 7"),
        ("61 * * * * *", "second", "'61' is not within 0 to 59"),
        ("50-10 * * * *", "minute", "reversed range; write it as two: 50-59,0-10"),
        ("* * * * FRI-MON", "day of week", "reversed range; write it as two: FRI-7,0-MON"),
        ("* * * NOV-FEB *", "month", "reversed range; write it as two: NOV-12,1-FEB"),
        ("*/0 * * * *", "minute", "'*/0' has a step of 0"),
        ("1,,2 * * * *", "minute", "'1,,2' has an empty item"),
        (", * * * *", "minute", "has an empty item"),
        ("-1 * * * *", "minute", "'-1' is not understood"),
        ("1-2-3 * * * *", "minute", "'1-2-3' is not understood"),
        ("*-5 * * * *", "minute", "'*-5' is not understood"),
        ("*5 * * * *", "minute", "'*5' is not understood"),
        ("1.5 * * * *", "minute", "'1.5' is not understood"),
        ("1/ * * * *", "minute", "'1/' is not understood"),
        ("JAN * * * *", "minute", "'JAN' is not understood"),
        ("R * * * *", "minute", "'R' is not understood"),
        ("H/15 * * * *", "minute", "'H/15' is not understood"),
        ("* * ? * *", "day of month", "'?' is not understood"),
        ("* * 15W * *", "day of month", "'15W' is not understood"),
        ("* * L-3 * *", "day of month", "'L-3' is not understood"),
        ("* * * MON *", "month", "'MON' is not understood"),
        ("* * * * L", "day of week", "'L' is not understood"),
        ("* * * * L5L", "day of week", "'L5L' is not understood"),
        ("* * * * XYZL", "day of week", "'XYZL' is not understood"),
        ("* * * * 5#6", "day of week", "'5#6' has a #n that is not within 1 to 5"),
        ("* * * * 5#0", "day of week", "'5#0' has a #n"),
        ("* * * * 5#", "day of week", "'5#' has a #n"),
        ("* * * * 5#x", "day of week", "'5#x' has a #n"),
        ("* * * * #1", "day of week", "'#1' is not understood"),
        ("* * * * 1-5#1", "day of week", "'1-5#1' is not understood"),
    ],
)
def test_a_refusal_names_the_field_the_item_and_what_is_allowed(
    text: str, field: str, why: str
) -> None:
    detail = refusal(text)
    assert f": The {field} '" in detail
    assert why in detail
    assert ". Allowed: " in detail


@pytest.mark.parametrize("text", ["", "*", "* * * *", "0 0 0 1 1 * 2026", "every day"])
def test_another_number_of_fields_is_refused(text: str) -> None:
    assert "A cron expression has 5 fields" in refusal(text)


@pytest.mark.parametrize("text", ["@reboot", "@every 5m", "@"])
def test_other_macros_are_refused(text: str) -> None:
    assert "Allowed: @yearly, @annually" in refusal(text)
