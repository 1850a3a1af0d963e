"""One job under every interleaving that chance finds: stale reads, lost answers, paused workers.

Writers read the job, and write at some later time what they decided then, as the services do. The
moves' conditions are all that keeps them apart; the invariants are checked after every write.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from hypothesis import given
from hypothesis import strategies as st

from hourhand.domain.jobs import transitions
from hourhand.domain.jobs.actions import (
    Dispatch,
    DispatchAgain,
    Expire,
    Finish,
    Recover,
    SweepContext,
    Wake,
    next_action,
)
from hourhand.domain.jobs.history import attempts_of, is_over_budget
from hourhand.domain.jobs.job import (
    ATTEMPT_ENDS,
    NOT_STARTED,
    REDRIVABLE,
    Content,
    EventKind,
    HistoryEvent,
    Job,
    JobMessage,
    JobStatus,
    Lease,
    OnLost,
    Outcome,
    Priority,
    Progress,
)
from hourhand.domain.jobs.outbox import outbox_tasks
from hourhand.domain.jobs.retry import RetryPolicy
from hourhand.domain.jobs.states import is_legal
from hourhand.domain.jobs.transitions import Transition
from hourhand.domain.jobs.waiting import PAUSE, WaitKind, WaitsFor
from hourhand.domain.ticks.buckets import Entry
from hourhand.domain.ticks.timings import Timings
from tests.examples import examples

START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TIMINGS = Timings()
INLINE = Content(size_bytes=4, text="null")
IN_BUCKET = Content(size_bytes=300_000, key="payload/job-1/abc")
PAUSED = WaitsFor(WaitKind.SLOT, PAUSE, rank=1)


OLDER_VERSIONS = [0] * 14 + [1, 1, 2, 3, 8, 20]
"""How many versions old that is which a writer acts on: mostly none, sometimes many."""


T = TypeVar("T")


class OneJob:
    """A stored job, and everybody who may write to it."""

    def __init__(self, randomness: random.Random) -> None:
        self.randomness = randomness
        event = HistoryEvent(
            kind=EventKind.SUBMITTED, at=START, status=JobStatus.PENDING, actor="api"
        )
        expires_at = START + timedelta(seconds=randomness.choice([400, 4000]))
        self.job = Job(
            id="job-1",
            handler="h",
            status=JobStatus.PENDING,
            run_at=START,
            created_at=START,
            payload=randomness.choice([INLINE, IN_BUCKET]),
            due_at=START,
            shard=0,
            on_lost=randomness.choice([OnLost.RETRY, OnLost.RETRY, OnLost.DEAD]),
            retry=RetryPolicy(max_attempts=randomness.randint(1, 4)),
            expires_at=randomness.choice([None, None, expires_at]),
            history=(event,),
        )
        self.now = START
        self.writes = self.successes = 0
        self.log: list[HistoryEvent] = [event]
        self.versions: list[Job] = [self.job]
        self.messages: list[JobMessage] = []
        self.owners: list[Job] = []
        self.made: Counter[str] = Counter()
        self.generations_sent: set[int] = set()
        self.letters_of_rounds: set[int] = set()

    def step(self) -> None:
        """Somebody does something."""
        steps = {
            self.wait: 3,
            self.sweep: 4,
            self.take_back: 0.5,
            self.refile: 0.5,
            self.park: 1,
            self.claim: 4,
            self.take_over: 3,
            self.beat: 1,
            self.succeed: 0.5,
            self.end: 2,
            self.hand_back: 0.5,
            self.cancel: 0.5,
            self.change: 0.5,
            self.redrive: 1,
            self.discard: 0.5,
        }
        (do,) = self.randomness.choices(list(steps), list(steps.values()))
        do()

    def wait(self) -> None:
        self.now += timedelta(seconds=self.randomness.choice([1, 10, 30, 60, 100]))

    # --- the scheduler ---

    def sweep(self) -> None:
        """Send first, then mark; what is decided may come of a stale read."""
        job = self._pick(self.versions)
        judgement = SweepContext(self.now, self.now + TIMINGS.look_ahead, TIMINGS)
        now = self._at()
        match next_action(job, judgement):
            case Dispatch():
                self._send(job)
                self._write(transitions.mark_enqueued(job, now=now, actor="scheduler"))
            case DispatchAgain(queue, reason):
                self._send(job)
                self._write(
                    transitions.mark_dispatched_again(
                        job, now=now, actor="scheduler", queue=queue, reason=reason
                    )
                )
            case Recover():
                self._send_if_retried(
                    transitions.recover(
                        job,
                        now=now,
                        margin=TIMINGS.clock_margin,
                        actor="scheduler",
                        entry=self._entry(job, 0),
                        sends_now=True,
                    )
                )
            case Wake():
                self._send(job)
                self._write(
                    transitions.unpark(
                        job, now=now, actor="scheduler", entry=None, sends_now=True, reason="over"
                    )
                )
            case Expire():
                self._write(transitions.expire(job, now=now, actor="scheduler"))
            case Finish():
                self.letters_of_rounds.add(job.round)
                self._write(transitions.finish(job))

    def take_back(self) -> None:
        """A send that was announced failed, or seemed to."""
        job = self._pick(self.versions)
        if job.status in NOT_STARTED and job.is_sent:
            self._write(transitions.unmark(job, now=self._at(), actor="api", reason="throttled"))

    def refile(self) -> None:
        job = self._pick(self.versions)
        if not job.status.is_final and job.due_at is not None and job.due_at < self.now:
            entry = Entry(self.now, 0)
            self._write(transitions.refile(job, entry=entry, now=self._at(), actor="api"))

    # --- workers ---

    def park(self) -> None:
        """The handler of the job is paused, as this worker knows."""
        job = self._pick(self.versions)
        if job.status in NOT_STARTED and job.waits_for is None:
            now = self._at()
            self._write(
                transitions.park(job, now=now, actor="w", waits_for=PAUSED, reason="a pause")
            )

    def claim(self) -> None:
        if self.messages:
            now = self._at()
            self._own(
                transitions.claim(
                    self._pick(self.messages),
                    now=now,
                    wait=TIMINGS.early_wait,
                    lease=Lease(
                        owner=f"w{self.writes}",
                        until=now + TIMINGS.job_lease,
                        claim_id=f"c{self.writes}",
                    ),
                )
            )

    def take_over(self) -> None:
        job = self._pick(self.versions)
        if job.status is JobStatus.RUNNING:
            now = self._at()
            self._own(
                transitions.take_over(
                    job,
                    now=now,
                    margin=TIMINGS.clock_margin,
                    lease=Lease(
                        owner=f"w{self.writes}",
                        until=now + TIMINGS.job_lease,
                        claim_id=f"c{self.writes}",
                    ),
                )
            )

    def beat(self) -> None:
        if self.owners:
            job = self._pick(self.owners)
            lease_until = self._at() + TIMINGS.job_lease
            before = self.job
            self._own(
                transitions.heartbeat(job, lease_until=lease_until, progress=Progress(done=1))
            )
            assert self.job is before or before.token == job.token, "a zombie keeps a lease"

    def succeed(self) -> None:
        if self.owners:
            job, now = self._pick(self.owners), self._at()
            owner, result = _owner(job), self.randomness.choice([INLINE, IN_BUCKET])
            self._write(
                transitions.complete(job, now=now, actor=owner, result=result, progress=None)
            )

    def end(self) -> None:
        """The handler raises; a zombie's does, too."""
        if not self.owners:
            return
        job, now = self._pick(self.owners), self._at()
        owner, reason = _owner(job), "ValueError: it did not work"
        outcome = self.randomness.choice([Outcome.FAILED, Outcome.TIMED_OUT, Outcome.SNOOZED])
        if job.cancel_requested_at is not None:
            self._write(transitions.end_cancelled(job, now=now, actor=owner, reason=reason))
        elif outcome is Outcome.SNOOZED or job.attempt < job.retry.max_attempts:
            self._send_if_retried(
                transitions.retry_later(
                    job,
                    now=now,
                    actor=owner,
                    outcome=outcome,
                    reason=reason,
                    entry=self._entry(job, 10),
                    sends_now=True,
                )
            )
        else:
            self._write(transitions.die(job, now=now, actor=owner, outcome=outcome, reason=reason))

    def hand_back(self) -> None:
        if self.owners:
            job, now = self._pick(self.owners), self._at()
            entry = self._entry(job, 0)
            self._send_if_retried(
                transitions.hand_back(
                    job, now=now, actor=_owner(job), entry=entry, sends_now=True, reason="exit"
                )
            )

    # --- operators ---

    def cancel(self) -> None:
        job, now = self._pick(self.versions), self._at()
        if job.status is JobStatus.RUNNING:
            self._write(transitions.request_cancel(job, now=now, actor="api", reason=""))
        elif job.status in NOT_STARTED:
            self._write(transitions.cancel_waiting(job, now=now, actor="api", reason=""))

    def change(self) -> None:
        job, now = self._pick(self.versions), self._at()
        if job.status not in NOT_STARTED:
            return
        seconds = self.randomness.choice([0, 0, 30, 1_000])
        sends_now = seconds <= 300
        run_at = now + timedelta(seconds=seconds)
        changed = self._write(
            transitions.change(
                job,
                now=now,
                actor="api",
                sets={"run_at": run_at, "payload": self.randomness.choice([INLINE, IN_BUCKET])},
                entry=Entry(run_at, 0),
                sends_now=sends_now,
            )
        )
        if changed is not None and sends_now:
            self._send(changed)

    def redrive(self) -> None:
        job, now = self._pick(self.versions), self._at()
        if job.status in REDRIVABLE:
            entry = Entry(now, 0)
            self._send_if_retried(
                transitions.redrive(
                    job, now=now, actor="api", entry=entry, sends_now=True, reason=""
                )
            )

    def discard(self) -> None:
        job, now = self._pick(self.versions), self._at()
        if job.status is JobStatus.DEAD:
            before = self.job
            move = transitions.discard(job, now=now, actor="api", note=f"{now}", reason="")
            if self._write(move) is not None:
                assert before.token == job.token, "a death that nobody saw is acknowledged"

    # --- the bench ---

    def _pick(self, versions: list[T]) -> T:
        """Mostly the last one."""
        back = self.randomness.choice(OLDER_VERSIONS)
        return versions[max(-len(versions), -1 - back)]

    def _at(self) -> datetime:
        """An instant that no other write has."""
        self.writes += 1
        self.now += timedelta(milliseconds=1)
        return self.now

    def _entry(self, job: Job, seconds: int) -> Entry:
        earliest = max(self.now, job.due_at or self.now)
        return Entry(earliest + timedelta(seconds=seconds), 0)

    def _send(self, job: Job) -> None:
        self.generations_sent.add(job.generation)
        self.messages.append(
            JobMessage(
                job_id=job.id,
                handler=job.handler,
                generation=job.generation,
                attempt=job.attempt,
                token=job.token,
                due_at=job.due_at or job.run_at,
                run_at=job.run_at,
            )
        )

    def _send_if_retried(self, move: Transition) -> None:
        written = self._write(move)
        if written is not None and written.status in NOT_STARTED:
            self._send(written)

    def _own(self, move: Transition) -> None:
        owned = self._write(move)
        if owned is not None:
            self.owners.append(owned)

    def _write(self, move: Transition) -> Job | None:
        before = self.job
        if not move.is_allowed(before):
            assert not move.made_by_me(before), "somebody else's write is taken for one's own"
            return None
        after = move.apply(before)
        self.job = after
        self.versions.append(after)
        self.log.extend(move.events)
        self.made[move.name] += 1
        self.successes += move.to is JobStatus.SUCCEEDED
        _check_write(before, after, move)
        if after.token > before.token:
            self._check_start(before)
        if move.name in {"mark", "redispatch_mark", "unpark"}:
            assert after.generation in self.generations_sent, "marked as sent, and nobody sent it"
        if move.name == "finish" and after.status is JobStatus.DEAD:
            assert after.round in self.letters_of_rounds, "a dead letter is lost"
        if move.name == "expire":
            assert before.expires_at is not None
            assert before.expires_at <= self.now
        self._check_record(after, move)
        if move.is_allowed(after):
            assert move.apply(after) == after, "a repeated write does something twice"
        else:
            assert move.made_by_me(after), "a repeated write is not recognised"
        return after

    def _check_start(self, before: Job) -> None:
        """What is true of every attempt when it starts."""
        assert before.due_at is not None
        assert before.due_at <= self.now + TIMINGS.early_wait
        assert before.expires_at is None or before.expires_at > self.now
        assert before.cancel_requested_at is None
        if before.status is JobStatus.RUNNING:
            assert before.on_lost is OnLost.RETRY
            assert before.lease is not None
            assert before.lease.until < self.now - TIMINGS.clock_margin, "two owners at once"

    def _check_record(self, job: Job, move: Transition) -> None:
        assert len(job.history) + job.history_dropped == len(self.log)
        assert job.history[0] == self.log[0]
        assert job.history[-1] == self.log[-1]
        if move.history is not None:
            assert not is_over_budget(job.history, job.last_failure)
        assert self.successes <= 1
        _check_attempts(self.log, job)


