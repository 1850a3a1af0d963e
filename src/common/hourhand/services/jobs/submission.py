"""Accepting jobs: validated, durable before they are acknowledged, sent at once if due soon."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

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
from hourhand.domain.jobs.submission import JobChange, NewJob
from hourhand.domain.limits.debounce import Debounce, Mode
from hourhand.ports.clock import Clock
from hourhand.ports.handler_directory import HandlerDirectory, HandlerInfo
from hourhand.ports.job_store import Applied, JobStore, WriteResult
from hourhand.ports.randomness import Randomness
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.due import DueJobs
from hourhand.services.jobs.new_job import DerivedIds, Drafts, key_fields, require_handler
from hourhand.services.jobs.payload_store import fits_inline
from hourhand.services.jobs.puts import PUT_TOGETHER, PutPace, no_time_left
from hourhand.services.jobs.quota_gate import QuotaGate
from hourhand.services.jobs.unique_jobs import UniqueJobs, UniqueKey

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

    request: NewJob
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
    quotas: QuotaGate

    def submit(
        self,
        request: NewJob,
        *,
        actor: str,
        trace_id: str | None = None,
        built_in: HandlerInfo | None = None,
    ) -> Submitted:
        """Accept one job. ``built_in``: its handler, if that is one of Hourhand's.

        Raises `InvalidInput` for an unknown handler, impossible times or a payload that the
        handler cannot take, `NoKeyedLimit`, `IdempotencyConflict`
        where its key or id was used with another body, `TooLarge`, `QuotaExceeded`, and
        `Unavailable` where the table did not answer: then the same submission with the same key
        can be retried.
        """
        for refusal in filter(None, self.quotas.refusals([request.tenant], actor)):
            raise refusal
        return self._submit(request, actor, trace_id, built_in)

    def _submit(
        self,
        request: NewJob,
        actor: str,
        trace_id: str | None,
        built_in: HandlerInfo | None = None,
    ) -> Submitted:
        if self._has_key(request):
            return self._submit_by_key(request, actor, trace_id)
        prepared = self._prepare(request, actor, trace_id, built_in)
        if isinstance(prepared, Submitted):
            return prepared
        return self._submitted(prepared, self.due.put(prepared.job, actor), actor)

    def submit_many(
        self,
        requests: Sequence[NewJob | HourhandError],
        *,
        actor: str,
        trace_id: str | None = None,
    ) -> list[Submitted | HourhandError]:
        """Accept many, each on its own; results in the order sent, errors as values.

        Unique and debounced jobs are submitted one by one. Jobs for which no time is left end in
        `Unavailable`, which says whether they are stored and how they can be repeated.
        """
        results: list[Submitted | HourhandError] = []
        deadline = self.clock.monotonic() + MAX_SECONDS_OF_KEYS
        pace = self.due.pace()
        for together in _rounds(self._within_quotas(requests, actor)):
            # Sent as they are stored: the first must not wait for the last.
            is_over = pace.is_over(self.clock.monotonic())
            submit = self._leave if is_over else self._submit_round
            submitted = submit(together, actor, trace_id, deadline, pace)
            for request, result in zip(together, submitted, strict=True):
                if isinstance(result, Unavailable) and result.job_id is None:
                    result.job_id = self._known_id(request, self.clock.now())
                results.append(result)
        return results

    def _leave(
        self, requests: Sequence[NewJob | HourhandError], actor: str, *_: object
    ) -> list[Submitted | HourhandError]:
        """Return the results of jobs for which no time is left; an earlier call may have them."""
        now = self.clock.now()
        ids = [self._known_id(each, now) for each in requests]
        found = self.due.stored([job_id for job_id in ids if job_id is not None])
        results: list[Submitted | HourhandError] = []
        for request, job_id in zip(requests, ids, strict=True):
            existing = None if found is None or job_id is None else found.get(job_id)
            if isinstance(request, HourhandError):
                results.append(request)
            elif existing is not None:
                results.append(or_error(partial(self._repeated, request, existing, now, actor)))
            else:
                is_stored = None if found is None and request.has_callers_name else False
                results.append(no_time_left(job_id, stored=is_stored))
        return results

    def _known_id(self, request: NewJob | HourhandError, now: datetime) -> str | None:
        """Return the id under which a job can be submitted again, unless a unique key names it."""
        if isinstance(request, HourhandError) or self._has_key(request):
            return None
        return self._job_id(request, now)

    def _within_quotas(
        self, requests: Sequence[NewJob | HourhandError], actor: str
    ) -> list[NewJob | HourhandError]:
        """Return the requests, and `QuotaExceeded` in the place of each that a quota refuses."""
        tenants = [each.tenant for each in requests if not isinstance(each, HourhandError)]
        refusals = iter(self.quotas.refusals(tenants, actor))
        return [
            each if isinstance(each, HourhandError) else next(refusals) or each for each in requests
        ]

    def _submit_round(
        self,
        requests: Sequence[NewJob | HourhandError],
        actor: str,
        trace_id: str | None,
        deadline: float,
        pace: PutPace,
    ) -> list[Submitted | HourhandError]:
        prepared = [
            or_error(partial(self._prepare_any, r, actor, trace_id, deadline)) for r in requests
        ]
        jobs = [each.job for each in prepared if isinstance(each, _Prepared)]
        put = iter(self.due.put_many(jobs, actor, pace))
        return [
            or_error(partial(self._submitted, each, next(put), actor))
            if isinstance(each, _Prepared)
            else each
            for each in prepared
        ]

    def _prepare_any(
        self,
        request: NewJob | HourhandError,
        actor: str,
        trace_id: str | None,
        deadline: float,
    ) -> _Prepared | Submitted:
        """Prepare a job of a batch; a unique one is submitted at once, by itself."""
        if isinstance(request, HourhandError) or not self._has_key(request):
            return self._prepare(request, actor, trace_id)
        if self.clock.monotonic() >= deadline:
            detail = "The unique jobs of the batch took too long; submit this one again."
            raise Unavailable(detail, stored=False)
        return self._submit(request, actor, trace_id)

    def is_known(self, request: NewJob) -> bool:
        """Whether there is a job of the id that the submission states."""
        return request.id is not None and self.jobs.get(request.id) is not None

    def _has_key(self, request: NewJob) -> bool:
        """Whether the job is unique or debounced: its key names it."""
        handler = self.handlers.find(request.handler)
        declared = handler is not None and (handler.unique or handler.debounce)
        return bool(request.unique or request.debounce or declared)

    def _submit_by_key(self, request: NewJob, actor: str, trace_id: str | None) -> Submitted:
        """Accept a job that its key names. What the submission states comes before the handler."""
        handler = require_handler(self.handlers, request.handler)
        if request.idempotency_key is not None:
            problem = FieldError("idempotency_key", "cannot be given: the job has a unique key")
            raise InvalidUnique("The unique key names the job already.", errors=(problem,))
        states_neither = request.unique is None and request.debounce is None
        debounce = request.debounce
        unique = request.unique
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
            key = UniqueKey(unique, digest, lambda _job, _now: request.as_change())

        def build(job_id: str, now: datetime, unique_key: tuple[str, int]) -> Job:
            job = self.drafts.draft(
                request,
                handler,
                job_id,
                now,
                actor,
                trace_id,
                submission=self.randomness.nonce()[:8],
                unique_key=unique_key,
            )
            kept = max(job.retention_seconds, key.unique.shortest_retention_seconds)
            return replace(job, retention_seconds=kept, debounces=None if debounce is None else 0)

        job, is_created = self.unique_jobs.submit(request, key, build, actor)
        if is_created:
            self.telemetry.count("jobs_submitted")
        return Submitted(job, is_created)

    def _debounced(
        self, request: NewJob, debounce: Debounce, digest: str
    ) -> tuple[NewJob, UniqueKey]:
        """Return a debounced submission with its time, and the key by which it meets others."""
        for name in ("run_at", "delay_seconds"):
            if getattr(request, name) is not None:
                problem = FieldError(name, "cannot be given: the debounce sets the job's time")
                raise InvalidDebounce("A debounced job has no time.", errors=(problem,))
        timed = request.due_after(debounce.wait)

        def replaces(standing: Job, now: datetime) -> JobChange:
            run_at = debounce.run_at(standing, now)
            return request.as_change(run_at=run_at, keeps_payload=debounce.mode is Mode.FIRST)

        return timed, UniqueKey(debounce.unique, digest, replaces)

    def _prepare(
        self,
        request: NewJob | HourhandError,
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
        if request.has_callers_name and not fits_inline(request.payload_text):
            # A large payload is written before its job; it must not renew one that is there.
            existing = self.jobs.get(job_id)
            if existing is not None:
                return self._repeated(request, existing, now, actor)
        mark = self.randomness.nonce()[:8] if request.has_callers_name else ""
        try:
            job = self.drafts.draft(request, handler, job_id, now, actor, trace_id, submission=mark)
        except InvalidInput:
            # Its times may be over by now, and its handler may take another payload since. But a
            # repeated submission still returns its job.
            existing = self.jobs.get(job_id) if request.has_callers_name else None
            if existing is None:
                raise
            return self._repeated(request, existing, now, actor)
        return _Prepared(request, job)

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

    def _repeated(self, request: NewJob, existing: Job, now: datetime, actor: str) -> Submitted:
        if not self._is_same(request, existing):
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

    def _is_same(self, request: NewJob, existing: Job) -> bool:
        """Whether a job was submitted as ``request`` states it.

        A job that was submitted without a name has no hash. It is repeated under the id that an
        unavailable result of its batch gave.
        """
        if existing.body_hash is not None:
            return existing.body_hash == request.body_hash
        sent = request.handler, request.tenant, request.tags, request.payload_text
        payload = self.drafts.contents.read(existing.id, existing.payload)
        kept = existing.handler, existing.tenant, dict(existing.tags), payload
        is_submitted = existing.schedule_id is None and existing.parent is None
        return is_submitted and sent == kept

    def _job_id(self, request: NewJob, now: datetime) -> str:
        if request.id is not None:
            return request.id
        if request.idempotency_key is not None:
            return self.ids.of_key(request.tenant, request.idempotency_key)
        return self.randomness.job_id(now)


def _rounds(
    requests: Sequence[NewJob | HourhandError],
) -> Iterator[list[NewJob | HourhandError]]:
    """Yield ``requests`` in order, as many at a time as are stored together.

    A name that comes twice begins a new round: the second must find what the first one made.
    """
    together: list[NewJob | HourhandError] = []
    named: set[tuple[str | None, ...]] = set()
    for request in requests:
        name = None if isinstance(request, HourhandError) else _name_of(request)
        if len(together) == PUT_TOGETHER or name in named:
            yield together
            together, named = [], set()
        together.append(request)
        if name is not None:
            named.add(name)
    yield together


def _name_of(request: NewJob) -> tuple[str | None, ...] | None:
    """Return the name that the caller gave the job: its id, or its tenant and idempotency key."""
    if request.id is not None:
        return (request.id,)
    if request.idempotency_key is not None:
        return request.tenant, request.idempotency_key
    return None
