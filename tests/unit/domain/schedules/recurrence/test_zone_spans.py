"""Every change of a zone's offset is found, to the second, and belongs to one span."""

from __future__ import annotations

from itertools import pairwise

import pytest

from hourhand.domain.schedules.recurrence._zones import (
    Span,
    from_seconds,
    span_at,
    to_seconds,
)
from tests.unit.domain.schedules.recurrence.recurrence_samples import utc

HOUR = 3600

CHANGES = [
    # zone, instant, hours before, hours after
    ("Europe/Berlin", "2026-03-29T01:00", 1, 2),
    ("Europe/Berlin", "2026-10-25T01:00", 2, 1),
    ("America/New_York", "2026-03-08T07:00", -5, -4),
    ("America/Santiago", "2026-09-06T04:00", -4, -3),
    ("Australia/Lord_Howe", "2026-04-04T15:00", 11, 10.5),
    ("Pacific/Apia", "2011-12-30T10:00", -10, 14),
    ("Europe/London", "2090-03-26T01:00", 0, 1),
    # A change at midnight UTC, on the edge of a probed day; and two in one week.
    ("Africa/Algiers", "1978-03-24T00:00", 1, 2),
    ("America/Recife", "2000-10-08T03:00", -3, -2),
    ("America/Recife", "2000-10-15T02:00", -2, -3),
    # Changes around the new year, where years are cut.
    ("Africa/Sao_Tome", "2019-01-01T01:00", 1, 0),
    ("Pacific/Kiritimati", "1994-12-31T10:00", -10, 14),
    # An offset with seconds: -00:44:30.
    ("Africa/Monrovia", "1972-01-07T00:44:30", -2670 / HOUR, 0),
]


@pytest.mark.parametrize(("zone", "at", "before", "after"), CHANGES)
def test_a_change_parts_two_spans(zone: str, at: str, before: float, after: float) -> None:
    instant = to_seconds(utc(at))
    earlier, later = span_at(zone, instant - 1), span_at(zone, instant)
    assert earlier.end == later.start == instant
    assert (earlier.offset, later.offset) == (round(before * HOUR), round(after * HOUR))
    assert (later.before, earlier.after) == (earlier.offset, later.offset)


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu", "Africa/Casablanca", "Europe/Dublin"])
def test_spans_follow_each_other_without_a_hole_to_the_end(zone: str) -> None:
    spans = [span_at(zone, 0)]
    while spans[-1].end < to_seconds(utc("2201-01-01")):
        spans.append(span_at(zone, spans[-1].end))
    for earlier, later in pairwise(spans):
        assert (earlier.end, earlier.after, earlier.offset) == (
            later.start,
            later.offset,
            later.before,
        )


def test_an_instant_before_the_cut_of_its_year_is_of_the_year_before() -> None:
    # Sao Tome changes on 1 January 2019, so that year is cut on the 8th.
    assert from_seconds(span_at("Africa/Sao_Tome", to_seconds(utc("2019-01-05"))).end) == utc(
        "2019-01-08"
    )


def test_a_gap_is_what_the_clock_leaves_out_and_a_fold_what_it_repeats() -> None:
    forward = Span(start=10_000, end=50_000, offset=7200, before=3600, after=7200)
    assert forward.gap == (13_600, 17_200)
    assert (forward.repeats_until, forward.repeated_from) == (17_200, 57_200)
    back = Span(start=10_000, end=50_000, offset=3600, before=7200, after=0)
    assert back.gap == (17_200, 17_200)
    assert (back.repeats_until, back.repeated_from) == (17_200, 50_000)
