"""Transitions of jobs that wait for something other than time: they are parked, and sent again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from hourhand.domain.conditions import Absent, equals
from hourhand.domain.jobs.job import EventKind, Job, JobStatus
from hourhand.domain.jobs.transitions._parts import not_started, same_generation
from hourhand.domain.jobs.transitions._transition import Transition, recorded
from hourhand.domain.jobs.waiting import WaitsFor
from hourhand.domain.ticks.buckets import Entry

MILLISECOND = timedelta(milliseconds=1)
"""The shortest time that is stored."""


def park(
    job: Job,
    *,
    now: datetime,
    actor: str,
    waits_for: WaitsFor,
    reason: str,
    entry: Entry | None = None,
    slot_shards: bytes | None = None,
) -> Transition:
    """The job may not start now, whatever the time: it waits without a message.

    Its state and generation stay, so a message that is left of it may still start it later.
    ``entry``: its new place in the index, where the old one is about to be read too seldom. It
    names when the job was last sent: a copy of the write that arrives late must not park a job
    that was woken since. ``slot_shards``: in which shards it holds slots of other limits meanwhile.
    """
    sent_at = job.enqueued_at
    move = Transition(
        name="park",
        job_id=job.id,
        expect={
            "status": not_started(),
            "generation": same_generation(job),
            "last_sent_as_read": Absent("enqueued_at")
            if sent_at is None
            else equals("enqueued_at", sent_at),
        },
        sets={"waits_for": waits_for, "enqueued_at": _marked(now, sent_at), **_noted(slot_shards)},
        entry=entry,
    )
    return recorded(move, job, EventKind.PARKED, now, actor, reason)


def unpark(
    job: Job,
    *,
    now: datetime,
    actor: str,
    entry: Entry | None,
    sends_now: bool,
    reason: str,
    slot_shards: bytes | None = None,
) -> Transition:
    """What the parked job waited for is there: it is sent again, if it is due soon.

    It names when the job was parked: a copy of the write that arrives late must not wake a job
    that was parked anew. ``slot_shards``: in which shards it was granted slots.
    """
    move = Transition(
        name="unpark",
        job_id=job.id,
        to=JobStatus.ENQUEUED if sends_now else JobStatus.PENDING,
        expect={
            "status": not_started(),
            "generation": same_generation(job),
            "parked_as_read": equals("enqueued_at", job.enqueued_at),
        },
        sets={
            "waits_for": None,
            "enqueued_at": _marked(now, job.enqueued_at) if sends_now else None,
            **_noted(slot_shards),
        },
        entry=entry,
    )
    return recorded(move, job, EventKind.ENQUEUED, now, actor, reason)


def _marked(now: datetime, before: datetime | None) -> datetime:
    """Return ``now``, or a moment earlier if the write expects this very time.

    So what it sets differs from what it expects, and a late copy of it is refused.
    """
    return now - MILLISECOND if now == before else now


def _noted(slot_shards: bytes | None) -> Mapping[str, Any]:
    return {} if slot_shards is None else {"slot_shards": slot_shards}
