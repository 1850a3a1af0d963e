"""Which nominal times come next."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from hourhand.domain.schedules import rule as rules
from hourhand.domain.schedules.nominal_times import (
    MAX_TIMES_A_DAY,
    MAX_WORK_A_VIEW,
    DayOfTimes,
    first_fires,
    times_by_day,
    upcoming,
)
from hourhand.domain.schedules.recurrence import (
    ExcludedDate,
    ExcludedExpression,
    Recurrence,
    Rule,
    compile_rule,
)
from hourhand.domain.schedules.rule import Work
from hourhand.domain.schedules.schedule import (
    JournalEntry,
    Schedule,
    ScheduleDefinition,
    SkipReason,
)

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOURLY = compile_rule(Rule(expressions=("0 * * * *",)))


def _define(**fields: Any) -> ScheduleDefinition:
    return ScheduleDefinition(expressions=("0 * * * *",), handler="greet", **fields)


def _schedule(**fields: Any) -> Schedule:
    schedule = Schedule(
        id="s",
        sequence=1,
        revision=1,
        write_id="w",
        definition="d",
        created_at=NOW,
        updated_at=NOW,
        effective_from=NOW,
        cursor=NOW,
        zone_data="2026a",
    )
    return replace(schedule, **fields)


def _hours(fires: tuple[datetime, ...]) -> list[float]:
    return [(fire - NOW) / HOUR for fire in fires]


def _first(
    definition: ScheduleDefinition, count: int = 3, recurrence: Recurrence = HOURLY
) -> list[float]:
    return _hours(first_fires(definition, recurrence, after=NOW, count=count).times)


def _upcoming(schedule: Schedule, **fields: Any) -> list[float]:
    return _hours(upcoming(schedule, _define(**fields), HOURLY, now=NOW, count=3))


def test_the_first_fires_are_those_strictly_after() -> None:
    assert _first(_define()) == [1, 2, 3]
    assert _first(_define(), count=0) == []


@pytest.mark.parametrize(
    ("fields", "hours"),
    [
        ({"start_at": NOW + 5 * HOUR}, [5, 6, 7]),
        ({"start_at": NOW + 5.5 * HOUR}, [6, 7, 8]),
        ({"start_at": NOW - 5 * HOUR}, [1, 2, 3]),
        ({"end_at": NOW + 2 * HOUR}, [1, 2]),
        ({"end_at": NOW + 1.9 * HOUR}, [1]),
        ({"end_at": NOW}, []),
    ],
)
def test_a_start_and_an_end_are_kept_and_may_be_fires_themselves(
    fields: dict[str, datetime], hours: list[float]
) -> None:
    assert _first(_define(**fields)) == hours


def test_what_is_excluded_does_not_come() -> None:
    rule = Rule(expressions=("0 0,12 * * *",), exclude=(ExcludedDate(date(2026, 1, 6)),))
    assert _first(_define(), recurrence=compile_rule(rule)) == [3, 39, 51]


def test_none_come_while_it_is_paused_and_once_it_is_deleted() -> None:
    assert _upcoming(_schedule()) == [1, 2, 3]
    assert _upcoming(_schedule(paused_at=NOW)) == []
    assert _upcoming(_schedule(deleted_at=NOW)) == []


@pytest.mark.parametrize(("made", "left"), [(0, 3), (3, 2), (4, 1), (5, 0), (6, 0)])
def test_no_more_come_than_its_occurrences_allow(made: int, left: int) -> None:
    assert len(_upcoming(_schedule(made=made), max_occurrences=5)) == left


def test_what_was_made_ahead_of_its_time_still_comes() -> None:
    journal = (
        JournalEntry(first=NOW, last=NOW),
        JournalEntry(first=NOW + HOUR, last=NOW + HOUR),
        JournalEntry(first=NOW + HOUR, last=NOW + HOUR, salt="trigger"),
        JournalEntry(first=NOW + HOUR, last=NOW + HOUR, reason=SkipReason.EXCLUDED),
    )
    assert _upcoming(_schedule(made=2, journal=journal), max_occurrences=2) == [1]


# --- how far is looked ---

SECOND = timedelta(seconds=1)
SECONDLY_BY_DAY = compile_rule(
    Rule(expressions=("* * * * * *",), exclude=(ExcludedExpression("* * 0-7,9-23 * * *"),))
)
"""In the hour from 8:00 on: 82,800 fires in a row are excluded, from 9:00 on."""


def test_a_search_that_takes_long_is_broken_off_and_told_from_an_end() -> None:
    found = first_fires(_define(), SECONDLY_BY_DAY, after=NOW, count=2)
    assert (found.times, found.is_cut) == ((), True)
    # A second takes a unit for the rule and one for what excludes it.
    hours = (MAX_WORK_A_VIEW // 2 - 100) * SECOND
    near = first_fires(_define(), SECONDLY_BY_DAY, after=NOW + 23 * HOUR - hours, count=2)
    assert (_hours(near.times), near.is_cut) == ([23, 23 + SECOND / HOUR], False)
    over = first_fires(_define(end_at=NOW + 5 * SECOND), SECONDLY_BY_DAY, after=NOW, count=2)
    assert (over.times, over.is_cut) == ((), False)


def test_what_is_excluded_for_decades_is_an_end() -> None:
    rule = Rule(expressions=("0 0 * * *",), exclude=(ExcludedExpression("0 0 */1 * *"),))
    found = first_fires(_define(), compile_rule(rule), after=NOW, count=1, work=Work(10**6))
    assert (found.times, found.is_cut) == ((), False)


def test_who_is_late_takes_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "UNITS_BETWEEN_QUESTIONS", 1)

    def find(count: int) -> tuple[list[float], bool]:
        work = Work(10**6, lambda: False)
        found = first_fires(_define(), HOURLY, after=NOW, count=count, work=work)
        return _hours(found.times), found.is_cut

    assert find(2) == ([1], True)
    assert find(1) == ([1], False)


def test_a_view_does_not_look_again_where_a_visit_looked() -> None:
    schedule = _schedule(next_at=NOW + 23 * HOUR)
    assert _hours(upcoming(schedule, _define(), SECONDLY_BY_DAY, now=NOW, count=1)) == [23]
    # The time of a change, by a clock that is a little ahead, tells nothing.
    now = NOW + HOUR - 30 * SECOND
    changed = _schedule(cursor=now, next_at=now + 60 * SECOND)
    assert _hours(upcoming(changed, _define(), HOURLY, now=now, count=1)) == [1]


# --- a month, day by day ---


def _days(
    *expressions: str, zone: str = "UTC", month: date = date(2026, 11, 1), **fields: Any
) -> dict[int, DayOfTimes]:
    exclude = fields.pop("rule", ())
    rule = Rule(expressions=expressions, timezone=zone, anchor=rules.EARLIEST, exclude=exclude)
    recurrence = compile_rule(rule)
    work = fields.pop("work", None) or Work(400_000)
    found = times_by_day(_define(timezone=zone, **fields), recurrence, month, work)
    return {day.day.day: day for day in found}


def test_a_month_of_a_fast_rate_has_every_day_within_the_work_of_a_preview() -> None:
    days = _days("rate(20 seconds)", month=date(2026, 12, 1))
    assert {day.count for day in days.values()} == {4320}
    assert len(days) == 31
    assert not any(day.is_least for day in days.values())


def test_a_day_with_too_many_times_says_that_it_has_more() -> None:
    days = _days("* * * * * *", month=date(2026, 2, 1))
    assert {(day.count, day.is_least) for day in days.values()} == {(MAX_TIMES_A_DAY, True)}


def test_once_the_work_is_over_the_days_say_that_they_were_not_counted() -> None:
    days = _days("* * * * *", work=Work(2000))
    assert (days[1].count, days[1].is_least) == (1440, False)
    assert days[2].is_least
    assert (days[30].count, days[30].is_least) == (0, True)


@pytest.mark.parametrize(
    ("zone", "month", "day", "count"),
    [
        ("Europe/Berlin", date(2026, 3, 1), 29, 23),
        ("Europe/Berlin", date(2026, 10, 1), 25, 25),
        # Midnight itself does not exist on this day.
        ("Africa/Cairo", date(2026, 4, 1), 24, 23),
    ],
)
def test_a_day_is_as_long_as_its_zone_makes_it(
    zone: str, month: date, day: int, count: int
) -> None:
    days = _days("rate(1 hour)", zone=zone, month=month)
    assert (days[day].count, days[day].clocks_change) == (count, True)
    assert (days[1].count, days[1].clocks_change) == (24, False)


def test_the_start_and_the_end_of_the_definition_bound_the_days() -> None:
    begin = datetime(2026, 11, 3, 12, tzinfo=UTC)
    days = _days("0 * * * *", start_at=begin, end_at=begin + 24 * HOUR)
    assert {day: found.count for day, found in days.items() if found.count} == {3: 12, 4: 13}
    assert days[3].first == (begin, begin + HOUR, begin + 2 * HOUR)
    assert not days[30].is_least


def test_excluded_times_are_counted_apart() -> None:
    exclude = (ExcludedDate(date(2026, 11, 2)), ExcludedExpression("0 18 * * *"))
    days = _days("0 6,18 * * *", rule=exclude)
    assert (days[1].count, days[1].excluded, days[1].is_least) == (1, 1, False)
    assert (days[2].count, days[2].excluded) == (0, 2)
    assert days[2].first_excluded == datetime(2026, 11, 2, 6, tzinfo=UTC)
    assert _days("0 6 * * *")[1].first_excluded is None
