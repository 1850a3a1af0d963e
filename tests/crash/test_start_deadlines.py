"""A run that did not start in time never starts, whatever died; and a local anchor stays local."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hourhand.domain.jobs.job import JobStatus
from hourhand.memory import START
from tests.world.runs import fail
from tests.world.world import World

MINUTE = timedelta(minutes=1)


@pytest.fixture
def world() -> World:
    world = World()
    world.put_schedule("s", expression="*/10 * * * *", expires_after_seconds=120)
    world.advance_to(START + 10 * MINUTE)
    world.tick()
    return world


def test_a_late_run_ends_cancelled_and_says_why(world: World) -> None:
    world.advance(120)
    world.deliver()
    [job] = [one for one in world.store.jobs().values() if one.occurrence == START + 10 * MINUTE]
    assert (job.status, job.history[-1].reason) == (JobStatus.CANCELLED, "late")
    assert world.runs == []


def test_a_run_that_started_in_time_is_retried_late(world: World) -> None:
    world.advance(119)
    world.deliver(fail)
    world.advance(600)
    world.minute()
    [job] = [one for one in world.store.jobs().values() if one.occurrence == START + 10 * MINUTE]
    assert (job.status, job.attempt) == (JobStatus.SUCCEEDED, 2)


def test_every_two_weeks_keeps_the_local_time_of_its_anchor() -> None:
    fields: dict[str, Any] = {"expression": "every(2 weeks)", "timezone": "Europe/Berlin"}
    # An anchor in summer time, twelve weeks before the morning on which the clock stands.
    view = World().put_schedule("s", **fields, anchor="2025-10-13T11:00")
    assert view.next_occurrence == START + timedelta(hours=1)
