"""One attempt under way: its pulse, and the commit of its outcome under its fencing token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum, auto
from functools import partial
from typing import Any

from hourhand.domain.errors import Unavailable, WrittenByNewer
from hourhand.domain.jobs import transitions
from hourhand.domain.jobs.job import Attempt, Content, ErrorInfo, Job, Outcome, Progress
from hourhand.domain.jobs.run_times import LONGEST_WAIT
from hourhand.domain.jobs.waiting import Reserved, TakenStart, WaitsFor
from hourhand.domain.runs.answers import NOW, REPLAY_MISMATCH, RunEnds, RunLost
from hourhand.domain.ticks.timings import Timings
from hourhand.domain.times import ceil_seconds
from hourhand.ports.clock import Clock
from hourhand.ports.deployment import Deployment
from hourhand.ports.durable_run import OpenedRun, OpensRuns
from hourhand.ports.handler_runner import Finished
from hourhand.ports.job_store import Applied, JobStore, Refused, WriteResult
from hourhand.ports.queues import Delivery, Queues
from hourhand.ports.randomness import Randomness
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.aspects import LimitsOfJobs
from hourhand.services.jobs.due import AT_ONCE, DueJobs
from hourhand.services.jobs.keyed_execution import IdempotencyGuard
from hourhand.services.jobs.new_job import DerivedIds
from hourhand.services.jobs.payload_store import PayloadStore, payload_kept_until
from hourhand.services.jobs.recovery import RecoveryService
from hourhand.services.optional import log_newer

LEFT_TO_NEWER = timedelta(seconds=60)
"""How long a run is left to workers of a newer version, or of the deployment that replaced this."""

MAX_RESERVED_STARTS = 3
"""Start times that a handler may keep until its next attempt; each takes 30 bytes of the job."""

HAND_BACK_DELAY = timedelta(seconds=10)
"""Longer than a process may take to end: until then a handler that is stuck, or whose job was
handed back for its sake, may still run. The runtime ends the process in 8 s by a timer that no call
can hold up; two clocks may differ by less than the rest (ADR 22)."""


@dataclass(frozen=True, slots=True)
class AttemptTools:
    """The ports and services that every attempt works with.

    The ports that an attempt depends on retry their calls (`hourhand.services.retrying_ports`).
    ``heartbeats`` are written without retries, because the next one follows anyway. So is what
    ``recovery`` does after an end, because a tick does it otherwise.
    """

    jobs: JobStore
    heartbeats: JobStore
    contents: PayloadStore
    due: DueJobs
    recovery: RecoveryService
    keys: IdempotencyGuard
    queues: Queues
    clock: Clock
    randomness: Randomness
    timings: Timings
    telemetry: Telemetry
    ids: DerivedIds
    deployment: Deployment
    limits: LimitsOfJobs
    runs: OpensRuns


class Suspended(Enum):
    """Whether a run waits now."""

    DONE = auto()
    FLAGGED = auto()
    """Something completed meanwhile: the journal must be read again."""
    LOST = auto()


@dataclass(slots=True)
class RunningAttempt:
    """An attempt whose claim succeeded. It is the `Pulse` that the runner beats.

    ``job`` is the item as this attempt last saw it. Every commit names its fencing token, so
    whatever happened meanwhile, it applies only while the attempt owns the job.
    """

    tools: AttemptTools
    job: Job
    delivery: Delivery
    worker: str
    progress: Progress | None = field(default=None)
    lease_ends_at: float = field(init=False)
    opened: OpenedRun | None = field(default=None, init=False)
    _records_told: int = field(default=0, init=False)
    _cursor: str | None = field(default=None, init=False)
    _reserved: Reserved = field(init=False)

    def __post_init__(self) -> None:
        """Read how much of the lease is left, and which starts the handler has reserved."""
        self._reserved = {one.limit: one for one in self.job.reserved_starts}
        clock_read_at = self.tools.clock.monotonic()
        self.lease_ends_at = self._lease_end(clock_read_at, self.tools.clock.now())

    def is_fit_to_start(self) -> bool:
        """Whether the handler may start: where much of the lease is used up, renew it first."""
        began = self.job.started_at or self.tools.clock.now()
        if self.tools.clock.now() - began < self.tools.timings.heartbeat:
            return True
        return self.beat(None) != "lost"

    def beat(self, progress: Progress | None) -> str:
        """Extend lease and visibility; see the port `Pulse`."""
        clock_read_at = self.tools.clock.monotonic()
        now = self.tools.clock.now()
        self.progress = progress or self.progress
        # Where the time was set back, the lease stays as it is: no write may shorten it.
        lease_until = max(now + self.tools.timings.job_lease, self._lease_until(now))
        records = self.opened.new_records if self.opened is not None else 0
        try:
            result = self.tools.heartbeats.transition(
                transitions.heartbeat(
                    self.job,
                    lease_until=lease_until,
                    progress=progress,
                    attempt=self._attempt(),
                    **self._new_cursor(),
                )
            )
            if isinstance(result, Refused):
                return "lost"
            self.job = result.job
            self._records_told = records
            self.lease_ends_at = self._lease_end(clock_read_at, now)
            self.tools.queues.hide(self.delivery, ceil_seconds(self.tools.timings.visibility))
        except WrittenByNewer as newer:
            # A newer version migrated the item meanwhile: a commit of this version is refused.
            log_newer(self.tools.telemetry, newer)
            return "lost"
        except Unavailable as error:
            self.tools.telemetry.warning(
                "A heartbeat failed. The worker sends the next one after its interval.",
                job_id=self.job.id,
                reason=error.detail,
            )
            # The calls may have taken longer than the rest of the lease.
            now = self.tools.clock.now()
            return "alive" if now < self._lease_until(now) else "lost"
        return "alive" if self.job.cancel_requested_at is None else "cancelled"

    def take_start(
        self, name: str, cost: float, longest: timedelta, reserved: Reserved | None = None
    ) -> TakenStart:
        """Take a start of a rate limit; see the port `Pulse`."""
        own = self._reserved if reserved is None else reserved
        return self.tools.limits.take(self.job, name, cost, longest, own)

    def keep_cursor(self, text: str) -> None:
        """Note where the next attempt continues; see the port `Pulse`."""
        self._cursor = text

    def _new_cursor(self) -> dict[str, Any]:
        """Return the cursor that the handler has set since the item last had one."""
        cursor = self._cursor
        return {} if cursor is None or cursor == self.job.cursor else {"cursor": cursor}

    def finish(self, finished: Finished, payload_text: str) -> bool:
        """Commit how the handler's run ended; whether it was still ours to commit."""
        # The progress after the last heartbeat, or all progress of a short handler.
        self.progress = finished.progress or self.progress
        match finished.outcome:
            case Outcome.SUCCEEDED:
                return self._succeed(finished.result_text, payload_text)
            case Outcome.SUSPENDED:
                return self._suspend_or_go_on(finished)
            case Outcome.RESTARTED:
                return self._restart(finished)
            case Outcome.CANCELLED:
                return self._end_cancelled("the handler stopped", finished)
            case Outcome.SNOOZED:
                told = "snoozed" if finished.error is None else finished.error.type
                delay = finished.retry_after or timedelta()
                return self._again(finished, delay, finished.reason or told)
            case _:
                return self._fail(finished)

    def _leave_to_newer_code(self, finished: Finished) -> bool | None:
        """Hand a run back that does not fit this code, if another deployment replaced the code.

        Workers of that deployment may have written its journal: they judge whether it can go on.
        Returns whether the run was ours; ``None``: it ends here.
        """
        error = finished.error
        if error is None or error.type != REPLAY_MISMATCH or not self.job.is_durable_run:
            return None
        if self.tools.deployment.is_live() is not False:
            return None
        self.tools.telemetry.warning(
            "The code of a replaced deployment does not fit the journal of a run. A worker of the "
            "deployment that replaced it continues the run.",
            job_id=self.job.id,
            reason=error.message,
        )
        snoozed = replace(finished, outcome=Outcome.SNOOZED)
        return self._again(snoozed, LEFT_TO_NEWER, "does not fit replaced code")

    def replay(self, result: Content | None) -> bool:
        """Commit the result that an earlier attempt under the same key recorded."""
        return self._complete(result or Content(size_bytes=4, text="null"))

    def hand_back(self, reason: str) -> bool:
        """Return the job to its queue while its handler runs; whether it was ours to return."""
        build = partial(transitions.hand_back, reason=reason, sets=self._new_cursor())
        result = self.tools.due.move(
            self.job, HAND_BACK_DELAY, build, self.worker, follows_up=False
        )
        return isinstance(result, Applied)

    def open_run(self) -> OpenedRun | Finished:
        """Open the journal of a durable run; see the port `Pulse`."""
        try:
            self.opened = opened = self.tools.runs.open(self.job, self._keep_lease)
        except WrittenByNewer as newer:
            log_newer(self.tools.telemetry, newer)
            return Finished(outcome=Outcome.SNOOZED, retry_after=LEFT_TO_NEWER)
        except RunEnds as ends:
            return Finished(outcome=Outcome.FAILED, error=ends.error)
        except RunLost:
            return Finished(outcome=Outcome.SNOOZED, retry_after=timedelta(seconds=1))
        self._records_told = 0
        if self.job.attempt > 1 and opened.newest_token > self.job.token - self.job.attempt:
            # An invocation that was lost made progress: it does not count among those without.
            self.beat(None)
        return opened

    def _keep_lease(self) -> None:
        """Renew the lease, where much of it is used up before the handler runs and beats itself."""
        left = self.lease_ends_at - self.tools.clock.monotonic()
        used = self.tools.timings.job_lease.total_seconds() - left
        if used >= self.tools.timings.heartbeat.total_seconds() and self.beat(None) == "lost":
            raise RunLost

    def _attempt(self) -> int | None:
        """Return the attempt that a heartbeat writes: attempts count those without progress."""
        if self.opened is None:
            return None
        if self.opened.new_records > self._records_told:
            return 0
        has_counted = self.job.attempt > 1
        was_lost_with_progress = self.opened.newest_token > self.job.token - self.job.attempt
        return 1 if has_counted and was_lost_with_progress else None

    def _lease_until(self, now: datetime) -> datetime:
        return now if self.job.lease is None else self.job.lease.until

    def _lease_end(self, clock_read_at: float, now: datetime) -> float:
        """Return the end of the job's lease by the monotonic clock, which was read before ``now``.

        Never longer than a lease: the time may have been set back since it was written.
        """
        left = self._lease_until(now) - now
        return clock_read_at + min(left, self.tools.timings.job_lease).total_seconds()

    def _succeed(self, result_text: str, payload_text: str) -> bool:
        now = self.tools.clock.now()
        keep_until = now + 2 * transitions.keep_after_end(self.job)
        result = self.tools.contents.keep_result(self.job.id, result_text, keep_until)
        if not self.tools.keys.finish(self.job, payload_text, result):
            return False
        return self._complete(result)

    def _complete(self, result: Content) -> bool:
        now = self.tools.clock.now()
        committed = self._commit(
            lambda job: transitions.complete(
                job, now=now, actor=self.worker, result=result, progress=self.progress
            )
        )
        if isinstance(committed, Refused):
            return False
        self.tools.recovery.settle_end(committed.job)
        return True

    def _end_cancelled(self, reason: str, finished: Finished) -> bool:
        now = self.tools.clock.now()
        committed = self._commit(
            lambda job: transitions.end_cancelled(job, now=now, actor=self.worker, reason=reason),
            follows_up=not finished.still_runs,
        )
        if isinstance(committed, Refused):
            return False
        self._settle_end(committed.job, finished)
        return True

    def _fail(self, finished: Finished) -> bool:
        left = self._leave_to_newer_code(finished)
        if left is not None:
            return left
        job, tools = self.job, self.tools
        error = finished.error or ErrorInfo(type="Error", message="The attempt failed.")
        now = tools.clock.now()
        keep_until = payload_kept_until(now, job, tools.timings)
        failure = Attempt(
            number=max(job.attempt, 1),
            token=job.token,
            worker=self.worker,
            started_at=job.started_at,
            finished_at=now,
            outcome=finished.outcome,
            error=error,
        )
        # Named by the token, so that a late owner's error never stands for the real one's.
        tools.jobs.put_failure(job.id, failure, keep_until)
        reason = f"{error.type}: {error.message}"
        if error.retryable and job.attempt < job.retry.max_attempts:
            delay = finished.retry_after
            if delay is None:
                delay = job.retry.delay(max(job.attempt, 1), tools.randomness.fraction())
            if finished.still_runs:
                delay = max(delay, HAND_BACK_DELAY)
            return self._again(finished, delay, reason)
        return self._die(finished, reason)

    def _again(self, finished: Finished, delay: timedelta, reason: str) -> bool:
        tools, job = self.tools, self.job
        runs_at = max(tools.clock.now() + delay, job.due_at or job.run_at)
        # The sweep, which renews payloads, may not read this job before the wait is over.
        kept_until = tools.contents.renew_payload(job, runs_at, tools.timings)
        sets = self._new_cursor()
        if kept_until:
            sets["payload_kept_until"] = kept_until
        reserved = tuple(self._reserved.values())[-MAX_RESERVED_STARTS:]
        if reserved != job.reserved_starts:
            sets["reserved_starts"] = reserved
        build = partial(transitions.retry_later, outcome=finished.outcome, reason=reason, sets=sets)
        result = tools.due.move(job, delay, build, self.worker, follows_up=not finished.still_runs)
        if isinstance(result, Refused):
            return self._stopped_instead(result, reason, finished)
        tools.telemetry.count("attempts_to_be_retried")
        return True

    def _die(self, finished: Finished, reason: str) -> bool:
        now = self.tools.clock.now()
        committed = self._commit(
            lambda job: transitions.die(
                job,
                now=now,
                actor=self.worker,
                outcome=finished.outcome,
                reason=reason,
                sets=self._new_cursor(),
            ),
            follows_up=not finished.still_runs,
        )
        if isinstance(committed, Refused):
            return self._stopped_instead(committed, reason, finished)
        self.tools.telemetry.count("jobs_dead")
        self._settle_end(committed.job, finished)
        return True

    def suspend(self, finished: Finished) -> Suspended:
        """Let the run wait for what ``finished`` says, unless it has the wake flag."""
        tools, job = self.tools, self.job
        suspension = finished.suspension or NOW
        now = tools.clock.now()
        waits_for, due_at, reason = None, now, "no time left"
        if suspension.kind is not None:
            waits_for = WaitsFor(suspension.kind, name=suspension.name)
            due_at = _look_at(job, suspension.until, now)
            reason = f"{suspension.kind} {suspension.name}".strip()
        build = partial(
            transitions.suspend,
            waits_for=waits_for,
            reason=reason,
            # The sweep, which renews payloads, may not read this job before the wait is over.
            payload_kept_until=tools.contents.renew_payload(job, due_at, tools.timings),
        )
        when = HAND_BACK_DELAY if finished.still_runs else due_at
        result = tools.due.move(job, when, build, self.worker, follows_up=not finished.still_runs)
        if isinstance(result, Applied):
            tools.telemetry.count("runs_suspended")
            return Suspended.DONE
        if self._stopped_instead(result, "cancelled before it waited", finished):
            return Suspended.DONE
        current = result.current
        if waits_for is None or current is None or current.token != job.token:
            return Suspended.LOST
        return Suspended.FLAGGED if current.wake_flag else Suspended.LOST

    def _suspend_or_go_on(self, finished: Finished) -> bool:
        """Let the run wait; one with the wake flag goes on in another invocation at once.

        Returns whether the run was ours.
        """
        suspended = self.suspend(finished)
        if suspended is Suspended.FLAGGED:
            suspended = self.suspend(replace(finished, suspension=NOW))
        return suspended is Suspended.DONE

    def clear_wake_flag(self) -> bool:
        """Clear the flag before the journal is read again; whether the run is still ours."""
        result = self.tools.jobs.transition(transitions.clear_flag(self.job))
        if isinstance(result, Applied):
            self.job = result.job
        return isinstance(result, Applied)

    def _restart(self, finished: Finished) -> bool:
        """Let the run begin a new segment; whether it was ours."""
        tools, job = self.tools, self.job
        kept_until = payload_kept_until(tools.clock.now(), job, tools.timings)
        text = finished.payload_text or "null"
        payload = tools.contents.keep_payload(job.id, text, kept_until)
        build = partial(
            transitions.restart,
            payload=payload,
            payload_kept_until=kept_until if payload.item is not None else None,
        )
        result = tools.due.move(job, AT_ONCE, build, self.worker)
        if isinstance(result, Refused):
            return self._stopped_instead(result, "cancelled before it restarted", finished)
        if job.payload.key not in {None, payload.key}:
            tools.contents.settle_replaced(job.id, job.payload.key, kept_until)
        tools.telemetry.count("runs_restarted")
        return True

    def _settle_end(self, job: Job, finished: Finished) -> None:
        """See to what follows the end, unless the handler runs on: then a tick does.

        A job that waits for this one's place must not be called while its handler runs, and the
        process has better things to do than to send a dead letter: to end.
        """
        if not finished.still_runs:
            self.tools.recovery.settle_end(job)

    def _stopped_instead(self, refused: Refused, reason: str, finished: Finished) -> bool:
        """A failed attempt of a job that was asked to stop ends it; anything else is lost."""
        current = refused.current
        asked = current is not None and current.cancel_requested_at is not None
        return asked and self._end_cancelled(reason, finished)

    def _commit(
        self, build: Callable[[Job], transitions.Transition], *, follows_up: bool = True
    ) -> WriteResult:
        return self.tools.due.make(self.job, build, follows_up=follows_up)


def _look_at(job: Job, until: datetime | None, now: datetime) -> datetime:
    """Return when a run that waits is looked at: at its time, but by its deadline."""
    times = (until, job.run_deadline, now + LONGEST_WAIT)
    return max(now, min(time for time in times if time is not None))
