"""Working off a message: wait out its fraction, claim, run, commit.

A message is a hint that a job may be due. Whether anything runs is decided by the conditional
write of the claim; the message is deleted only when no component needs it any more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from hourhand.domain.errors import WrittenByNewer
from hourhand.domain.jobs.history import attempts_of, last_error
from hourhand.domain.jobs.job import ErrorInfo, Job, JobStatus, Lease, OnLost, Outcome
from hourhand.domain.jobs.transitions import Transition, claim, take_over
from hourhand.domain.limits.slot_shards import pack_shards
from hourhand.domain.runs.answers import RunEnds
from hourhand.domain.ticks.timings import SQS_MAX_VISIBILITY
from hourhand.domain.times import ceil_seconds, floor_seconds, rfc3339
from hourhand.ports.handler_directory import HandlerDirectory, run_timeout
from hourhand.ports.handler_runner import Finished, HandlerRunner
from hourhand.ports.job_store import Applied, Refused
from hourhand.ports.queues import Delivery
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.aspects import (
    Candidate,
    Deferred,
    LimitsOfJobs,
    ReadsResults,
    StartRule,
)
from hourhand.services.jobs.attempt import AttemptTools, RunningAttempt, Suspended
from hourhand.services.jobs.due import make_transition
from hourhand.services.jobs.keyed_execution import KeyCheck, KeyState
from hourhand.services.optional import log_newer

START_RESERVE_SECONDS = 20
"""What must be left of the function's time beyond a job's own limit for it to be claimed."""

END_RESERVE_SECONDS = 15
"""What of that must be left when its handler begins, to end it and to commit its outcome."""

MAX_CLAIM_ROUNDS = 3
"""Reads of a job that keeps changing; then its message returns to its queue for a while."""

MAX_REPLAYS_IN_PLACE = 20
"""How often a run whose wait ended before it could suspend goes on in the same invocation."""

LINGER_ABOVE = 100
LINGER_SECONDS = 0.25
"""A run with more live children than this waits so long in place before it suspends."""

MAX_WAITS = 5
"""Sleeps until a job's time; more than one only where a sleep ended early."""

RETRY_HIDE_SECONDS = 5
"""How long a message is hidden that cannot be judged, or not be worked off, as things are."""

LEFT_TO_NEWER_FOR = timedelta(seconds=15)
"""How long what a newer version wrote is left for the first time: a worker that knows it may run
soon. The wait grows by as much with each time."""

LONGEST_LEFT_TO_NEWER = timedelta(minutes=5)
"""No wait is longer. The thousand receives that a queue allows a message last three days so."""

NOT_BEGUN = Finished(outcome=Outcome.SNOOZED, retry_after=timedelta(seconds=1))
"""The end of a job that was claimed but not started: no attempt is used, and it runs again."""


class Disposition(StrEnum):
    """What becomes of the message."""

    DONE = "done"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class _Found:
    """What is kept for a job that was claimed."""

    payload_text: str
    check: KeyCheck
    last_error: ErrorInfo | None


