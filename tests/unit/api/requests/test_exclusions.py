"""Exclusions as callers write them, in schedules and in calendars."""

from __future__ import annotations

from datetime import UTC, date, datetime
from functools import partial
from typing import Any

import pytest

from hourhand.api.requests._exclusions import is_calendar_name
from hourhand.api.requests.schedule_operations import CalendarInput
from hourhand.api.requests.schedules import ScheduleInput
from hourhand.domain.errors import InvalidInput
from hourhand.domain.schedules.recurrence import (
    ExcludedDate,
    ExcludedDates,
    ExcludedExpression,
    ExcludedTimes,
)
from hourhand.domain.schedules.schedule import CalendarName


def schedule(*exclude: Any) -> ScheduleInput:
    body = {"expression": "@daily", "handler": "h", "exclude": list(exclude)}
    return ScheduleInput.parse({**body, "anchor": "2026-01-01T00:00:00Z"})


def test_a_rate_is_excluded_from_an_anchor_and_so_never_by_a_calendar() -> None:
    body = {"expression": "@daily", "handler": "h", "exclude": ["rate(2 hours)"]}
    for refused in (
        partial(ScheduleInput.parse, body),
        partial(CalendarInput.parse, {"exclude": ["rate(2 hours)"]}),
    ):
        with pytest.raises(InvalidInput) as caught:
            refused()
        [error] = caught.value.errors
        assert (error.field, "needs an anchor" in error.message) == ("exclude[0]", True)


def faults(*exclude: Any) -> dict[str, str]:
    with pytest.raises(InvalidInput) as caught:
        schedule(*exclude)
    return {fault.field: fault.message for fault in caught.value.errors}


@pytest.mark.parametrize(
    ("item", "meaning"),
    [
        ("2026-12-25", ExcludedDate(date(2026, 12, 25))),
        (
            {"from": "2026-12-24", "to": "2026-12-26"},
            ExcludedDates(date(2026, 12, 24), date(2026, 12, 26)),
        ),
        (
            {"from": "2026-12-24", "to": "2026-12-24"},
            ExcludedDates(date(2026, 12, 24), date(2026, 12, 24)),
        ),
        (
            {"from": "2026-12-24T18:00:00+01:00", "to": "2026-12-24T18:00:00Z"},
            ExcludedTimes(
                datetime(2026, 12, 24, 17, tzinfo=UTC), datetime(2026, 12, 24, 18, tzinfo=UTC)
            ),
        ),
        ("* * 25 12 *", ExcludedExpression("* * 25 12 *")),
        ("@monthly", ExcludedExpression("@monthly")),
        ("rate(2 hours)", ExcludedExpression("rate(2 hours)")),
        ("at(2027-01-01T09:00)", ExcludedExpression("at(2027-01-01T09:00)")),
        ("holidays_DE-2026", CalendarName("holidays_DE-2026")),
        ("2026", CalendarName("2026")),
        ("c" * 100, CalendarName("c" * 100)),
    ],
)
def test_each_kind_of_exclusion_is_told_by_its_form(item: Any, meaning: Any) -> None:
    assert schedule(item).definition.exclude == (meaning,)


def test_calendars_are_named_by_the_definition() -> None:
    assert schedule("2026-12-25", "b", "@daily", "a").definition.calendars == ("b", "a")


