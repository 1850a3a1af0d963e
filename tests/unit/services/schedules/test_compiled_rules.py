"""From a definition to its nominal times: calendars, compiled rules, and how long both are kept."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from hourhand.domain.schedules.nominal_times import DatedRule
from hourhand.domain.schedules.recurrence import (
    EARLIEST,
    BadExpression,
    ExcludedDate,
    ExcludedExpression,
    Recurrence,
)
from hourhand.domain.schedules.schedule import CalendarName, FormerRule
from hourhand.memory import START
from hourhand.services.schedules import compiled_rules
from tests.unit.services.schedule_bench import Bench, define
from tests.world.faults import Faults

NEW_YEAR = ExcludedDate(date(2027, 1, 1))
TODAY = ExcludedDate(START.date())
DAILY = "0 12 * * *"


@pytest.fixture
def bench() -> Bench:
    return Bench()


def _next(recurrence: Recurrence) -> datetime | None:
    return recurrence.next_fire(START, START + timedelta(days=9))


def test_a_definition_fires_by_its_expressions_zone_and_exclusions(bench: Bench) -> None:
    definition = define(DAILY, timezone="Asia/Tokyo", exclude=(ExcludedDate(date(2026, 1, 6)),))
    assert _next(bench.recurrences.of(definition)) == datetime(2026, 1, 7, 3, tzinfo=UTC)


def test_what_a_calendar_excludes_is_excluded_beside_the_definitions_own(bench: Bench) -> None:
    bench.put_calendar("holidays", TODAY, NEW_YEAR)
    definition = define(DAILY, exclude=(CalendarName("holidays"), NEW_YEAR))
    recurrence = bench.recurrences.of(definition)
    assert recurrence.rule.exclude == (TODAY, NEW_YEAR)
    assert _next(recurrence) == START.replace(day=6, hour=12)


def test_a_calendar_that_is_missing_excludes_nothing_and_is_told_once_a_use(bench: Bench) -> None:
    bench.put_calendar("holidays", TODAY)
    definition = define(DAILY, exclude=(CalendarName("gone"), CalendarName("holidays")))
    for uses in (1, 2):
        assert _next(bench.recurrences.of(definition)) == START.replace(day=6, hour=12)
        assert len(bench.telemetry.warnings) == uses
    assert bench.telemetry.warnings[0].fields == {"calendars": ["gone"]}
    assert bench.recurrences.missing_calendars(definition) == ("gone",)
    assert bench.recurrences.missing_calendars(define()) == ()


def test_a_calendar_is_read_again_once_it_is_as_old_as_control_data_may_be(bench: Bench) -> None:
    faults = Faults()
    reads = bench.recurrences_of(faults.wrap(bench.schedules))
    bench.put_calendar("holidays", TODAY)
    definition = define(DAILY, exclude=(CalendarName("holidays"),))
    reads.of(definition)
    bench.put_calendar("holidays")
    bench.clock.advance(30)
    assert _next(reads.of(definition)) == START.replace(day=6, hour=12)
    bench.clock.advance(0.001)
    assert _next(reads.of(definition)) == START.replace(hour=12)
    assert len(faults.calls) == 2


def test_a_calendar_that_was_deleted_meanwhile_excludes_nothing_any_more(bench: Bench) -> None:
    bench.put_calendar("holidays", TODAY)
    definition = define(DAILY, exclude=(CalendarName("holidays"),))
    bench.recurrences.of(definition)
    bench.schedules.delete_calendar("holidays", previous=1)
    bench.clock.advance(31)
    assert _next(bench.recurrences.of(definition)) == START.replace(hour=12)


def test_what_is_forgotten_is_read_again_at_once(bench: Bench) -> None:
    bench.put_calendar("holidays", TODAY)
    definition = define(DAILY, exclude=(CalendarName("holidays"),))
    bench.recurrences.of(definition)
    bench.put_calendar("holidays")
    bench.recurrences.forget()
    assert _next(bench.recurrences.of(definition)) == START.replace(hour=12)


def test_no_more_calendars_are_kept_than_the_bound_says(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled_rules, "KNOWN_CALENDARS", 2)
    for name in ("a", "b", "c"):
        bench.put_calendar(name, TODAY)
    bench.recurrences.of(define(DAILY, exclude=(CalendarName("a"), CalendarName("b"))))
    faults = Faults()
    reads = bench.recurrences_of(faults.wrap(bench.schedules))
    for names in (("a", "b"), ("b", "c"), ("b", "c")):
        definition = define(DAILY, exclude=tuple(CalendarName(name) for name in names))
        assert _next(reads.of(definition)) == START.replace(day=6, hour=12)
    # The second of them found no room for `c`, and read both anew.
    assert len(faults.calls) == 3


def test_equal_rules_are_compiled_once(bench: Bench) -> None:
    first = bench.recurrences.of(define(DAILY, payload_text="1"))
    assert bench.recurrences.of(define(DAILY, payload_text="2")) is first
    assert bench.recurrences.of(define(DAILY, timezone="Europe/Berlin")) is not first


def test_a_rate_is_counted_from_the_definitions_anchor(bench: Bench) -> None:
    anchor = START + timedelta(minutes=7)
    definition = define("rate(1 hour)", anchor=anchor)
    assert _next(bench.recurrences.of(definition)) == anchor


def test_a_rate_that_a_calendar_excludes_needs_no_anchor(bench: Bench) -> None:
    bench.put_calendar("every-second-hour", ExcludedExpression("rate(2 hours)"))
    definition = define(exclude=(CalendarName("every-second-hour"),))
    recurrence = bench.recurrences.of(definition)
    assert recurrence.rule.anchor == EARLIEST
    assert _next(recurrence) == START.replace(hour=11)


def test_a_rule_that_cannot_be_compiled_is_refused_each_time(bench: Bench) -> None:
    for _ in range(2):
        with pytest.raises(BadExpression):
            bench.recurrences.of(define("never"))


def test_a_former_rule_that_is_gone_or_over_is_passed_over(bench: Bench) -> None:
    definition = define()
    schedule = bench.put(definition, cursor=START)
    present = DatedRule(definition, bench.recurrences.of(definition))
    later = START + timedelta(hours=1)
    bench.schedules.put_definition("s", "known", define("* * * * *"))
    former = (FormerRule("gone", later), FormerRule("known", START), FormerRule("known", later))
    found = bench.recurrences.since_cursor(
        bench.schedules, replace(schedule, former=former), present
    )
    assert [(rule.definition.expressions, rule.until) for rule in found[:-1]] == [
        (("* * * * *",), later)
    ]
    assert found[-1] is present
