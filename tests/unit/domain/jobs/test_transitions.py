"""What each move of an open job changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from hourhand.domain.jobs import transitions
from hourhand.domain.jobs.history import attempts_of
from hourhand.domain.jobs.job import (
    EventKind,
    Job,
    JobStatus,
    Lease,
    Outcome,
    Priority,
    Progress,
)
from hourhand.domain.ticks.buckets import Entry
from tests.unit.domain.condition_cases import CASES, SOON, Case
from tests.unit.domain.job_samples import (
    NOW,
    a_dead_job,
    a_final_job,
    a_job,
    a_retrying_job,
    a_running_job,
    a_sent_job,
    after,
    an_abandoned_job,
    an_event,
    with_long_history,
)
from tests.unit.domain.move_samples import CASES_BY_BUILDER, complete, done, fail

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


# --- dispatch ---


def test_a_mark_says_when_the_message_was_sent() -> None:
    for job in (a_job(), a_retrying_job(enqueued_at=None)):
        marked = done(transitions.mark_enqueued(job, now=NOW, actor="scheduler"), job)
        assert (marked.status, marked.enqueued_at, marked.is_sent) == (
            JobStatus.ENQUEUED,
            NOW,
            True,
        )
        assert (marked.generation, marked.due_at) == (job.generation, job.due_at)


@pytest.mark.parametrize(
    ("queue", "kind"),
    [(Priority.MEDIUM, EventKind.DISPATCHED_AGAIN), (Priority.HIGH, EventKind.AGED)],
)
def test_sending_again_may_raise_the_queue_but_neither_priority_nor_generation(
    queue: Priority, kind: EventKind
) -> None:
    job = a_sent_job()
    move = transitions.mark_dispatched_again(job, now=NOW, actor="s", queue=queue, reason="missed")
    sent = done(move, job)
    assert (sent.queue, sent.priority, sent.generation) == (queue, Priority.MEDIUM, 1)
    assert (sent.enqueued_at, sent.status) == (NOW, JobStatus.ENQUEUED)
    assert sent.history[-1].kind is kind


@pytest.mark.parametrize(
    ("job", "status"),
    [
        (a_sent_job(), JobStatus.PENDING),
        (a_retrying_job(), JobStatus.RETRYING),
        (a_job(enqueued_at=NOW), JobStatus.PENDING),
    ],
)
def test_what_could_not_be_sent_is_sent_by_the_next_sweep(job: Job, status: JobStatus) -> None:
    taken_back = done(transitions.unmark(job, now=NOW, actor="api", reason="throttled"), job)
    assert (taken_back.status, taken_back.enqueued_at) == (status, None)


def test_refiling_moves_the_entry_and_nothing_else() -> None:
    job = a_job(due_at=after(-400), run_at=after(-400))
    moved = done(transitions.refile(job, entry=Entry(NOW, 3), now=NOW, actor="api"), job)
    assert (moved.due_at, moved.shard) == (NOW, 3)
    assert (moved.run_at, moved.status, moved.generation) == (after(-400), job.status, 1)


# --- attempts ---


def test_a_claim_makes_its_worker_the_owner() -> None:
    job = a_sent_job(run_at=after(-2), due_at=after(-1))
    move = CASES_BY_BUILDER["claim"].build(job)
    claimed = done(move, job)
    assert (claimed.status, claimed.attempt, claimed.token) == (JobStatus.RUNNING, 1, 1)
    assert claimed.lease == Lease(owner="worker-2", until=after(45), claim_id="claim-2")
    assert claimed.started_at == NOW
    assert claimed.lateness_ms == 2000
    assert claimed.due_at == job.due_at


def test_lateness_is_that_of_the_first_attempt_of_the_round() -> None:
    job = a_retrying_job(lateness_ms=17)
    assert done(CASES_BY_BUILDER["claim"].build(job), job).lateness_ms == 17


def test_a_claim_records_the_attempt_and_token_that_it_opens() -> None:
    job = a_retrying_job()
    claimed = done(CASES_BY_BUILDER["claim"].build(job), job)
    event = claimed.history[-1]
    assert (event.attempt, event.token) == (claimed.attempt, claimed.token) == (2, 2)


def test_a_take_over_records_the_lost_attempt_and_opens_the_next() -> None:
    job = an_abandoned_job(progress=Progress(done=1), history=(an_event(), _claimed_event(1)))
    taken = done(CASES_BY_BUILDER["take_over"].build(job), job)
    assert (taken.attempt, taken.token, taken.at("lease.owner")) == (2, 2, "worker-2")
    assert (taken.at("lease.until"), taken.started_at) == (after(45), NOW)
    assert (taken.progress, taken.generation, taken.lateness_ms) == (None, 1, 0)
    lost, current = attempts_of(taken.history, {})
    assert (lost.outcome, lost.worker, lost.token) == (Outcome.LOST, "worker-1", 1)
    assert (lost.number, current.number) == (1, 2)
    assert (current.outcome, current.worker, current.token) == (None, "worker-2", 2)


def test_a_heartbeat_extends_the_lease_and_keeps_progress_unless_told() -> None:
    job = a_running_job(progress=Progress(done=1))
    beat = done(transitions.heartbeat(job, lease_until=after(45), progress=None), job)
    assert (beat.at("lease.until"), beat.progress) == (after(45), Progress(done=1))
    told = done(transitions.heartbeat(job, lease_until=after(45), progress=Progress(done=2)), job)
    assert told.progress == Progress(done=2)
    assert told.history == job.history


def test_a_heartbeat_of_a_job_asked_to_stop_still_extends() -> None:
    job = a_running_job()
    asked = replace(job, cancel_requested_at=NOW)
    assert transitions.heartbeat(job, lease_until=after(45), progress=None).is_allowed(asked)


def test_success_counts_though_the_job_was_asked_to_stop() -> None:
    job = a_running_job()
    asked = replace(job, cancel_requested_at=NOW)
    assert done(complete(job), asked).status is JobStatus.SUCCEEDED


def test_a_failed_attempt_goes_to_a_new_generation() -> None:
    job = a_running_job(progress=Progress(done=1))
    failed = done(fail(job), job)
    assert (failed.status, failed.generation, failed.attempt) == (JobStatus.RETRYING, 2, 1)
    assert (failed.due_at, failed.enqueued_at, failed.progress) == (SOON.due_at, NOW, None)
    later = done(fail(job, sends_now=False), job)
    assert later.enqueued_at is None


@pytest.mark.parametrize(
    ("outcome", "name", "attempt"),
    [
        (Outcome.FAILED, "fail", 1),
        (Outcome.TIMED_OUT, "fail", 1),
        (Outcome.LOST, "fail", 1),
        (Outcome.SNOOZED, "snooze", 0),
    ],
)
def test_only_a_snooze_gives_its_attempt_back(outcome: Outcome, name: str, attempt: int) -> None:
    job = a_running_job()
    move = fail(job, outcome=outcome)
    assert move.name == name
    assert done(move, job).attempt == attempt


@pytest.mark.parametrize("make_job", [a_running_job, lambda: with_long_history(a_running_job())])
def test_a_job_handed_back_pays_nothing(make_job: Callable[[], Job]) -> None:
    job = make_job()
    move = transitions.hand_back(
        job, now=NOW, actor="worker-1", entry=SOON, sends_now=True, reason="a neighbour hung"
    )
    back = done(move, job)
    assert move.name == "hand_back"
    assert (back.status, back.attempt, back.generation) == (JobStatus.RETRYING, 0, 2)
    assert (back.enqueued_at, back.due_at) == (NOW, SOON.due_at)
    assert back.history[-1].kind is EventKind.HANDED_BACK
    assert EventKind.SNOOZED not in {event.kind for event in back.history}


LEASE_ENDS = ["complete", "retry_later", "hand_back", "die", "end_cancelled", "recover"]


@each_case
def test_whoever_ends_an_attempt_clears_its_lease(case: Case) -> None:
    written = done(case.build(case.ordinary), case.ordinary)
    if case.builder in LEASE_ENDS:
        assert written.lease is None
    assert (written.status is JobStatus.RUNNING) is (written.lease is not None)


# --- operators ---


def test_a_waiting_job_is_cancelled_at_once() -> None:
    for job in (a_job(), a_sent_job(), a_retrying_job()):
        move = transitions.cancel_waiting(job, now=NOW, actor="api", reason="x")
        cancelled = done(move, job)
        assert cancelled.status is JobStatus.CANCELLED
        assert (cancelled.cancel_requested_at, cancelled.enqueued_at) == (NOW, None)
        assert len(attempts_of(cancelled.history, {})) == 0


def test_a_running_job_is_only_asked() -> None:
    job = a_running_job()
    asked = done(transitions.request_cancel(job, now=NOW, actor="api", reason="x"), job)
    assert asked == replace(job, cancel_requested_at=NOW, history=asked.history)


@pytest.mark.parametrize("job", [a_job(), a_sent_job(), a_retrying_job()])
def test_a_change_opens_a_generation_with_its_time_and_place(job: Job) -> None:
    for sends_now in (True, False):
        changed = done(
            transitions.change(
                job,
                now=NOW,
                actor="api",
                sets={"run_at": after(7200), "priority": Priority.HIGH},
                entry=Entry(after(7200), 2),
                sends_now=sends_now,
            ),
            job,
        )
        assert changed.generation == job.generation + 1
        assert (changed.run_at, changed.priority) == (after(7200), Priority.HIGH)
        assert (changed.due_at, changed.shard) == (after(7200), 2)
        assert changed.enqueued_at == (NOW if sends_now else None)
        assert changed.status is (JobStatus.ENQUEUED if sends_now else JobStatus.PENDING)
        assert (changed.attempt, changed.token) == (job.attempt, job.token)


def test_a_change_of_no_time_leaves_the_place() -> None:
    job = a_sent_job(due_at=after(100), shard=5)
    move = transitions.change(
        job,
        now=NOW,
        actor="api",
        sets={},
        entry=None,
        sends_now=True,
        kind=EventKind.RUN_NOW,
        reason="asked",
    )
    changed = done(move, job)
    assert (changed.due_at, changed.shard) == (after(100), 5)
    assert (changed.history[-1].kind, changed.history[-1].reason) == (EventKind.RUN_NOW, "asked")


@pytest.mark.parametrize(
    "job",
    [
        a_dead_job(attempt=6, lateness_ms=5, queue=Priority.HIGH, progress=Progress(done=1)),
        a_final_job(JobStatus.EXPIRED),
        a_final_job(JobStatus.CANCELLED, cancel_requested_at=after(-70)),
    ],
)
@pytest.mark.parametrize("sends_now", [True, False])
def test_a_redrive_starts_a_round_afresh_and_keeps_the_history(
    job: Job, *, sends_now: bool
) -> None:
    move = transitions.redrive(
        job, now=NOW, actor="api", entry=SOON, sends_now=sends_now, reason="fixed"
    )
    again = done(move, job)
    assert again.status is (JobStatus.ENQUEUED if sends_now else JobStatus.PENDING)
    assert (again.round, again.attempt, again.generation) == (2, 0, 2)
    assert again.token == job.token
    assert (again.run_at, again.due_at, again.shard) == (SOON.due_at, SOON.due_at, SOON.shard)
    assert again.queue is job.priority
    cleared = (
        again.cancel_requested_at,
        again.finished_at,
        again.keep_until,
        again.lateness_ms,
        again.progress,
        again.lease,
    )
    assert cleared == (None,) * 6
    assert again.enqueued_at == (NOW if sends_now else None)
    assert again.history[: len(job.history)] == job.history


@pytest.mark.parametrize(
    ("expires_at", "kept"),
    [(after(-5), None), (SOON.due_at, None), (after(1.001), after(1.001)), (None, None)],
)
def test_a_redriven_job_is_not_expired_from_the_start(expires_at: object, kept: object) -> None:
    job = a_final_job(JobStatus.EXPIRED, expires_at=expires_at)
    move = transitions.redrive(job, now=NOW, actor="api", entry=SOON, sends_now=True, reason="")
    assert done(move, job).expires_at == kept


def _claimed_event(token: int) -> object:
    return an_event(
        EventKind.CLAIMED, status=JobStatus.RUNNING, actor="worker-1", attempt=token, token=token
    )
