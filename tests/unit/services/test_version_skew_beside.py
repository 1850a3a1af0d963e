"""One item of a newer version holds up neither its group, nor its page, nor its schedule."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hourhand.api.requests.filters import BulkRequest
from hourhand.api.requests.schedule_operations import BackfillInput
from hourhand.domain.errors import WrittenByNewer
from hourhand.domain.groups.overlap import OverlapPolicy
from hourhand.domain.jobs.job import Job, JobStatus, OnLost
from hourhand.domain.jobs.searches import JobFilter
from hourhand.domain.times import rfc3339
from hourhand.memory import START
from hourhand.services.jobs.execution import (
    LEFT_TO_NEWER_FOR,
    LONGEST_LEFT_TO_NEWER,
    Disposition,
)
from tests.unit.services.conftest import TurnNewer
from tests.unit.services.schedule_bench import define
from tests.unit.services.schedule_views import at, job_at, statuses, stored
from tests.unit.services.schedules.test_backfill_work import BackfillBench
from tests.unit.services.schedules.test_occurrence_jobs import maker, order, schedule_of
from tests.unit.services.schedules.test_recompute import WalkBench
from tests.world.factories import make_job
from tests.world.faults import Faults
from tests.world.occurrences import (
    PARTITION,
    end_run,
    held_in,
    job_id_of,
    let_failures_pause,
    put_occurrence,
    put_running,
    put_schedule,
)
from tests.world.runs import fail_for_good
from tests.world.world import World

SECOND = timedelta(seconds=1)


def told(world: World) -> float:
    return world.telemetry.total("items_newer")


# --- groups ---


def test_a_newer_holder_keeps_its_place_and_not_those_of_others(
    world: World, turn_newer: TurnNewer
) -> None:
    put_schedule(world)
    put_running(world, 0, "buffer_all", max_running=2)
    put_running(world, 1, "buffer_all", max_running=2)
    third = put_occurrence(world, 2, "buffer_all", max_running=2)
    turn_newer(world.store, job_id_of(0))
    world.deliver()
    assert not world.runs
    assert world.job(third).status is JobStatus.ENQUEUED
    end_run(world, 1)
    world.deliver()
    assert [run.job.id for run in world.runs] == [third.id]


def test_a_newer_one_that_waits_takes_no_slot(world: World, turn_newer: TurnNewer) -> None:
    put_schedule(world)
    put_running(world, 0, "buffer_all")
    for number in (1, 2):
        put_occurrence(world, number, "buffer_all")
        world.deliver()
    turn_newer(world.store, job_id_of(1))
    end_run(world, 0)
    assert job_id_of(2) in held_in(world), "it gets the slot, in place of the newer one"
    world.deliver()
    assert [run.job.id for run in world.runs] == [job_id_of(2)]


def test_the_dead_letter_of_a_job_does_not_wait_for_a_newer_one_behind_it(
    world: World, turn_newer: TurnNewer
) -> None:
    put_schedule(world)
    first = put_occurrence(world, 0, "buffer_all")
    (delivery,) = world.receive()

    def fail_beside_a_newer_one(job: Job, pulse: Any) -> Any:
        put_occurrence(world, 1, "buffer_all")
        world.deliver()
        turn_newer(world.store, job_id_of(1))
        return fail_for_good(job, pulse)

    assert world.handle(delivery, fail_beside_a_newer_one) is Disposition.DONE
    assert world.job(first).status is JobStatus.DEAD
    assert len(world.queues.dead_letters) == 1


def test_an_end_is_settled_where_the_slots_are_newer(world: World, turn_newer: TurnNewer) -> None:
    put_schedule(world)
    put_running(world, 0, "buffer_all")
    turn_newer(world.side_items, PARTITION, methods=("query_items",))
    end_run(world, 0)
    assert world.job(job_id_of(0)).due_at is None
    assert told(world) == 1


def test_who_must_not_follow_a_failure_waits_for_a_previous_one_that_is_newer(
    world: World, turn_newer: TurnNewer
) -> None:
    put_schedule(world)
    let_failures_pause(world)
    put_occurrence(world, 0, None, status=JobStatus.DEAD, pauses_schedule=True)
    put_occurrence(world, 1, None, pauses_schedule=True)
    turn_newer(world.store, job_id_of(0))
    assert world.deliver() == [Disposition.KEEP]
    assert not world.runs


def test_a_later_attempt_does_not_wait_for_a_previous_one_that_is_newer(
    world: World, turn_newer: TurnNewer
) -> None:
    put_schedule(world)
    put_occurrence(world, 0, None, pauses_schedule=True, status=JobStatus.DEAD)
    put_occurrence(world, 1, None, pauses_schedule=True, token=1, attempt=1)
    turn_newer(world.store, job_id_of(0))
    world.deliver()
    assert [run.job.id for run in world.runs] == [job_id_of(1)]


# --- waits that grow ---


def test_the_message_of_a_newer_job_is_hidden_longer_each_time(
    world: World, turn_newer: TurnNewer
) -> None:
    job = world.submit()
    turn_newer(world.store, job.id)
    waits = []
    for _ in range(25):
        world.deliver()
        (message,) = world.queues.messages()
        waits.append(message.visible_at - world.clock.now())
        world.advance(waits[-1].total_seconds())
    assert waits[:3] == [LEFT_TO_NEWER_FOR, 2 * LEFT_TO_NEWER_FOR, 3 * LEFT_TO_NEWER_FOR]
    assert waits[-1] == LONGEST_LEFT_TO_NEWER


def test_a_job_beside_a_newer_record_is_claimed_less_often_each_time(
    world: World, turn_newer: TurnNewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = world.submit(idempotency_key="k")

    def begin(*_: Any, **__: Any) -> None:
        raise WrittenByNewer("It has version 2.")

    monkeypatch.setattr(world.keys, "begin", begin)
    waits = []
    for _ in range(3):
        world.deliver()
        due_at = world.job(job).due_at
        assert due_at is not None
        waits.append(due_at - world.clock.now())
        world.clock.advance_to(due_at)
    assert waits == [LEFT_TO_NEWER_FOR, 2 * LEFT_TO_NEWER_FOR, 3 * LEFT_TO_NEWER_FOR]
    assert world.job(job).attempt == 0


# --- the API ---


def test_listings_bulk_and_stats_go_on_without_a_newer_job(
    world: World, turn_newer: TurnNewer
) -> None:
    newer, *ours = [world.submit(delay_seconds=1000) for _ in range(3)]
    turn_newer(world.store, newer.id)
    page = world.api.queries.list_jobs(JobFilter(), limit=10, cursor=None)
    assert {report.job.id for report in page.jobs} == {job.id for job in ours}
    assert world.api.queries.stats().lateness.sample == 0
    result = world.api.bulk.cancel(BulkRequest.parse({"all": True}), actor="caller")
    assert (result.matched, result.changed, result.next_cursor) == (2, 2, None)
    assert {world.job(job).status for job in ours} == {JobStatus.CANCELLED}


@pytest.mark.parametrize("method", ["get_many", "get_definitions"])
def test_schedules_are_listed_without_a_newer_one(
    world: World, turn_newer: TurnNewer, method: str
) -> None:
    for name in ("newer", "ours"):
        world.put_schedule(name, expression="rate(1 hour)")
    turn_newer(world.schedules, "newer", methods=(method,))
    views, following = world.api.schedule_views.list(None, 10)
    assert ([view.schedule.id for view in views], following) == (["ours"], None)


def test_a_schedule_is_told_of_without_a_newer_backfill(
    world: World, turn_newer: TurnNewer
) -> None:
    backfill = {"backfills": ("b1",)}
    put_schedule(world, **backfill)
    let_failures_pause(world)
    turn_newer(world.schedules, "nightly", methods=("get_backfill",))
    assert world.api.schedule_views.get("nightly").backfills == ()
    assert told(world) == 1


@pytest.mark.parametrize("method", ["get_many", "get_definitions"])
def test_a_calendar_that_a_newer_schedule_may_use_is_not_deleted(
    world: World, turn_newer: TurnNewer, method: str
) -> None:
    for name in ("newer", "ours"):
        world.put_schedule(name, expression="rate(1 hour)")
    world.put_calendar("holidays", ["2030-01-01"])
    turn_newer(world.schedules, "newer", methods=(method,))
    with pytest.raises(WrittenByNewer, match=r"Schedule newer .* may use calendar holidays"):
        world.api.calendars.delete("holidays", actor="caller")
    assert world.api.calendars.get("holidays").name == "holidays"


def test_a_history_tells_of_a_newer_job_by_its_id_alone(
    world: World, turn_newer: TurnNewer
) -> None:
    world.put_schedule("s", expression="rate(1 minute)")
    newer = job_at(world, 1)
    turn_newer(world.store, newer.id)
    world.advance(150)
    page = world.api.occurrences.history("s", limit=50, cursor=None)
    (record,) = [record for record in page.entries if record.job_id == newer.id]
    assert record.job is None
    assert any(record.job is not None for record in page.entries)


def test_a_pause_withdraws_what_stands_beside_a_newer_job(
    world: World, turn_newer: TurnNewer
) -> None:
    world.put_schedule("s", expression="rate(1 minute)")
    newer, turning = job_at(world, 1), job_at(world, 2)
    turn_newer(world.store, newer.id, methods=("get_many",))
    turn_newer(world.store, turning.id, methods=("transition",))
    world.pause("s")
    found = statuses(world)
    assert JobStatus.CANCELLED not in {found[1], found[2]}
    assert {found[minute] for minute in found if minute > 2} == {JobStatus.CANCELLED}


# --- schedules ---


def test_nothing_is_decided_without_a_calendar_that_is_newer(
    world: World, turn_newer: TurnNewer
) -> None:
    world.put_calendar("holidays", ["2030-01-01"])
    body: dict[str, Any] = {"expression": "rate(1 hour)", "exclude": ["holidays"]}
    world.put_schedule("s", **body)
    before = stored(world)
    turn_newer(world.schedules, "holidays", methods=("get_calendars",))
    with pytest.raises(WrittenByNewer):
        world.put_schedule("another", **body)
    # One that does not remember what the calendar held.
    process = world.process()
    with pytest.raises(WrittenByNewer):
        process.api.schedule_views.get("s")
    world.advance(3600)
    assert world.tick(process.scheduler).schedules_visited == 0
    assert stored(world) == before
    assert world.telemetry.total("schedule_visits_failed") == 0


def test_a_nominal_time_whose_job_is_newer_is_passed(world: World, turn_newer: TurnNewer) -> None:
    (first,) = maker(world).make(schedule_of(), define(), [order(1)], now=START, actor="tick")
    turn_newer(world.store, first.id, methods=("put", "get_many"))
    orders = [order(1), order(2)]
    made = maker(world).put(schedule_of(), define(), orders, now=START, actor="tick")
    assert [(job.id == first.id, is_to_be_sent) for job, is_to_be_sent in made] == [
        (True, False),
        (False, True),
    ]
    assert maker(world).find_made(schedule_of(), [at(1), at(9)]) == {at(1)}


def test_a_schedule_is_visited_where_its_backfill_is_newer(
    world: World, turn_newer: TurnNewer
) -> None:
    world.put_schedule("s", expression="rate(1 hour)")
    current = stored(world)
    following = current.sequence + 1
    after = replace(current, sequence=following, write_id="b", backfills=("b1",), next_at=START)
    world.schedules.write(after, previous=current.sequence)
    turn_newer(world.schedules, "s", methods=("get_backfill",))
    world.advance(3600)
    assert world.tick().schedules_visited == 1
    assert stored(world).cursor > current.cursor
    assert stored(world).backfills == ("b1",), "it goes on once it is known"
    assert world.telemetry.total("schedule_visits_failed") == 0


def test_a_newer_job_of_a_backfill_keeps_its_room(turn_newer: TurnNewer) -> None:
    bench = BackfillBench()
    bench.begin(overlap=OverlapPolicy.ALLOW)
    first, _ = bench.step()
    assert len(first.waiting) == 1
    turn_newer(bench.jobs, *first.waiting, methods=("get_many",))
    second, made = bench.step()
    assert (second.waiting, made) == (first.waiting, ())


def test_a_backfill_whose_job_is_newer_is_begun_and_left_to_a_later_visit(
    world: World, turn_newer: TurnNewer
) -> None:
    world.put_schedule("s", expression="rate(1 hour)")
    world.advance(3600)
    world.tick()
    turn_newer(world.store, job_at(world, 60).id, methods=("get_many",))
    world.advance(3600)
    body = {"from": rfc3339(at(0)), "to": rfc3339(at(120)), "reprocess": "all"}
    report = world.api.backfills.start("s", BackfillInput.parse(body), actor="caller")
    assert report.backfill is not None
    assert not report.backfill.is_done
    assert stored(world).backfills == (report.backfill.id,)


def test_a_schedule_that_turns_newer_under_its_visit_is_told(
    world: World, turn_newer: TurnNewer
) -> None:
    world.put_schedule("s", expression="rate(1 hour)")
    turn_newer(world.schedules, "s", methods=("write",))
    world.advance(3600)
    assert world.tick().schedules_visited == 0
    assert told(world) == 1
    assert world.telemetry.total("schedule_visits_failed") == 0


# --- the walk ---


@pytest.mark.parametrize("method", ["get_many", "get_definitions", "recompute"])
def test_a_walk_passes_a_newer_schedule_and_is_made_again_until_it_is_known(
    turn_newer: TurnNewer, method: str
) -> None:
    bench = WalkBench()
    bench.put_many("a", "newer", "z")
    bench.change_calendar()
    with pytest.MonkeyPatch.context() as patch:
        if method == "recompute":
            patch.setitem(bench.raises, "newer", WrittenByNewer("2", ids=["newer"]))
        else:
            turn_newer(bench.schedules, "newer", methods=(method,), patch=patch)
        assert bench.step() == ["a", "z"]
        assert bench.step() == []
        assert bench.walk.wanted > bench.walk.finished
    assert bench.step() == ["newer"]
    assert bench.walk.wanted == bench.walk.finished


def test_a_walk_passes_the_schedules_of_a_newer_calendar(turn_newer: TurnNewer) -> None:
    bench = WalkBench()
    bench.put_many("a")
    bench.put(define(), "plain", zone_data="older")
    bench.change_calendar()
    turn_newer(bench.schedules, "holidays", methods=("get_calendars",))
    assert bench.step() == ["plain"]
    assert bench.walk.wanted > bench.walk.finished


# --- the sweep, and what is sent ---


def test_a_newer_job_that_is_to_be_repaired_is_no_failure_of_the_sweep(
    world: World, turn_newer: TurnNewer
) -> None:
    lost = make_job(status=JobStatus.RUNNING, on_lost=OnLost.DEAD, lease_until=START)
    world.store.put(lost)
    turn_newer(world.store, lost.id, methods=("transition",))
    world.advance(60)
    assert world.tick().failures == 0
    assert world.telemetry.total("sweep_failures") == 0
    assert told(world) == 1


def test_a_failed_send_of_a_job_that_turned_newer_is_told(
    world: World, turn_newer: TurnNewer
) -> None:
    faults = Faults()
    faults.throttle("queues.send")
    turn_newer(world.store, "job-1", methods=("transition",))
    due = world.process(faults).worker.execution.tools.due
    due.announce([make_job(status=JobStatus.ENQUEUED, id="job-1", enqueued_at=START)], "w")
    assert told(world) == 1
