"""The schedules of a run: their times are those of their expressions, and what is wrong is seen."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hourhand.api.requests.schedules import ScheduleInput
from hourhand.domain.schedules.recurrence import Rule, compile_rule
from proof.chaos.recurring import SCHEDULES, PlannedSchedule, Row, problems_of_rows

START = datetime(2026, 1, 5, 9, 0, 7, 500_000, tzinfo=UTC)


def at(minutes: int) -> datetime:
    return datetime(2026, 1, 5, 9, minutes, tzinfo=UTC)


def row(minutes: int, job_id: str | None = "o.1", reason: str | None = None) -> Row:
    return Row(at=at(minutes), job_id=job_id, reason=reason)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda one: one.name)
def test_the_body_is_one_that_the_api_takes_and_means_these_times(
    schedule: PlannedSchedule,
) -> None:
    definition = ScheduleInput.parse(schedule.body(START)).definition
    rule = compile_rule(Rule(expressions=definition.expressions, anchor=definition.anchor))
    end = START + timedelta(minutes=2)
    times = [fire.at for fire in rule.fires(START, end)]
    assert schedule.times(START, START, end) == times != []


def test_each_time_once_is_as_it_should_be() -> None:
    assert problems_of_rows("s", [row(1), row(2)], [at(1), at(2)]) == []


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([row(1)], "s: no occurrence at 2026-01-05T09:02:00.000Z"),
        ([row(1), row(2), row(2)], "s: 2 occurrences at 2026-01-05T09:02:00.000Z"),
        ([row(1), row(2), row(3)], "s: 2026-01-05T09:03:00.000Z is not in the schedule"),
        (
            [row(1), row(2, reason="overlap")],
            "s: the occurrence at 2026-01-05T09:02:00.000Z did not run (overlap)",
        ),
        (
            [row(1), row(2, None)],
            "s: the occurrence at 2026-01-05T09:02:00.000Z did not run (no job)",
        ),
    ],
)
def test_anything_else_is_a_problem(rows: list[Row], problem: str) -> None:
    assert problems_of_rows("s", rows, [at(1), at(2)]) == [problem]
