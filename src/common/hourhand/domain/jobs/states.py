"""The table of states: which move is legal, and when it is made.

Every conditional write that changes a job's state is checked against this table when it is
built, so that an illegal move dies here and a lost race dies in the store's condition.
"""

from __future__ import annotations

from collections.abc import Iterable

from hourhand.domain.errors import IllegalTransition
from hourhand.domain.jobs.job import JobStatus

PENDING, ENQUEUED, RUNNING, RETRYING, SUCCEEDED, DEAD, CANCELLED, EXPIRED = (
    JobStatus.PENDING,
    JobStatus.ENQUEUED,
    JobStatus.RUNNING,
    JobStatus.RETRYING,
    JobStatus.SUCCEEDED,
    JobStatus.DEAD,
    JobStatus.CANCELLED,
    JobStatus.EXPIRED,
)

LEGAL_MOVES: dict[JobStatus, dict[JobStatus, str]] = {
    PENDING: {
        ENQUEUED: "its message is (being) sent, or it was rescheduled to be due soon",
        RUNNING: "claimed",
        PENDING: "rescheduled",
        DEAD: "its ancestors hold what it needs to start",
        CANCELLED: "cancelled",
        EXPIRED: "expires_at passed before a start",
    },
    ENQUEUED: {
        RUNNING: "claimed",
        PENDING: "rescheduled, or its message could not be sent",
        ENQUEUED: "rescheduled",
        DEAD: "its ancestors hold what it needs to start",
        CANCELLED: "cancelled",
        EXPIRED: "expires_at passed before a start",
    },
    RETRYING: {
        ENQUEUED: "its message is sent by the tick or by run-now",
        RUNNING: "claimed",
        PENDING: "rescheduled",
        DEAD: "its ancestors hold what it needs to start",
        CANCELLED: "cancelled",
        EXPIRED: "expires_at passed before a start",
    },
    RUNNING: {
        RUNNING: "claimed again after its lease expired",
        PENDING: "a durable run suspended, or restarted",
        ENQUEUED: "a durable run restarted",
        SUCCEEDED: "the handler returned",
        RETRYING: "the attempt failed, timed out, was lost or snoozed, and another is allowed",
        DEAD: "attempts used up, not retryable, or lost with on_lost dead",
        CANCELLED: "cancel was requested and the handler raised, or its lease expired",
    },
    SUCCEEDED: {
        PENDING: "part of a durable run runs again",
        ENQUEUED: "part of a durable run runs again",
    },
    DEAD: {PENDING: "redriven", ENQUEUED: "redriven"},
    CANCELLED: {PENDING: "redriven", ENQUEUED: "redriven"},
    EXPIRED: {PENDING: "redriven", ENQUEUED: "redriven"},
}


def is_legal(source: JobStatus, target: JobStatus) -> bool:
    """Whether a job may go from ``source`` to ``target``."""
    return target in LEGAL_MOVES[source]


def require_legal(sources: Iterable[JobStatus], target: JobStatus) -> None:
    """Check a move from any of ``sources``; raise `IllegalTransition` naming the first bad one."""
    for source in sorted(sources):
        if not is_legal(source, target):
            raise IllegalTransition(f"A job cannot go from {source} to {target}.")
