"""Schedules over both changes of the clocks: what came is right, and what is wrong is found."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from hourhand.local.demo.clock_change import (
    ZONE,
    ClockChange,
    problems_of_jobs,
    run_clock_changes,
)
from hourhand.local.demo.seasons import HOURLY, NIGHTLY, RATE, SEASONS, Season

BERLIN = ZoneInfo(ZONE)
MINUTE = timedelta(minutes=1)
SPRING, AUTUMN = SEASONS


def minutes_of(season: Season) -> Iterator[datetime]:
    at = season.start
    while at < season.end:
        yield at
        at += MINUTE


def at_local(season: Season, *times: str) -> list[datetime]:
    """Return by brute force when the clocks on the wall show one of these times."""
    return [at for at in minutes_of(season) if f"{at.astimezone(BERLIN):%d %H:%M}" in times]


def test_the_days_are_whole_ones_in_berlin() -> None:
    for season in SEASONS:
        assert f"{season.start.astimezone(BERLIN):%H:%M}" == "00:00"
        assert f"{season.end.astimezone(BERLIN):%H:%M}" == "00:00"
    assert SPRING.end - SPRING.start == timedelta(hours=71)
    assert AUTUMN.end - AUTUMN.start == timedelta(hours=73)


def test_the_times_worked_out_by_hand_are_those_on_the_wall() -> None:
    spring = at_local(SPRING, "27 02:30", "28 02:30", "29 03:00")
    assert list(SPRING.nightly) == spring
    # The second 02:30 of the 25th is left out.
    first, again, twice, last = at_local(AUTUMN, "24 02:30", "25 02:30", "26 02:30")
    assert twice - again == timedelta(hours=1)
    assert list(AUTUMN.nightly) == [first, again, last]


def test_hourly_is_every_hour_of_the_clock_on_the_wall() -> None:
    for season in SEASONS:
        hours = [at for at in minutes_of(season) if at.astimezone(BERLIN).minute == 0]
        assert season.expected(HOURLY) == hours
    assert len(SPRING.expected(HOURLY)) == 71
    assert len(AUTUMN.expected(HOURLY)) == 73


def test_a_rate_is_elapsed_time() -> None:
    spring = SPRING.expected(RATE)
    assert spring[0] == SPRING.start
    assert {later - at for at, later in itertools.pairwise(spring)} == {timedelta(hours=6)}
    assert SPRING.end - timedelta(hours=6) <= spring[-1] < SPRING.end


@pytest.fixture(scope="module")
def change() -> ClockChange:
    return run_clock_changes()


def runs(change: ClockChange, expression: str) -> dict[str, list[str]]:
    return {
        f"{day.date:%m-%d}": [f"{one.local:%H:%M%z}" for one in day.occurrences]
        for day in change.days
        if day.expression == expression
    }


def test_every_nominal_time_came_exactly_once_and_in_time(change: ClockChange) -> None:
    assert change.problems == ()
    expected = sum(len(s.expected(text)) for s in SEASONS for text in (NIGHTLY, HOURLY, RATE))
    assert change.count == expected
    assert {day.max_lateness_ms for day in change.days} == {0}


def test_half_past_two_moves_out_of_the_gap_and_comes_once_in_the_fold(
    change: ClockChange,
) -> None:
    nightly = runs(change, NIGHTLY)
    assert nightly["03-28"] == ["02:30+0100"]
    assert nightly["03-29"] == ["03:00+0200"]
    assert nightly["10-25"] == ["02:30+0200"]
    assert nightly["10-26"] == ["02:30+0100"]


def test_hourly_runs_23_times_and_25_times_and_a_rate_moves_on_the_wall(
    change: ClockChange,
) -> None:
    assert {day: len(of_day) for day, of_day in runs(change, HOURLY).items()} == {
        "03-27": 24,
        "03-28": 24,
        "03-29": 23,
        "10-24": 24,
        "10-25": 25,
        "10-26": 24,
    }
    assert runs(change, RATE)["03-29"] == ["00:00+0100", "07:00+0200", "13:00+0200", "19:00+0200"]


def test_each_effect_of_the_change_is_named(change: ClockChange) -> None:
    notes = [one.note for day in change.days for one in day.occurrences if one.note]
    assert len(notes) == 4
    assert "does not exist in Europe/Berlin" in notes[0]
    assert all("comes twice in Europe/Berlin" in note for note in notes[1:])


def test_a_time_that_did_not_come_is_a_problem() -> None:
    day = Season(
        start=SPRING.start,
        end=SPRING.start + timedelta(hours=6),
        nightly=(*SPRING.nightly[:1], datetime(2026, 3, 27, 4, 45, tzinfo=UTC)),
    )
    assert run_clock_changes([day]).problems == (
        "nightly: nothing came of 2026-03-27T04:45:00.000Z",
    )


def test_a_time_that_should_not_have_come_is_a_problem() -> None:
    day = replace(SPRING, end=SPRING.start + timedelta(hours=6), nightly=())
    wrong = run_clock_changes([replace(day, nightly=SPRING.nightly[1:2])]).problems
    assert wrong == (
        "nightly: nothing came of 2026-03-28T01:30:00.000Z",
        "nightly: 2026-03-27T01:30:00.000Z is no time of it",
    )


def job(hour: int, *, since: int, status: str = "SUCCEEDED", runs: int = 1) -> dict[str, Any]:
    at = (SPRING.start + timedelta(hours=hour)).isoformat()
    since_at = (SPRING.start + timedelta(hours=since)).isoformat()
    return {
        "id": f"o.{hour}",
        "status": status,
        "attempts": [{"outcome": "SUCCEEDED"}] * runs,
        "occurrence": at,
        "result": {"at": at, "since": since_at, "until": at},
    }


def problems(*jobs: dict[str, Any]) -> list[str]:
    return problems_of_jobs("s", {datetime.fromisoformat(one["occurrence"]): one for one in jobs})


def test_reports_that_follow_each_other_are_as_they_should_be() -> None:
    assert problems(job(1, since=0), job(2, since=1)) == []


def test_an_interval_that_was_left_out_is_a_problem() -> None:
    assert problems(job(1, since=0), job(3, since=2)) == [
        "s: the interval of 2026-03-27T02:00:00+00:00 begins at 2026-03-27T01:00:00+00:00, "
        "not 2026-03-27T00:00:00+00:00"
    ]


def test_a_job_that_ran_twice_or_did_not_succeed_is_a_problem() -> None:
    [twice] = problems(job(1, since=0, runs=2))
    assert "is SUCCEEDED after ['SUCCEEDED', 'SUCCEEDED']" in twice
    [cancelled] = problems(job(1, since=0, status="CANCELLED", runs=0))
    assert "is CANCELLED after []" in cancelled
