"""Accepting jobs: validated, durable before they are acknowledged, sent at once if due soon."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from hourhand.domain.errors import (
    FieldError,
    HourhandError,
    IdempotencyConflict,
    InvalidDebounce,
    InvalidInput,
    InvalidUnique,
    Unavailable,
    or_error,
)
from hourhand.domain.jobs.job import Job
from hourhand.domain.limits.debounce import Debounce, Mode
from hourhand.ports.clock import Clock
from hourhand.ports.handler_directory import HandlerDirectory, HandlerInfo
from hourhand.ports.job_store import Applied, JobStore, WriteResult
from hourhand.ports.randomness import Randomness
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.drafts import Drafts, require_handler
from hourhand.services.jobs.due import DueJobs
from hourhand.services.jobs.new_job import DerivedIds, build_job, has_callers_name, key_fields
from hourhand.services.jobs.payload_store import fits_inline
from hourhand.services.jobs.unique_jobs import UniqueJobs, UniqueKey

if TYPE_CHECKING:
    from hourhand.api.requests import JobPatch, JobSubmission

JOBS_A_ROUND = 100
"""Jobs of a batch that are stored, then sent: four calls of DynamoDB and ten of SQS, if nothing
lies beside them. The first is on its way while the next hundred are stored."""

MAX_SECONDS_OF_KEYS = 15.0
"""How long the unique and debounced jobs of a batch are submitted, which takes some calls for each.
API Gateway answers for the API after 30 s."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """The job, and whether this submission created it or an earlier one with the same body did."""

    job: Job
    created: bool


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A job that is ready to be put."""

    request: JobSubmission
    job: Job


