"""What the dialects' own documents say: crontab(5), and AWS's reference of cron expressions.

Days were counted in the calendar: 1 November 2026 is a Sunday.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest

from hourhand.domain.schedules.recurrence import LATEST, BadExpression, Rule, compile_rule

NOVEMBER = datetime(2026, 11, 1, tzinfo=UTC)


def _next(text: str, number: int, after: datetime = NOVEMBER) -> str:
    """The next fires in UTC, strictly after the instant: ``MM-DD HH:MM``, with year if another."""
    fires = compile_rule(Rule(expressions=(text,))).fires(after, LATEST)
    found = [fire.at for fire in islice(fires, number)]
    year = after.year
    return ", ".join(f"{at:%m-%d %H:%M}" if at.year == year else f"{at:%F %H:%M}" for at in found)


def _days(text: str, month: datetime = NOVEMBER) -> list[int]:
    """The days on which the expression fires in the month that begins at the instant."""
    next_month = (month + timedelta(days=31)).replace(day=1)
    fires = compile_rule(Rule(expressions=(text,))).fires(month, next_month)
    return [fire.at.day for fire in fires if fire.at < next_month]


@pytest.mark.parametrize(
    ("text", "fires"),
    [
        # The examples of crontab(5).
        ("5 0 * * *", "11-01 00:05, 11-02 00:05, 11-03 00:05"),
        ("15 14 1 * *", "11-01 14:15, 12-01 14:15, 2027-01-01 14:15"),
        ("0 22 * * 1-5", "11-02 22:00, 11-03 22:00, 11-04 22:00"),
        ("23 0-23/2 * * *", "11-01 00:23, 11-01 02:23, 11-01 04:23"),
        ("5 4 * * sun", "11-01 04:05, 11-08 04:05, 11-15 04:05"),
        ("30 4 1,15 * 5", "11-01 04:30, 11-06 04:30, 11-13 04:30"),
        ("0 */4 1 * mon", "11-01 04:00, 11-01 08:00, 11-01 12:00"),
        # Steps go on from the start of their range; n/step, not in crontab(5), from n to the end.
        ("*/25 3 * * *", "11-01 03:00, 11-01 03:25, 11-01 03:50"),
        ("10-20/4 3 * * *", "11-01 03:10, 11-01 03:14, 11-01 03:18"),
        ("5/20 3 * * *", "11-01 03:05, 11-01 03:25, 11-01 03:45"),
        ("7-7/5 3 * * *", "11-01 03:07, 11-02 03:07, 11-03 03:07"),
        # A zone of its own: India is UTC+05:30.
        ("CRON_TZ=Asia/Kolkata 0 9 * * *", "11-01 03:30, 11-02 03:30, 11-03 03:30"),
        ("TZ=Asia/Kolkata @daily", "11-01 18:30, 11-02 18:30, 11-03 18:30"),
        # Far apart: the leap days, and 2100 is no leap year.
        ("0 0 29 2 *", "2028-02-29 00:00, 2032-02-29 00:00, 2036-02-29 00:00"),
        ("0 0 L 2 *", "2027-02-28 00:00, 2028-02-29 00:00, 2029-02-28 00:00"),
        ("0 0 31 * *", "12-31 00:00, 2027-01-31 00:00, 2027-03-31 00:00"),
    ],
)
def test_unix_expressions_fire_as_crontab_5_says(text: str, fires: str) -> None:
    assert _next(text, 3) == fires


@pytest.mark.parametrize(
    ("text", "days"),
    [
        # Both fields restricted: either matches.
        ("30 4 1,15 * 5", [1, 6, 13, 15, 20, 27]),
        ("0 12 1-7 * MON", [1, 2, 3, 4, 5, 6, 7, 9, 16, 23, 30]),
        ("0 12 2-31/2 * 0", [d for d in range(1, 31) if d % 2 == 0 or d % 7 == 1]),
        # One of them starts with a star: both must match. A star inside a list is no start.
        ("0 12 */2 * 1", [9, 23]),
        ("0 12 1-7 * */3", [1, 4, 7]),
        ("0 12 8-14 * *", list(range(8, 15))),
        ("0 12 13,*/15 * 5", [1, 6, 13, 16, 20, 27]),
        ("0 12 */15,13 * 5", [13]),
        # Sunday is 0 and 7; a range may end in it.
        ("0 12 * * 0", [1, 8, 15, 22, 29]),
        ("0 12 * * 7", [1, 8, 15, 22, 29]),
        ("0 12 * * 6-7", [1, 7, 8, 14, 15, 21, 22, 28, 29]),
        ("0 12 * nov Sat,wEd", [4, 7, 11, 14, 18, 21, 25, 28]),
        ("0 12 * * TUE-THU/2", [3, 5, 10, 12, 17, 19, 24, 26]),
        # The last day, the last Friday, the second and the fifth of a weekday.
        ("0 12 L * *", [30]),
        ("0 12 10,L * *", [10, 30]),
        ("0 12 * * 5L", [27]),
        ("0 12 * * 5#2", [13]),
        ("0 12 * * MON#5", [30]),
        ("0 12 * * FRI#5", []),
        ("0 12 L * 0#1", [1, 30]),
    ],
)
def test_days_of_month_and_week_combine_as_in_vixie_cron(text: str, days: list[int]) -> None:
    assert _days(text) == days


@pytest.mark.parametrize(
    ("text", "fires"),
    [
        # Examples as they go round of EventBridge; 1/10 and JAN,FEB,MAR are of its reference.
        ("cron(0 10 * * ? *)", "11-01 10:00, 11-02 10:00, 11-03 10:00"),
        ("cron(15 12 * * ? *)", "11-01 12:15, 11-02 12:15, 11-03 12:15"),
        ("cron(0 18 ? * MON-FRI *)", "11-02 18:00, 11-03 18:00, 11-04 18:00"),
        ("cron(0 8 1 * ? *)", "11-01 08:00, 12-01 08:00, 2027-01-01 08:00"),
        ("cron(0/15 * * * ? *)", "11-01 00:15, 11-01 00:30, 11-01 00:45"),
        ("cron(0/10 * ? * MON-FRI *)", "11-02 00:00, 11-02 00:10, 11-02 00:20"),
        ("cron(0/5 8-17 ? * MON-FRI *)", "11-02 08:00, 11-02 08:05, 11-02 08:10"),
        ("cron(1/10 3 * * ? *)", "11-01 03:01, 11-01 03:11, 11-01 03:21"),
        ("cron(0 0 1 JAN,FEB,MAR ? *)", "2027-01-01 00:00, 2027-02-01 00:00, 2027-03-01 00:00"),
        # Years: a list, a range with a step, and an end.
        ("cron(0 0 1 1 ? 2027,2029)", "2027-01-01 00:00, 2029-01-01 00:00"),
        ("cron(0 0 1 1 ? 2028-2032/2)", "2028-01-01 00:00, 2030-01-01 00:00, 2032-01-01 00:00"),
        ("cron(0 0 1 1 ? 2199)", "2199-01-01 00:00"),
        ("cron(15 10 ? * 6L 2022-2023)", ""),
    ],
)
def test_aws_expressions_fire_as_its_guides_say(text: str, fires: str) -> None:
    assert _next(text, 3) == fires


def test_the_last_friday_of_the_months_of_2022_and_2023_and_no_other() -> None:
    after = datetime(2022, 11, 1, tzinfo=UTC)
    assert _next("cron(15 10 ? * 6L 2022-2023)", 3, after) == (
        "11-25 10:15, 12-30 10:15, 2023-01-27 10:15"
    )
    fires = compile_rule(Rule(expressions=("cron(15 10 ? * 6L 2022-2023)",))).fires(
        datetime(2022, 1, 1, tzinfo=UTC), LATEST
    )
    found = [fire.at for fire in fires]
    assert len(found) == 24
    assert found[-1] == datetime(2023, 12, 29, 10, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("day_of_month", "day_of_week", "year", "month", "days"),
    [
        # W: the weekday closest to that day, within the month. 14 and 15 November 2026 are a
        # Saturday and a Sunday; 1 August a Saturday, 31 May and 1 November a Sunday.
        ("3W", "?", 2026, 11, [3]),
        ("14W", "?", 2026, 11, [13]),
        ("15W", "?", 2026, 11, [16]),
        ("1W", "?", 2026, 11, [2]),
        ("1W", "?", 2026, 8, [3]),
        ("31W", "?", 2026, 1, [30]),
        ("31W", "?", 2026, 5, [29]),
        ("31W", "?", 2026, 11, []),
        ("LW", "?", 2026, 11, [30]),
        ("LW", "?", 2026, 10, [30]),
        ("LW", "?", 2026, 5, [29]),
        ("L", "?", 2028, 2, [29]),
        ("1-15", "?", 2026, 11, list(range(1, 16))),
        # Days of the week count from Sunday = 1; L is the last of the week, Saturday.
        ("?", "1", 2026, 11, [1, 8, 15, 22, 29]),
        ("?", "7", 2026, 11, [7, 14, 21, 28]),
        ("?", "L", 2026, 11, [7, 14, 21, 28]),
        ("?", "6L", 2026, 11, [27]),
        ("?", "3#2", 2026, 11, [10]),
        ("?", "6#3", 2026, 11, [20]),
        ("?", "2-6/2", 2026, 11, [d for d in range(1, 31) if d % 7 in {2, 4, 6}]),
    ],
)
def test_aws_wildcards_choose_the_days_that_its_reference_says(
    day_of_month: str, day_of_week: str, year: int, month: int, days: list[int]
) -> None:
    text = f"cron(0 12 {day_of_month} * {day_of_week} *)"
    assert _days(text, datetime(year, month, 1, tzinfo=UTC)) == days


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("0 0 1 * ?", "day of week"),
        ("cron(0 10 ? * 8 *)", "day of week"),
        ("CRON_TZ=../../etc/passwd 0 0 * * *", "../../etc/passwd"),
    ],
)
def test_what_nobody_can_mean_is_refused_with_the_name_of_the_field(text: str, word: str) -> None:
    with pytest.raises(BadExpression) as refused:
        compile_rule(Rule(expressions=(text,)))
    assert word in refused.value.detail
