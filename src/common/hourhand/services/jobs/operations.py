"""The operations on one job: cancel, change, run now, redrive, discard. For many see ``bulk``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from hourhand.domain.errors import Compensated, NotFound, WrongState, changed_too_often
from hourhand.domain.ids import is_json
from hourhand.domain.jobs.job import NOT_STARTED, REDRIVABLE, Content, EventKind, Job, JobStatus
from hourhand.domain.jobs.submission import JobChange
from hourhand.domain.jobs.transitions import (
    Transition,
    cancel_waiting,
    change,
    debounce,
    discard,
    keep_after_end,
    redrive,
    request_cancel,
)
from hourhand.domain.limits.job_limits import keys_after_change, require_costs
from hourhand.domain.ticks.buckets import Entry
from hourhand.domain.ticks.timings import Timings
from hourhand.ports.clock import Clock
from hourhand.ports.handler_directory import HandlerDirectory
from hourhand.ports.job_store import Applied, JobStore, WriteResult
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.due import AT_ONCE, DueJobs
from hourhand.services.jobs.new_job import (
    PayloadCheck,
    accept_any,
    key_fields,
    named_limits,
    require_expiry_after,
    resolve_run_at,
)
from hourhand.services.jobs.payload_store import PayloadStore, payload_kept_until
from hourhand.services.jobs.recovery import RecoveryService
from hourhand.services.jobs.unique_jobs import UniqueRecords
from hourhand.services.optional import reason_of

MAX_LOST_RACES = 10
"""How often a job may change between the read and the write before the request fails."""


@dataclass(frozen=True, slots=True)
class OperationsService:
    """Changes jobs on request. After a lost race it decides again from the job as it stands."""

    jobs: JobStore
    contents: PayloadStore
    due: DueJobs
    recovery: RecoveryService
    clock: Clock
    timings: Timings
    telemetry: Telemetry
    handlers: HandlerDirectory
    unique: UniqueRecords
    check_payload: PayloadCheck = accept_any

    def cancel(self, job_id: str, *, actor: str, reason: str = "") -> Job:
        """Cancel a waiting job at once; ask a running one to stop.

        Cancelling again is no error while the job is CANCELLED or asked already. Raises
        `NotFound`, `WrongState` for a job that ended otherwise, `Unavailable`.
        """
        job = self._require(job_id)
        for _ in range(MAX_LOST_RACES):
            if job.status is JobStatus.CANCELLED:
                return job
            if job.status.is_final:
                raise WrongState(f"Job {job_id} is {job.status}; it cannot be cancelled any more.")
            if job.status is JobStatus.RUNNING and job.cancel_requested_at is not None:
                return job
            cancelled, job = self._try_cancel(job, actor, reason)
            if cancelled:
                return job
        raise changed_too_often(f"Job {job_id}")

    def change(self, job_id: str, asked: JobChange, *, actor: str) -> Job:
        """Change time, priority, payload or expiry of a job that is not running.

        Raises `NotFound`, `WrongState`, `InvalidInput`, `TooLarge`, `Unavailable`.
        """
        job = self._require(job_id)
        for _ in range(MAX_LOST_RACES):
            _require_waiting(job, "changed")
            _require_same_payload(job, asked)
            now = self.clock.now()
            run_at = _new_run_at(asked, now)
            sets = self._changed_fields(job, asked, run_at, now)
            build, replaced = partial(change, sets=sets), job.payload
            if run_at is None:
                result = self.due.move_in_place(job, build, actor)
            else:
                # Before the move, so that the record of a unique key outlives its job.
                self.unique.renew(job, run_at)
                result = self.due.move(job, run_at, build, actor)
            changed, job = _judge(job, result)
            if changed:
                self._settle_objects(job, replaced)
                return job
        raise changed_too_often(f"Job {job_id}")

    def debounce(self, job_id: str, asked: JobChange, *, actor: str) -> Job:
        """Let a debounced submission replace payload and time of the job of its key.

        The job keeps the keys of limits that it has. A payload in the bucket makes a `change`: what
        follows the end of a job depends on it. Raises as `change`, and `WrongState` for a job that
        has begun.
        """
        job = self._require(job_id)
        for _ in range(MAX_LOST_RACES):
            _require_waiting(job, "debounced")
            if job.token > 0:
                raise WrongState(f"Job {job_id} has begun; it cannot be debounced any more.")
            now = self.clock.now()
            sets = self._changed_fields(job, asked, _new_run_at(asked, now), now)
            sets.pop("limit_keys", None)
            # A person may have moved the job to a later time, at which its message comes.
            is_earlier = job.due_at is not None and sets["run_at"] < job.due_at
            if is_earlier and job.waits_for is None:
                return self.change(job_id, asked, actor=actor)
            if job.payload.key is not None or sets.get("payload", job.payload).key is not None:
                return self.change(job_id, asked, actor=actor)
            debounced, job = self._try(job, partial(debounce, sets=sets))
            if debounced:
                return job
        raise changed_too_often(f"Job {job_id}")

    def run_now(self, job_id: str, *, actor: str) -> Job:
        """Make a waiting job due now. Raises `NotFound`, `WrongState`, `Unavailable`."""
        job = self._require(job_id)
        for _ in range(MAX_LOST_RACES):
            _require_waiting(job, "run now")
            changed, job = _judge(job, self.due.move(job, AT_ONCE, _run_now, actor))
            if changed:
                return job
        raise changed_too_often(f"Job {job_id}")

    def redrive(
        self,
        job_id: str,
        *,
        actor: str,
        reason: str = "",
        sets: Mapping[str, Any] | None = None,
        reruns: Job | None = None,
    ) -> Job:
        """Redrive a DEAD, EXPIRED or CANCELLED job: it runs again, with all its attempts.

        ``sets`` are new values of other fields. ``reruns``: a durable run as it was when these were
        chosen; it may have succeeded, and must not have changed. Raises `NotFound`, `WrongState`,
        `Compensated`, `UniqueConflict` for a unique job that a newer one of its key has superseded,
        and `Unavailable`.
        """
        job = self._require(job_id)
        for _ in range(MAX_LOST_RACES):
            if reruns is not None:
                _require_same_end(job, reruns, is_fresh="segment" in (sets or {}))
            elif job.compensated_round is not None:
                raise Compensated(
                    f"The steps of run {job_id} were reversed, so their results do not hold. "
                    "Redrive it with fresh: true."
                )
            elif job.status not in REDRIVABLE:
                raise WrongState(
                    f"Job {job_id} is {job.status}; only DEAD, EXPIRED and CANCELLED jobs can be "
                    "redriven."
                )
            if job.superseded_at is not None:
                raise self.unique.conflict_of(job)
            self._require_payload_is_json(job)
            if job.due_at is not None:
                # A dead letter is still owed for the round that ended: it goes out first.
                self.recovery.finish_job(job)
            self.contents.mark_live(job)
            self.recovery.renew_payload(job)
            build = partial(redrive, reason=reason, sets=sets, is_rerun=reruns is not None)
            moved, job = _judge(job, self.due.move(job, AT_ONCE, build, actor))
            if moved:
                self.telemetry.count("jobs_redriven")
                self._keep_objects(job)
                return job
            # They were marked live for a redrive that was refused.
            self.contents.keep_live(job)
        raise changed_too_often(f"Job {job_id}")

    def discard(self, job_id: str, *, actor: str, note: str = "", reason: str = "") -> Job:
        """Acknowledge a DEAD job: it stays DEAD, and counts as unresolved no longer.

        Discarding again is no error and changes nothing. The history has the ``note``, else the
        ``reason``. What the job's end still owes, such as its dead letter, the sweep settles as
        ever. Raises `NotFound`, `WrongState`, `Unavailable`.
        """
        job = self._require(job_id)
        for _ in range(MAX_LOST_RACES):
            if job.status is not JobStatus.DEAD:
                raise WrongState(f"Job {job_id} is {job.status}; only DEAD jobs can be discarded.")
            if job.discarded_at is not None:
                return job
            build = partial(
                discard, now=self.clock.now(), actor=actor, note=note, reason=note or reason
            )
            discarded, job = self._try(job, build)
            if discarded:
                self.telemetry.count("jobs_discarded")
                return job
        raise changed_too_often(f"Job {job_id}")

    def _require_payload_is_json(self, job: Job) -> None:
        """Refuse a job that no worker can run, where that costs at most one read.

        What lies in the bucket is left to the worker: bulk redrives must not read megabytes.
        """
        if job.payload.key is not None:
            return
        text = self.contents.read(job.id, job.payload)
        if text is not None and not is_json(text):
            raise WrongState(
                f"The stored payload of job {job.id} is not JSON, so the job cannot run. Submit "
                "the job again with its payload."
            )

    def _try_cancel(self, job: Job, actor: str, reason: str) -> tuple[bool, Job]:
        if job.status is JobStatus.RUNNING:
            now = self.clock.now()
            return self._try(
                job,
                lambda current: request_cancel(current, now=now, actor=actor, reason=reason),
            )
        build = partial(cancel_waiting, reason=reason)
        cancelled, job = _judge(job, self.due.move(job, AT_ONCE, build, actor))
        if cancelled:
            self.recovery.settle_end(job)
        return cancelled, job

    def _try(self, job: Job, build: Callable[[Job], Transition]) -> tuple[bool, Job]:
        return _judge(job, self.due.make(job, build))

    def _require(self, job_id: str) -> Job:
        job = self.jobs.get(job_id)
        if job is None:
            raise NotFound(f"There is no job {job_id}.")
        return job

    def _changed_fields(
        self, job: Job, asked: JobChange, run_at: datetime | None, now: datetime
    ) -> dict[str, Any]:
        sets: dict[str, Any] = {} if run_at is None else {"run_at": run_at}
        expires_at = asked.expires_at if asked.changes_expiry else job.expires_at
        require_expiry_after(expires_at, run_at or job.run_at, now)
        if asked.changes_expiry:
            sets["expires_at"] = expires_at
        if asked.body_hash is not None:
            sets["body_hash"] = asked.body_hash
        if asked.priority is not None:
            sets["priority"] = sets["queue"] = asked.priority
        # A job that waits for another attempt is due later than its run_at.
        runs_at = max(run_at or job.due_at or job.run_at, now)
        if asked.payload_text is not None:
            self.check_payload(job.handler, asked.payload_text)
            kept_until = payload_kept_until(runs_at, job, self.timings)
            payload = self.contents.keep_payload(job.id, asked.payload_text, kept_until)
            sets["payload"] = payload
            sets["payload_kept_until"] = kept_until if payload.item is not None else None
            sets |= self._changed_keys(job, asked.payload_text)
        elif renewed_until := self.contents.renew_payload(job, runs_at, self.timings):
            sets["payload_kept_until"] = renewed_until
        return sets

    def _changed_keys(self, job: Job, payload_text: str) -> dict[str, Any]:
        """Return the keys of the job's limits, if a new payload changes them."""
        if self.handlers.find(job.handler) is None:
            return {}
        limits = named_limits(self.handlers, job.handler, job.limits)
        fields = key_fields(job.tenant, job.tags, payload_text)
        require_costs(limits, fields)
        keys = keys_after_change(limits, fields, job.limit_keys)
        return {} if keys == job.limit_keys else {"limit_keys": keys}

    def _keep_objects(self, redriven: Job) -> None:
        """Keep the objects of a redriven job that were marked to expire at its last end.

        The redrive holds, whatever fails here: they were marked live before it, too.
        """
        try:
            self.contents.keep_live(redriven)
        except Exception as error:  # noqa: BLE001 - the redrive stands, whatever this was
            self.telemetry.warning(
                "The objects of a redriven job could not be marked. They may expire before the "
                "job runs.",
                job_id=redriven.id,
                reason=reason_of(error),
            )

    def _settle_objects(self, job: Job, replaced: Content) -> None:
        """Let the object expire that a change of payload left behind.

        It is not undone by a failure here: what is left then costs its storage, and no more.
        """
        if replaced.key == job.payload.key:
            return
        try:
            kept_until = self.clock.now() + keep_after_end(job)
            self.contents.settle_replaced(job.id, replaced.key, kept_until)
        except Exception as error:  # noqa: BLE001 - the change stands, whatever this was
            self.telemetry.warning(
                "A replaced payload could not be marked. Its object stays in the bucket.",
                job_id=job.id,
                reason=reason_of(error),
            )


