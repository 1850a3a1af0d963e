"""The job that a submission asks for, its checks, and the ids that follow from a key or a schedule.

Each field is taken from the submission, else from the handler's ``@job``, else the default.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from hourhand.domain.errors import FieldError, InvalidInput, NoKeyedLimit, did_you_mean
from hourhand.domain.ids import job_id_for_key, occurrence_job_id, trace_id_for, unique_job_id
from hourhand.domain.jobs.job import (
    Content,
    EventKind,
    HistoryEvent,
    Job,
    JobStatus,
)
from hourhand.domain.jobs.policies import Policies
from hourhand.domain.jobs.submission import NewJob
from hourhand.domain.jobs.waiting import ChosenLimit
from hourhand.domain.limits.job_limits import (
    NamedLimit,
    keys_to_store,
    limits_chosen,
    limits_of_handler,
    position_of_chosen_key,
    require_costs,
    shared_limits,
)
from hourhand.domain.limits.keys import KeyFields
from hourhand.domain.ticks.timings import Timings
from hourhand.domain.times import floor_ms
from hourhand.ports.control_store import ControlStore
from hourhand.ports.handler_directory import HandlerDirectory, HandlerInfo
from hourhand.ports.randomness import Randomness
from hourhand.services.jobs.payload_store import PayloadStore, payload_kept_until

OLDEST_RUN_AT = timedelta(days=1)
LATEST_RUN_AT = datetime(2201, 1, 1, tzinfo=UTC)
NAMED_LIMITS = 20
"""How many shared limits an error names."""

NAMED_HANDLERS = 20
"""How many known handlers an error names."""

PayloadCheck: TypeAlias = Callable[[str, str], None]
"""Raises `InvalidInput` if the handler of this name cannot take this payload, which is JSON."""


def accept_any(_handler: str, _payload_text: str) -> None:
    """Check nothing: the payload was checked when it was submitted."""


def key_fields(tenant: str | None, tags: Mapping[str, str], payload_text: str) -> KeyFields:
    """Return what the keys of a job's limits are taken from; the payload is parsed if needed."""
    return KeyFields(tenant=tenant, tags=tags, payload=lambda: json.loads(payload_text))


def named_limits(
    handlers: HandlerDirectory, handler: str, chosen: Sequence[ChosenLimit] | None
) -> tuple[NamedLimit, ...]:
    """Return the limits of a job: those that its submission chose, else those of its handler."""
    if chosen is not None:
        return limits_chosen(chosen, shared_limits(info.limits for info in handlers.all()))
    info = handlers.find(handler)
    return limits_of_handler(info.name, info.limits) if info is not None else ()


def require_shared_limits(request: NewJob, handlers: HandlerDirectory) -> None:
    """Refuse a submission that names a limit which no handler shares; name those that exist."""
    if request.limits is None:
        return
    known = list(shared_limits(info.limits for info in handlers.all()))
    unknown = {n: one.name for n, one in enumerate(request.limits) if one.name not in known}
    if not unknown:
        return
    listed = f"Shared limits: {', '.join(known[:NAMED_LIMITS]) or 'none'}"
    problems = []
    for position, name in unknown.items():
        sentences = ("is no shared limit.", did_you_mean(name, known), listed)
        message = " ".join(filter(None, sentences))
        problems.append(FieldError(f"limits[{position}].name", message))
    names = ", ".join(map(repr, unknown.values()))
    raise InvalidInput(f"There is no shared limit {names}. {listed}.", errors=tuple(problems))


def resolve_limit_keys(request: NewJob, limits: Sequence[NamedLimit]) -> bytes | None:
    """Return the keys of limits that the job stores. Raises `NoKeyedLimit` and `InvalidInput`."""
    require_chosen_key(request, limits)
    if not limits:
        return None
    fields = key_fields(request.tenant, request.tags, request.payload_text)
    require_costs(limits, fields)
    return keys_to_store(limits, fields, request.concurrency_key)


