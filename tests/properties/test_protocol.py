"""One job under every interleaving that chance finds: stale reads, lost answers, paused workers.

Writers read the job, and write at some later time what they decided then, as the services do. The
moves' conditions are all that keeps them apart; the invariants are checked after every write.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    multiple,
    precondition,
    rule,
)

from hourhand.domain import moves
from hourhand.domain.actions import Dispatch, DispatchAgain, Expire, Judgement, Recover, next_action
from hourhand.domain.buckets import Entry
from hourhand.domain.history import HISTORY_BUDGET_BYTES, attempts_of, pack_event
from hourhand.domain.lifecycle import is_legal
from hourhand.domain.model import (
    ATTEMPT_ENDS,
    NOT_STARTED,
    REDRIVABLE,
    Content,
    EventKind,
    HistoryEvent,
    Job,
    JobMessage,
    JobStatus,
    OnLost,
    Outcome,
    Priority,
    Progress,
    RetryPolicy,
)
from hourhand.domain.moves import Move
from hourhand.domain.timings import Timings

START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TIMINGS = Timings()
INLINE = Content(size_bytes=4, text="null")
IN_BUCKET = Content(size_bytes=300_000, key="payload/job-1/abc")
LEASE_SECONDS = TIMINGS.job_lease.total_seconds()


class OneJob(RuleBasedStateMachine):
    """A stored job, and everybody who may write to it."""

    reads = Bundle("reads")
    messages = Bundle("messages")
    owners = Bundle("owners")

    @initialize(
        target=reads,
        max_attempts=st.integers(1, 4),
        on_lost=st.sampled_from(OnLost),
        payload=st.sampled_from([INLINE, IN_BUCKET]),
        expires=st.sampled_from([None, 40, 400]),
    )
    def submit(
        self, max_attempts: int, on_lost: OnLost, payload: Content, expires: int | None
    ) -> Job:
        self.now = START
        self.writes = 0
        event = HistoryEvent(
            kind=EventKind.SUBMITTED, at=START, status=JobStatus.PENDING, actor="api"
        )
        self.job = Job(
            id="job-1",
            handler="h",
            status=JobStatus.PENDING,
            run_at=START,
            created_at=START,
            payload=payload,
            due_at=START,
            shard=0,
            on_lost=on_lost,
            retry=RetryPolicy(max_attempts=max_attempts),
            expires_at=None if expires is None else START + timedelta(seconds=expires),
            history=(event,),
        )
        self.log: list[HistoryEvent] = [event]
        self.successes = 0
        return self.job

    # --- time and reads ---

    @rule(seconds=st.sampled_from([1, 5, 30, 60, 300]))
    def wait(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @rule(target=reads)
    def read(self) -> Job:
        return self.job

    # --- dispatch ---

    @rule(target=messages, job=reads)
    def sweep(self, job: Job) -> object:
        """Send first, then mark, as the scheduler does; a message may come of a stale read."""
        action = next_action(job, Judgement(self.now, self.now + TIMINGS.look_ahead, TIMINGS))
        match action:
            case Dispatch():
                self._write(moves.mark_enqueued(job, now=self._at(), actor="scheduler"))
                return self._message(job)
            case DispatchAgain():
                self._write(
                    moves.mark_dispatched_again(
                        job,
                        now=self._at(),
                        actor="scheduler",
                        queue=action.queue,
                        reason=action.reason,
                    )
                )
                return self._message(job)
            case Recover():
                recovered = self._write(
                    moves.recover(
                        job,
                        now=self._at(),
                        margin=TIMINGS.clock_margin,
                        actor="scheduler",
                        entry=self._entry(job, 0),
                        sends_now=True,
                    )
                )
                is_retried = recovered is not None and recovered.status is JobStatus.RETRYING
                return self._message(recovered) if recovered and is_retried else multiple()
            case Expire():
                self._write(moves.expire(job, now=self._at(), actor="scheduler"))
        return multiple()

    @rule(job=reads)
    def take_back(self, job: Job) -> None:
        if job.status in NOT_STARTED and job.is_sent:
            self._write(moves.unmark(job, now=self._at(), actor="api", reason="throttled"))

    @rule(job=reads)
    def refile(self, job: Job) -> None:
        if not job.status.is_final and job.due_at is not None and job.due_at < self.now:
            entry = Entry(self.now, 0)
            self._write(moves.refile(job, entry=entry, now=self._at(), actor="api"))

    @rule(job=reads)
    def finish(self, job: Job) -> None:
        if job.status.is_final and job.due_at is not None:
            self._write(moves.finish(job))

    # --- work ---

    @rule(target=owners, message=messages)
    def claim(self, message: JobMessage) -> object:
        now = self._at()
        move = moves.claim(
            message,
            now=now,
            wait=TIMINGS.early_wait,
            owner=f"w{self.writes}",
            claim_id=f"c{self.writes}",
            lease_until=now + TIMINGS.job_lease,
        )
        return self._write(move) or multiple()

    @rule(target=owners, job=reads)
    def take_over(self, job: Job) -> object:
        if job.status is not JobStatus.RUNNING:
            return multiple()
        now = self._at()
        move = moves.take_over(
            job,
            now=now,
            margin=TIMINGS.clock_margin,
            owner=f"w{self.writes}",
            claim_id=f"c{self.writes}",
            lease_until=now + TIMINGS.job_lease,
        )
        return self._write(move) or multiple()

    @rule(target=owners, job=consumes(owners))
    def beat(self, job: Job) -> Job:
        lease_until = self._at() + TIMINGS.job_lease
        beaten = self._write(
            moves.heartbeat(job, lease_until=lease_until, progress=Progress(done=1))
        )
        # A zombie may learn that it is one and go on all the same.
        return beaten or job

    @rule(job=owners, result=st.sampled_from([INLINE, IN_BUCKET]))
    def succeed(self, job: Job, result: Content) -> None:
        now = self._at()
        self._write(
            moves.complete(job, now=now, actor=_owner(job), result=result, progress=None)
        )

    @rule(target=messages, job=owners, outcome=st.sampled_from([Outcome.FAILED, Outcome.SNOOZED]))
    def end(self, job: Job, outcome: Outcome) -> object:
        now = self._at()
        if outcome is Outcome.SNOOZED or job.attempt < job.retry.max_attempts:
            move = moves.retry_later(
                job,
                now=now,
                actor=_owner(job),
                outcome=outcome,
                reason="ValueError: it did not work",
                entry=self._entry(job, 10),
                sends_now=True,
            )
        else:
            move = moves.die(job, now=now, actor=_owner(job), outcome=outcome, reason="E: last")
        ended = self._write(move)
        return self._message(ended) if ended and not ended.status.is_final else multiple()

    @rule(target=messages, job=owners)
    def hand_back(self, job: Job) -> object:
        back = self._write(
            moves.hand_back(
                job, now=self._at(), actor=_owner(job), entry=self._entry(job, 0), reason="exit"
            )
        )
        return self._message(back) if back else multiple()

    @rule(job=owners)
    def stop(self, job: Job) -> None:
        """A handler raises after a heartbeat told it to stop."""
        if job.cancel_requested_at is not None:
            self._write(
                moves.end_cancelled(job, now=self._at(), actor=_owner(job), reason="stopped")
            )

    # --- operators ---

    @rule(job=reads)
    def cancel(self, job: Job) -> None:
        now = self._at()
        if job.status is JobStatus.RUNNING:
            self._write(moves.request_cancel(job, now=now, actor="api", reason=""))
        elif job.status in NOT_STARTED:
            self._write(moves.cancel_waiting(job, now=now, actor="api", reason=""))

    @rule(target=messages, job=reads, seconds=st.sampled_from([0, 30, 10_000]), content=st.booleans())
    def change(self, job: Job, seconds: int, *, content: bool) -> object:
        if job.status not in NOT_STARTED:
            return multiple()
        sends_now = seconds <= 300
        run_at = self._at() + timedelta(seconds=seconds)
        changed = self._write(
            moves.change(
                job,
                now=self.now,
                actor="api",
                sets={"run_at": run_at, "payload": IN_BUCKET if content else INLINE},
                entry=Entry(run_at, 0),
                sends_now=sends_now,
            )
        )
        return self._message(changed) if changed and sends_now else multiple()

    @rule(target=messages, job=reads)
    def redrive(self, job: Job) -> object:
        if job.status not in REDRIVABLE:
            return multiple()
        now = self._at()
        again = self._write(
            moves.redrive(
                job, now=now, actor="api", entry=Entry(now, 0), sends_now=True, reason=""
            )
        )
        return self._message(again) if again else multiple()

    # --- the bench ---

    @precondition(lambda self: self.job.due_at is None)
    @rule()
    def nothing_is_owed(self) -> None:
        assert self.job.status.is_final

    def _at(self) -> datetime:
        """An instant that no other write has."""
        self.writes += 1
        self.now += timedelta(milliseconds=1)
        return self.now

    def _entry(self, job: Job, seconds: int) -> Entry:
        earliest = max(self.now, job.due_at or self.now)
        return Entry(earliest + timedelta(seconds=seconds), 0)

    def _message(self, job: Job) -> JobMessage:
        return JobMessage(
            job_id=job.id,
            generation=job.generation,
            attempt=job.attempt,
            token=job.token,
            due_at=job.due_at or job.run_at,
            run_at=job.run_at,
        )

    def _write(self, move: Move) -> Job | None:
        before = self.job
        if not move.is_allowed(before):
            assert not move.made_by_me(before), "somebody else's write is taken for one's own"
            return None
        after = move.apply(before)
        self.job = after
        self.log.extend(move.events)
        self.successes += move.to is JobStatus.SUCCEEDED
        _check_write(before, after, move)
        self._check_record(after, move)
        if move.is_allowed(after):
            assert move.apply(after) == after, "a repeated write does something twice"
        else:
            assert move.made_by_me(after), "a repeated write is not recognised"
        return after

    def _check_record(self, job: Job, move: Move) -> None:
        assert len(job.history) + job.history_dropped == len(self.log)
        assert job.history[0] == self.log[0]
        assert job.history[-1] == self.log[-1]
        size = sum(len(pack_event(event)) + 1 for event in job.history)
        slack = max(len(pack_event(event)) + 1 for event in self.log)
        assert size <= HISTORY_BUDGET_BYTES + (slack if move.name == "claim" else 0)
        assert self.successes <= 1
        _check_attempts(self.log, job)


def _owner(job: Job) -> str:
    return job.lease_owner or "nobody"


def _check_write(before: Job, after: Job, move: Move) -> None:
    """What no write may do, whoever makes it."""
    assert after.status is before.status or is_legal(before.status, after.status)
    assert after.token in {before.token, before.token + 1}
    assert (after.token > before.token) is (move.name in {"claim", "take_over"})
    assert after.generation in {before.generation, before.generation + 1}
    assert after.attempt <= after.retry.max_attempts
    if before.status.is_final and move.name != "redrive":
        gone = {"due_at": None, "shard": None, "keep_until": after.keep_until}
        assert move.name == "finish"
        assert after == replace(before, **gone)  # type: ignore[arg-type]
    _check_shape(after)


def _check_shape(job: Job) -> None:
    """What is true of every job that can be read."""
    is_final, is_running = job.status.is_final, job.status is JobStatus.RUNNING
    assert (job.due_at is None) is (job.shard is None)
    assert is_final or job.due_at is not None, "an open job is not in the index"
    assert (job.finished_at is not None) is is_final
    assert (job.keep_until is not None) is (job.due_at is None)
    for field in (job.lease_owner, job.lease_until, job.claim_id):
        assert (field is not None) is is_running
    if job.status in NOT_STARTED:
        assert job.attempt < job.retry.max_attempts, "a waiting job can never be claimed"
        assert job.cancel_requested_at is None, "a waiting job can never be claimed"
    if job.status is JobStatus.ENQUEUED:
        assert job.is_sent
    if job.cancel_requested_at is not None:
        assert job.status in {JobStatus.RUNNING, JobStatus.CANCELLED, JobStatus.SUCCEEDED}
    if job.due_at is not None and is_final:
        assert moves.owes_on_end(job, job.status, job.result)
    assert job.queue is Priority.MEDIUM or job.enqueued_at is not None or is_final or is_running


def _check_attempts(log: list[HistoryEvent], job: Job) -> None:
    """Each token is claimed once, ends at most once, and only the last is without an end."""
    claims = [e.token for e in log if e.kind is EventKind.CLAIMED]
    ends = [e.token for e in log if e.kind in ATTEMPT_ENDS and e.token and e.attempt]
    assert claims == list(range(1, job.token + 1))
    assert ends == claims[: len(ends)]
    assert len(claims) - len(ends) == (job.status is JobStatus.RUNNING)
    told = attempts_of(log, {})
    assert [attempt.token for attempt in told] == claims
    assert all(attempt.started_at is not None for attempt in told)


OneJob.TestCase.settings = settings(max_examples=250, stateful_step_count=40, deadline=None)
TestOneJob = OneJob.TestCase