@dataclass(slots=True)
class ExecutionService:
    """A worker. ``worker`` names this process in leases and histories.

    ``admission_check``: the rules that must all admit a job, in their order. ``releases``: the
    limits of jobs, asked without retries: a message whose slots stay held comes again.
    """

    tools: AttemptTools
    worker: str
    admission_check: tuple[StartRule, ...]
    releases: LimitsOfJobs
    handlers: HandlerDirectory
    results: ReadsResults
    _running: dict[str, RunningAttempt] = field(default_factory=dict, init=False)

    def handle(
        self,
        delivery: Delivery,
        runner: HandlerRunner,
        remaining_seconds: Callable[[], float],
    ) -> Disposition:
        """Work off one message to its end.

        `Disposition.DONE`: delete it. `Disposition.KEEP`: report it as failed; it is hidden for
        as long as it makes sense. Raises `Unavailable` where AWS did not answer: keep it, too.
        """
        message = delivery.message
        if remaining_seconds() < message.timeout_seconds + START_RESERVE_SECONDS:
            self._tell_no_time(message.job_id, message.timeout_seconds)
            return self._keep_for(delivery, timedelta(seconds=RETRY_HIDE_SECONDS))
        early = message.due_at - self.tools.clock.now()
        if early > self.tools.timings.early_wait:
            # Rounded down: the rest is waited out, and a job that is hidden too long is late.
            return self._keep_for(delivery, timedelta(seconds=floor_seconds(early)))
        self._hide(delivery, self.tools.timings.visibility)
        self._wait_until(message.due_at)
        try:
            claimed = self._admit_and_claim(delivery)
        except WrittenByNewer as newer:
            log_newer(self.tools.telemetry, newer)
            return self._keep_for(delivery, _time_left_to_newer(delivery.receive_count))
        if not isinstance(claimed, Job):
            return claimed
        attempt = RunningAttempt(self.tools, claimed, delivery, self.worker)
        self._running[claimed.id] = attempt
        try:
            is_ours = self._run(attempt, runner, remaining_seconds)
        finally:
            # A zombie must not strike out the attempt that took its job over in this process.
            if self._running.get(claimed.id) is attempt:
                del self._running[claimed.id]
        # The worker that took the job over may have had another message: then this one is its
        # recovery.
        return Disposition.DONE if is_ours else Disposition.KEEP

    def hand_back(self, job_id: str, reason: str) -> bool:
        """Return a job whose handler still runs here, at no attempt; whether it was possible.

        For the case that this process must end for another job's sake. A job with ``on_lost:
        dead`` must not be run again and keeps its lease until that expires.
        """
        attempt = self._running.get(job_id)
        if attempt is None or attempt.job.on_lost is OnLost.DEAD:
            return False
        return attempt.hand_back(reason)

    def admit(self, candidate: Candidate) -> Deferred | None:
        """Return what the first rule says that does not admit the job; ``None``: all admit it."""
        verdicts = (rule.admit(candidate) for rule in self.admission_check)
        return next((deferred for deferred in verdicts if deferred is not None), None)

    def _wait_until(self, due_at: datetime) -> None:
        """Wait out the fraction of a second that the message's delay was rounded down by."""
        for _ in range(MAX_WAITS):
            rest = due_at - self.tools.clock.now()
            if rest <= timedelta(0):
                return
            self.tools.clock.sleep(rest.total_seconds())

    def _admit_and_claim(self, delivery: Delivery) -> Job | Disposition:
        candidate = Candidate(delivery, self.tools.jobs)
        deferred = self.admit(candidate)
        if deferred is None:
            claimed = self._claim(delivery, pack_shards(candidate.slot_shards))
            if candidate.error is None or not isinstance(claimed, Job):
                return claimed
            return self._end_at_once(claimed, delivery, candidate.error)
        if deferred.keep_for is None:
            return Disposition.DONE
        return self._keep_for(delivery, deferred.keep_for)

    def _end_at_once(self, job: Job, delivery: Delivery, error: ErrorInfo) -> Disposition:
        """End a job DEAD that was claimed for nothing else."""
        attempt = RunningAttempt(self.tools, job, delivery, self.worker)
        finished = Finished(outcome=Outcome.FAILED, error=error)
        return Disposition.DONE if self._commit(attempt, finished, "") else Disposition.KEEP

    def _claim(self, delivery: Delivery, slot_shards: bytes | None) -> Job | Disposition:
        """Claim the job of a message, or say what becomes of the message."""
        tools = self.tools
        now = tools.clock.now()
        claim_id = tools.randomness.nonce()
        move = claim(
            delivery.message,
            now=now,
            wait=timedelta(0),
            lease=self._lease(claim_id, now),
            slot_shards=slot_shards,
            run_deadline=self._deadline(delivery.message.handler, now),
        )
        result = tools.jobs.transition(move)
        for _ in range(MAX_CLAIM_ROUNDS):
            if isinstance(result, Applied):
                break
            answer = self._judge_refusal(delivery, result.current, now)
            if isinstance(answer, Disposition):
                return answer
            now = tools.clock.now()
            result = make_transition(tools.jobs, answer, self._take_over(claim_id, now))
        if isinstance(result, Refused):
            return self._keep_for(delivery, timedelta(seconds=RETRY_HIDE_SECONDS))
        self._observe_start(delivery, result.job, now)
        return result.job

    def _deadline(self, handler: str, now: datetime) -> datetime | None:
        """Return when a run that begins now must end; ``None`` for a job that is no run."""
        timeout = run_timeout(self.handlers, handler)
        return None if timeout is None else now + timeout

    def _lease(self, claim_id: str, now: datetime) -> Lease:
        until = now + self.tools.timings.job_lease
        return Lease(owner=self.worker, until=until, claim_id=claim_id)

    def _take_over(self, claim_id: str, now: datetime) -> Callable[[Job], Transition]:
        def build(job: Job) -> Transition:
            return take_over(
                job,
                now=now,
                margin=self.tools.timings.clock_margin,
                lease=self._lease(claim_id, now),
            )

        return build

    def _judge_refusal(
        self, delivery: Delivery, job: Job | None, now: datetime
    ) -> Job | Disposition:
        """Say what follows from a claim refused at ``now``: the job to take over, or an end."""
        message, tools = delivery.message, self.tools
        if job is not None and job.status.is_final and job.due_at is not None:
            # The worker that ended it may have died before it settled what follows the end. Then
            # this is its message, which comes long before the sweep reads an older bucket again.
            tools.recovery.finish_job(job)
        if job is None or job.status.is_final or job.generation > message.generation:
            if job is not None:
                self.releases.release(replace(job, generation=message.generation), job)
            tools.telemetry.count("duplicates_dropped")
            return Disposition.DONE
        if job.status is JobStatus.RUNNING:
            return self._judge_running(delivery, job, now)
        if job.expires_at is not None and job.expires_at <= now:
            tools.recovery.expire_job(job, self.worker)
            return Disposition.DONE
        if job.due_at is not None and job.due_at > now:
            return self._keep_for(delivery, job.due_at - now)
        if job.debounces is not None and job.run_at > now:
            # A submission came after the admission check, which moves the job the next time.
            return self._keep_for(delivery, timedelta(seconds=RETRY_HIDE_SECONDS))
        tools.telemetry.warning(
            "A claim was refused for no reason that its job shows.",
            job_id=job.id,
        )
        return self._keep_for(delivery, timedelta(seconds=RETRY_HIDE_SECONDS))

    def _judge_running(self, delivery: Delivery, job: Job, now: datetime) -> Job | Disposition:
        margin = self.tools.timings.clock_margin
        lease_until = now if job.lease is None else job.lease.until
        if lease_until >= now - margin:
            # This message is the crash recovery of the attempt under way: it must stay.
            self.tools.telemetry.count("duplicates_hidden")
            self.releases.release_other(job, delivery.message.slot_shard)
            return self._keep_for(delivery, lease_until + margin - now)
        # A take-over passes no gate: the lost attempt of a job with a rate ends, and the next one
        # asks for its start.
        may_be_taken_over = (
            job.on_lost is OnLost.RETRY
            and job.attempt < job.retry.max_attempts
            and job.cancel_requested_at is None
            and (job.expires_at is None or job.expires_at > now)
            and not self.tools.limits.has_rate(job)
        )
        if may_be_taken_over:
            return job
        if not self.tools.recovery.recover_lost(job, self.worker):
            # Its owner may have renewed the lease: then this message is its crash recovery.
            return self._keep_for(delivery, timedelta(seconds=RETRY_HIDE_SECONDS))
        return Disposition.DONE

    def _run(
        self,
        attempt: RunningAttempt,
        runner: HandlerRunner,
        remaining_seconds: Callable[[], float],
    ) -> bool:
        """Run the handler and commit its outcome; whether the job was ours until then."""
        tools, job = self.tools, attempt.job
        try:
            found = self._look_up(job)
        except WrittenByNewer as newer:
            log_newer(tools.telemetry, newer)
            found = _left_to_newer(job)
        if isinstance(found, Finished):
            return self._commit(attempt, found, "")
        payload_text, check = found.payload_text, found.check
        if check.state is KeyState.REPLAY:
            tools.telemetry.count("idempotent_replays")
            return self._told_if_lost(attempt, attempt.replay(check.result))
        if check.state is not KeyState.RUN:
            return self._commit(attempt, _key_refused(check.state), payload_text)
        if not attempt.is_fit_to_start():
            return self._told_if_lost(attempt, committed=False)
        if not can_end_in_time(job, remaining_seconds()):
            self._tell_no_time(job.id, job.timeout_seconds)
            return self._commit(attempt, NOT_BEGUN, payload_text)

        def run() -> Finished:
            return runner.run(attempt.job, payload_text, found.last_error, attempt)

        ended = self._until_it_waits(attempt, run, remaining_seconds)
        if isinstance(ended, bool):
            return self._told_if_lost(attempt, ended)
        return self._commit(attempt, ended, payload_text)

    def _until_it_waits(
        self,
        attempt: RunningAttempt,
        run: Callable[[], Finished],
        remaining_seconds: Callable[[], float],
    ) -> Finished | bool:
        """Run the handler; a durable run again, if what it waits for completed meanwhile.

        Returns its end to be committed, or of a run that waits now whether it was ours.
        """
        finished = run()
        for _ in range(MAX_REPLAYS_IN_PLACE):
            if finished.outcome is not Outcome.SUSPENDED or finished.still_runs:
                break
            if finished.live_children > LINGER_ABOVE:
                # So many end at about the same time: one replay reads them all.
                self.tools.clock.sleep(LINGER_SECONDS)
            suspended = attempt.suspend(finished)
            if suspended is not Suspended.FLAGGED:
                return suspended is Suspended.DONE
            if not can_end_in_time(attempt.job, remaining_seconds()):
                break
            # In this order: what completes after the flag was cleared sets it again.
            if not attempt.clear_wake_flag():
                return False
            finished = run()
        return finished

    def _look_up(self, job: Job) -> _Found | Finished:
        """Read what the handler is given, or say how the attempt ends without it."""
        payload_text = self.tools.contents.read(job.id, job.payload)
        if payload_text is None:
            return _payload_is_gone(job)
        if job.parent is not None and job.parent.reads_results:
            try:
                payload_text = self.results.resolve(job, payload_text)
            except RunEnds as ends:
                return Finished(outcome=Outcome.FAILED, error=ends.error)
        # Read before the key is taken: an attempt that ends here blocks no other.
        last = self._last_error(job)
        check = self.tools.keys.begin(job, payload_text)
        return _Found(payload_text, check, last)

    def _tell_no_time(self, job_id: str, timeout_seconds: int) -> None:
        self.tools.telemetry.warning(
            "A job was not started: too little of the function's time is left. It runs again "
            "later.",
            job_id=job_id,
            timeout_seconds=timeout_seconds,
        )
        self.tools.telemetry.count("not_begun_for_time")

    def _commit(self, attempt: RunningAttempt, finished: Finished, payload_text: str) -> bool:
        if finished.is_rate_limited:
            # Before the commit, which frees the job's slots: others must not run into the limit.
            wait = finished.retry_after or timedelta(0)
            self.tools.limits.hold_rates(attempt.job, self.tools.clock.now() + wait)
        committed = self._told_if_lost(attempt, attempt.finish(finished, payload_text))
        started_at = attempt.job.started_at
        if committed and started_at is not None:
            self._tell_end(attempt, finished, self.tools.clock.now() - started_at)
        return committed

    def _tell_end(self, attempt: RunningAttempt, finished: Finished, took: timedelta) -> None:
        self.tools.telemetry.observe("time_to_finish_ms", took / timedelta(milliseconds=1))
        self.tools.telemetry.info(
            "An attempt ended.",
            job_id=attempt.job.id,
            handler=attempt.job.handler,
            attempt=attempt.job.attempt,
            outcome=finished.outcome,
            error=None if finished.error is None else finished.error.type,
            will_retry=_will_retry(attempt.job, finished),
            took_ms=took // timedelta(milliseconds=1),
            trace_id=attempt.delivery.message.trace_id,
            **occurrence_fields(attempt.job),
        )

    def _told_if_lost(self, attempt: RunningAttempt, committed: bool) -> bool:
        if not committed:
            self.tools.telemetry.warning(
                "An outcome was not committed: the attempt no longer owned its job.",
                job_id=attempt.job.id,
                attempt=attempt.job.attempt,
            )
            self.tools.telemetry.count("commits_refused")
        return committed

    def _last_error(self, job: Job) -> ErrorInfo | None:
        """Return how the attempt before this one failed."""
        if job.token <= 1:
            return None
        details = self.tools.jobs.get_details(job.id)
        if details is None:
            return None
        return last_error(attempts_of(job.history, details.failures, job.last_failure))

    def _observe_start(self, delivery: Delivery, job: Job, now: datetime) -> None:
        self.tools.telemetry.count("attempts_started")
        millisecond = timedelta(milliseconds=1)
        # The job keeps the lateness of its round's first start. An attempt that comes back from a
        # snooze has the number of the first one again, and was not due before.
        is_first = job.attempt == 1 and job.lateness_ms == (now - job.run_at) // millisecond
        reference = job.run_at if is_first else (job.due_at or job.run_at)
        self.tools.telemetry.observe("lateness_ms", (now - reference) / millisecond)
        if delivery.sent_at is not None:
            visible_at = max(delivery.sent_at, delivery.message.due_at)
            self.tools.telemetry.observe("time_to_claim_ms", (now - visible_at) / millisecond)

    def _keep_for(self, delivery: Delivery, duration: timedelta) -> Disposition:
        self._hide(delivery, duration)
        return Disposition.KEEP

    def _hide(self, delivery: Delivery, duration: timedelta) -> None:
        seconds = ceil_seconds(min(max(duration, timedelta(0)), SQS_MAX_VISIBILITY))
        self.tools.queues.hide(delivery, seconds)


