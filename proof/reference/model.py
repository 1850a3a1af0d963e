"""What a user may see of a job: a small model, written from the page of design and not from code.

`Seen` is what the API tells of one job. Each function takes what is true now and returns what may
be true after an event: mostly one thing, sometimes two, where the design leaves it open (a late
tick, a message that may come a second time). A refusal is the status that answers it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

PENDING, ENQUEUED, RUNNING, RETRYING = "PENDING", "ENQUEUED", "RUNNING", "RETRYING"
SUCCEEDED, DEAD, CANCELLED, EXPIRED = "SUCCEEDED", "DEAD", "CANCELLED", "EXPIRED"
WAITING = frozenset({PENDING, ENQUEUED, RETRYING})
FINAL = frozenset({SUCCEEDED, DEAD, CANCELLED, EXPIRED})
REDRIVABLE = frozenset({DEAD, EXPIRED, CANCELLED})
STATES = (PENDING, ENQUEUED, RUNNING, RETRYING, SUCCEEDED, DEAD, CANCELLED, EXPIRED)

# The default timings.
LOOK_AHEAD = timedelta(seconds=300)
LEASE = timedelta(seconds=45)
MARGIN = timedelta(seconds=2)
VISIBILITY = timedelta(seconds=60)

OFTEN_READ = timedelta(seconds=120)
"""The sweep reads a bucket at every tick while it is young, and less often as it ages."""

CONFLICT, INVALID = 409, 422


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One job. ``attempts``: number and outcome of each, of all rounds. ``runs``: of its handler.

    ``is_sent``: its message is on the way (no tick is needed for it to run). ``letters``: dead
    letters that were sent for it.
    """

    id: str
    body: Any
    status: str
    created_at: datetime
    run_at: datetime
    due_at: datetime | None
    priority: str
    payload: Any
    max_attempts: int
    base_seconds: int
    on_lost: str
    expires_at: datetime | None = None
    attempt: int = 0
    attempts: tuple[tuple[int, str | None], ...] = ()
    is_sent: bool = False
    asked_to_stop: bool = False
    is_discarded: bool = False
    started_at: datetime | None = None
    finished_at: datetime | None = None
    lateness: timedelta | None = None
    result: Any = None
    runs: int = 0
    letters: int = 0


@dataclass(frozen=True)
class Refused:
    """The request is answered with this status, and nothing changes."""

    status: int


Next = list[Seen] | Refused
"""What may be true next: one of these, or nothing changed since it was refused."""


@dataclass(frozen=True)
class Behaviour:
    """What a handler does. ``is_told``: somebody cancels the job while it runs."""

    ends: str
    is_told: bool = False
    seconds: int = 0


# --- people ---


def submitted(job_id: str, body: dict[str, Any], now: datetime) -> Seen:
    """A job is accepted: durable, and on its way if it is due within the look-ahead."""
    run_at = now + timedelta(seconds=body.get("delay_seconds", 0))
    expires_in = body.get("expires_in")
    job = Seen(
        id=job_id,
        body=body,
        status=PENDING,
        created_at=now,
        run_at=run_at,
        due_at=run_at,
        priority=body["priority"],
        payload=body["payload"],
        max_attempts=body["max_attempts"],
        base_seconds=body["base_seconds"],
        on_lost=body["on_lost"],
        expires_at=None if expires_in is None else now + timedelta(seconds=expires_in),
    )
    return _filed(job, run_at, now)


def submitted_again(job: Seen, body: dict[str, Any], now: datetime) -> Next:
    """The same key or id: with the same body the same job, with another a conflict."""
    if body != job.body:
        return Refused(CONFLICT)
    if job.due_at is not None and job.due_at < now:
        # It may be filed anew, in case its first writer died.
        return [job, replace(job, due_at=now)]
    return [job]


def cancelled(job: Seen, now: datetime) -> Next:
    """Waiting: at once. Running: asked to stop. Cancelled: so it is. Ended otherwise: too late."""
    if job.status in WAITING:
        return [_ended(job, CANCELLED, now)]
    if job.status == RUNNING:
        return [replace(job, asked_to_stop=True)]
    return [job] if job.status == CANCELLED else Refused(CONFLICT)


def run_now(job: Seen, now: datetime) -> Next:
    """A job that waits is due at once."""
    if job.status not in WAITING:
        return Refused(CONFLICT)
    return [_filed(replace(job, run_at=now), now, now)]


def redriven(job: Seen, now: datetime) -> Next:
    """A job that ended badly goes round again, with all its attempts; its history is kept."""
    if job.status not in REDRIVABLE:
        return Refused(CONFLICT)
    has_expired = job.expires_at is not None and job.expires_at <= now
    fresh = replace(
        job,
        run_at=now,
        attempt=0,
        asked_to_stop=False,
        is_discarded=False,
        finished_at=None,
        lateness=None,
        expires_at=None if has_expired else job.expires_at,
    )
    return [_filed(fresh, now, now)]


def discarded(job: Seen, now: datetime) -> Next:
    """A DEAD job is acknowledged, once; nothing else of it changes."""
    return [replace(job, is_discarded=True)] if job.status == DEAD else Refused(CONFLICT)


def changed(job: Seen, patch: dict[str, Any], now: datetime) -> Next:
    """Another time, priority or payload, for a job that is not running."""
    if job.status not in WAITING:
        return Refused(CONFLICT)
    run_at = job.run_at
    if "delay_seconds" in patch:
        run_at = now + timedelta(seconds=patch["delay_seconds"])
    if job.expires_at is not None and job.expires_at <= max(run_at, now):
        return Refused(INVALID)
    new = replace(
        job,
        run_at=run_at,
        priority=patch.get("priority", job.priority),
        payload=patch.get("payload", job.payload),
    )
    if "delay_seconds" in patch:
        return [_filed(new, run_at, now)]
    assert job.due_at is not None
    is_soon = job.due_at <= now + LOOK_AHEAD
    return [replace(new, status=ENQUEUED if is_soon else PENDING, is_sent=is_soon)]


