"""Taking back jobs that their schedule does not want any more: only those, and only once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hourhand.domain.ids import occurrence_job_id
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.schedules.changes import delete, pause
from hourhand.domain.schedules.schedule import JournalEntry, Schedule, SkipReason
from hourhand.domain.ticks.timings import Timings
from hourhand.memory import FAKE_SECRET, START, MemoryRandomness
from hourhand.ports.job_store import Refused
from hourhand.services.jobs.new_job import DerivedIds
from hourhand.services.schedules.history import ScheduleHistory
from hourhand.services.schedules.withdrawal import Withdrawal
from tests.unit.services.schedule_views import (
    MINUTELY,
    at,
    job_at,
    reason_of,
    statuses,
    stored,
    told,
)
from tests.world.faults import Faults
from tests.world.world import World


@pytest.fixture
def changed(world: World) -> tuple[Schedule, Schedule]:
    """A schedule with five jobs made, before and after it was paused."""
    world.put_schedule("s", expression=MINUTELY)
    before = stored(world)
    return before, pause(before, now=START, write_id="p", note="")


def withdrawal_of(world: World, jobs: Any) -> Withdrawal:
    recording = ScheduleHistory(world.schedules, Timings(), world.telemetry)
    ids = DerivedIds(world.control, MemoryRandomness())
    return Withdrawal(jobs, recording, world.clock, MemoryRandomness(), world.telemetry, ids)


def cancel(world: World, before: Schedule, after: Schedule, faults: Faults | None = None) -> None:
    withdrawal = withdrawal_of(world, (faults or Faults()).wrap(world.store, "jobs"))
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
            assert occurrence_job_id(FAKE_SECRET, "s", at(3)) in ids
            return {job.id: job}

    withdrawal = withdrawal_of(world, Jobs())
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


# --- what began just then ---

DAILY = "30 4 * * *"


def begin_first(world: World) -> None:
    """Let the job of the first minute run."""
    world.advance(0.3)
    world.deliver()


def change_as_the_first_minute_begins(
    world: World, change: Callable[[World, Any], object], faults: Faults
) -> None:
    world.put_schedule("s", expression=MINUTELY)
    world.advance(59.9)
    change(world, world.process(faults).api)


def test_a_job_that_begins_as_its_schedule_is_replaced_stays_on_record(world: World) -> None:
    faults = Faults()
    faults.interrupt("schedules.write", lambda: begin_first(world))
    change_as_the_first_minute_begins(
        world, lambda world, api: world.put_schedule("s", by=api, expression=DAILY), faults
    )
    assert job_at(world, 1).status is JobStatus.SUCCEEDED
    assert told(world) == [(1, 1, "job")]
    assert stored(world).last_made == stored(world).last_fire == at(1)


def test_a_job_that_begins_as_it_is_to_be_cancelled_stays_on_record(
    world: World, changed: tuple[Schedule, Schedule]
) -> None:
    before, _ = changed
    after = delete(before, now=START, write_id="d")
    faults = Faults()

    def begin() -> None:
        # Its worker read the schedule before it was deleted.
        world.advance(60)
        world.deliver()
        world.schedules.write(after, previous=before.sequence)

    faults.interrupt("jobs.transition", begin)
    cancel(world, before, after, faults)
    assert job_at(world, 1).status is JobStatus.SUCCEEDED
    assert stored(world).journal == (JournalEntry(first=at(1), last=at(1)),)


def test_a_job_that_is_gone_as_it_is_to_be_cancelled_is_let_be(
    world: World, changed: tuple[Schedule, Schedule]
) -> None:
    class Jobs:
        def get_many(self, ids: list[str]) -> dict[str, object]:
            return {ids[0]: world.job(ids[0])}

        def transition(self, move: object) -> Refused:
            return Refused(None)

    before, after = changed
    withdrawal_of(world, Jobs()).cancel(before, after, SkipReason.PAUSED, "caller")
    assert stored(world) == before


def test_a_job_that_begins_as_its_schedule_is_deleted_stays_on_record(world: World) -> None:
    faults = Faults()
    faults.interrupt("schedules.write", lambda: begin_first(world))
    change_as_the_first_minute_begins(
        world, lambda world, api: api.schedules.delete("s", actor="caller"), faults
    )
    assert told(world) == [(1, 1, "job")]
    assert stored(world).deleted_at is not None


def test_a_job_that_begins_as_its_schedule_is_paused_is_on_record_once_it_is_resumed(
    world: World,
) -> None:
    faults = Faults()
    faults.interrupt("schedules.write", lambda: begin_first(world))
    change_as_the_first_minute_begins(world, lambda world, api: world.pause("s", by=api), faults)
    world.advance(90)
    world.resume("s")
    assert [line for line in told(world) if line[0] <= 1] == [(1, 1, "job")]


def test_a_line_that_cannot_be_put_back_is_told_and_the_change_stands(world: World) -> None:
    faults = Faults()
    faults.interrupt("schedules.write", lambda: begin_first(world))
    # The replacement, its visit, and the line.
    faults.throttle("schedules.write", times=1, nth=3)
    change_as_the_first_minute_begins(
        world, lambda world, api: world.put_schedule("s", by=api, expression=DAILY), faults
    )
    assert told(world) == []
    assert [line.sentence for line in world.telemetry.warnings] == [
        "Could not record a job in its schedule's history. The job runs, but the history lacks it."
    ]
