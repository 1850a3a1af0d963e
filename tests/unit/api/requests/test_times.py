"""Times as callers write them: RFC 3339, always with an offset."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hourhand.api.requests._times import parse_instant
from hourhand.domain.times import from_ms, rfc3339, to_ms

JANUARY = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-01T00:00:00Z",
        "2026-01-01t00:00:00z",
        "2026-01-01 00:00:00Z",
        "2026-01-01T00:00:00.0Z",
        "2026-01-01T01:00:00+01:00",
        "2025-12-31T18:30:00-05:30",
        "2026-01-01T00:00:00-00:00",
    ],
)
def test_every_form_of_rfc_3339_names_the_same_instant(text: str) -> None:
    assert parse_instant(text) == JANUARY
    assert parse_instant(text).tzinfo is UTC


def test_fractions_are_kept_to_the_millisecond_and_rounded_down() -> None:
    instant = parse_instant("2026-01-01T00:00:00.123999999999Z")
    assert instant == JANUARY.replace(microsecond=123_000)


@pytest.mark.parametrize("text", ["2026-01-01T00:00:00", "2026-01-01T00:00:00.5"])
def test_naive_times_are_refused_and_the_message_asks_for_an_offset(text: str) -> None:
    with pytest.raises(ValueError, match="must have an offset from UTC"):
        parse_instant(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2026-02-30T00:00:00Z", "that exist"),
        ("2026-13-01T00:00:00Z", "that exist"),
        ("2026-01-01T24:00:00Z", "that exist"),
        ("2026-01-01T00:00:00+24:00", "that exist"),
        ("0000-01-01T00:00:00Z", "that exist"),
        ("0001-01-01T00:00:00+14:00", "that exist"),
        ("9999-12-31T23:59:59-14:00", "that exist"),
        ("2016-12-31T23:59:60Z", "leap second"),
        ("2201-01-01T00:00:00Z", "before the year 2201"),
        ("2201-01-01T00:30:00+00:00", "before the year 2201"),
        ("9999-01-01T00:00:00Z", "before the year 2201"),
        ("12026-01-01T00:00:00Z", "RFC 3339"),
        ("2026-1-1T00:00:00Z", "RFC 3339"),
        ("2026-01-01", "RFC 3339"),
        ("2026-01-01T00:00Z", "RFC 3339"),
        ("2026-01-01T00:00:00,5Z", "RFC 3339"),
        ("2026-01-01T00:00:00 Z", "RFC 3339"),
        ("2026-01-01T00:00:00Z\n", "RFC 3339"),
        ("2026-01-01T00:00:00UTC", "RFC 3339"),
        ("٢٠٢٦-01-01T00:00:00Z", "RFC 3339"),
        ("2026-01-01T00:00:00." + "1" * 100 + "Z", "RFC 3339"),
        ("now", "RFC 3339"),
        ("", "RFC 3339"),
        ("\ud800", "RFC 3339"),
        (1_767_225_600, "must be a string"),
        (None, "must be a string"),
        (True, "must be a string"),
        (["2026-01-01T00:00:00Z"], "must be a string"),
    ],
)
def test_what_is_no_instant_is_refused_with_what_is_allowed(text: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_instant(text)


def test_the_bound_of_the_year_2200_is_judged_in_utc() -> None:
    assert parse_instant("2201-01-01T00:59:59+01:00").year == 2200
    with pytest.raises(ValueError, match="before the year 2201"):
        parse_instant("2200-12-31T23:30:00-01:00")


@given(st.integers(to_ms(datetime(1, 1, 2, tzinfo=UTC)), to_ms(datetime(2200, 12, 31, tzinfo=UTC))))
def test_what_we_write_is_read_back_as_it_was(milliseconds: int) -> None:
    assert parse_instant(rfc3339(from_ms(milliseconds))) == from_ms(milliseconds)
