"""Which nominal times come next."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from hourhand.domain.recurrence import ExcludedDate, Recurrence, Rule, compile_rule
from hourhand.domain.schedules import JournalEntry, Schedule, ScheduleDefinition, SkipReason
from hourhand.domain.upcoming import first_fires, upcoming

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
    return _hours(first_fires(definition, recurrence, after=NOW, count=count))


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
