"""When the demo's schedules are to fire, by arithmetic."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hourhand.domain.recurrence import Rule, compile_rule
from hourhand.local.demo.planned_schedules import SCHEDULES, PlannedSchedule
from hourhand.schemas import ScheduleInput

START = datetime(2026, 1, 5, 9, 0, 7, 500_000, tzinfo=UTC)
RATE, CRON = SCHEDULES


def at(seconds: float) -> datetime:
    return datetime(2026, 1, 5, 9, 0, tzinfo=UTC) + timedelta(seconds=seconds)


def test_a_rate_counts_from_the_second_that_the_demo_began_in() -> None:
    assert RATE.nominal_times(START, at(7.6), at(37)) == [at(17), at(27), at(37)]


def test_a_cron_with_seconds_fires_on_the_quarters_of_a_minute() -> None:
    assert CRON.nominal_times(START, at(15), at(45.2)) == [at(30), at(45)]


def test_nothing_fires_between_two_times() -> None:
    assert CRON.nominal_times(START, at(15), at(29.9)) == []


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda one: one.name)
def test_the_body_is_one_that_the_api_takes_and_means_these_times(
    schedule: PlannedSchedule,
) -> None:
    definition = ScheduleInput.parse(schedule.body(START)).definition
    recurrence = compile_rule(Rule(expressions=definition.expressions, anchor=definition.anchor))
    fires = [fire.at for fire in recurrence.fires(START, START + timedelta(minutes=2))]
    assert schedule.nominal_times(START, START, START + timedelta(minutes=2)) == fires
