"""``every()`` by hand: each so many days, weeks or months from a local anchor."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hourhand.domain.schedules.recurrence import LATEST, BadExpression, Rule, compile_rule
from tests.unit.domain.recurrence_table.rows import Row, Window, by_policies

BERLIN = Window("Europe/Berlin", "2026-03-01T00:00+01:00", "2026-04-30T00:00+02:00")
SHORT = Window("Europe/Berlin", "2026-01-01T00:00+01:00", "2026-06-01T00:00+02:00")
MONDAY = "2026-01-05T09:00+01:00"
ROWS = [
    # Every other Monday, at the same local time before and after the change of 29 March.
    BERLIN.row(
        "every(2 weeks)",
        "2026-03-02T09:00+01:00 2026-03-16T09:00+01:00 2026-03-30T09:00+02:00 "
        "2026-04-13T09:00+02:00 2026-04-27T09:00+02:00",
        anchor=MONDAY,
    ),
    BERLIN.row("EVERY( 40 days )", "2026-03-26T09:00+01:00", anchor=MONDAY),
    # The anchor may lie after what it decides, and be given in another offset.
    BERLIN.row(
        "every(3 weeks)",
        "2026-03-17T09:00+01:00 2026-04-07T09:00+02:00 2026-04-28T09:00+02:00",
        anchor="2026-04-28T07:00Z",
    ),
    SHORT.row(
        "every(1 month)",
        "2026-01-31T09:00+01:00 2026-02-28T09:00+01:00 2026-03-31T09:00+02:00 "
        "2026-04-30T09:00+02:00 2026-05-31T09:00+02:00",
        anchor="2025-12-31T09:00+01:00",
    ),
    SHORT.row(
        "every(2 months)",
        "2026-02-15T09:00+01:00 2026-04-15T09:00+02:00",
        anchor="2031-12-15T09:00+01:00",
    ),
]


@pytest.mark.parametrize(("row", "rule"), by_policies(ROWS))
def test_every_fires_by_the_clock_of_its_zone(row: Row, rule: Rule) -> None:
    row.check(rule)


@pytest.mark.parametrize(
    "text",
    ["every(0 days)", "every(2 hours)", "every(days)", "every(1.5 weeks)", "every(10000 days)"],
)
def test_what_every_does_not_take_is_refused(text: str) -> None:
    with pytest.raises(BadExpression, match="whole number from 1 to 9999"):
        compile_rule(Rule(expressions=(text,), anchor=datetime(2026, 1, 5, tzinfo=UTC)))


@pytest.mark.parametrize("anchor", [None, datetime(2026, 1, 5, 9)])  # noqa: DTZ001 - that is the case
def test_every_needs_an_anchor(anchor: datetime | None) -> None:
    with pytest.raises(BadExpression, match="needs an anchor"):
        compile_rule(Rule(expressions=("every(2 weeks)",), anchor=anchor))


def test_a_time_that_is_beyond_all_years_is_none() -> None:
    rule = Rule(expressions=("every(9999 months)",), anchor=datetime(2026, 1, 5, tzinfo=UTC))
    found = compile_rule(rule)
    assert found.next_fire(datetime(2026, 1, 5, tzinfo=UTC), LATEST) is None
