"""The tick's part in recurring work: it visits what is due, whatever becomes of one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hourhand.domain.ids import occurrence_job_id
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.jobs.quotas import Quota, QuotaKind
from hourhand.memory import FAKE_SECRET
from hourhand.ports.schedule_store import DUE_SHARDS
from hourhand.services.schedules import due_schedules as module
from hourhand.services.schedules.due_schedules import ScheduleSweep, VisitCounts, shards_in_turn
from hourhand.services.ticks.leadership import TICK_RESERVE_SECONDS
from tests.unit.services.schedule_views import MINUTELY, at, job_minutes, stored, told
from tests.world.faults import Faults
from tests.world.world import World


def put_many(world: World, count: int, **body: Any) -> list[str]:
    """Put schedules that nobody visited yet; return their ids."""
    names = [f"s{number:03}" for number in range(count)]
    for name in names:
        faults = Faults()
        faults.throttle("jobs.put")
        body = {"expression": "0-4 9 * * *", **body}
        world.put_schedule(name, by=world.process(faults).api, **body)
    return names


def sweep_of(world: World, faults: Faults | None = None) -> ScheduleSweep:
    return world.process(faults or Faults()).scheduler.scheduling.schedule_sweep


def run(
    world: World,
    faults: Faults | None = None,
    may_go_on: Callable[[], bool] = lambda: True,
) -> VisitCounts:
    now = world.clock.now()
    sweep = sweep_of(world, faults)
    return sweep.run(now=now, horizon=now + timedelta(minutes=5), may_go_on=may_go_on)


def is_visited(world: World, name: str) -> bool:
    return stored(world, name).sequence > 1


def allow(count: int) -> Callable[[], bool]:
    """Return an answer that is yes so many times."""
    left = iter(range(count))
    return lambda: next(left, None) is not None


# --- what is due ---


def test_every_schedule_with_something_due_is_visited_and_no_other(world: World) -> None:
    names = put_many(world, 20)
    world.put_schedule("later", expression="0 12 * * *")
    world.put_schedule("paused", expression=MINUTELY, paused=True)
    faults = Faults()
    counts = run(world, faults)
    assert (counts.visited, counts.failed, counts.is_complete) == (20, 0, True)
    assert all(is_visited(world, name) for name in names)
    # "later" was visited when it was put, and wants its next visit at noon.
    assert stored(world, "later").sequence == 2
    assert world.telemetry.total("schedules_visited") == 20
    assert run(world).visited == 0


def test_what_the_index_does_not_show_yet_is_seen_by_a_later_tick(world: World) -> None:
    world.schedules.freeze_index()
    put_many(world, 3)
    assert run(world).visited == 0
    world.schedules.thaw_index()
    assert run(world).visited == 3


def test_an_index_that_lags_behind_leads_to_no_second_visit(world: World) -> None:
    put_many(world, 3)
    sweep_of(world).schedules.read_due(0, until=at(5), position=None, limit=9)
    world.schedules.freeze_index()
    run(world)
    assert run(world).visited == 0


def test_many_are_read_page_by_page(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 2)
    put_many(world, 50)
    assert run(world).visited == 50


def test_pages_of_one_shard_are_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 1)
    monkeypatch.setattr(module, "MAX_PAGES", 1)
    put_many(world, 40)
    counts = run(world)
    assert not counts.is_complete
    assert counts.visited == DUE_SHARDS
    assert world.telemetry.total("schedule_sweeps_incomplete") == 1
    ticks = 1
    while not run(world).is_complete:
        ticks += 1
    assert 40 / DUE_SHARDS <= ticks < 40


# --- trouble ---


def test_a_bad_schedule_stops_no_other_and_is_told_of_each_time(world: World) -> None:
    names = put_many(world, 10)
    bad = stored(world, names[4])
    world.schedules.write(
        replace(bad, definition="gone", sequence=99, write_id="x"), previous=bad.sequence
    )
    counts = run(world)
    assert (counts.visited, counts.failed) == (9, 1)
    assert run(world).failed == 1
    (first, _) = [w for w in world.telemetry.warnings if "visited" in w.sentence]
    assert first.fields["schedule_id"] == names[4]
    assert first.fields["reason"] == "Its definition is missing."
    assert world.telemetry.total("schedule_visits_failed") == 2


def test_a_schedule_whose_store_does_not_answer_stops_no_other(world: World) -> None:
    put_many(world, 10)
    faults = Faults()
    faults.throttle("schedules.write", nth=3)
    counts = run(world, faults)
    assert (counts.visited, counts.failed) == (9, 1)
    assert run(world).visited == 1


@pytest.mark.parametrize(
    "method", ["schedules.read_due", "schedules.get_many", "schedules.get_definitions"]
)
def test_a_shard_that_cannot_be_read_stops_no_other(world: World, method: str) -> None:
    names = put_many(world, 40)
    faults = Faults()
    faults.throttle(method)
    counts = run(world, faults)
    assert not counts.is_complete
    assert 0 < counts.visited < 40
    assert run(world).visited == 40 - counts.visited
    assert all(is_visited(world, name) for name in names)
    assert "Some schedules could not be read" in world.telemetry.warnings[-1].sentence


@pytest.mark.parametrize("method", ["get_many", "get_definitions"])
def test_an_item_that_cannot_be_understood_stops_no_other(
    world: World, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    names = put_many(world, 40)
    bad, read = names[7], getattr(world.schedules, method)

    def misread(asked: Sequence[Any]) -> Any:
        if any(bad in (each, each[0]) for each in asked):
            raise ValueError("It is damaged.")
        return read(asked)

    monkeypatch.setattr(world.schedules, method, misread)
    counts = run(world)
    assert (counts.visited, counts.failed, counts.is_complete) == (39, 1, True)
    assert world.telemetry.total("schedule_visits_failed") == 1
    assert bad in str([w.fields for w in world.telemetry.warnings])
    monkeypatch.undo()
    assert run(world).visited == 1


@pytest.mark.parametrize("method", ["read_due", "get_many", "get_definitions", "get_walk"])
def test_an_error_that_no_adapter_translated_stops_no_other_shard(
    world: World, method: str
) -> None:
    put_many(world, 40)
    faults = Faults()
    faults.fail(f"schedules.{method}", ValueError("It says no."))
    counts = run(world, faults)
    assert counts.visited + run(world).visited == 40
    assert counts.visited > 0


def test_a_walk_that_cannot_be_read_is_told_of(world: World) -> None:
    faults = Faults()
    faults.throttle("schedules.get_walk")
    counts = run(world, faults)
    assert not counts.is_complete
    assert world.telemetry.total("schedule_sweeps_incomplete") == 1


def test_a_schedule_over_its_quota_waits_stops_no_other_and_is_no_failure(world: World) -> None:
    put_many(world, 1, tenant="acme")
    without_jobs = world.process(Faults().throttle("jobs.put")).api
    world.put_schedule("z", by=without_jobs, expression=MINUTELY)
    quota = Quota(kind=QuotaKind.TENANT, name="acme", accepted_per_minute=3)
    world.api.pauses.change(lambda record: record.with_quota(quota))
    counts = run(world)
    assert (counts.visited, counts.failed, counts.is_complete) == (1, 0, True)
    assert (is_visited(world, "s000"), is_visited(world, "z")) == (False, True)
    (told_of,) = [log for log in world.telemetry.logs if "waits for a quota" in log.sentence]
    assert (told_of.level, told_of.fields["schedule_id"]) == ("info", "s000")
    assert world.telemetry.total("schedule_visits_failed") == 0
    world.advance(60)
    assert run(world).failed == 0
    assert is_visited(world, "s000")
    assert len(_jobs_of(world, "s000")) == 4


# --- its time ---


def test_it_stops_where_time_is_up_and_the_next_tick_does_the_rest(world: World) -> None:
    put_many(world, 30)
    counts = run(world, may_go_on=allow(12))
    assert not counts.is_complete
    assert 0 < counts.visited < 30
    rest = run(world)
    assert (rest.visited, rest.is_complete) == (30 - counts.visited, True)


def test_the_messages_of_ten_visits_share_a_request(world: World) -> None:
    put_many(world, 30)
    faults = Faults()
    assert run(world, faults).visited == 30
    sends = sum(call.method == "send" for call in faults.calls)
    assert sends <= 30 / module.VISITS_AT_ONCE + DUE_SHARDS


def test_no_walk_is_made_where_time_is_up(world: World) -> None:
    faults = Faults()
    run(world, faults, may_go_on=lambda: False)
    assert faults.calls == []


def test_where_time_is_always_short_every_shard_gets_its_turn(world: World) -> None:
    names = put_many(world, 40, expression=MINUTELY)
    for _ in range(DUE_SHARDS):
        run(world, may_go_on=allow(9))
        world.advance(60)
    assert all(is_visited(world, name) for name in names)


def test_each_minute_another_shard_is_first() -> None:
    orders = [shards_in_turn(at(minute)) for minute in range(DUE_SHARDS)]
    assert sorted(order[0] for order in orders) == list(range(DUE_SHARDS))
    assert all(sorted(order) == list(range(DUE_SHARDS)) for order in orders)
    assert shards_in_turn(at(0.99)) == orders[0]


# --- in the tick ---


def test_a_tick_sweeps_before_it_visits_and_what_it_makes_is_sent_all_the_same(
    world: World,
) -> None:
    put_many(world, 3)
    report = world.tick()
    assert (report.schedules_visited, report.entries) == (3, 0)
    jobs = [job for name in ("s000", "s001", "s002") for job in _jobs_of(world, name)]
    assert len(jobs) == 3 * 4
    assert all(job.is_sent for job in jobs)
    # Each message is there: no later sweep needs to send one.
    assert world.tick().dispatched == 0
    world.settle()
    assert [world.job(job).status for job in jobs] == [JobStatus.SUCCEEDED] * 12


def _jobs_of(world: World, name: str) -> list[Job]:
    return [world.job(occurrence_job_id(FAKE_SECRET, name, at(minute))) for minute in range(1, 5)]


def test_a_sweep_with_much_to_do_leaves_a_part_of_its_time_to_the_schedules(world: World) -> None:
    put_many(world, 30)
    left = [60.0]

    def pass_time() -> None:
        left[0] -= 4.0

    scheduling = world.scheduler.scheduling
    # Each read of a bucket takes so long that the sweep needs more than the tick has.
    jobs = _Slow(scheduling.jobs, pass_time)
    slow = replace(scheduling, jobs=jobs)
    report = slow.tick("tick", lambda: left[0])
    assert not report.completed
    assert report.schedules_visited == 30
    assert left[0] >= TICK_RESERVE_SECONDS


def test_visits_end_when_the_time_of_the_tick_is_over(world: World) -> None:
    put_many(world, 30)
    left = [60.0]
    scheduling = world.scheduler.scheduling
    sweep = scheduling.schedule_sweep

    class Slow:
        def __getattr__(self, name: str) -> Any:
            left[0] -= 26.0
            return getattr(sweep.materialiser, name)

    slow: Any = Slow()
    report = replace(scheduling, schedule_sweep=replace(sweep, materialiser=slow)).tick(
        "tick", lambda: left[0]
    )
    # The first of them began in time, and the second; the others are for the next tick.
    assert 0 < report.schedules_visited <= 2 * module.VISITS_AT_ONCE
    assert world.tick().schedules_visited == 30 - report.schedules_visited


class _Slow:
    """A job store whose index takes time to be read."""

    def __init__(self, jobs: Any, note: Callable[[], object]) -> None:
        self._jobs, self._note = jobs, note

    def __getattr__(self, name: str) -> Any:
        if name == "read_bucket":
            self._note()
        return getattr(self._jobs, name)


def test_a_schedule_lives_by_ticks_alone(world: World) -> None:
    world.put_schedule("s", expression=MINUTELY)
    for _ in range(30):
        world.minute()
    assert [why for _, _, why in told(world)] == ["job"] * 34
    assert job_minutes(world) == [float(n) for n in range(1, 35)]
    assert len(world.runs) == 29
