"""The other kinds of expression, zones within one, and what is no expression at all."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from hourhand.domain.schedules.recurrence._expressions import MAX_EXPRESSION_LENGTH
from tests.unit.domain.schedules.recurrence.recurrence_samples import EVE, fires, refusal, utc

ANCHOR = utc("2026-01-01T00:00:10")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rate(1 second)", ["2026-01-01T00:00", "2026-01-01T00:00:01"]),
        ("rate(90 seconds)", ["2026-01-01T00:00:10", "2026-01-01T00:01:40"]),
        ("rate(1 minute)", ["2026-01-01T00:00:10", "2026-01-01T00:01:10"]),
        ("rate(5 minutes)", ["2026-01-01T00:00:10", "2026-01-01T00:05:10"]),
        ("RATE( 2  hours )", ["2026-01-01T00:00:10", "2026-01-01T02:00:10"]),
        ("rate(1 day)", ["2026-01-01T00:00:10", "2026-01-02T00:00:10"]),
        ("rate(2 weeks)", ["2026-01-01T00:00:10", "2026-01-15T00:00:10"]),
    ],
)
def test_a_rate_fires_at_its_anchor_and_every_interval_after_it(
    text: str, expected: list[str]
) -> None:
    assert fires(text, count=2, anchor=ANCHOR) == expected


def test_a_rate_fires_before_its_anchor_too() -> None:
    assert fires("rate(1 day)", after="2025-12-29", count=2, anchor=ANCHOR) == [
        "2025-12-29T00:00:10",
        "2025-12-30T00:00:10",
    ]


def test_a_rate_measures_elapsed_time_over_a_change_of_the_clocks() -> None:
    anchor = utc("2026-03-28T12:00")
    assert fires("rate(1 day)", after=anchor, count=2, anchor=anchor, timezone="Europe/Berlin") == [
        "2026-03-29T12:00",
        "2026-03-30T12:00",
    ]


def test_the_fraction_of_an_anchor_is_dropped() -> None:
    assert fires("rate(1 day)", count=1, anchor=ANCHOR.replace(microsecond=900_000)) == [
        "2026-01-01T00:00:10"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "rate()",
        "rate(0 minutes)",
        "rate(-1 minute)",
        "rate(1.5 hours)",
        "rate(5)",
        "rate(5 months)",
        "rate(5 minutes 3)",
        "rate(9999999999 days)",
        "rate(5m)",
    ],
)
def test_another_rate_is_refused(text: str) -> None:
    assert "rate() takes a whole number of at least 1" in refusal(text, anchor=ANCHOR)


def test_a_rate_longer_than_all_time_is_refused() -> None:
    assert "longer than 231 years" in refusal("rate(99999 weeks)", anchor=ANCHOR)


@pytest.mark.parametrize("anchor", [None, datetime(2026, 1, 1)])  # noqa: DTZ001 - naive on purpose
def test_a_rate_needs_an_anchor_with_an_offset(anchor: datetime | None) -> None:
    assert "needs an anchor" in refusal("rate(5 minutes)", anchor=anchor)


def test_at_fires_once_at_a_local_time() -> None:
    zone: dict[str, Any] = {"timezone": "Asia/Kathmandu"}
    assert fires("at(2027-01-01T09:00)", **zone) == ["2027-01-01T03:15"]
    assert fires("at( 2027-01-01t09:00:30 )", **zone) == ["2027-01-01T03:15:30"]
    assert fires("at(2027-01-01T09:00)", after="2027-01-01T03:14:59") == ["2027-01-01T09:00"]
    assert fires("at(2025-12-31T23:59:59)", after=EVE) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("at()", "at() takes a local time"),
        ("at(2027-01-01)", "at() takes a local time"),
        ("at(2027-01-01 09:00)", "at() takes a local time"),
        ("at(2027-01-01T09:00Z)", "without an offset or a fraction"),
        ("at(2027-01-01T09:00+01:00)", "without an offset or a fraction"),
        ("at(2027-01-01T09:00:00.5)", "without an offset or a fraction"),
        ("at(2027-02-29T09:00)", "This time does not exist"),
        ("at(2027-01-01T24:00)", "This time does not exist"),
        ("at(1969-12-31T09:00)", "The year is not within 1970 to 2200"),
        ("at(2201-01-01T00:00)", "The year is not within 1970 to 2200"),
    ],
)
def test_another_time_is_refused(text: str, why: str) -> None:
    assert why in refusal(text)


@pytest.mark.parametrize("prefix", ["CRON_TZ=Asia/Tokyo ", "TZ=Asia/Tokyo   "])
@pytest.mark.parametrize("cron", ["0 9 * * *", "0 0 9 * * *"])
def test_a_zone_before_a_cron_is_that_crons_alone(prefix: str, cron: str) -> None:
    assert fires(prefix + cron, "0 9 * * *", count=2, timezone="Asia/Kathmandu") == [
        "2026-01-01T00:00",
        "2026-01-01T03:15",
    ]


def test_a_zone_before_a_macro() -> None:
    assert fires("CRON_TZ=Asia/Tokyo @daily", count=1) == ["2026-01-01T15:00"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("CRON_TZ=Asia/Tokio 0 9 * * *", "Did you mean Asia/Tokyo"),
        ("CRON_TZ= 0 9 * * *", "There is no time zone ''"),
        ("CRON_TZ=Asia/Tokyo", "A cron expression has 5 fields"),
        ("CRON_TZ=Asia/Tokyo rate(5 minutes)", "before a Unix cron only"),
        ("TZ=Asia/Tokyo cron(0 9 * * ? *)", "before a Unix cron only"),
        ("every(5 minutes)", "every() takes a whole number from 1 to 9999 and day(s), week(s)"),
        (
            "often(5 minutes)",
            "Allowed are at(...), rate(...), every(...), cron(...) and a Unix cron",
        ),
        ("0 9 * * \uff11", "Only ASCII characters are allowed"),
        ("0\u00a09 * * *", "Only ASCII characters are allowed"),
        ("0 " * MAX_EXPRESSION_LENGTH, "longer than 1000 characters"),
    ],
)
def test_what_is_no_expression_is_refused(text: str, why: str) -> None:
    assert why in refusal(text)


def test_a_sentence_is_answered_with_a_cron_and_a_rate() -> None:
    assert refusal("every minute") == (
        "In 'every minute': A cron expression has 5 fields (minute hour day-of-month month "
        "day-of-week), such as 0 9 * * MON-FRI, or 6 with the second first. An interval is written "
        "as rate(1 minute). This has 2 fields."
    )


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("0 9 * * funday", "The day of week 'funday' is not understood"),
        ("0  9 * * Mon-Funday", "The day of week 'Mon-Funday' is not understood"),
        ("CRON_TZ=Asia/Tokyo 0 9 * jqn *", "The month 'jqn' is not understood"),
        ("cron(0 9 ? * funday *)", "The day of week 'funday' is not understood"),
        ("cron(0 9 * * mon *)", "but they are '*' and 'mon'"),
        ("@dayly", "There is no macro '@dayly'"),
    ],
)
def test_a_refusal_repeats_a_part_as_it_was_typed(text: str, part: str) -> None:
    assert part in refusal(text)


def test_a_refusal_begins_with_the_expression_cut_short_if_long() -> None:
    assert refusal("0 0 * * *", "99 * * * *").startswith("In '99 * * * *': The minute")
    assert refusal("9" * 1001).startswith("In '" + "9" * 100 + "...': ")
