"""What an exclusion removes, and that it stays visible as excluded."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from hourhand.domain.schedules.recurrence import (
    ExcludedDate,
    ExcludedDates,
    ExcludedExpression,
    ExcludedTimes,
    Exclusion,
    Rule,
    compile_rule,
)
from hourhand.domain.schedules.rule import MAX_EXPRESSIONS
from tests.unit.domain.schedules.recurrence.recurrence_samples import (
    EVE,
    NEW_YEAR,
    compiled,
    fires,
    refusal,
    utc,
)


def test_an_excluded_fire_is_among_the_fires_and_marked() -> None:
    rule = compiled("0 9 * * *", exclude=(ExcludedDate(date(2026, 1, 2)),))
    found = [fire.is_excluded for fire in rule.fires(EVE, EVE + timedelta(days=3))]
    assert found == [False, True, False]


def test_a_date_is_local_in_the_schedules_zone() -> None:
    asked: dict[str, Any] = {"timezone": "Pacific/Auckland", "count": 2}
    # 09:00 on 2 January in Auckland is still 1 January in UTC.
    second = (ExcludedDate(date(2026, 1, 2)),)
    assert fires("0 9 * * *", exclude=second, **asked) == ["2026-01-02T20:00", "2026-01-03T20:00"]


def test_a_date_is_of_the_schedules_zone_even_for_a_cron_of_another() -> None:
    expected = ["2025-12-31T20:00", "2026-01-01T20:00"]
    text = "CRON_TZ=Pacific/Auckland 0 9 * * *"
    assert fires(text, after="2025-12-31", count=2) == expected
    first = (ExcludedDate(date(2025, 12, 31)),)
    assert fires(text, after="2025-12-31", count=1, exclude=first) == expected[1:]


def test_a_range_of_dates_has_both_its_ends() -> None:
    dates = (ExcludedDates(date(2026, 1, 2), date(2026, 1, 4)),)
    assert fires("0 9 * * *", exclude=dates, count=2) == ["2026-01-01T09:00", "2026-01-05T09:00"]


def test_a_span_of_times_has_its_start_and_not_its_end() -> None:
    times = (ExcludedTimes(utc("2026-01-01T01:00"), utc("2026-01-01T03:00")),)
    assert fires("0 * * * *", exclude=times, count=3) == [
        "2026-01-01T00:00",
        "2026-01-01T03:00",
        "2026-01-01T04:00",
    ]


def test_the_fraction_of_a_span_counts() -> None:
    half = timedelta(milliseconds=500)
    times = (ExcludedTimes(NEW_YEAR + half, NEW_YEAR + timedelta(seconds=2) + half),)
    assert fires("* * * * * *", exclude=times, count=2) == [
        "2026-01-01T00:00",
        "2026-01-01T00:00:03",
    ]


@pytest.mark.parametrize(
    "text", ["* * * * SAT,SUN", "0 9 * * 6-7", "0 0/3 * * 0,6", "cron(* * ? * 1,7 *)"]
)
def test_an_expression_removes_the_fires_at_its_instants(text: str) -> None:
    assert fires("0 9 * * *", exclude=(ExcludedExpression(text),), count=3) == [
        "2026-01-01T09:00",
        "2026-01-02T09:00",
        "2026-01-05T09:00",
    ]


def test_an_expression_at_other_instants_removes_nothing() -> None:
    excluded = (ExcludedExpression("1 9 * * *"), ExcludedExpression("at(2025-01-01T09:00)"))
    assert fires("0 9 * * *", exclude=excluded, count=2) == fires("0 9 * * *", count=2)


def test_a_dense_expression_is_followed_fire_by_fire() -> None:
    assert fires("*/10 * * * * *", exclude=(ExcludedExpression("*/20 * * * * *"),), count=2) == [
        "2026-01-01T00:00:10",
        "2026-01-01T00:00:30",
    ]


def test_an_excluded_rate_has_the_rules_anchor() -> None:
    excluded = (ExcludedExpression("rate(2 hours)"),)
    assert fires("rate(1 hour)", anchor=NEW_YEAR, exclude=excluded, count=2) == [
        "2026-01-01T01:00",
        "2026-01-01T03:00",
    ]


def test_exclusions_of_all_kinds_add_up_also_where_they_overlap() -> None:
    exclude: tuple[Exclusion, ...] = (
        ExcludedDates(date(2026, 1, 3), date(2026, 1, 5)),
        ExcludedDate(date(2026, 1, 4)),
        ExcludedDate(date(2026, 1, 6)),
        ExcludedTimes(utc("2026-01-01T00:00"), utc("2026-01-01T12:00")),
        ExcludedTimes(utc("2026-01-09T00:00"), utc("2026-01-10T00:00")),
        ExcludedExpression("0 9 8 * *"),
    )
    assert fires("0 9 * * *", exclude=exclude, count=3) == [
        "2026-01-02T09:00",
        "2026-01-07T09:00",
        "2026-01-10T09:00",
    ]


def test_a_date_left_and_entered_again_in_a_fold_is_judged_each_time() -> None:
    """St. John's, 2007: 4 November began at 00:00, then came 23:01 of the 3rd once more."""
    fourth = (ExcludedDate(date(2007, 11, 4)),)
    rule = compiled("*/30 * * * *", timezone="America/St_Johns", exclude=fourth)
    start = utc("2007-11-04T02:00")
    assert [fire.is_excluded for fire in rule.fires(start, start + timedelta(hours=2))] == [
        True,  # 00:00
        False,  # 23:30, again
        True,  # 00:00, again
        True,
    ]
    assert rule.next_fire(start, start + timedelta(days=1)) == utc("2007-11-04T03:00")