def require_chosen_key(request: NewJob, limits: Sequence[NamedLimit]) -> None:
    """Refuse a ``concurrency_key`` that no limit of the job can take. Raises `NoKeyedLimit`."""
    if request.concurrency_key is not None and position_of_chosen_key(limits) is None:
        problem = FieldError(
            "concurrency_key",
            f"cannot be given: the handler {request.handler} has no Concurrency limit whose key is "
            "tenant, tags.<name> or payload.<field>",
        )
        raise NoKeyedLimit(errors=(problem,))


def resolve_run_at(run_at: datetime | None, delay_seconds: float | None, now: datetime) -> datetime:
    """Return the absolute time, fixed once and for all, at which a job should run.

    Raises `InvalidInput` for times more than a day in the past or beyond the year 2200.
    """
    if run_at is None:
        name = "delay_seconds"
        try:
            run_at = now + timedelta(seconds=delay_seconds or 0)
        except OverflowError:
            run_at = LATEST_RUN_AT
    else:
        name = "run_at"
    if run_at < now - OLDEST_RUN_AT:
        raise _invalid(name, "must be at most a day in the past")
    if run_at >= LATEST_RUN_AT:
        raise _invalid(name, "must be before the year 2201")
    return floor_ms(run_at)


def require_expiry_after(expires_at: datetime | None, run_at: datetime, now: datetime) -> None:
    """Refuse an ``expires_at`` that would end the job before it could ever start."""
    if expires_at is not None and expires_at <= max(run_at, now):
        raise _invalid("expires_at", "must be after the job's time and not in the past")


def pending_job(
    job_id: str,
    handler: str,
    policies: Policies,
    payload: Content,
    kept_until: datetime,
    *,
    now: datetime,
    actor: str,
    reason: str,
    **fields: Any,
) -> Job:
    """Return a job to be put, without a place in the index (see `DueJobs.put`).

    ``kept_until``: of a payload that is in an item beside it. ``fields``: the time and all others.
    """
    submitted = HistoryEvent(
        kind=EventKind.SUBMITTED, at=now, status=JobStatus.PENDING, actor=actor, reason=reason
    )
    return Job(
        id=job_id,
        handler=handler,
        status=JobStatus.PENDING,
        created_at=now,
        payload=payload,
        payload_kept_until=kept_until if payload.item is not None else None,
        priority=policies.priority,
        queue=policies.priority,
        timeout_seconds=policies.timeout_seconds,
        retention_seconds=policies.retention_seconds,
        on_lost=policies.on_lost,
        retry=policies.retry,
        history=(submitted,),
        **fields,
    )


def _invalid(name: str, message: str) -> InvalidInput:
    return InvalidInput(f"{name} {message}.", errors=(FieldError(name, message),))


@dataclass(slots=True)
class DerivedIds:
    """Derives the ids of jobs from an idempotency key, or from a schedule and a time.

    They are derived with a secret of the installation, so that a caller that may read jobs and
    guesses a key, or knows a schedule, cannot name the job of another caller. The secret is read
    when the first id is derived, once in a process.

    The first process of an installation creates it. Of two that do so at once, both use the one
    that was stored first.
    """

    control: ControlStore
    randomness: Randomness
    known_secret: bytes | None = field(default=None, repr=False)

    def secret(self) -> bytes:
        """Return the installation's secret. Raises `Unavailable`."""
        if self.known_secret is None:
            stored = self.control.read_secret()
            self.known_secret = stored or self.control.create_secret(self.randomness.secret())
        return self.known_secret

    def of_key(self, tenant: str | None, idempotency_key: str) -> str:
        """Return the id of the job under a key. Raises `Unavailable`."""
        return job_id_for_key(self.secret(), tenant, idempotency_key)

    def of_unique(self, digest: str, incarnation: int) -> str:
        """Return the id of the job of a unique key, see `unique_job_id`. Raises `Unavailable`."""
        return unique_job_id(self.secret(), digest, incarnation)

    def of_occurrence(self, schedule_id: str, nominal: datetime, salt: str = "") -> str:
        """Return the id of a schedule's job, see `occurrence_job_id`. Raises `Unavailable`."""
        return occurrence_job_id(self.secret(), schedule_id, nominal, salt)