@dataclass(frozen=True, slots=True)
class SubmissionService:
    """Accepts jobs from callers. An accepted job is in the table and in the index."""

    jobs: JobStore
    due: DueJobs
    drafts: Drafts
    handlers: HandlerDirectory
    clock: Clock
    randomness: Randomness
    telemetry: Telemetry
    ids: DerivedIds
    unique_jobs: UniqueJobs

    def submit(
        self,
        request: JobSubmission,
        *,
        actor: str,
        trace_id: str | None = None,
        built_in: HandlerInfo | None = None,
    ) -> Submitted:
        """Accept one job. ``built_in``: its handler, if that is one of Hourhand's.

        Raises `InvalidInput` for an unknown handler, impossible times or a payload that the
        handler cannot take, `NoKeyedLimit`, `IdempotencyConflict`
        where its key or id was used with another body, `TooLarge`, and `Unavailable` where the
        table did not answer: then the same submission with the same key can be retried.
        """
        if self._has_key(request):
            return self._submit_by_key(request, actor, trace_id)
        prepared = self._prepare(request, actor, trace_id, built_in)
        if isinstance(prepared, Submitted):
            return prepared
        return self._submitted(prepared, self.due.put(prepared.job, actor), actor)

    def submit_many(
        self,
        requests: Sequence[JobSubmission | HourhandError],
        *,
        actor: str,
        trace_id: str | None = None,
    ) -> list[Submitted | HourhandError]:
        """Accept many, each on its own; results in the order sent, errors as values.

        Unique and debounced jobs are submitted one by one; those for which no time is left end in
        `Unavailable`, and can be repeated.
        """
        results: list[Submitted | HourhandError] = []
        deadline = self.clock.monotonic() + MAX_SECONDS_OF_KEYS
        for together in _rounds(requests):
            # Sent as they are stored: the first must not wait for the last.
            results += self._submit_round(together, actor, trace_id, deadline)
        return results

    def _submit_round(
        self,
        requests: Sequence[JobSubmission | HourhandError],
        actor: str,
        trace_id: str | None,
        deadline: float,
    ) -> list[Submitted | HourhandError]:
        prepared = [
            or_error(partial(self._prepare_any, r, actor, trace_id, deadline)) for r in requests
        ]
        jobs = [each.job for each in prepared if isinstance(each, _Prepared)]
        put = iter(self.due.put_many(jobs, actor))
        return [
            or_error(partial(self._submitted, each, next(put), actor))
            if isinstance(each, _Prepared)
            else each
            for each in prepared
        ]

    def _prepare_any(
        self,
        request: JobSubmission | HourhandError,
        actor: str,
        trace_id: str | None,
        deadline: float,
    ) -> _Prepared | Submitted:
        """Prepare a job of a batch; a unique one is submitted at once, by itself."""
        if isinstance(request, HourhandError) or not self._has_key(request):
            return self._prepare(request, actor, trace_id)
        if self.clock.monotonic() >= deadline:
            raise Unavailable("The unique jobs of the batch took too long; submit this one again.")
        return self.submit(request, actor=actor, trace_id=trace_id)

    def is_known(self, request: JobSubmission) -> bool:
        """Whether there is a job of the id that the submission states."""
        return request.id is not None and self.jobs.get(request.id) is not None

    def _has_key(self, request: JobSubmission) -> bool:
        """Whether the job is unique or debounced: its key names it."""
        handler = self.handlers.find(request.handler)
        declared = handler is not None and (handler.unique or handler.debounce)
        return bool(request.unique or request.debounce or declared)

    def _submit_by_key(self, request: JobSubmission, actor: str, trace_id: str | None) -> Submitted:
        """Accept a job that its key names. What the submission states comes before the handler."""
        handler = require_handler(self.handlers, request.handler)
        if request.idempotency_key is not None:
            problem = FieldError("idempotency_key", "cannot be given: the job has a unique key")
            raise InvalidUnique("The unique key names the job already.", errors=(problem,))
        states_neither = request.unique is None and request.debounce is None
        debounce = request.debounce.debounce if request.debounce is not None else None
        unique = request.unique.unique if request.unique is not None else None
        if states_neither:
            debounce, unique = handler.debounce, handler.unique
        fields = key_fields(request.tenant, request.tags, request.payload_text)
        if debounce is not None:
            request, key = self._debounced(
                request, debounce, debounce.digest_of(handler.name, fields)
            )
        else:
            assert unique is not None
            digest = unique.digest_of(handler.name, fields)
            key = UniqueKey(unique, digest, lambda _job, _now: request.as_patch())

        def build(job_id: str, now: datetime, unique_key: tuple[str, int]) -> Job:
            draft = self.drafts.draft(request, handler, job_id, now, actor, trace_id)
            kept = max(draft.policies.retention_seconds, key.unique.shortest_retention_seconds)
            settled = replace(
                draft,
                policies=replace(draft.policies, retention_seconds=kept),
                submission=self.randomness.nonce()[:8],
                unique_key=unique_key,
            )
            return replace(build_job(request, settled), debounces=None if debounce is None else 0)

        job, is_created = self.unique_jobs.submit(request, key, build, actor)
        if is_created:
            self.telemetry.count("jobs_submitted")
        return Submitted(job, is_created)

    def _debounced(
        self, request: JobSubmission, debounce: Debounce, digest: str
    ) -> tuple[JobSubmission, UniqueKey]:
        """Return a debounced submission with its time, and the key by which it meets others."""
        for name in ("run_at", "delay_seconds"):
            if getattr(request, name) is not None:
                problem = FieldError(name, "cannot be given: the debounce sets the job's time")
                raise InvalidDebounce("A debounced job has no time.", errors=(problem,))
        timed = request.due_after(debounce.wait)

        def replaces(standing: Job, now: datetime) -> JobPatch:
            run_at = debounce.run_at(standing, now)
            return request.as_patch(run_at=run_at, keeps_payload=debounce.mode is Mode.FIRST)

        return timed, UniqueKey(debounce.unique, digest, replaces)

    def _prepare(
        self,
        request: JobSubmission | HourhandError,
        actor: str,
        trace_id: str | None,
        built_in: HandlerInfo | None = None,
    ) -> _Prepared | Submitted:
        """Return the job that is to be put, or what an earlier submission made of it."""
        if isinstance(request, HourhandError):
            raise request
        handler = built_in or require_handler(self.handlers, request.handler)
        now = self.clock.now()
        job_id = self._job_id(request, now)
        if has_callers_name(request) and not fits_inline(request.payload_text):
            # A large payload is written before its job; it must not renew one that is there.
            existing = self.jobs.get(job_id)
            if existing is not None:
                return self._repeated(request, existing, now, actor)
        try:
            draft = self.drafts.draft(request, handler, job_id, now, actor, trace_id)
        except InvalidInput:
            # Its times may be over by now, and its handler may take another payload since. But a
            # repeated submission still returns its job.
            existing = self.jobs.get(job_id) if has_callers_name(request) else None
            if existing is None:
                raise
            return self._repeated(request, existing, now, actor)
        if has_callers_name(request):
            draft = replace(draft, submission=self.randomness.nonce()[:8])
        return _Prepared(request, build_job(request, draft))

    def _submitted(
        self, prepared: _Prepared, result: WriteResult | HourhandError, actor: str
    ) -> Submitted:
        if isinstance(result, HourhandError):
            raise result
        if isinstance(result, Applied):
            self.telemetry.count("jobs_submitted")
            return Submitted(result.job, created=True)
        if result.current is None:
            raise Unavailable("The job that had this id was deleted during the request; try again.")
        return self._repeated(prepared.request, result.current, self.clock.now(), actor)

    def _repeated(
        self, request: JobSubmission, existing: Job, now: datetime, actor: str
    ) -> Submitted:
        if existing.body_hash != request.body_hash:
            field = "idempotency_key" if request.idempotency_key else "id"
            raise IdempotencyConflict(
                f"This {field} was already used for job {existing.id} with another body.",
                errors=(FieldError(field, "was already used with another body"),),
            )
        if self.due.is_behind(existing, now):
            # Its first writer may have died before it noticed that it had stalled, or before it
            # sent the message; and an entry that moves is not missed by the sweep.
            existing = self.due.refile(existing, actor)
        return Submitted(existing, created=False)

    def _job_id(self, request: JobSubmission, now: datetime) -> str:
        if request.id is not None:
            return request.id
        if request.idempotency_key is not None:
            return self.ids.of_key(request.tenant, request.idempotency_key)
        return self.randomness.job_id(now)


def _rounds(
    requests: Sequence[JobSubmission | HourhandError],
) -> Iterator[list[JobSubmission | HourhandError]]:
    """Yield ``requests`` in order, as many at a time as are stored together.

    A name that comes twice begins a new round: the second must find what the first one made.
    """
    together: list[JobSubmission | HourhandError] = []
    named: set[tuple[str | None, ...]] = set()
    for request in requests:
        name = None if isinstance(request, HourhandError) else _name_of(request)
        if len(together) == JOBS_A_ROUND or name in named:
            yield together
            together, named = [], set()
        together.append(request)
        if name is not None:
            named.add(name)
    yield together


def _name_of(request: JobSubmission) -> tuple[str | None, ...] | None:
    """Return the name that the caller gave the job: its id, or its tenant and idempotency key."""
    if request.id is not None:
        return (request.id,)
    if request.idempotency_key is not None:
        return request.tenant, request.idempotency_key
    return None
