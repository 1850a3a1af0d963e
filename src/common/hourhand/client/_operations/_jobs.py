"""The operations on one job: submit, read, wait, change."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final, Unpack

from hourhand.answers.jobs import Events, Job, JobSummary
from hourhand.client._operations._asking import (
    JobFilters,
    ask,
    ask_for,
    filters_of,
    members,
    named,
    pages,
    target,
)
from hourhand.client._steps import Operation, Session, Stream, pause
from hourhand.client._values import (
    ClientError,
    NotFound,
    Submission,
    WaitTimedOut,
    bare_seconds,
    encoded,
    encoded_fields,
    invalid,
    read,
    shortened,
)
from hourhand.domain.jobs.job import NOT_STARTED, PriorityChoice
from hourhand.handlers import SubmitOptions

FIRST_LOOK_SECONDS = 0.1
LOOK_GROWTH = 1.5
LONGEST_REST_SECONDS = 30.0
"""The longest pause while a job is not due: it may be made due sooner."""


class _Kept:
    """Stands for a field that is left as it is, where ``None`` has a meaning of its own."""

    def __repr__(self) -> str:
        return "KEEP"


KEEP: Final = _Kept()


def submit(
    session: Session,
    handler: str,
    payload: Any = None,
    **options: Unpack[SubmitOptions],
) -> Operation[Job]:
    """Submit a job and return it; it is submitted once, however often an answer is lost.

    ``run_at``: an aware datetime; or ``delay``: seconds or a timedelta; neither: now. ``priority``
    is ``high``, ``medium`` or ``low``. With the same ``idempotency_key`` (or ``id``) and body, the
    job as first created is returned. What is ``None`` is the handler's, or the default. Raises
    `ClientError`, of which ``submission`` can be submitted again without harm.
    """
    submission = Submission(handler=handler, payload=payload, **options)
    submission = submission.named(session.new_job_id)
    body = submission.body()
    try:
        return (yield from ask_for(Job, session, "POST", target("jobs"), body))
    except ClientError as error:
        error.submission = submission
        raise


def get(
    session: Session,
    job_id: str | None = None,
    *,
    key: str | None = None,
    tenant: str | None = None,
) -> Operation[Job]:
    """Return a job with all its fields, by its id, or by its idempotency ``key``.

    ``tenant`` is that of the key, if it has one. Raises `NotFound`, and `Invalid` for an id and a
    key at once.
    """
    if key is not None:
        if job_id is not None:
            raise invalid("key", "cannot be combined with an id")
        job_id = yield from _id_of_key(session, key, tenant)
    elif tenant is not None:
        raise invalid("tenant", "needs a key")
    return (yield from ask_for(Job, session, "GET", _at(job_id)))


def _id_of_key(session: Session, key: str, tenant: str | None) -> Operation[str]:
    query = filters_of({"idempotency_key": key, "tenant": tenant})
    value = yield from ask(session, "GET", target("jobs", query=query))
    for job in members(value, "jobs"):
        return read(JobSummary, job, "jobs[]").id
    of_tenant = "" if tenant is None else f" of tenant {shortened(tenant)}"
    raise NotFound(f"There is no job under the idempotency key {shortened(key)}{of_tenant}.")


def events(session: Session, job_id: str) -> Operation[Events]:
    """Return the history of a job: iterate over it for its events, the oldest first.

    ``dropped`` counts the events that were removed from its middle. Raises `NotFound`.
    """
    return ask_for(Events, session, "GET", _at(job_id, "events"))


def cancel(session: Session, job_id: str) -> Operation[Job]:
    """Cancel a waiting job, or ask a running one to stop: it is still RUNNING then.

    Cancelling again is no error. Raises `Conflict` for a job that ended otherwise, `NotFound`.
    """
    return ask_for(Job, session, "POST", _at(job_id, "cancel"))


def redrive(session: Session, job_id: str) -> Operation[Job]:
    """Redrive a DEAD, EXPIRED or CANCELLED job: it runs again, with all its attempts.

    Raises `Conflict` for a job in any other state, `NotFound`.
    """
    return ask_for(Job, session, "POST", _at(job_id, "redrive"))


def discard(session: Session, job_id: str, *, note: str | None = None) -> Operation[Job]:
    """Acknowledge a DEAD job: it stays DEAD, and counts as unresolved no longer.

    Discarding again changes nothing. Raises `Conflict` for a job in any other state, `NotFound`.
    """
    body = None if note is None else encoded({"note": note}, "note")
    return ask_for(Job, session, "POST", _at(job_id, "discard"), body)


def run_now(session: Session, job_id: str) -> Operation[Job]:
    """Make a waiting job due now. Raises `Conflict` where it is not waiting, `NotFound`."""
    return ask_for(Job, session, "POST", _at(job_id, "run-now"))


def reschedule(
    session: Session,
    job_id: str,
    *,
    run_at: datetime | None = None,
    delay: float | timedelta | None = None,
    priority: PriorityChoice | None = None,
    payload: Any = KEEP,
    expires_at: datetime | _Kept | None = KEEP,
) -> Operation[Job]:
    """Change a job that is not running; what is not given stays as it is.

    ``expires_at=None`` removes the expiry. Raises `Conflict` for a job that is running or
    ended, `Invalid`, `NotFound`.
    """
    changes = {"run_at": run_at, "delay": delay, "priority": priority}
    nullable = {"payload": payload, "expires_at": expires_at}
    nulls = [name for name, value in nullable.items() if value is None]
    changes |= {name: value for name, value in nullable.items() if value is not KEEP}
    body = encoded_fields(changes, nulls=nulls)
    return ask_for(Job, session, "PATCH", _at(job_id), body)


def list_jobs(
    session: Session,
    *,
    page_size: int = 50,
    limit: int | None = None,
    **filters: Unpack[JobFilters],
) -> Stream[JobSummary]:
    """Iterate over jobs, newest first, page by page; all filters that are given must hold of each.

    They are ``status``, ``handler``, ``schedule_id``, ``tenant``, ``tag`` (``key:value``),
    ``error_type``, ``error_group``, ``created_after`` and ``created_before`` (aware datetimes), and
    ``discarded``: True for DEAD jobs that were discarded, False for all others. ``limit`` is the
    most that are returned; ``None``: all of them. Raises `Invalid`.
    """
    query = filters_of(filters)
    yield from pages(
        session, JobSummary, ("jobs",), "jobs", page_size=page_size, limit=limit, query=query
    )


def wait(
    session: Session,
    job_id: str,
    timeout_seconds: float | None = None,
    *,
    poll_seconds: float = 2.0,
) -> Operation[Job]:
    """Wait until a job has ended, and return it: see its ``status`` for how it ended.

    It is looked at after a tenth of a second, then less and less often, down to every
    ``poll_seconds``; while it is not due yet, still less. Raises `WaitTimedOut`, which has the job
    as it was last seen, `Invalid` and `NotFound`.
    """
    longest_rest = bare_seconds("poll_seconds", poll_seconds, above=0)
    time = session.time
    ends_at = None
    if timeout_seconds is not None:
        ends_at = time.monotonic() + bare_seconds("timeout_seconds", timeout_seconds)
    rest = FIRST_LOOK_SECONDS
    while True:
        job = yield from get(session, job_id)
        if job.is_final:
            return job
        until_due = _seconds_until_due(session, job)
        if until_due > 0:
            wanted = min(until_due + FIRST_LOOK_SECONDS, LONGEST_REST_SECONDS)
        else:
            rest = min(rest * LOOK_GROWTH, longest_rest)
            # A little earlier than given, so that clients that wait together do not read together.
            wanted = rest * (1.0 - session.randomness() / 4)
        left = wanted if ends_at is None else ends_at - time.monotonic()
        if left <= 0:
            raise WaitTimedOut(f"Job {job_id} is {job.status} after {timeout_seconds} s.", job)
        yield from pause(min(wanted, left))


def _seconds_until_due(session: Session, job: Job) -> float:
    """Return how long a job still has to wait for its time; 0 for one that runs or is due."""
    if job.due_at is None or job.status not in NOT_STARTED:
        return 0.0
    return (job.due_at - session.time.now()).total_seconds()


def _at(job_id: str | None, *rest: str) -> str:
    return target("jobs", named("id", job_id), *rest)