@dataclass(frozen=True, slots=True)
class Drafts:
    """Checks what is submitted, and keeps a payload that is too large for the job's own item."""

    contents: PayloadStore
    handlers: HandlerDirectory
    timings: Timings
    check_payload: PayloadCheck = accept_any

    def draft(
        self,
        request: NewJob,
        handler: HandlerInfo,
        job_id: str,
        now: datetime,
        actor: str,
        trace_id: str | None,
        *,
        submission: str = "",
        unique_key: tuple[str, int] | None = None,
    ) -> Job:
        """Return the job to be put. Its payload is kept, if it is too large for the item.

        ``submission`` tells this submission from others under the same id or key; a random id needs
        no such mark. Raises `InvalidInput` for impossible times or a payload that the handler
        cannot take, `NoKeyedLimit`, `TooLarge` and `Unavailable`.
        """
        self.check_payload(request.handler, request.payload_text)
        run_at = self.require_valid_policies(request, handler, now)
        policies = request.resolved(handler.policies)
        limits = named_limits(self.handlers, handler.name, request.limits)
        limit_keys = resolve_limit_keys(request, limits)
        kept_until = payload_kept_until(run_at, policies, self.timings)
        return pending_job(
            job_id,
            request.handler,
            policies,
            self.contents.keep_payload(job_id, request.payload_text, kept_until),
            kept_until,
            run_at=run_at,
            now=now,
            actor=actor,
            reason=submission,
            expires_at=floor_ms(request.expires_at) if request.expires_at else None,
            idempotency_key=request.idempotency_key,
            body_hash=request.body_hash if request.has_callers_name or unique_key else None,
            tenant=request.tenant,
            tags=request.tags,
            limits=request.limits,
            limit_keys=limit_keys,
            unique_key=unique_key,
            trace_id=trace_id or trace_id_for(job_id),
        )

    def require_valid(self, request: NewJob, handler: HandlerInfo, now: datetime) -> None:
        """Check what is submitted as `draft` does, and keep nothing."""
        self.check_payload(request.handler, request.payload_text)
        self.require_valid_policies(request, handler, now)
        limits = named_limits(self.handlers, handler.name, request.limits)
        resolve_limit_keys(request, limits)

    def require_valid_policies(
        self, request: NewJob, handler: HandlerInfo, now: datetime
    ) -> datetime:
        """Check all but the payload, and what depends on it; return the time of the job.

        Raises `InvalidInput` and `NoKeyedLimit`.
        """
        run_at = resolve_run_at(request.run_at, request.delay_seconds, now)
        require_expiry_after(request.expires_at, run_at, now)
        require_shared_limits(request, self.handlers)
        limits = named_limits(self.handlers, handler.name, request.limits)
        require_chosen_key(request, limits)
        return run_at


def require_handler(handlers: HandlerDirectory, name: str) -> HandlerInfo:
    """Return the handler of that name; raise `InvalidInput` with the names that exist."""
    handler = handlers.find(name)
    if handler is None:
        problem = FieldError("handler", say_unknown(handlers, name))
        raise InvalidInput(f"The handler {name!r} {problem.message}.", errors=(problem,))
    return handler


def say_unknown(handlers: HandlerDirectory, name: str) -> str:
    """Return what is wrong with a name that no handler has, and the names that exist."""
    names = [info.name for info in handlers.all()]
    known = ", ".join(names[:NAMED_HANDLERS]) or "none"
    sentences = (
        "is not registered.",
        did_you_mean(name, names),
        handlers.advice,
        f"Registered: {known}",
    )
    return " ".join(filter(None, sentences))