@pytest.mark.parametrize(
    ("exclusion", "why"),
    [
        (ExcludedDates(date(2026, 1, 2), date(2026, 1, 1)), "reversed: 2026-01-02 is after"),
        (ExcludedTimes(NEW_YEAR, NEW_YEAR), "reversed or empty"),
        (ExcludedTimes(NEW_YEAR, EVE), "reversed or empty"),
        (ExcludedTimes(datetime(2026, 1, 1), NEW_YEAR), "need an offset"),  # noqa: DTZ001 - naive on purpose
        (ExcludedTimes(NEW_YEAR, datetime(2027, 1, 1)), "need an offset"),  # noqa: DTZ001 - naive on purpose
        (ExcludedExpression("99 * * * *"), "In '99 * * * *': The minute '99'"),
    ],
)
def test_a_wrong_exclusion_is_refused(exclusion: Exclusion, why: str) -> None:
    assert why in refusal("0 9 * * *", exclude=(exclusion,))


def test_the_sets_of_many_calendars_add_up() -> None:
    """Else a calendar that grows would break every schedule that shares it."""
    many = tuple(ExcludedExpression(f"0 9 {day} 1 *") for day in range(1, MAX_EXPRESSIONS + 5))
    assert fires("0 9 * * *", exclude=many, count=1) == ["2026-01-25T09:00"]


def test_the_next_fire_jumps_over_years_of_excluded_dates_and_times() -> None:
    """Fire by fire it would give up: ten years are 5,258,880 minutes."""
    dates = ExcludedDates(date(2026, 1, 1), date(2035, 12, 31))
    times = ExcludedTimes(NEW_YEAR, datetime(2036, 1, 1, 0, 5, tzinfo=UTC))
    until = datetime(2040, 1, 1, tzinfo=UTC)
    for exclude, expected in [((dates,), "2036-01-01T00:00"), ((times,), "2036-01-01T00:05")]:
        rule = compiled("* * * * *", exclude=exclude)
        assert rule.next_fire(EVE, until) == utc(expected)
    auckland = compiled("* * * * *", exclude=(dates,), timezone="Pacific/Auckland")
    assert auckland.next_fire(EVE, until) == utc("2035-12-31T11:00")


def test_an_excluding_expression_without_seconds_stands_for_its_whole_minutes() -> None:
    rule = Rule(
        expressions=("rate(6 hours)",),
        anchor=datetime(2026, 11, 21, 0, 0, 45, tzinfo=UTC),
        exclude=(ExcludedExpression("* * 24-26 12 *"),),
    )
    found = compile_rule(rule).next_fire(
        datetime(2026, 12, 23, 19, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
    )
    assert found == datetime(2026, 12, 27, 0, 0, 45, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("0 * * * *", 0),
        ("CRON_TZ=Europe/Berlin 0 * * * *", 0),
        ("cron(0 * * * ? *)", 0),
        ("@hourly", 0),
        ("15 0 * * * *", 3),
        ("CRON_TZ=Europe/Berlin 15 0 * * * *", 3),
        ("rate(1 hour)", 3),
        ("at(2026-11-21T12:00:30)", 3),
    ],
)
def test_what_names_its_seconds_excludes_them_alone(text: str, count: int) -> None:
    noon = datetime(2026, 11, 21, 12, tzinfo=UTC)
    rule = Rule(expressions=("0/15 0 * * * *",), anchor=noon, exclude=(ExcludedExpression(text),))
    fires = compile_rule(rule).fires(noon - timedelta(seconds=1), noon + timedelta(seconds=45))
    assert sum(not fire.is_excluded for fire in fires) == count


@pytest.mark.parametrize(("excluded", "runs"), [(30, True), (31, False)])
def test_a_run_that_a_gap_moves_over_midnight_is_excluded_by_its_new_date(
    excluded: int, runs: bool
) -> None:
    # Samoa had no 30 December in 2011.
    rule = compiled(
        "0 12 * * *", timezone="Pacific/Apia", exclude=(ExcludedDate(date(2011, 12, excluded)),)
    )
    found = list(rule.fires(utc("2011-12-30T00:00"), utc("2011-12-30T12:00")))
    assert [(fire.at, fire.is_excluded) for fire in found] == [(utc("2011-12-30T10:00"), not runs)]