def can_end_in_time(job: Job, remaining_seconds: float) -> bool:
    """Whether a handler that begins now ends, and is committed, within the function's time."""
    return remaining_seconds >= job.timeout_seconds + END_RESERVE_SECONDS


def _left_to_newer(job: Job) -> Finished:
    """Return the end, at no attempt, of a job beside which a newer version keeps something.

    Each time costs a claim that is counted as no attempt: by these the wait grows.
    """
    wait = _time_left_to_newer(job.token - job.attempt + 1)
    return Finished(outcome=Outcome.SNOOZED, retry_after=wait)


def _time_left_to_newer(times: int) -> timedelta:
    """Return how long to leave what was found to be newer ``times`` times, this one included."""
    return min(LEFT_TO_NEWER_FOR * max(times, 1), LONGEST_LEFT_TO_NEWER)


def _will_retry(job: Job, finished: Finished) -> bool:
    """Whether another attempt follows, unless the job was asked to stop."""
    if finished.outcome in {Outcome.SNOOZED, Outcome.SUSPENDED, Outcome.RESTARTED}:
        return True
    error = finished.error
    return error is not None and error.retryable and job.attempt < job.retry.max_attempts


def _payload_is_gone(job: Job) -> Finished:
    place = job.payload.item or job.payload.key
    message = f"The payload is not where it was kept ({place})."
    return Finished(
        outcome=Outcome.FAILED,
        error=ErrorInfo(type="PayloadMissing", message=message, retryable=False),
    )


def _key_refused(state: KeyState) -> Finished:
    if state is KeyState.OTHER_INPUTS:
        message = "The idempotency key was already used with other inputs."
        error = ErrorInfo(type="IdempotencyConflict", message=message, retryable=False)
    else:
        message = "Another job is in progress under the same idempotency key."
        error = ErrorInfo(type="IdempotencyKeyTaken", message=message)
    return Finished(outcome=Outcome.FAILED, error=error)


def tell_cancelled(telemetry: Telemetry, job: Job, reason: str) -> None:
    """Log that a job of a schedule will not start, and why."""
    telemetry.info(
        "An occurrence was cancelled before it began.",
        job_id=job.id,
        handler=job.handler,
        reason=reason,
        **occurrence_fields(job),
    )


def occurrence_fields(job: Job) -> dict[str, str]:
    """Return what a log line says of the occurrence that ``job`` is; nothing if it is none."""
    if job.schedule_id is None or job.occurrence is None:
        return {}
    return {"schedule_id": job.schedule_id, "occurrence": rfc3339(job.occurrence)}
