"""Occurrences as a visit of their schedule leaves them: stored, and their messages sent."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from hourhand.domain.groups.overlap import Overlap, OverlapPolicy
from hourhand.domain.ids import occurrence_job_id
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.jobs.transitions import complete
from hourhand.domain.jobs.waiting import put_waiter
from hourhand.domain.limits.job_limits import overlap_limit
from hourhand.domain.limits.slot_writes import (
    Holder,
    create,
    drop,
    limit_partition,
    put_seat,
    read_slots,
    read_waiters,
    take,
)
from hourhand.domain.limits.slots import Drop, generation_of, slot_number
from hourhand.domain.limits.wait_queue import Waiter, rank_in_group
from hourhand.domain.schedules.schedule import Schedule, ScheduleDefinition
from hourhand.memory import FAKE_SECRET, START
from hourhand.ports.job_store import Applied
from hourhand.ports.schedule_store import Written
from hourhand.services.jobs.due import outgoing_of
from hourhand.wiring.functions import WorkerServices
from tests.world.factories import make_content, make_job
from tests.world.world import World

SCHEDULE = "nightly"
MINUTE = timedelta(minutes=1)
PARTITION = limit_partition(overlap_limit(Overlap(group=SCHEDULE)).digest16)
"""Where the slots of the schedule's group are."""


def nominal(number: int) -> datetime:
    """Return the nominal time of the occurrence of that number: one a minute, from `START`."""
    return START + number * MINUTE


def job_id_of(number: int) -> str:
    """Return the id of the job of the occurrence of that number."""
    return occurrence_job_id(FAKE_SECRET, SCHEDULE, nominal(number))


def put_schedule(world: World, **fields: Any) -> Schedule:
    """Store the schedule as its own visits left it, or (given fields) as it was changed."""
    current = world.schedules.get(SCHEDULE)
    if current is None:
        stored = Schedule(
            id=SCHEDULE,
            sequence=1,
            revision=1,
            write_id="w1",
            definition="d",
            created_at=START,
            updated_at=START,
            effective_from=START - MINUTE,
            cursor=START + timedelta(days=1),
            zone_data="",
            **fields,
        )
    else:
        sequence = current.sequence + 1
        stored = replace(current, sequence=sequence, write_id=f"w{sequence}", **fields)
    previous = None if current is None else current.sequence
    assert isinstance(world.schedules.write(stored, previous=previous), Written)
    return stored


def let_failures_pause(world: World) -> None:
    """Give the schedule a definition, which asks for a pause; it makes nothing by itself."""
    definition = ScheduleDefinition(
        expressions=("0 0 1 7 *",), handler="greet", pause_on_failure=True
    )
    world.schedules.put_definition(SCHEDULE, "d", definition)


def put_running(world: World, number: int, policy: str = "skip", **fields: Any) -> Job:
    """Store the job of an occurrence as one that another worker runs, holding a place."""
    job = put_occurrence(world, number, policy, status=JobStatus.RUNNING, **fields)
    put_holder(world, job)
    return job


def put_holder(world: World, job: Job) -> None:
    """Let a job hold a slot of the schedule's group, however many others do."""
    now = world.clock.now()
    holder = Holder(job.id, job.generation, slot_number(job.generation, now))
    first, more = create(PARTITION, holder, "", now), take(PARTITION, holder, 1_000, now)
    assert any(world.side_items.write_item(write).is_applied for write in (first, more))


def drop_holder(world: World, job_id: str) -> None:
    """Take a slot of the schedule's group from a job."""
    record = read_slots(world.side_items.query_items(PARTITION, limit=1_000))
    if job_id in record.holders:
        world.side_items.write_item(drop(PARTITION, Drop(job_id, record.holders[job_id])))


def put_seated(world: World, job: Job, seat: int) -> None:
    """Put the waiter record of a job in a seat of the schedule's group."""
    assert job.overlap is not None
    waiter = Waiter(rank_in_group(job, job.overlap), job.id, job.generation, seat)
    keep_until = world.clock.now() + timedelta(days=90)
    world.side_items.write_item(put_seat(PARTITION, seat, waiter, None, keep_until))


def end_run(world: World, number: int, by: WorkerServices | None = None) -> None:
    """Let the other worker commit what it ran, and (maybe by another) see to what follows."""
    tools, now = (by or world.worker).execution.tools, world.clock.now()
    end = partial(complete, now=now, actor="other", result=make_content(), progress=None)
    assert isinstance(tools.due.make(world.job(job_id_of(number)), end), Applied)
    tools.recovery.settle_end(world.job(job_id_of(number)))


def put_occurrence(world: World, number: int, policy: str | None = "skip", **fields: Any) -> Job:
    """Store the job of an occurrence that is due now, and send its message.

    ``policy``: of overlap, with ``max_running`` and ``buffer_limit`` among the fields.
    """
    limits = {k: fields.pop(k) for k in ("max_running", "buffer_limit") if k in fields}
    overlap = None
    if policy is not None:
        overlap = Overlap(group=SCHEDULE, policy=OverlapPolicy(policy), **limits)
    now = world.clock.now()
    values: dict[str, Any] = {
        "id": job_id_of(number),
        "status": JobStatus.ENQUEUED,
        "created_at": now,
        "run_at": now,
        "payload": make_content(),
        "schedule_id": SCHEDULE,
        "schedule_revision": 1,
        "occurrence": nominal(number),
        "previous_occurrence": nominal(number - 1) if number else None,
        "overlap": overlap,
        **fields,
    }
    job = make_job(**values)
    world.store.put(job)
    if job.status.is_waiting:
        world.queues.send([outgoing_of(job, now, world.timings.delay_rounding)])
    return job


def put_unseated(world: World, job: Job) -> None:
    """Put the waiter record of a job in the queue of the schedule's group, without a seat."""
    assert job.overlap is not None
    rank, keep_until = rank_in_group(job, job.overlap), world.clock.now() + timedelta(days=90)
    world.side_items.write_item(put_waiter(PARTITION, rank, job.id, job.generation, keep_until))


def held_in(world: World) -> dict[str, int]:
    """Return who holds the slots of the schedule's group, with the generation of each."""
    held = read_slots(world.side_items.query_items(PARTITION, limit=1_000)).holders
    return {job_id: generation_of(number) for job_id, number in held.items()}


def waiting_in(world: World) -> list[str]:
    """Return which jobs have waiter records in the schedule's group, in their order."""
    items = world.side_items.query_items(PARTITION, limit=1_000)
    return [waiter.job_id for waiter in read_waiters(items)]


def reason_of(job: Job) -> str:
    """Return the reason of what happened to a job last."""
    return job.history[-1].reason
