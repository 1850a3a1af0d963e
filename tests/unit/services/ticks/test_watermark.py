"""Requests for a resweep, and the tick that takes them up."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest

from hourhand.domain.errors import InvalidInput, Unavailable
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.ticks.buckets import bucket_of
from hourhand.domain.ticks.resweep import ResweepState
from hourhand.domain.ticks.timings import Timings
from hourhand.domain.ticks.watermark import SIDE_BY_SIDE
from hourhand.services.ticks.watermark import MAX_LOST_RACES, ResweepService
from hourhand.testing import Crash
from tests.world.checks import assert_nothing_is_out_of_sight
from tests.world.factories import make_job
from tests.world.faults import Faults, When
from tests.world.world import World

HOUR = timedelta(hours=1)


def _service(world: World, faults: Faults | None = None) -> ResweepService:
    control = (faults or Faults()).wrap(world.control)
    return ResweepService(control, world.clock, world.api.submission.randomness)


def _restored(world: World, job_id: str, ago: timedelta) -> None:
    due_at = world.clock.now() - ago
    world.store.put(
        make_job(id=job_id, created_at=due_at, run_at=due_at, due_at=due_at, handler="greet")
    )


def _ticks(world: World, count: int) -> None:
    for _ in range(count):
        world.advance(60)
        world.tick()


def test_a_job_below_the_watermark_is_found_by_a_resweep_and_only_by_it(world: World) -> None:
    _ticks(world, 90)
    _restored(world, "back", 80 * timedelta(minutes=1))
    _ticks(world, 3)
    assert not world.store.jobs()["back"].is_sent
    asked = world.api.resweeps.request(world.clock.now() - 2 * HOUR)
    assert asked.state is ResweepState.REQUESTED
    _ticks(world, 1)
    assert world.api.resweeps.progress().state is ResweepState.RUNNING
    assert world.store.jobs()["back"].is_sent
    world.settle()
    assert world.store.jobs()["back"].status is JobStatus.SUCCEEDED
    _ticks(world, 5)
    assert world.api.resweeps.progress().state is ResweepState.DONE
    assert_nothing_is_out_of_sight(world)
    assert "A resweep begins" in " ".join(world.telemetry.sentences)


def test_a_resweep_before_the_first_tick_of_all_is_taken_up_by_it(world: World) -> None:
    _restored(world, "back", 5 * HOUR)
    world.api.resweeps.request(world.clock.now() - 6 * HOUR)
    world.tick()
    assert world.store.jobs()["back"].is_sent


def test_the_same_request_again_changes_nothing_while_the_first_waits_or_runs(
    world: World,
) -> None:
    since = world.clock.now() - HOUR
    first = world.api.resweeps.request(since)
    record = world.control.read_resweep()
    assert world.api.resweeps.request(since) == first
    world.tick()
    assert world.api.resweeps.request(since).state is ResweepState.RUNNING
    assert world.control.read_resweep() == record


def test_a_time_that_is_too_long_ago_stores_nothing(world: World) -> None:
    with pytest.raises(InvalidInput):
        world.api.resweeps.request(world.clock.now() - timedelta(days=41))
    assert world.control.read_resweep() is None


def test_of_two_who_ask_at_once_both_are_served(world: World) -> None:
    now = world.clock.now()
    faults = Faults().interrupt("write_resweep", lambda: _service(world).request(now - HOUR))
    told = _service(world, faults).request(now - 3 * HOUR)
    assert told.since == now - 3 * HOUR
    faults = Faults().interrupt("write_resweep", lambda: _service(world).request(now - 5 * HOUR))
    told = _service(world, faults).request(now - 4 * HOUR)
    assert told.since == now - 5 * HOUR, "the winner's covers it"


def test_where_others_ask_all_the_time_it_is_given_up(world: World) -> None:
    now = world.clock.now()
    faults = Faults()
    for nth in range(1, MAX_LOST_RACES + 1):
        ask = partial(_service(world).request, now - timedelta(minutes=nth))
        faults.interrupt("write_resweep", ask, nth=nth)
    with pytest.raises(Unavailable):
        _service(world, faults).request(now - HOUR)


def test_a_leader_that_dies_after_it_took_a_resweep_up_leaves_it_to_the_next(
    world: World,
) -> None:
    _ticks(world, 90)
    _restored(world, "back", 80 * timedelta(minutes=1))
    world.api.resweeps.request(world.clock.now() - 2 * HOUR)
    faults = Faults()

    def die() -> None:
        faults.is_crashed = True
        raise Crash

    faults.interrupt("control.write_watermark", die, nth=1, when=When.AFTER)
    with pytest.raises(Crash):
        world.tick(world.process(faults).scheduler)
    state = world.control.read_watermark()
    assert state is not None
    assert state.low == bucket_of(world.clock.now() - 2 * HOUR)
    _ticks(world, 1)
    assert world.store.jobs()["back"].is_sent


def test_a_read_that_lags_begins_no_resweep_of_before_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    _ticks(world, 5)
    _service(world).request(world.clock.now() - timedelta(days=30))
    older = world.control.read_resweep()
    world.tick()
    _ticks(world, 5)
    _service(world).request(world.clock.now() - timedelta(days=40))
    world.tick()
    before = world.control.read_watermark()
    assert before is not None
    assert before.resweep is not None
    read = world.control.read_resweep
    monkeypatch.setattr(
        world.control, "read_resweep", lambda *, may_lag=False: older if may_lag else read()
    )
    world.tick()
    after = world.control.read_watermark()
    assert after is not None
    assert after.resweep == before.resweep


def test_a_leader_whose_lowered_watermark_is_refused_goes_on_without_it(world: World) -> None:
    _ticks(world, 2)
    world.api.resweeps.request(world.clock.now() - HOUR)
    faults = Faults()

    def overtake() -> None:
        state = world.control.read_watermark()
        assert state is not None
        moved = type(state)(low=state.low + 1, open=state.open)
        assert world.control.write_watermark(moved, previous=state)

    faults.interrupt("control.write_watermark", overtake)
    world.tick(world.process(faults).scheduler)
    assert world.telemetry.total("watermark_refused") == 2, "the sweep's own write is refused, too"
    assert world.api.resweeps.progress().state is ResweepState.REQUESTED
    _ticks(world, 1)
    assert world.api.resweeps.progress().state is ResweepState.RUNNING


# --- older buckets are read side by side ---


def test_a_new_installation_reads_its_first_day_in_a_few_calls() -> None:
    world = World(timings=Timings())
    faults = Faults()
    report = world.tick(world.process(faults).scheduler)
    assert report.completed
    calls = [call.method for call in faults.calls if call.port == "jobs"]
    older = 1440 - 10
    # The day is a bucket longer, and the deep re-read is within it.
    assert calls.count("read_buckets") == -(-older // SIDE_BY_SIDE)
    assert calls.count("read_bucket") == 6 + 10


@pytest.mark.parametrize("fault", ["throttle", "lose_answer"])
def test_buckets_that_cannot_be_read_side_by_side_are_read_alone(world: World, fault: str) -> None:
    world.submit(delay_seconds=400)
    world.advance(400 + 13 * 60)
    faults = Faults()
    getattr(faults, fault)("jobs.read_buckets", nth=1)
    report = world.tick(world.process(faults).scheduler)
    assert (report.completed, report.dispatched, report.failures) == (True, 1, 1)
    told = [line.sentence for line in world.telemetry.warnings]
    assert told == ["Shards could not be read in parallel. Each one is read alone."]


def test_one_bucket_without_an_answer_is_read_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = world.submit(delay_seconds=400)
    world.advance(400 + 13 * 60)
    monkeypatch.setattr(
        world.store, "read_buckets", lambda places, limit: [None for _ in places if limit]
    )
    report = world.tick()
    assert (report.completed, report.failures) == (True, 0)
    assert world.job(job).is_sent


def test_a_tick_out_of_time_reads_nothing_side_by_side(world: World) -> None:
    faults = Faults()
    left = iter([55.0] * 100)
    seconds = {"left": 55.0}

    def remaining() -> float:
        return seconds["left"] if next(left, None) else 0.0

    def run_out() -> None:
        seconds["left"] = 1.0

    # The last of the current buckets is the sixteenth.
    faults.interrupt("jobs.read_bucket", run_out, nth=16)
    scheduling = world.process(faults).scheduler.scheduling
    report = scheduling.tick("short", remaining)
    assert not report.completed
    assert "read_buckets" not in {call.method for call in faults.calls}
