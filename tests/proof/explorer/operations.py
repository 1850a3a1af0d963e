"""What callers and operators do, as operations of a process of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hourhand.domain.buckets import ShardMap, ShardMapVersion
from hourhand.schemas import JobPatch, JobSubmission
from tests.proof.explorer.process import CALLER, ScriptedProcess
from tests.proof.explorer.scenario import Operation
from tests.world.world import World

JOB = "one"
_TWO_SHARDS = ShardMap((ShardMapVersion(0, 1), ShardMapVersion(0, 2)))


def submitted(job_id: str = JOB, **body: Any) -> Callable[[World], object]:
    """Let a job be submitted before it all begins."""
    return lambda world: world.submit(id=job_id, **body)


def submits(name: str = "submitter", job_id: str | None = JOB, **body: Any) -> Operation:
    """Return the submission of a job under an id of its own, or under what ``body`` says."""
    named = {} if job_id is None else {"id": job_id}
    request = JobSubmission.parse({"handler": "greet", **named, **body})

    def act(process: ScriptedProcess) -> object:
        return process.api.submission.submit(request, actor=CALLER)

    return Operation(name=name, act=act)


def submits_two() -> Operation:
    """Return the submission of two jobs in one request."""
    requests = [JobSubmission.parse({"handler": "greet", "id": i}) for i in ("one", "two")]

    def act(process: ScriptedProcess) -> object:
        return process.api.submission.submit_many(requests, actor=CALLER)

    return Operation(name="submitter", act=act)


def operates(name: str, method: str, job_id: str = JOB, **arguments: Any) -> Operation:
    """Return what somebody does to a job."""

    def act(process: ScriptedProcess) -> object:
        return getattr(process.api.operations, method)(job_id, actor=name, **arguments)

    return Operation(name=name, act=act)


def changes(name: str, job_id: str = JOB, **body: Any) -> Operation:
    """Return a change of a job; the fields are those of the API."""
    patch = JobPatch.parse(body)

    def act(process: ScriptedProcess) -> object:
        return process.api.operations.change(job_id, patch, actor=name)

    return Operation(name=name, act=act)


def resizes(count: int) -> Operation:
    """Return a change of the number of shards."""
    return Operation(name="operator", act=lambda process: process.scheduler.sharding.resize(count))


def in_two_shards(world: World) -> None:
    """Let three jobs lie in two shards, seen ahead of time."""
    world.control.write_shard_map(_TWO_SHARDS, expected_version=1)
    fresh = world.process().api
    for job_id in ("a", "b", "c"):
        world.submit(by=fresh, id=job_id, delay_seconds=400)
    world.advance(200)
