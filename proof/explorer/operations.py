"""What callers and operators do, as operations of a process of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hourhand.api.requests.jobs import JobPatch, JobSubmission
from hourhand.domain.jobs.quotas import Quota, QuotaKind
from hourhand.domain.ticks.buckets import ShardMap, ShardMapVersion
from proof.explorer.process import CALLER, ScriptedProcess
from proof.explorer.scenario import Operation
from tests.world.world import World

JOB = "one"
TENANT = "acme"
_TWO_SHARDS = ShardMap((ShardMapVersion(0, 1), ShardMapVersion(0, 2)))


def submitted(job_id: str = JOB, **body: Any) -> Callable[[World], object]:
    """Let a job be submitted before it all begins."""
    return lambda world: world.submit(id=job_id, **body)


def one_a_minute(world: World) -> None:
    """Let the tenant have a quota of one job a minute before it all begins."""
    bound = Quota(kind=QuotaKind.TENANT, name=TENANT, accepted_per_minute=1)
    world.api.pauses.change(lambda record: record.with_quota(bound))


def submits(name: str = "submitter", job_id: str | None = JOB, **body: Any) -> Operation:
    """Return the submission of a job under an id of its own, or under what ``body`` says."""
    named = {} if job_id is None else {"id": job_id}
    request = JobSubmission.parse({"handler": "greet", **named, **body})

    def act(process: ScriptedProcess) -> object:
        return process.api.submission.submit(request, actor=CALLER)

    return Operation(name=name, act=act)


def submits_around(name: str, job_ids: tuple[str, ...], **body: Any) -> Operation:
    """Return submissions one after the other by one process: what it keeps meanwhile is warm."""
    requests = [JobSubmission.parse({"handler": "greet", "id": i, **body}) for i in job_ids]

    def act(process: ScriptedProcess) -> object:
        return [process.api.submission.submit(request, actor=CALLER) for request in requests]

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


def refiles(name: str = "refiler", job_id: str = JOB) -> Operation:
    """Return what a writer does that stalled: it files the job's entry anew."""

    def act(process: ScriptedProcess) -> object:
        job = process.adapters.jobs.get(job_id)
        return job and process.api.submission.due.refile(job, name)

    return Operation(name=name, act=act)


def resizes(count: int) -> Operation:
    """Return a change of the number of shards."""
    return Operation(name="operator", act=lambda process: process.scheduler.sharding.resize(count))


def in_two_shards(world: World) -> None:
    """Let three jobs lie in two shards, seen ahead of time."""
    _file_in_two_shards(world, {"a": 400, "b": 400, "c": 400})
    world.advance(200)


def in_two_buckets(world: World) -> None:
    """Let the first bucket make the sweep share, and what it gives away hold the second's job."""
    _file_in_two_shards(world, {"a": 350, "b": 361})
    world.advance(200)


def _file_in_two_shards(world: World, delays: Mapping[str, int]) -> None:
    """Of these names `a` and `b` fall into the first shard, `c` into the second."""
    world.control.write_shard_map(_TWO_SHARDS, expected_version=1)
    fresh = world.process().api
    for job_id, seconds in delays.items():
        world.submit(by=fresh, id=job_id, delay_seconds=seconds)
