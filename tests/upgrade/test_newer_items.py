"""The services of this version over tables in which a newer version wrote.

What is newer keeps every byte, the rest goes on, and all is worked off once it is known again: the
moment at which a newer version takes over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hourhand.api.requests.jobs import JobSubmission
from hourhand.api.requests.schedules import ScheduleInput
from hourhand.aws.control_store import DynamoControlStore
from hourhand.aws.idempotency_store import DynamoIdempotencyStore
from hourhand.aws.job_store import DynamoJobStore
from hourhand.aws.layout.jobs import hot_key
from hourhand.aws.layout.schedules import schedule_key
from hourhand.aws.object_store import S3ObjectStore
from hourhand.aws.schedule_store import DynamoCalendarStore, DynamoScheduleStore
from hourhand.domain.errors import WrittenByNewer
from hourhand.domain.ids import idempotency_record_key
from hourhand.domain.jobs.job import Job, JobStatus, Priority
from hourhand.domain.ticks.timings import Timings
from hourhand.memory import MemoryClock, MemoryQueues, RecordingTelemetry
from hourhand.memory.adapters import memory_adapters
from hourhand.services.jobs.execution import Disposition
from hourhand.wiring.functions import wire_api, wire_scheduler, wire_worker
from tests.contract.aws_services import AwsServices, moto_services
from tests.world.runs import RecordedRunner, snooze, succeed


class MotoWorld:
    """One process of this version over DynamoDB as moto has it, with queues in memory."""

    def __init__(self, aws: AwsServices) -> None:
        self.client, self.names = aws.dynamodb, aws.settings
        self.clock = MemoryClock()
        self.telemetry = RecordingTelemetry()
        self.queues = MemoryQueues(self.clock)
        self.jobs = DynamoJobStore(self.client, self.names.jobs_table, telemetry=self.telemetry)
        self.runner = RecordedRunner(succeed, self.jobs, self.clock)
        beside = (self.client, self.names.schedules_table)
        adapters = memory_adapters(
            self.clock,
            jobs=self.jobs,
            control=DynamoControlStore(self.client, self.names.control_table),
            objects=S3ObjectStore(aws.s3, self.names.bucket),
            queues=self.queues,
            telemetry=self.telemetry,
            schedules=DynamoScheduleStore(*beside, telemetry=self.telemetry),
            calendars=DynamoCalendarStore(*beside, telemetry=self.telemetry),
            idempotency=DynamoIdempotencyStore(self.client, self.names.idempotency_table),
        )
        timings = Timings(first_look_back=timedelta(minutes=5))
        settings = replace(self.names, timings=timings)
        self.api = wire_api(settings, adapters)
        self.scheduling = wire_scheduler(settings, adapters).scheduling
        self.execution = wire_worker(settings, adapters).execution
        self.ticks = 0

    def submit(self, **body: Any) -> Job:
        request = JobSubmission.parse({"handler": "greet", **body})
        return self.api.submission.submit(request, actor="caller").job

    def tick(self) -> Any:
        self.ticks += 1
        return self.scheduling.tick(f"tick-{self.ticks}", lambda: 55.0)

    def deliver(self) -> list[Disposition]:
        """Work off what is visible."""
        dispositions = []
        for priority in Priority:
            for delivery in self.queues.receive(priority):
                disposition = self.execution.handle(delivery, self.runner, lambda: 900.0)
                if disposition is Disposition.DONE:
                    self.queues.delete(delivery)
                dispositions.append(disposition)
        return dispositions

    def item(self, table: str, key: dict[str, Any]) -> dict[str, Any]:
        item: dict[str, Any] = self.client.get_item(TableName=table, Key=key)["Item"]
        return item

    def set_version(self, table: str, key: dict[str, Any], version: int) -> dict[str, Any]:
        self.client.update_item(
            TableName=table,
            Key=key,
            UpdateExpression="SET v = :v",
            ExpressionAttributeValues={":v": {"N": str(version)}},
        )
        return self.item(table, key)

    def status(self, job: Job) -> JobStatus:
        found = self.jobs.get(job.id)
        assert found is not None
        return found.status


@pytest.fixture
def world() -> Iterator[MotoWorld]:
    with moto_services() as aws:
        yield MotoWorld(aws)


def test_a_newer_job_is_left_by_scheduler_worker_and_api_until_it_is_known(
    world: MotoWorld,
) -> None:
    newer, ours = world.submit(), world.submit()
    table, key = world.names.jobs_table, hot_key(newer.id)
    before = world.set_version(table, key, 2)
    assert sorted(world.deliver()) == [Disposition.DONE, Disposition.KEEP]
    world.clock.advance(200)
    report = world.tick()
    assert (report.led, report.completed, report.entries) == (True, True, 1)
    assert (report.dispatched, report.failures) == (0, 0)
    with pytest.raises(WrittenByNewer):
        world.api.operations.cancel(newer.id, actor="caller")
    with pytest.raises(WrittenByNewer):
        world.api.queries.job(newer.id)
    assert world.item(table, key) == before
    assert world.status(ours) is JobStatus.SUCCEEDED
    assert world.telemetry.total("items_newer") == 2
    world.set_version(table, key, 1)
    world.tick()
    world.deliver()
    assert world.status(newer) is JobStatus.SUCCEEDED


@pytest.mark.parametrize("record", ["lease.leader", "sweep", "tick"])
def test_a_scheduler_that_meets_a_newer_control_record_leads_no_more_and_changes_nothing(
    world: MotoWorld, record: str
) -> None:
    world.tick()
    job = world.submit(delay_seconds=400)
    table, key = world.names.control_table, {"p": {"S": record}}
    before = world.set_version(table, key, 2)
    world.clock.advance(300)
    assert world.tick().led is False
    assert world.item(table, key) == before
    assert world.status(job) is JobStatus.PENDING
    assert not world.queues.messages()
    assert world.telemetry.total("items_newer") == 1
    world.set_version(table, key, 1)
    assert world.tick().dispatched == 1


def test_no_job_is_filed_where_the_shard_map_is_newer(world: MotoWorld) -> None:
    world.tick()
    world.set_version(world.names.control_table, {"p": {"S": "sweep"}}, 2)
    world.clock.advance(60)
    with pytest.raises(WrittenByNewer):
        world.submit()
    assert world.client.scan(TableName=world.names.jobs_table)["Items"] == []


def test_a_newer_schedule_is_not_visited_and_holds_up_no_other(world: MotoWorld) -> None:
    for name in ("newer", "ours"):
        request = ScheduleInput.parse({"handler": "greet", "expression": "rate(1 hour)"})
        world.api.schedules.put(name, request, actor="caller")
    table, key = world.names.schedules_table, schedule_key("newer")
    before = world.set_version(table, key, 2)
    world.clock.advance(3600)
    assert world.tick().schedules_visited == 1
    assert world.item(table, key) == before
    assert world.telemetry.total("schedule_visits_failed") == 0
    world.set_version(table, key, 1)
    assert world.tick().schedules_visited == 1


@pytest.mark.parametrize("is_done", [True, False])
def test_a_newer_idempotency_record_is_neither_replayed_nor_taken(
    world: MotoWorld, is_done: bool
) -> None:
    job = world.submit(idempotency_key="k", delay_seconds=1)
    table, key = world.names.idempotency_table, {"p": {"S": idempotency_record_key(None, "k")}}
    record = {**key, "v": {"N": "2"}, "g": {"BOOL": is_done}, "u": {"N": "1"}, "j": {"S": job.id}}
    world.client.put_item(TableName=table, Item=record)
    world.clock.advance(1)
    world.deliver()
    waiting = world.jobs.get(job.id)
    assert waiting is not None
    assert (waiting.status, waiting.attempt) == (JobStatus.RETRYING, 0)
    assert world.item(table, key) == record
    assert not world.runner.runs
    world.client.delete_item(TableName=table, Key=key)
    world.clock.advance(15)
    world.deliver()
    assert world.status(job) is JobStatus.SUCCEEDED


def test_a_group_goes_on_beside_a_newer_job_that_holds_a_place(world: MotoWorld) -> None:
    body = {"handler": "greet", "expression": "rate(1 minute)", "overlap": "buffer_all"}
    world.api.schedules.put("s", ScheduleInput.parse({**body, "max_running": 2}), actor="caller")
    world.tick()
    world.runner.behaviour = snooze(3600)
    world.clock.advance(61)
    world.deliver()
    (holder,) = {run.job.id for run in world.runner.runs}
    table, key = world.names.jobs_table, hot_key(holder)
    before = world.set_version(table, key, 2)
    world.runner.behaviour = succeed
    for _ in range(3):
        world.clock.advance(61)
        world.tick()
        world.deliver()
    assert len(world.runner.runs) >= 3
    assert world.item(table, key) == before


def test_a_page_of_jobs_goes_out_once_where_one_turns_newer_under_it(
    world: MotoWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [world.submit(delay_seconds=400) for _ in range(5)]
    world.clock.advance(300)
    plain = world.queues.send

    def send(outgoing: Any) -> Any:
        world.set_version(world.names.jobs_table, hot_key(jobs[2].id), 2)
        return plain(outgoing)

    monkeypatch.setattr(world.queues, "send", send)
    report = world.tick()
    assert (report.dispatched, report.failures) == (5, 0)
    assert len(world.queues.messages()) == 5
    assert world.telemetry.total("items_newer") == 1
