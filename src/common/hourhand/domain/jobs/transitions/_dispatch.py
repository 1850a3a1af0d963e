"""Transitions of dispatch: marks of sent messages, their withdrawal, a place in the index."""

from __future__ import annotations

from datetime import datetime

from hourhand.domain.conditions import Absent, OneOf, equals
from hourhand.domain.jobs.history import is_over_budget
from hourhand.domain.jobs.job import OPEN, REDRIVABLE, EventKind, Job, JobStatus, Priority
from hourhand.domain.jobs.transitions._parts import not_started, same_generation
from hourhand.domain.jobs.transitions._transition import Transition, recorded
from hourhand.domain.ticks.buckets import Entry

_UNSENT = OneOf("status", frozenset({JobStatus.PENDING, JobStatus.RETRYING}))
_NEVER_SENT = Absent("enqueued_at")


def mark_enqueued(job: Job, *, now: datetime, actor: str) -> Transition:
    """The job's first message of this generation was sent."""
    move = Transition(
        name="mark",
        job_id=job.id,
        to=JobStatus.ENQUEUED,
        expect={
            "status": _UNSENT,
            "generation": same_generation(job),
            "never_sent": _NEVER_SENT,
        },
        sets={"enqueued_at": now},
    )
    return recorded(move, job, EventKind.ENQUEUED, now, actor)


class EnqueuedMarks:
    """Makes the marks of jobs that were sent at one moment, as `mark_enqueued` does.

    Those of jobs in the same generation and attempt share all but the id: a sweep marks
    thousands, and their stores need to work out one.
    """

    def __init__(self, now: datetime, actor: str) -> None:
        """Make none yet."""
        self._now = now
        self._actor = actor
        self._made: dict[tuple[int, int, int], Transition] = {}

    def of(self, job: Job) -> Transition:
        """Return the mark of one job."""
        alike = job.generation, job.attempt, job.token
        made = self._made.get(alike)
        # A long history is compacted by its mark, which is then this job's alone.
        if made is not None and not is_over_budget((*job.history, *made.events), job.last_failure):
            return made.on(job.id)
        mark = mark_enqueued(job, now=self._now, actor=self._actor)
        if mark.history is None:
            self._made[alike] = mark
        return mark


def mark_dispatched_again(
    job: Job, *, now: datetime, actor: str, queue: Priority, reason: str
) -> Transition:
    """A further message of this generation was sent, maybe to a higher queue."""
    kind = EventKind.DISPATCHED_AGAIN if queue is job.queue else EventKind.AGED
    move = Transition(
        name="redispatch_mark",
        job_id=job.id,
        expect={
            "status": not_started(),
            "generation": same_generation(job),
            "last_sent_as_read": equals("enqueued_at", job.enqueued_at),
        },
        sets={"enqueued_at": now, "queue": queue},
    )
    return recorded(move, job, kind, now, actor, reason)


def unmark(job: Job, *, now: datetime, actor: str, reason: str) -> Transition:
    """The message that was announced could not be sent: the next sweep shall send it."""
    back_to = JobStatus.RETRYING if job.status is JobStatus.RETRYING else JobStatus.PENDING
    move = Transition(
        name="unmark",
        job_id=job.id,
        to=None if back_to is job.status else back_to,
        expect={
            "status": OneOf("status", frozenset({job.status})),
            "generation": same_generation(job),
            "last_sent_as_read": equals("enqueued_at", job.enqueued_at),
        },
        sets={"enqueued_at": None},
    )
    return recorded(move, job, EventKind.SEND_FAILED, now, actor, reason)


def refile(job: Job, *, entry: Entry, now: datetime, actor: str) -> Transition:
    """The entry may lie behind the sweep (its writer stalled): move it to a current bucket."""
    move = Transition(
        name="refile",
        job_id=job.id,
        expect={
            "status": OneOf("status", OPEN),
            "filed_as_read": equals("due_at", job.due_at),
        },
        entry=entry,
    )
    return recorded(move, job, EventKind.REFILED, now, actor)


def keep_payload(job: Job, *, kept_until: datetime) -> Transition:
    """The payload beside the job is kept longer, since the job is not final yet."""
    return Transition(
        name="keep_payload",
        job_id=job.id,
        expect={
            "status": OneOf("status", OPEN | REDRIVABLE),
            "kept_as_read": equals("payload_kept_until", job.payload_kept_until),
        },
        sets={"payload_kept_until": kept_until},
    )
