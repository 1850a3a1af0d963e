"""A schedule that is put under the id of a deleted one is another one, and inherits nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hourhand.api.requests.schedule_operations import BackfillInput
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.schedules.changes import annotate
from hourhand.domain.schedules.schedule import Schedule
from hourhand.domain.times import rfc3339
from hourhand.memory import START
from tests.unit.services.schedule_views import minute_of, stored, told
from tests.world.runs import fail_for_good
from tests.world.world import World

HOUR = timedelta(hours=1)
MINUTELY: dict[str, Any] = {"expression": "* * * * *", "overlap": "allow"}


def put(world: World, **body: Any) -> None:
    world.put_schedule("s", **{"expression": "0 * * * *", "payload": "old", **body})


def backfill(world: World, hours: int = 5, **fields: Any) -> None:
    end = world.clock.now()
    body = {"from": rfc3339(end - hours * HOUR), "to": rfc3339(end), **fields}
    world.api.backfills.start("s", BackfillInput.parse(body), actor="caller")


def ran(world: World) -> list[Job]:
    return [run.job for run in world.runs]


@pytest.mark.parametrize("fields", [{}, {"overlap": "allow"}])
def test_no_job_of_a_deleted_schedule_runs_though_its_id_is_put_again(
    fields: dict[str, Any],
) -> None:
    world = World()
    put(world, **fields)
    world.advance(10 * 3600)
    triggered = world.trigger("s")
    backfill(world, **fields)
    made = len(world.store.jobs())
    assert made >= 6
    world.delete_schedule("s")
    put(world, expression="0 0 1 1 *", payload="new", **fields)
    world.settle()
    assert ran(world) == []
    assert world.job(triggered).status is JobStatus.CANCELLED
    assert {job.history[-1].reason for job in world.store.jobs().values()} == {"deleted"}
    page = world.api.occurrences.history("s", limit=100, cursor=None)
    assert page.entries == ()
    assert world.api.backfills.list("s", None, 10) == ([], None)


def test_a_time_that_both_have_is_a_job_of_the_new_one_alone() -> None:
    world = World()
    world.put_schedule("s", **MINUTELY, payload="old")
    world.delete_schedule("s")
    world.put_schedule("s", **MINUTELY, payload="new")
    for _ in range(3):
        world.minute()
    assert {job.payload.text for job in ran(world)} == {'"new"'}
    first = ran(world)[0]
    assert minute_of(first.occurrence or START) == 1
    assert (first.previous_occurrence, first.interval_start) == (None, None)
    assert [kind for _, _, kind in told(world)] == ["job"] * len(told(world))


def test_a_new_schedule_inherits_no_figure_of_the_deleted_one() -> None:
    world = World()
    put(world, expression="rate(1 hour)", max_occurrences=2)
    world.advance(7)
    world.settle()
    world.delete_schedule("s")
    world.advance(10 * 86_400)
    put(world, expression="rate(1 hour)", max_occurrences=2)
    after = stored(world)
    assert (after.last_made, after.last_fire, after.made, after.journal) == (None, None, 0, ())
    assert (after.paused_at, after.resumed_at, after.former) == (None, None, ())
    view = world.api.schedule_views.get("s")
    assert view.definition.anchor == world.clock.now().replace(microsecond=0)
    for _ in range(130):
        world.minute()
    own = [job for job in ran(world) if job.schedule_incarnation == 1]
    assert len(own) == 2
    assert own[0].interval_start is None


def test_pages_of_the_deleted_one_are_not_in_the_history_of_the_new_one() -> None:
    world = World()
    world.put_schedule("s", **MINUTELY)
    for _ in range(60):
        world.minute()
    assert world.schedules.read_journal("s", before=None, limit=9)
    world.delete_schedule("s")
    put(world)
    [recent] = world.api.occurrences.recent([stored(world)], count=5).values()
    assert recent == ()
    assert world.api.occurrences.history("s", limit=9, cursor=None).entries == ()


def test_a_running_job_of_the_deleted_one_counts_for_no_overlap_and_pauses_nothing() -> None:
    world = World()
    put(world, pause_on_failure=True)
    world.trigger("s")

    def meanwhile(job: Job, pulse: Any) -> Any:
        world.delete_schedule("s")
        put(world, pause_on_failure=True, payload="new")
        world.trigger("s")
        world.deliver()
        return fail_for_good(job, pulse)

    world.deliver(meanwhile)
    world.settle()
    assert [job.payload.text for job in ran(world) if job.status is JobStatus.RUNNING]
    assert sorted(str(job.status) for job in world.store.jobs().values()) == ["DEAD", "SUCCEEDED"]
    assert stored(world).is_live


def test_what_is_noted_late_is_not_noted_in_another_incarnation() -> None:
    world = World()
    put(world)
    before = stored(world)
    world.delete_schedule("s")
    put(world)

    def build(current: Schedule) -> Schedule:
        return annotate(current, now=START, write_id="late", note="late")

    world.api.schedules.triggers.recording.note(before, build)
    assert stored(world).note == ""
