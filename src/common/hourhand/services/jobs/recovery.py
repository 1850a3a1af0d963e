"""Recovers what was left half done: lost attempts, expired jobs, dead letters not yet sent.

Every process may call every method at any time: the condition of its write decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import assert_never

from hourhand.domain.jobs.history import attempts_of, last_error
from hourhand.domain.jobs.job import Content, ErrorInfo, Job
from hourhand.domain.jobs.outbox import OutboxTask, outbox_tasks
from hourhand.domain.jobs.run_times import records_end
from hourhand.domain.jobs.transitions import (
    cancel_waiting,
    expire,
    finish,
    give_up,
    keep_after_end,
    keep_payload,
    recover,
)
from hourhand.domain.ticks.timings import Timings
from hourhand.ports.clock import Clock
from hourhand.ports.job_store import Applied, JobDetails, JobStore, Refused
from hourhand.ports.queues import Queues
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.dead_letters import can_hold, dead_letter_body
from hourhand.services.jobs.due import AT_ONCE, DueJobs
from hourhand.services.jobs.payload_store import PayloadStore
from hourhand.services.jobs.waiter_records import WaiterRecords

BECAME_DEAD = "A job became DEAD. It runs again only if it is redriven."
"""Logged once for each dead letter, so seldom twice. Alarms of handlers and tags count it."""


@dataclass(frozen=True, slots=True)
class RecoveryService:
    """Repairs jobs. The sweep calls it, and workers that meet such a job first.

    ``pause_schedule`` pauses the schedule of a DEAD job that asks for it, and may be called again
    for the same round. Workers may not write schedules and have none: they leave such a job to the
    sweep.
    ``release_slots`` releases the slots of a job that ended, and raises `Unavailable`.
    ``start_compensation`` puts the job that reverses the steps of a run, if it has such steps, says
    whether it has, and raises the same. ``cancel_children`` cancels the children of a run that
    ended, and says whether none is left; ``notify_parent`` records the end of a child for its run,
    with the result as JSON if that is known. Both raise the same.
    """

    jobs: JobStore
    contents: PayloadStore
    due: DueJobs
    queues: Queues
    clock: Clock
    timings: Timings
    telemetry: Telemetry
    waiters: WaiterRecords
    release_slots: Callable[[Job, Job], None]
    cancel_children: Callable[[Job], bool]
    notify_parent: Callable[[Job, str | None], None]
    pause_schedule: Callable[[Job], None] | None = None
    start_compensation: Callable[[Job], bool] | None = None

    def recover_lost(self, job: Job, actor: str) -> bool:
        """End the attempt of a RUNNING job whose lease expired; whether it was ours to end."""
        build = partial(recover, margin=self.timings.clock_margin)
        result = self.due.move(job, AT_ONCE, build, actor)
        if not isinstance(result, Applied):
            return False
        self.telemetry.warning(
            "An attempt was lost: its worker's lease expired.",
            job_id=job.id,
            attempt=job.attempt,
            worker=job.lease_owner,
            status=result.job.status,
        )
        self.telemetry.count("attempts_lost")
        self.settle_end(result.job)
        return True

    def expire_job(self, job: Job, actor: str) -> bool:
        """End a job whose ``expires_at`` passed before it started; whether it was ours to end."""
        now = self.clock.now()
        result = self.due.make(job, lambda current: expire(current, now=now, actor=actor))
        if not isinstance(result, Applied):
            return False
        self.telemetry.count("jobs_expired")
        self.settle_end(result.job)
        return True

    def give_up(self, job: Job, actor: str, error: ErrorInfo) -> None:
        """End a parked job that can never start."""
        now, reason = self.clock.now(), f"{error.type}: {error.message}"
        build = partial(give_up, now=now, actor=actor, reason=reason)
        result = self.due.make(job, build)
        if isinstance(result, Applied):
            self.settle_end(result.job)

    def cancel_job(self, job: Job, actor: str, reason: str) -> bool:
        """End a job that waits for its start; whether it was ours to end."""
        result = self.due.move(job, AT_ONCE, partial(cancel_waiting, reason=reason), actor)
        if not isinstance(result, Applied):
            return False
        self.settle_end(result.job)
        return True

    def settle_end(self, job: Job) -> None:
        """Do what follows the end of ``job``: settle its tasks.

        Does nothing for a job that is not final: it went on since.
        """
        if not job.status.is_final:
            # Another wrote the same end in the same millisecond, under our name, and was first.
            return
        self.waiters.forget(job)
        if job.due_at is not None:
            self.finish_job(job)

    def finish_job(self, job: Job) -> bool:
        """Settle the outbox tasks of a final job, then take it out of the index.

        The entry leaves only after all of them: a crash in between repeats what was settled.
        Returns whether the job left the index.
        """
        details = self.jobs.get_details(job.id)
        if details is None or details.job.generation != job.generation:
            return False
        tasks = outbox_tasks(job, job.status, job.result)
        if not all(self._settle(task, details) for task in tasks):
            return False
        # A run whose steps are reversed is kept as long as its journal, which that replays.
        is_reversed = OutboxTask.START_COMPENSATION in tasks and self._start_compensation(job)
        kept_until = records_end(job) if is_reversed else None
        result = self.jobs.transition(finish(job, kept_until=kept_until))
        if isinstance(result, Refused) and result.current and not result.current.status.is_final:
            # Redriven meanwhile: what it needs must not expire.
            self.contents.keep_live(result.current)
        return isinstance(result, Applied)

    def _start_compensation(self, job: Job) -> bool:
        return self.start_compensation is not None and self.start_compensation(job)

    def _settle(self, task: OutboxTask, details: JobDetails) -> bool:
        """Settle one task; return false if only another component may."""
        job = details.job
        match task:
            case OutboxTask.PAUSE_SCHEDULE:
                if self.pause_schedule is None:
                    return False
                self.pause_schedule(job)
            case OutboxTask.SEND_DEAD_LETTER:
                self._send_dead_letter(details)
            case OutboxTask.RELEASE_SLOTS:
                # As it will be: the schedule is paused that was to be paused first.
                self.release_slots(job, replace(job, due_at=None))
            case OutboxTask.START_COMPENSATION:
                # Left to `finish_job`: what comes of it decides how long the run is kept.
                return True
            case OutboxTask.CANCEL_CHILDREN:
                return self.cancel_children(job)
            case OutboxTask.NOTIFY_PARENT:
                result = job.result or Content(size_bytes=4, text="null")
                self.notify_parent(job, result.text or details.texts.get(result.item or ""))
            case OutboxTask.MARK_OBJECTS:
                keep_until = job.keep_until or self.clock.now() + keep_after_end(job)
                self.contents.mark_finished(job, keep_until)
            case _:
                assert_never(task)
        return True

    def renew_payload(self, job: Job) -> bool:
        """Keep the payload beside a job that is still to run, if it comes near its end.

        Returns whether it was kept longer and the job agreed.
        """
        runs_at = max(self.clock.now(), job.due_at or job.run_at)
        until = self.contents.renew_payload(job, runs_at, self.timings)
        if until is None:
            return False
        return isinstance(self.jobs.transition(keep_payload(job, kept_until=until)), Applied)

    def _send_dead_letter(self, details: JobDetails) -> None:
        body = dead_letter_body(details, self._payload_to_tell(details))
        self.queues.send_dead_letter(body, tenant=details.job.tenant)
        self.telemetry.count("dead_letters")
        job = details.job
        error = last_error(attempts_of(job.history, details.failures))
        self.telemetry.warning(
            BECAME_DEAD,
            job_id=job.id,
            handler=job.handler,
            tags=dict(job.tags),
            error_type=None if error is None else error.type,
        )

    def _payload_to_tell(self, details: JobDetails) -> str | None:
        payload = details.job.payload
        if not can_hold(payload):
            return None
        if payload.item is not None:
            return details.texts.get(payload.item)
        return self.contents.read(details.job.id, payload)
