"""Whether each nominal time came exactly once: whatever is wrong with a history is found."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from hourhand.local.demo.client import DemoFailed
from hourhand.local.demo.nominal_times import (
    MAX_ROWS,
    Fire,
    problems_of_fires,
    problems_of_result,
    read_history,
)

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def at(minutes: int) -> datetime:
    return START + timedelta(minutes=minutes)


def fire(minutes: int, job_id: str | None = "o.1", reason: str | None = None) -> Fire:
    return Fire(at=at(minutes), job_id=job_id, reason=reason)


def history(*rows: tuple[int, str]) -> Any:
    """Return a client that tells of these minutes and kinds, as often as it is let."""

    def occurrences(schedule_id: str, *, page_size: int, limit: int) -> Iterator[Any]:
        assert schedule_id == "s"
        assert page_size <= 200
        for minutes, kind in itertools.islice(rows, limit):
            yield SimpleNamespace(at=at(minutes), kind=kind, job_id=f"o.{minutes}", reason=None)

    return SimpleNamespace(schedules=SimpleNamespace(occurrences=occurrences))


def test_the_times_of_the_schedule_itself_are_returned_from_the_oldest_on() -> None:
    client = history((3, "schedule"), (2, "trigger"), (1, "schedule"))
    assert read_history(client, "s") == [fire(1, "o.1"), fire(3, "o.3")]


def test_a_history_that_never_ends_is_told() -> None:
    with pytest.raises(DemoFailed, match="does not end"):
        read_history(history(*[(1, "schedule")] * (MAX_ROWS + 1)), "s")


def test_every_time_once_is_as_it_should_be() -> None:
    assert problems_of_fires("s", [fire(1), fire(2)], expected=[at(1), at(2)]) == []


def test_a_time_that_passed_during_a_change_may_be_there_or_not() -> None:
    for fires in ([fire(1)], [fire(1), fire(2)]):
        assert problems_of_fires("s", fires, expected=[at(1)], allowed=[at(2)]) == []


@pytest.mark.parametrize(
    ("fires", "problem"),
    [
        ([fire(1)], "s: nothing came of 2026-01-05T09:02:00.000Z"),
        ([fire(1), fire(2), fire(2)], "s: 2026-01-05T09:02:00.000Z came 2 times"),
        ([fire(1), fire(2), fire(3)], "s: 2026-01-05T09:03:00.000Z is no time of it"),
        (
            [fire(1), fire(2, reason="overlap")],
            "s: 2026-01-05T09:02:00.000Z did not run (overlap)",
        ),
        ([fire(1), fire(2, None)], "s: 2026-01-05T09:02:00.000Z did not run (no job)"),
    ],
)
def test_whatever_else_came_is_a_problem(fires: list[Fire], problem: str) -> None:
    assert problems_of_fires("s", fires, expected=[at(1), at(2)]) == [problem]


def job(told: str | None, status: str = "SUCCEEDED") -> dict[str, Any]:
    result = None if told is None else {"at": told}
    occurrence = "2026-01-05T09:02:00.000Z"
    return {"id": "j", "status": status, "result": result, "occurrence": occurrence}


def test_a_handler_that_was_told_another_time_is_a_problem() -> None:
    assert problems_of_result(job("2026-01-05T09:02:00+00:00")) == []
    assert problems_of_result(job("2026-01-05T09:03:00+00:00")) == [
        "j: its handler was told 2026-01-05T09:03:00+00:00, not 2026-01-05T09:02:00.000Z"
    ]
    assert problems_of_result(job(None)) == [
        "j: its handler was told None, not 2026-01-05T09:02:00.000Z"
    ]


def test_a_job_that_did_not_succeed_has_told_nothing() -> None:
    assert problems_of_result(None) == []
    assert problems_of_result(job(None, "DEAD")) == []
