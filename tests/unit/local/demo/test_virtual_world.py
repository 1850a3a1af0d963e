"""An installation in virtual time: everything happens, and nobody waits."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hourhand import JobContext, Retry, Snooze
from hourhand.client import Invalid, NotFound
from hourhand.handlers import Registry, job
from hourhand.local.demo.client import DemoFailed
from hourhand.local.demo.virtual_world import VirtualWorld
from hourhand.testing import START, installation

HOUR = timedelta(hours=1)


@pytest.fixture
def registry() -> Registry:
    registry = Registry()

    @job("echo", registry=registry)
    def echo(ctx: JobContext, payload: Any) -> Any:
        return payload

    @job("works-at-last", retry=Retry(max_attempts=3, base_seconds=600), registry=registry)
    def works_at_last(ctx: JobContext, payload: Any) -> int:
        if ctx.attempt < 3:
            raise ConnectionError("not yet")
        return ctx.attempt

    @job("sleeps", registry=registry)
    def sleeps(ctx: JobContext, payload: Any) -> None:
        raise Snooze(0)

    return registry


@pytest.fixture
def world(registry: Registry) -> VirtualWorld:
    return VirtualWorld(START, registry)


def submit(world: VirtualWorld, **body: Any) -> str:
    return world.client.submit(**body).id


def test_a_job_far_ahead_is_run_at_its_very_time(world: VirtualWorld) -> None:
    job_id = submit(world, handler="echo", payload=7, delay=2 * 3600 + 0.5)
    world.run_until(START + 2 * HOUR)
    assert world.client.get(job_id).status == "ENQUEUED"
    world.run_until(START + 3 * HOUR)
    job = world.client.get(job_id)
    assert (job.status, job.result, job.lateness_ms) == ("SUCCEEDED", 7, 0)
    assert world.clock.now() == START + 3 * HOUR


def test_retries_come_in_virtual_time_too(world: VirtualWorld) -> None:
    job_id = submit(world, handler="works-at-last")
    world.run_until(START + HOUR)
    job = world.client.get(job_id)
    assert [attempt.outcome for attempt in job.attempts] == ["FAILED", "FAILED", "SUCCEEDED"]


def test_what_the_api_refuses_is_refused(world: VirtualWorld) -> None:
    with pytest.raises(Invalid, match="expression"):
        world.client.schedules.put("s", expression="never", handler="echo")
    with pytest.raises(NotFound):
        world.client.get("unknown")


def test_messages_that_go_round_in_circles_end_it(
    world: VirtualWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "MAX_ATTEMPTS_AT_ONCE", 2)
    submit(world, handler="sleeps")
    with pytest.raises(DemoFailed, match="More than 2 attempts"):
        world.run_until(START + HOUR)