def _new_run_at(asked: JobChange, now: datetime) -> datetime | None:
    if asked.run_at is None and asked.delay_seconds is None:
        return None
    return resolve_run_at(asked.run_at, asked.delay_seconds, now)


def _require_waiting(job: Job, verb: str) -> None:
    if job.status not in NOT_STARTED:
        raise WrongState(f"Job {job.id} is {job.status}; only a job not yet running can be {verb}.")


def _require_same_payload(job: Job, asked: JobChange) -> None:
    """Refuse another payload of a durable run that began: its records follow from its payload."""
    if job.is_durable_run and asked.payload_text is not None:
        raise WrongState(
            f"Run {job.id} has begun, so its payload cannot be changed. Send it a signal, or "
            "cancel it and submit a new one."
        )


def _judge(job: Job, result: WriteResult) -> tuple[bool, Job]:
    """Return whether a write was made, and the job as it stands. Raises `NotFound`."""
    if isinstance(result, Applied):
        return True, result.job
    if result.current is None:
        raise NotFound(f"There is no job {job.id} any more.")
    return False, result.current


def _require_same_end(job: Job, seen: Job, *, is_fresh: bool) -> None:
    """Refuse a run that changed. One that begins a new segment leaves its compensation behind."""
    is_same = job.generation == seen.generation
    is_same = is_same and (is_fresh or job.compensated_round == seen.compensated_round)
    if not job.status.is_final or not is_same:
        raise WrongState(f"Job {job.id} changed during the request; it is {job.status} now.")


def _run_now(job: Job, *, now: datetime, actor: str, entry: Entry, sends_now: bool) -> Transition:
    return change(
        job,
        now=now,
        actor=actor,
        sets={"run_at": now},
        entry=entry,
        sends_now=sends_now,
        kind=EventKind.RUN_NOW,
    )
