"""``expires_after_seconds``: a run that did not start in time does not start any more."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hourhand.api.requests.schedule_operations import BackfillInput
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.schedules.changes import definition_name
from hourhand.domain.times import rfc3339
from hourhand.memory import START
from hourhand.ports.handler_runner import Finished, Pulse
from tests.unit.services.schedule_bench import define
from tests.world.runs import fail, succeed
from tests.world.world import World

MINUTE = timedelta(minutes=1)


def put(world: World, **body: Any) -> None:
    world.put_schedule("s", **{"expression": "*/10 * * * *", "expires_after_seconds": 120, **body})


def run(world: World, minutes: float = 10) -> Job:
    """Return the job of the scheduled time that comes first."""
    for job in world.store.jobs().values():
        if job.occurrence == START + minutes * MINUTE:
            return job
    raise AssertionError("it has no job")


def is_late(job: Job) -> bool:
    return job.status is JobStatus.CANCELLED and job.history[-1].reason == "late"


def test_a_run_that_starts_in_time_may_fail_and_retry_later(world: World) -> None:
    put(world)
    world.advance_to(START + 10 * MINUTE - timedelta(seconds=200))
    world.tick()
    world.advance_to(START + 12 * MINUTE - timedelta(seconds=1))
    world.deliver(fail)
    assert (run(world).status, run(world).expires_at) == (JobStatus.RETRYING, None)
    world.advance(600)
    world.minute()
    assert run(world).status is JobStatus.SUCCEEDED


def test_a_run_that_no_worker_took_in_time_ends_late(world: World) -> None:
    put(world)
    world.advance_to(START + 10 * MINUTE)
    world.tick()
    assert run(world).expires_at == START + 12 * MINUTE
    world.advance(120)
    world.deliver()
    assert (is_late(run(world)), world.runs) == (True, [])
    occurrences = world.api.occurrences.history("s", limit=9, cursor=None)
    [entry] = [one for one in occurrences.entries if one.job and one.job.id == run(world).id]
    assert entry.job is not None
    assert entry.job.history[-1].reason == "late"


def test_a_run_that_the_sweep_finds_late_is_cancelled_without_a_message(world: World) -> None:
    put(world)
    world.advance_to(START + 10 * MINUTE)
    world.tick()
    world.pause_handler()
    world.advance(150)
    world.minute()
    world.minute()
    assert (is_late(run(world)), world.runs) == (True, [])


def test_a_run_that_waits_for_another_one_ends_late(world: World) -> None:
    put(world, overlap="buffer_all", expression="*/10 * * * * *", expires_after_seconds=20)
    world.advance(10)

    def outlast_the_next(job: Job, pulse: Pulse) -> Finished:
        if len(world.runs) == 1:
            world.advance(10)
            world.deliver()
            world.advance(30)
        return succeed(job, pulse)

    world.deliver(outlast_the_next)
    assert run(world, 10 / 60).status is JobStatus.SUCCEEDED
    world.minute()
    assert is_late(run(world, 20 / 60))


@pytest.mark.parametrize("policy", ["latest", "all"])
def test_a_missed_run_is_late_however_it_was_missed(world: World, policy: str) -> None:
    put(world, misfire=policy)
    world.pause("s")
    world.advance(13 * 60)
    world.resume("s")
    world.minute()
    assert is_late(run(world))
    # The scheduler stands still.
    world.advance(60 * 60)
    for _ in range(2):
        world.minute()
    assert all(
        is_late(job) for job in world.store.jobs().values() if job.run_at < START + 70 * MINUTE
    )
    assert world.runs == []


def test_a_backfill_is_never_late_and_a_trigger_has_its_own_time(world: World) -> None:
    put(world)
    asked = {"from": rfc3339(START - 60 * MINUTE), "to": rfc3339(START)}
    world.api.backfills.start("s", BackfillInput.parse(asked), actor="caller")
    triggered = world.trigger("s")
    assert triggered.expires_at == START + 2 * MINUTE
    world.deliver()
    world.advance(1)
    world.settle(minutes=20)
    jobs = [job for job in world.store.jobs().values() if job.schedule_revision is None]
    assert {job.status for job in jobs} == {JobStatus.SUCCEEDED}


def test_a_definition_without_a_deadline_keeps_the_name_that_older_code_gave_it() -> None:
    definition = define()
    assert definition_name(definition) == "rta6q5cjrplerwalhsyvs7cr2uwigkxo"
    assert definition_name(replace(definition, expires_after_seconds=1)) != definition_name(
        definition
    )
