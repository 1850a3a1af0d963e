"""The entry point of the scheduler function, on the events that it is invoked with."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest

from hourhand.aws.lambda_init import INITIALIZATION_TYPE
from hourhand.aws.sweep_invoker import SweepRequest, sweep_event
from hourhand.domain.errors import InvalidInput, Unavailable
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.ticks.buckets import ShardMap, ShardMapVersion, bucket_of
from hourhand.domain.ticks.leases import LEADER, shard_lease_name
from hourhand.local.entry_points import Handler, load_entry_point
from hourhand.local.scheduler_process import scheduled_event
from hourhand.settings import Settings, settings_environment
from hourhand.wiring import functions
from hourhand.wiring.functions import SchedulerServices
from tests.functions.api_client import load_event
from tests.world.world import World


@dataclass(frozen=True, slots=True)
class Context:
    """As much of Lambda's context as the function looks at."""

    aws_request_id: str = "invocation-1"
    invoked_function_arn: str = "arn:aws:lambda:eu-central-1:123456789012:function:scheduler:live"
    function_version: str = "7"
    remaining_ms: int = 50_000

    def get_remaining_time_in_millis(self) -> int:
        return self.remaining_ms


@pytest.fixture
def world() -> World:
    return World(shard_map=ShardMap((ShardMapVersion(0, 2),)))


@pytest.fixture
def scheduler(monkeypatch: pytest.MonkeyPatch, world: World) -> Handler:
    """The function with an environment, and the world where AWS would be."""
    monkeypatch.setattr(functions, "wire_scheduler", lambda _: world.scheduler)
    names = ("jobs", "control", "bucket", "high", "medium", "low", "dead", "clock")
    settings = Settings(
        jobs_table=names[0],
        control_table=names[1],
        bucket=names[2],
        queue_high=names[3],
        queue_medium=names[4],
        queue_low=names[5],
        dead_letter_queue=names[6],
        clock_queue=names[7],
        schedules_table="schedules",
        manifest="handlers.json",
    )
    for name, value in settings_environment(settings).items():
        monkeypatch.setenv(name, value)
    return load_entry_point("scheduler")


def test_a_tick_sends_what_is_due_soon_and_reports(scheduler: Handler, world: World) -> None:
    job = world.submit(delay_seconds=1000)
    world.clock.advance(900)
    report = scheduler(load_event("scheduled_rule"), Context())
    assert report["led"] is True
    assert report["dispatched"] == 1
    assert world.job(job.id).status is JobStatus.ENQUEUED
    assert world.telemetry.flushes == 1
    # Lambda answers JSON or not at all.
    assert json.loads(json.dumps(report)) == report


def test_the_invocations_own_id_holds_the_lease_and_gives_it_up(
    scheduler: Handler, world: World
) -> None:
    report = scheduler(load_event("scheduled_rule"), Context("invocation-7"))
    assert report["holder"] == "invocation-7"
    lease = world.control.read_lease(LEADER)
    assert lease is None or lease.until <= world.clock.now()


def test_a_tick_without_time_reads_nothing(scheduler: Handler, world: World) -> None:
    world.submit(delay_seconds=1000)
    world.clock.advance(900)
    report = scheduler(load_event("scheduled_rule"), Context(remaining_ms=1000))
    assert (report["dispatched"], report["completed"]) == (0, False)


def test_shards_that_were_handed_over_are_swept_under_leases_of_their_own(
    scheduler: Handler, world: World
) -> None:
    jobs = [world.submit(delay_seconds=1000) for _ in range(8)]
    world.clock.advance(900)
    for shard in (0, 1):
        asked = SweepRequest(shards=(shard,), epoch=3, tick_at=world.clock.now())
        event = json.loads(json.dumps(sweep_event(asked)))
        report = scheduler(event, Context(f"invocation-{shard}"))
        assert (report["led"], report["epoch"], report["completed"]) == (True, 3, True)
        lease = world.control.read_lease(shard_lease_name(shard))
        assert lease is None or lease.until <= world.clock.now()
    assert {world.job(job.id).status for job in jobs} == {JobStatus.ENQUEUED}
    assert world.telemetry.flushes == 2


def test_a_table_that_does_not_answer_fails_the_invocation_after_its_metrics_are_out(
    scheduler: Handler, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise Unavailable("no table")

    monkeypatch.setattr(type(world.control), "read_watermark", fail)
    with pytest.raises(Unavailable):
        scheduler(load_event("scheduled_rule"), Context())
    assert world.telemetry.flushes == 1


def test_what_the_environment_lacks_is_named(
    scheduler: Handler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOURHAND_CLOCK_QUEUE_URL")
    with pytest.raises(InvalidInput, match="HOURHAND_CLOCK_QUEUE_URL"):
        scheduler(load_event("scheduled_rule"), Context())


def test_the_local_clouds_event_is_like_the_real_one(world: World) -> None:
    real, local = load_event("scheduled_rule"), scheduled_event(world.clock.now())
    assert local.keys() == real.keys()
    assert (local["source"], local["detail-type"]) == (real["source"], real["detail-type"])


def test_an_operator_changes_the_number_of_shards_for_future_buckets(
    scheduler: Handler, world: World
) -> None:
    report = scheduler({"hourhand_resize": {"shards": 5}}, Context())
    assert [version["count"] for version in report["versions"]] == [2, 5]
    assert report["versions"][1]["from_bucket"] > bucket_of(world.clock.now())
    assert world.control.read_shard_map().version == 2


@pytest.mark.parametrize(
    "asked", [{}, {"shards": "5"}, {"shards": True}, {"shards": 5, "from": 1}, [5], {"shards": 0}]
)
def test_a_resize_that_makes_no_sense_is_refused_and_changes_nothing(
    scheduler: Handler, world: World, asked: Any
) -> None:
    with pytest.raises(InvalidInput, match="shard map cannot be changed"):
        scheduler({"hourhand_resize": asked}, Context())
    assert world.control.read_shard_map().version == 1


def test_the_scheduler_learns_by_which_alias_it_was_called(
    monkeypatch: pytest.MonkeyPatch, scheduler: Handler, world: World
) -> None:
    calls: list[tuple[str, str]] = []
    wired = replace(world.scheduler, called_as=lambda *call: calls.append((call[0], call[1])))
    monkeypatch.setattr(functions, "wire_scheduler", lambda _: wired)
    handler = load_entry_point("scheduler")
    handler(load_event("scheduled_rule"), Context())
    assert calls == [(Context().invoked_function_arn, Context().function_version)]


@pytest.mark.parametrize("begun", ["on-demand", "provisioned-concurrency"])
def test_in_lambda_the_scheduler_is_wired_before_its_first_tick(
    monkeypatch: pytest.MonkeyPatch, scheduler: Handler, world: World, begun: str
) -> None:
    wired: list[Settings] = []

    def wire(settings: Settings) -> SchedulerServices:
        wired.append(settings)
        return world.scheduler

    monkeypatch.setattr(functions, "wire_scheduler", wire)
    monkeypatch.setenv(INITIALIZATION_TYPE, begun)
    handler = load_entry_point("scheduler")
    assert len(wired) == 1
    assert handler(load_event("scheduled_rule"), Context())["led"] is True
    assert len(wired) == 1
