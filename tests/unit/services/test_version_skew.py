"""What a newer version wrote is left to it and logged; scheduler and worker go on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hourhand.domain.errors import WrittenByNewer
from hourhand.domain.jobs.actions import SweepContext
from hourhand.domain.jobs.job import EventKind, Job, JobStatus, Outcome
from hourhand.domain.ticks.buckets import bucket_of
from hourhand.domain.ticks.leases import LEADER
from hourhand.memory import START
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.services.jobs.execution import LEFT_TO_NEWER_FOR, Disposition
from hourhand.services.ticks.sweep import Sweep
from tests.unit.services.conftest import TurnNewer
from tests.unit.services.schedule_views import stored
from tests.world.factories import make_job
from tests.world.faults import Faults
from tests.world.runs import fail, make_error, succeed
from tests.world.world import World

NOW = bucket_of(START)


def meet_newer(*ids: str) -> Callable[[], object]:
    """Return what a store does that meets items of a newer version."""

    def meet() -> None:
        raise WrittenByNewer("It has version 2.", ids=ids)

    return meet


def faults_at(method: str, *ids: str, nth: int = 1, times: int = 1) -> Faults:
    faults = Faults()
    for number in range(nth, nth + times):
        faults.interrupt(method, meet_newer(*ids), nth=number)
    return faults


def sweep_of(world: World) -> Sweep:
    scheduling = world.scheduler.scheduling
    now = world.clock.now()
    return Sweep(
        jobs=scheduling.jobs,
        queues=scheduling.queues,
        dispatcher=scheduling.dispatcher,
        recovery=scheduling.recovery,
        parking=scheduling.parking,
        rechecks=scheduling.rechecks,
        telemetry=world.telemetry,
        judgement=SweepContext(now, now + world.timings.look_ahead, world.timings),
        may_go_on=lambda: True,
    )


# --- the sweep ---


def test_a_newer_job_stays_in_its_bucket_and_holds_up_no_other(
    world: World, turn_newer: TurnNewer
) -> None:
    for name in ("newer", "ours"):
        world.store.put(make_job(id=name))
    turn_newer(world.store, "newer", methods=("get_many",))
    sweep = sweep_of(world)
    assert sweep.read_shard(NOW, 0) is True, "a bucket that shows an entry is not closed"
    assert (sweep.counts.entries, sweep.counts.dispatched, sweep.counts.failures) == (2, 1, 0)
    assert world.job("newer") == make_job(id="newer")


# --- the tick ---


@pytest.mark.parametrize(
    "method",
    [
        "control.acquire_lease",
        "control.read_shard_map",
        "control.read_tick",
        "control.read_watermark",
    ],
)
def test_a_scheduler_that_meets_a_newer_control_record_does_not_lead(
    world: World, method: str
) -> None:
    world.store.put(make_job())
    report = world.tick(world.process(faults_at(method)).scheduler)
    assert (report.led, report.entries) == (False, 0)
    assert not world.queues.messages()
    assert world.control.read_lease(LEADER) is None
    assert world.telemetry.total("items_newer") == 1
    assert world.tick().dispatched == 1, "the one that knows it leads at once"


def test_shards_are_left_where_the_watermark_is_newer(world: World) -> None:
    scheduling = world.process(faults_at("control.read_watermark")).scheduler.scheduling
    report = scheduling.sweep_shards([0], 7, world.clock.now(), "further", lambda: 55.0)
    assert (report.led, report.completed) == (False, False)
    assert world.telemetry.total("items_newer") == 1


# --- schedules ---


def put_unvisited(world: World, *names: str) -> None:
    for name in names:
        faults = Faults()
        faults.throttle("jobs.put")
        world.put_schedule(name, by=world.process(faults).api, expression="0-4 9 * * *")


def visited(world: World, *names: str) -> list[bool]:
    return [stored(world, name).sequence > 1 for name in names]


@pytest.mark.parametrize("method", ["get_many", "get_definitions"])
def test_a_newer_schedule_holds_up_no_other(
    world: World, method: str, turn_newer: TurnNewer
) -> None:
    names = [f"ours-{number}" for number in range(20)]
    put_unvisited(world, "newer", *names)
    turn_newer(world.schedules, "newer", methods=(method,))
    world.tick()
    assert visited(world, "newer", *names) == [False] + [True] * 20
    assert world.telemetry.total("schedule_visits_failed") == 0


@pytest.mark.parametrize("method", ["schedules.get_walk", "schedules.read_due"])
def test_jobs_are_swept_whatever_the_schedules_table_holds(world: World, method: str) -> None:
    world.store.put(make_job())
    report = world.tick(world.process(faults_at(method)).scheduler)
    assert (report.led, report.dispatched) == (True, 1)
    assert world.telemetry.total("schedule_sweeps_incomplete") == 1
    assert world.telemetry.total("items_newer") == 1


# --- the worker ---


def test_the_message_of_a_newer_job_is_kept_for_a_worker_that_knows_it(world: World) -> None:
    job = world.submit()
    (delivery,) = world.receive()
    faults = faults_at("jobs.transition", job.id)
    assert world.handle(delivery, by=world.process(faults).worker) is Disposition.KEEP
    (message,) = world.queues.messages()
    assert message.visible_at == START + LEFT_TO_NEWER_FOR
    assert not world.runs
    assert world.telemetry.total("items_newer") == 1
    world.advance(LEFT_TO_NEWER_FOR.total_seconds())
    world.deliver()
    assert world.job(job).status is JobStatus.SUCCEEDED


@pytest.mark.parametrize("method", ["idempotency.begin", "jobs.get_text"])
def test_a_job_with_a_newer_record_beside_it_is_put_off_at_no_attempt(
    world: World, method: str
) -> None:
    job = world.submit(idempotency_key="k", payload="x" * 1000)
    world.deliver(by=world.process(faults_at(method)).worker)
    waiting = world.job(job)
    assert (waiting.status, waiting.attempt) == (JobStatus.RETRYING, 0)
    assert waiting.history[-1].kind is EventKind.SNOOZED
    assert not world.runs
    assert world.telemetry.total("items_newer") == 1
    world.advance(LEFT_TO_NEWER_FOR.total_seconds())
    world.deliver()
    assert world.job(job).status is JobStatus.SUCCEEDED


def test_a_newer_failure_of_an_earlier_attempt_takes_no_key(world: World) -> None:
    job = world.submit(idempotency_key="k")
    world.deliver(fail)
    (failed,) = world.keys.records().values()
    world.advance(5)
    world.deliver(by=world.process(faults_at("jobs.get_details")).worker)
    assert list(world.keys.records().values()) == [failed]
    assert world.job(job).status is JobStatus.RETRYING
    world.advance(LEFT_TO_NEWER_FOR.total_seconds())
    world.deliver()
    assert world.job(job).status is JobStatus.SUCCEEDED


def test_a_handler_whose_job_was_migrated_under_it_is_told_that_it_lost_it(world: World) -> None:
    world.submit()
    (delivery,) = world.receive()
    heard: list[str] = []

    def behave(job: Job, pulse: Pulse) -> Finished:
        heard.append(pulse.beat(None))
        return succeed(job, pulse)

    # The first move is the claim.
    worker = world.process(faults_at("jobs.transition", nth=2)).worker
    world.handle(delivery, behave, worker)
    assert heard == ["lost"]
    assert world.telemetry.total("items_newer") == 1


def test_a_snooze_keeps_the_reason_that_the_runner_gives(world: World) -> None:
    job = world.submit()
    wait = Finished(outcome=Outcome.SNOOZED, error=make_error(), retry_after=START - START)
    world.deliver(lambda *_: wait)
    assert world.job(job).history[-1].reason == make_error().type
