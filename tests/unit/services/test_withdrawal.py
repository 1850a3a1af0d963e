"""Taking back jobs that their schedule does not want any more: only those, and only once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from hourhand.domain.ids import occurrence_job_id
from hourhand.domain.model import JobStatus
from hourhand.domain.schedule_changes import pause
from hourhand.domain.schedules import Schedule, SkipReason
from hourhand.services.withdrawal import Withdrawal
from hourhand.testing import START, Faults
from tests.unit.services.schedule_views import MINUTELY, at, job_at, reason_of, statuses, stored
from tests.world.world import World


@pytest.fixture
def changed(world: World) -> tuple[Schedule, Schedule]:
    """A schedule with five jobs made, before and after it was paused."""
    world.put_schedule("s", expression=MINUTELY)
    before = stored(world)
    return before, pause(before, now=START, write_id="p", note="")


def cancel(world: World, before: Schedule, after: Schedule, faults: Faults | None = None) -> None:
    jobs = (faults or Faults()).wrap(world.store, "jobs")
    withdrawal = Withdrawal(jobs, world.clock, world.telemetry)
    withdrawal.cancel(before, after, SkipReason.PAUSED, "caller")


def test_pending_jobs_are_cancelled_with_the_reason_and_told_of(
    world: World, changed: tuple[Schedule, Schedule]
) -> None:
    cancel(world, *changed)
    assert statuses(world) == dict.fromkeys((1, 2, 3, 4, 5), "CANCELLED")
    assert reason_of(job_at(world, 3)) == "paused"
    assert not world.unfinished()
    assert world.telemetry.total("occurrences_withdrawn") == 5


def test_cancelling_twice_changes_nothing(world: World, changed: tuple[Schedule, Schedule]) -> None:
    cancel(world, *changed)
    before = world.store.jobs()
    cancel(world, *changed)
    assert world.store.jobs() == before


def test_a_change_that_takes_nothing_back_cancels_nothing(
    world: World, changed: tuple[Schedule, Schedule]
) -> None:
    before, after = changed
    cancel(world, before, replace(after, journal=before.journal))
    assert set(statuses(world).values()) == {"ENQUEUED"}


@pytest.mark.parametrize(
    ("what", "fields"),
    [
        ("adopted", {"schedule_revision": 2}),
        ("redriven by somebody", {"schedule_revision": None}),
        ("retried", {"token": 1, "attempt": 1, "status": JobStatus.RETRYING}),
        ("running", {"token": 1, "attempt": 1, "status": JobStatus.RUNNING}),
        ("over", {"status": JobStatus.CANCELLED, "due_at": None, "shard": None}),
    ],
)
def test_a_job_that_is_not_pending_under_an_older_revision_is_left_alone(
    world: World, changed: tuple[Schedule, Schedule], what: str, fields: dict[str, object]
) -> None:
    before, after = changed
    job = replace(job_at(world, 3), **fields)  # type: ignore[arg-type]

    class Jobs:
        def get_many(self, ids: list[str]) -> dict[str, object]:
            assert occurrence_job_id("s", at(3)) in ids
            return {job.id: job}

    withdrawal = Withdrawal(Jobs(), world.clock, world.telemetry)  # type: ignore[arg-type]
    withdrawal.cancel(before, after, SkipReason.PAUSED, what)
    assert world.telemetry.total("occurrences_withdrawn") == 0


@pytest.mark.parametrize(
    "meanwhile",
    [
        pytest.param(lambda world: world.change(job_at(world, 1), payload=2), id="changed"),
        pytest.param(lambda world: (world.advance(60), world.deliver()), id="ran"),
    ],
)
def test_a_job_that_changes_as_it_is_cancelled_keeps_its_change(
    world: World, changed: tuple[Schedule, Schedule], meanwhile: Callable[[World], object]
) -> None:
    faults = Faults()
    faults.interrupt("jobs.transition", lambda: meanwhile(world))
    cancel(world, *changed, faults)
    assert job_at(world, 1).status is not JobStatus.CANCELLED
    assert statuses(world)[5] == "CANCELLED"
