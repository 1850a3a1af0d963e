"""Missed times under the policy ``all``: made soon, shown while they are not, and none refused."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.schedules.occurrences import MAX_CATCH_UP, Resumption
from hourhand.memory import START
from hourhand.services.schedules.due_schedules import CATCH_UP_A_TICK
from tests.world.faults import Faults
from tests.world.world import World

ALL = {"policy": "all", "window_seconds": 86_400}


def behind(world: World, schedule_id: str = "s") -> int | None:
    return world.api.schedule_views.get(schedule_id).behind_seconds


def missed(world: World, minutes: int, **body: Any) -> None:
    """Put a schedule of every other second and let it miss so many minutes."""
    world.put_schedule("s", **{"expression": "*/2 * * * * *", "misfire": ALL, **body})
    world.pause("s")
    world.advance(minutes * 60)
    world.resume("s")


def test_a_fast_schedule_has_caught_up_within_five_minutes(world: World) -> None:
    missed(world, 10)
    assert behind(world) == 600 - 2 * MAX_CATCH_UP - 2
    for _ in range(5):
        world.tick()
        for _ in range(6):
            # A slot that is handed on shows as a message at once.
            while world.deliver():
                pass
            world.advance(10)
    assert behind(world) is None
    made = {job.occurrence: job.status for job in world.store.jobs().values()}
    missed_ones = [START + timedelta(seconds=n) for n in range(2, 602, 2)]
    assert {made.get(at) for at in missed_ones} == {JobStatus.SUCCEEDED}


@pytest.mark.parametrize("overlap", ["allow", "skip"])
def test_a_tick_makes_a_thousand_and_none_is_refused(world: World, overlap: str) -> None:
    missed(world, 60, overlap=overlap)
    world.tick()
    assert len(world.store.jobs()) >= CATCH_UP_A_TICK + 2 * MAX_CATCH_UP
    world.deliver()
    reasons = {job.history[-1].reason for job in world.store.jobs().values()}
    assert "buffer full" not in reasons


def test_a_catch_up_that_fails_costs_its_schedule_a_minute_and_no_other_one(world: World) -> None:
    missed(world, 10)
    world.put_schedule("t", expression="* * * * *")
    world.advance(60)
    # The first visits store two schedules; the next write is that of the catch-up.
    faults = Faults().throttle("schedules.write", nth=3)
    report = world.tick(world.process(faults).scheduler)
    assert report.schedules_visited == 2
    assert behind(world) is not None
    world.tick()
    assert behind(world) is None


def test_a_schedule_is_not_behind_while_it_is_paused_or_used_up(world: World) -> None:
    world.put_schedule("s", expression="* * * * *", max_occurrences=2)
    world.put_schedule("p", expression="* * * * *", start_at="2026-01-05T09:10:00Z")
    assert (behind(world), behind(world, "p")) == (None, None)
    world.advance(1200)
    assert behind(world) is None
    assert behind(world, "p") == 600
    world.pause("p")
    assert behind(world, "p") is None


@pytest.mark.parametrize(
    ("policy", "wanted"),
    [
        ("all", (10, 1, 10, 0)),
        ("latest", (1, 10, 10, 9)),
        ("earliest", (1, 1, 1, 9)),
        ("skip", (0, None, None, 10)),
    ],
)
def test_a_paused_schedule_shows_what_a_resume_would_do(
    world: World, policy: str, wanted: tuple[int, int | None, int | None, int]
) -> None:
    world.put_schedule("s", expression="* * * * *", misfire=policy)
    assert world.api.schedule_views.get("s").on_resume is None
    world.pause("s")
    world.advance(600)
    runs, first, last, skipped = wanted
    first_at, last_at = (None if n is None else START + timedelta(minutes=n) for n in (first, last))
    shown = world.api.schedule_views.get("s").on_resume
    assert shown == Resumption(runs, first_at, last_at, skipped, is_least=False)
    [listed], _ = world.api.schedule_views.list(None, 9)
    assert listed.on_resume is None
    world.resume("s")
    due = [
        j
        for j in world.store.jobs().values()
        if j.occurrence and j.run_at <= START + timedelta(minutes=10)
    ]
    assert len([j for j in due if not j.status.is_final]) == runs
