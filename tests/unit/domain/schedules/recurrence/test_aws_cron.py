"""AWS's dialect, by the examples and restrictions of its own page, and by Quartz."""

from __future__ import annotations

import pytest

from tests.unit.domain.schedules.recurrence.recurrence_samples import fires, refusal


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cron(0 10 * * ? *)", ["2026-01-01T10:00", "2026-01-02T10:00"]),
        ("cron(0 18 ? * MON-FRI *)", ["2026-01-01T18:00", "2026-01-02T18:00"]),
        ("cron(0 8 1 * ? *)", ["2026-01-01T08:00", "2026-02-01T08:00"]),
        ("cron(0/25 0 * * ? *)", ["2026-01-01T00:00", "2026-01-01T00:25"]),
        ("cron(5 8-10/2 ? * 2 *)", ["2026-01-05T08:05", "2026-01-05T10:05"]),
        ("CRON( 15 12 * * ? * )", ["2026-01-01T12:15", "2026-01-02T12:15"]),
        ("cron (15 12 * * ? *)", ["2026-01-01T12:15", "2026-01-02T12:15"]),
        ("cron(0 0 ? * 1 *)", ["2026-01-04T00:00", "2026-01-11T00:00"]),
        ("cron(0 0 ? * SUN,sat *)", ["2026-01-03T00:00", "2026-01-04T00:00"]),
        ("cron(0 0 ? * L *)", ["2026-01-03T00:00", "2026-01-10T00:00"]),
        ("cron(0 0 ? * 6L *)", ["2026-01-30T00:00", "2026-02-27T00:00"]),
        ("cron(0 0 ? * FRIL *)", ["2026-01-30T00:00", "2026-02-27T00:00"]),
        ("cron(0 0 ? * 3#2 *)", ["2026-01-13T00:00", "2026-02-10T00:00"]),
        ("cron(0 0 ? * TUE#2 *)", ["2026-01-13T00:00", "2026-02-10T00:00"]),
        ("cron(0 0 L * ? *)", ["2026-01-31T00:00", "2026-02-28T00:00"]),
        ("cron(0 0 1,L * ? *)", ["2026-01-01T00:00", "2026-01-31T00:00"]),
        ("cron(0 0 L-3 * ? *)", ["2026-01-28T00:00", "2026-02-25T00:00"]),
        ("cron(0 0 L-30 * ? *)", ["2026-01-01T00:00", "2026-03-01T00:00"]),
        ("cron(0 22-2/2 * * ? *)", ["2026-01-01T00:00", "2026-01-01T02:00"]),
        ("cron(58-1 0 * * ? *)", ["2026-01-01T00:00", "2026-01-01T00:01"]),
        ("cron(0 0 ? * FRI-MON *)", ["2026-01-02T00:00", "2026-01-03T00:00"]),
        ("cron(0 0 ? * SAT-MON/2 *)", ["2026-01-03T00:00", "2026-01-05T00:00"]),
        ("cron(0 0 31 NOV-FEB ? *)", ["2026-01-31T00:00", "2026-12-31T00:00"]),
        ("cron(0 0 1 JAN ? 2027/2)", ["2027-01-01T00:00", "2029-01-01T00:00"]),
        ("cron(0 0 1 1 ? 1999,2028-2030)", ["2028-01-01T00:00", "2029-01-01T00:00"]),
        ("cron(0 0 1 1 ? 2026)", ["2026-01-01T00:00"]),
    ],
)
def test_six_fields_of_aws(text: str, expected: list[str]) -> None:
    assert fires(text, count=2) == expected


@pytest.mark.parametrize(
    ("day", "month", "expected"),
    [
        # Saturday 3 January 2026 -> Friday; Sunday 4th -> Monday; a Monday stays.
        (3, 1, "2026-01-02T00:00"),
        (4, 1, "2026-01-05T00:00"),
        (5, 1, "2026-01-05T00:00"),
        # Saturday the 1st and Sunday the 31st never leave their month.
        (1, 8, "2026-08-03T00:00"),
        (31, 5, "2026-05-29T00:00"),
    ],
)
def test_w_is_the_nearest_weekday_of_the_same_month(day: int, month: int, expected: str) -> None:
    assert fires(f"cron(0 0 {day}W {month} ? *)", count=1) == [expected]


def test_w_of_a_day_that_the_month_lacks_is_no_day() -> None:
    assert fires("cron(0 0 31W 2,3 ? 2026)") == ["2026-03-31T00:00"]


def test_lw_is_the_last_weekday_of_the_month() -> None:
    assert fires("cron(0 0 LW * ? *)", count=3) == [
        "2026-01-30T00:00",
        "2026-02-27T00:00",
        "2026-03-31T00:00",
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("cron(0 10 * * *)", "cron() has 6 fields"),
        ("cron()", "cron() has 6 fields"),
        ("cron(0 0 10 * * ? *)", "cron() has 6 fields"),
        ("cron(0 10 * * * *)", "Exactly one of day of month and day of week must be '?'"),
        ("cron(0 10 1 * MON *)", "Exactly one of day of month and day of week must be '?'"),
        ("cron(0 10 ? * ? *)", "Exactly one of day of month and day of week must be '?'"),
        ("cron(? 10 ? * MON *)", "The minute '?' is not understood"),
        ("cron(0 10 ? * 0 *)", "The day of week '0' is not within 1 to 7"),
        ("cron(0 10 ? * 3#1,6#3 *)", "The day of week '3#1,6#3' has a # within a list"),
        ("cron(0 10 ? * 3#6 *)", "The day of week '3#6' has a #n"),
        ("cron(0 10 * * ? 2030-2028)", "write it as two: 2030-2199,1970-2028"),
        ("cron(0 10 1W,15W * ? *)", "The day of month '1W,15W' has a W within a list"),
        ("cron(0 10 0W * ? *)", "The day of month '0W' is not within 1 to 31"),
        ("cron(0 10 W * ? *)", "The day of month 'W' is not understood"),
        ("cron(0 10 L-31 * ? *)", "The day of month 'L-31' is more than 30 days before"),
        ("cron(0 10 L3 * ? *)", "The day of month 'L3' is not understood"),
        ("cron(0 10 L-3W * ? *)", "The day of month 'L-3W' is not understood"),
        ("cron(0 10 ? * XYZL *)", "The day of week 'XYZL' is not understood"),
        ("cron(0 10 1,? * ? *)", "The day of month '?' is not understood"),
        ("cron(0 10 * * ? 1969)", "The year '1969' is not within 1970 to 2199"),
        ("cron(0 10 * * ? 2200)", "The year '2200' is not within 1970 to 2199"),
        ("cron(0 10 , * ? *)", "has an empty item"),
    ],
)
def test_what_aws_refuses_is_refused(text: str, why: str) -> None:
    assert why in refusal(text)
