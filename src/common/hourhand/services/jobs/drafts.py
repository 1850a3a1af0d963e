"""What is settled about a new job before it is written: its times, policies and payload."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hourhand.domain.errors import FieldError, InvalidInput, did_you_mean
from hourhand.domain.ids import trace_id_for
from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.submission import NewJob
from hourhand.domain.ticks.timings import Timings
from hourhand.domain.times import floor_ms
from hourhand.ports.handler_directory import HandlerDirectory, HandlerInfo
from hourhand.services.jobs.new_job import (
    PayloadCheck,
    accept_any,
    named_limits,
    pending_job,
    require_chosen_key,
    require_expiry_after,
    require_shared_limits,
    resolve_limit_keys,
    resolve_policies,
    resolve_run_at,
)
from hourhand.services.jobs.payload_store import PayloadStore, payload_kept_until

NAMED_HANDLERS = 20
"""How many known handlers an error names."""


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
        policies = resolve_policies(request, handler)
        limits = named_limits(self.handlers, handler.name, request.limits)
        limit_keys = resolve_limit_keys(request, limits)
        kept_until = payload_kept_until(run_at, policies.retention_seconds, self.timings)
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