# --- schedulers and workers ---


def ticked(job: Seen, now: datetime) -> list[Seen]:
    """One pass of the sweep: what is due soon is sent, what is stuck goes on."""
    if job.status in FINAL or job.due_at is None:
        return [job]
    if job.status == RUNNING:
        after = [recovered(job, now)] if lease_is_over(job, now) else [job]
    elif is_expired(job, now):
        after = [_ended(job, EXPIRED, now)]
    elif not job.is_sent and job.due_at <= now + LOOK_AHEAD:
        after = [replace(job, status=ENQUEUED, is_sent=True)]
    else:
        after = [job]
    is_old = now - job.due_at > OFTEN_READ
    return [job, *after] if is_old and after != [job] else after


def worked(job: Seen, behaviour: Behaviour, now: datetime) -> list[Seen]:
    """A worker takes every message that is visible, and handlers behave in this way."""
    if job.status in FINAL or job.due_at is None:
        return [job]
    if job.status == RUNNING:
        if not lease_is_over(job, now):
            return [job]
        # Its message comes back when its visibility ends; another of it may be there before.
        assert job.started_at is not None
        must_come = now >= job.started_at + VISIBILITY
        return [*([] if must_come else [job]), *_taken_over(job, behaviour, now)]
    if not job.is_sent or job.due_at > now:
        return [job]
    if is_expired(job, now):
        return [_ended(job, EXPIRED, now)]
    lateness = now - job.run_at if job.lateness is None else job.lateness
    return [_run(replace(job, lateness=lateness), behaviour, now)]


def lease_is_over(job: Seen, now: datetime) -> bool:
    """Whether a running job, whose worker died, may be taken from it."""
    assert job.started_at is not None
    return now > job.started_at + LEASE + MARGIN


def is_expired(job: Seen, now: datetime) -> bool:
    """Whether a job that waits may start no more."""
    return job.expires_at is not None and job.expires_at <= now


def recovered(job: Seen, now: datetime) -> Seen:
    """The worker vanished. A cancel wins; then another attempt, if it may have one; else DEAD."""
    if job.asked_to_stop:
        return _ended(_attempt_over(job, "CANCELLED"), CANCELLED, now)
    lost = _attempt_over(job, "LOST")
    if job.on_lost == "retry" and job.attempt < job.max_attempts:
        return _again(lost, now, now)
    return _dead(lost, now)


def _taken_over(job: Seen, behaviour: Behaviour, now: datetime) -> list[Seen]:
    """A message of a lost attempt arrives: the next attempt begins at once, if there is one."""
    may_run = job.on_lost == "retry" and job.attempt < job.max_attempts
    if may_run and not job.asked_to_stop and not is_expired(job, now):
        return [_run(_attempt_over(job, "LOST"), behaviour, now)]
    return [recovered(job, now)]


def _run(job: Seen, behaviour: Behaviour, now: datetime) -> Seen:
    """A handler starts, and ends as it behaves."""
    running = replace(
        job,
        status=RUNNING,
        attempt=job.attempt + 1,
        attempts=(*job.attempts, (job.attempt + 1, None)),
        started_at=now,
        asked_to_stop=behaviour.is_told,
        is_sent=False,
        runs=job.runs + 1,
    )
    if behaviour.ends == "die":
        return running
    if behaviour.ends == "succeed":
        ended = _ended(_attempt_over(running, "SUCCEEDED"), SUCCEEDED, now)
        return replace(ended, result={"done": True})
    if behaviour.is_told:
        # Whatever else a handler does that was asked to stop, it is never tried again.
        return _ended(_attempt_over(running, "CANCELLED"), CANCELLED, now)
    if behaviour.ends == "snooze":
        back = replace(_attempt_over(running, "SNOOZED"), attempt=job.attempt)
        return _again(back, now + timedelta(seconds=behaviour.seconds), now)
    failed = _attempt_over(running, "FAILED")
    if behaviour.ends == "fail" and running.attempt < job.max_attempts:
        return _again(failed, now + timedelta(seconds=job.base_seconds), now)
    return _dead(failed, now)


# --- parts ---


def _filed(job: Seen, at: datetime, now: datetime) -> Seen:
    due_at = max(at, now)
    is_soon = due_at <= now + LOOK_AHEAD
    return replace(job, due_at=due_at, status=ENQUEUED if is_soon else PENDING, is_sent=is_soon)


def _again(job: Seen, at: datetime, now: datetime) -> Seen:
    is_soon = at <= now + LOOK_AHEAD
    return replace(job, status=RETRYING, due_at=at, is_sent=is_soon)


def _attempt_over(job: Seen, outcome: str) -> Seen:
    return replace(job, attempts=(*job.attempts[:-1], (job.attempts[-1][0], outcome)))


def _dead(job: Seen, now: datetime) -> Seen:
    return replace(_ended(job, DEAD, now), letters=job.letters + 1)


def _ended(job: Seen, status: str, now: datetime) -> Seen:
    """A final job is due no more, once nothing is owed for it."""
    stopped = job.asked_to_stop or status == CANCELLED
    return replace(
        job, status=status, due_at=None, finished_at=now, is_sent=False, asked_to_stop=stopped
    )