def _owner(job: Job) -> str:
    return job.at("lease.owner") or "nobody"


def _check_write(before: Job, after: Job, move: Transition) -> None:
    """What no write may do, whoever makes it."""
    assert after.status is before.status or is_legal(before.status, after.status)
    assert after.token in {before.token, before.token + 1}
    assert (after.token > before.token) is (move.name in {"claim", "take_over"})
    assert after.generation in {before.generation, before.generation + 1}
    assert after.attempt <= after.retry.max_attempts
    if before.status.is_final and move.name != "redrive":
        changed: dict[str, Any] = {"due_at": None, "shard": None, "keep_until": after.keep_until}
        if move.name == "discard":
            assert before.status is JobStatus.DEAD
            assert before.discarded_at is None, "a discard replaces an earlier one"
            changed = dict(move.sets)
            changed |= {"history": after.history, "history_dropped": after.history_dropped}
        else:
            assert move.name == "finish"
        assert after == replace(before, **changed)
    _check_shape(after)


def _check_shape(job: Job) -> None:
    """What is true of every job that can be read."""
    is_final, is_running = job.status.is_final, job.status is JobStatus.RUNNING
    assert (job.due_at is None) is (job.shard is None)
    assert is_final or job.due_at is not None, "an open job is not in the index"
    assert (job.finished_at is not None) is is_final
    assert (job.keep_until is not None) is (job.due_at is None)
    assert (job.lease is not None) is is_running
    if job.status in NOT_STARTED:
        assert job.attempt < job.retry.max_attempts, "a waiting job can never be claimed"
        assert job.cancel_requested_at is None, "a waiting job can never be claimed"
    if job.status is JobStatus.ENQUEUED:
        assert job.is_sent or job.waits_for is not None
    if job.waits_for is not None:
        assert not is_running, "a job that runs still waits"
        assert job.enqueued_at is not None or is_final, "since when it waits is not known"
    if job.cancel_requested_at is not None:
        assert job.status in {JobStatus.RUNNING, JobStatus.CANCELLED, JobStatus.SUCCEEDED}
    if job.discarded_at is not None:
        assert job.status is JobStatus.DEAD, "only a DEAD job is discarded"
    assert job.discard_note is None or job.discarded_at is not None
    if job.due_at is not None and is_final:
        assert outbox_tasks(job, job.status, job.result)
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


STEPS = 150

REACHED = {
    "mark",
    "redispatch_mark",
    "unmark",
    "refile",
    "park",
    "unpark",
    "claim",
    "take_over",
    "heartbeat",
    "complete",
    "fail",
    "snooze",
    "hand_back",
    "die",
    "end_cancelled",
    "recover",
    "finish",
    "cancel",
    "request_cancel",
    "change",
    "expire",
    "redrive",
    "discard",
}


@examples(400)
@given(st.randoms(use_true_random=True))
def test_no_interleaving_breaks_an_invariant(randomness: random.Random) -> None:
    world = OneJob(randomness)
    for _ in range(STEPS):
        world.step()


def test_the_steps_reach_every_move() -> None:
    made: Counter[str] = Counter()
    for seed in range(40):
        world = OneJob(random.Random(seed))
        for _ in range(STEPS):
            world.step()
        made += world.made
    assert set(made) == REACHED