@pytest.mark.parametrize(
    ("item", "field", "message"),
    [
        (5, "exclude[1]", "must be a date such as 2026-12-25, an object"),
        (None, "exclude[1]", "must be a date such as 2026-12-25, an object"),
        (["2026-12-25"], "exclude[1]", "must be a date such as 2026-12-25, an object"),
        ("", "exclude[1]", "must be a date such as 2026-12-25, an object"),
        ("c" * 101, "exclude[1]", "must be a date such as 2026-12-25, an object"),
        ("feiertäge", "exclude[1]", "must be a date such as 2026-12-25, an object"),
        ("2026-12-25T00:00:00Z", "exclude[1]", "must be a date such as 2026-12-25, an object"),
        ("@" * 1001, "exclude[1]", "at most 1000"),
        ("\ud800", "exclude[1]", "surrogate"),
        ("2026-02-30", "exclude[1]", "must be a date that exists"),
        ("2026-12-5", "exclude[1]", "must be a date that exists, such as 2026-12-25"),
        ("25-12-2026", "exclude[1]", "must be a date that exists"),
        ("2026_12_25", "exclude[1]", "must be a date that exists"),
        ("0 25 * * *", "exclude[1]", "In '0 25 * * *': "),
        ("@never", "exclude[1]", "In '@never': "),
        ({}, "exclude[1].from", "is required"),
        ({"from": "2026-12-25"}, "exclude[1].to", "is required"),
        ({"from": "2026-12-25", "to": None}, "exclude[1].to", "must be a date such as"),
        ({"from": 20261225, "to": "2026-12-25"}, "exclude[1].from", "must be a date such as"),
        ({"from": "Friday", "to": "2026-12-25"}, "exclude[1].from", "must be a date such as"),
        ({"from": "2026-02-30", "to": "2026-12-25"}, "exclude[1].from", "that exists"),
        ({"from": "2026-12-25T09:00:00", "to": "x"}, "exclude[1].from", "must have an offset"),
        ({"from": "2026-12-26", "to": "2026-12-25"}, "exclude[1]", "not before from"),
        (
            {"from": "2026-12-25T00:00:00Z", "to": "2026-12-25T01:00:00+01:00"},
            "exclude[1]",
            "must have a to that is after from",
        ),
        ({"from": "2026-12-25", "to": "2026-12-26T00:00:00Z"}, "exclude[1]", "of different kinds"),
        ({"from": "2026-12-25", "to": "2026-12-26", "why": "x"}, "exclude[1].why", "not a known"),
    ],
)
def test_a_wrong_exclusion_is_named_with_what_is_allowed(
    item: Any, field: str, message: str
) -> None:
    assert message in faults("2026-12-24", item)[field]


def test_expressions_among_exclusions_are_bounded() -> None:
    assert schedule(*["@daily"] * 20, *["2026-12-25"] * 180).definition.handler
    assert faults(*["@daily"] * 21) == {
        "exclude": "must have at most 20 expressions among its entries"
    }


@pytest.mark.parametrize("name", ["a", "2026", "DE-2026", "a_b-c", "1-2", "1-2-3-4", "1-2-x"])
def test_a_calendar_may_have_a_plain_name(name: str) -> None:
    assert is_calendar_name(name)


@pytest.mark.parametrize("name", ["", "a b", "a.b", "a\n", "2026-12-25", "26-1-5", "1_2_3"])
def test_no_calendar_may_have_a_name_like_a_date_or_an_expression(name: str) -> None:
    assert not is_calendar_name(name)


def test_a_calendar_holds_every_kind_but_other_calendars() -> None:
    items = ["2026-12-25", {"from": "2026-01-01", "to": "2026-01-06"}, "0 0 * * SUN"]
    parsed = CalendarInput.parse({"exclude": items, "note": "bank holidays"})
    assert parsed.exclusions == (
        ExcludedDate(date(2026, 12, 25)),
        ExcludedDates(date(2026, 1, 1), date(2026, 1, 6)),
        ExcludedExpression("0 0 * * SUN"),
    )
    assert parsed.note == "bank holidays"


@pytest.mark.parametrize(
    ("raw", "field", "message"),
    [
        ({}, "exclude", "is required"),
        ({"exclude": None}, "exclude", "must be a JSON array"),
        ({"exclude": ["2026-12-25", "other"]}, "exclude[1]", "must not name a calendar"),
        ({"exclude": ["0 25 * * *"]}, "exclude[0]", "In '0 25 * * *': "),
        ({"exclude": ["2026-13-01"]}, "exclude[0]", "that exists"),
        ({"exclude": [], "note": "n" * 1001}, "note", "at most 1000"),
        ({"exclude": [], "timezone": "UTC"}, "timezone", "The fields are exclude, note"),
        ([], "body", "must be a JSON object"),
    ],
)
def test_a_wrong_calendar_names_its_field(raw: Any, field: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        CalendarInput.parse(raw)
    (fault,) = caught.value.errors
    assert (fault.field, message in fault.message) == (field, True)


def test_a_calendar_may_be_empty() -> None:
    parsed = CalendarInput.parse({"exclude": []})
    assert (parsed.exclusions, parsed.note) == ((), None)
