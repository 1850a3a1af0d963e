"""What each move changes, and how a writer knows its own write again after a lost answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from hourhand.domain import moves
from hourhand.domain.buckets import Entry
from hourhand.domain.clauses import Is, StatusIn
from hourhand.domain.errors import IllegalMove
from hourhand.domain.history import attempts_of, is_over_budget
from hourhand.domain.model import (
    Content,
    EventKind,
    Job,
    JobStatus,
    OnLost,
    Outcome,
    Priority,
    Progress,
    RetryPolicy,
)
from hourhand.domain.moves import Move, keep_after_end, owes_on_end
from tests.unit.domain.condition_cases import CASES, MARGIN, SOON, WAIT, Case
from tests.unit.domain.job_samples import (
    IN_BUCKET,
    IN_ITEM,
    INLINE,
    NOW,
    a_dead_job,
    a_final_job,
    a_job,
    a_message,
    a_retrying_job,
    a_running_job,
    a_sent_job,
    after,
    an_abandoned_job,
    an_event,
    with_long_history,
)

WEEK = timedelta(days=7)
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)

RECORDED_NOWHERE = {"keep_payload", "heartbeat", "finish"}
"""Moves that leave no event: repeated, they are harmless."""


def done(move: Move, job: Job) -> Job:
    """Make a move that is allowed."""
    assert move.is_allowed(job)
    return move.apply(job)


def fail(job: Job, **changes: object) -> Move:
    given: dict[str, object] = {
        "now": NOW,
        "actor": "worker-1",
        "outcome": Outcome.FAILED,
        "reason": "ValueError: no",
        "entry": SOON,
        "sends_now": True,
    }
    return moves.retry_later(job, **{**given, **changes})  # type: ignore[arg-type]


def complete(job: Job, result: Content = INLINE, progress: Progress | None = None) -> Move:
    return moves.complete(job, now=NOW, actor="worker-1", result=result, progress=progress)


def recover(job: Job, *, sends_now: bool = True) -> Move:
    return moves.recover(
        job, now=NOW, margin=MARGIN, actor="scheduler", entry=SOON, sends_now=sends_now
    )


# --- the table of states ---


def test_a_move_that_the_table_does_not_hold_cannot_be_built() -> None:
    with pytest.raises(IllegalMove, match="from SUCCEEDED to RUNNING"):
        Move(
            name="revive",
            job_id="job-1",
            to=JobStatus.RUNNING,
            expect={"status": StatusIn(frozenset({JobStatus.SUCCEEDED}))},
        )


@pytest.mark.parametrize("expect", [{}, {"status": Is("status", JobStatus.PENDING)}])
def test_a_move_to_a_state_names_the_states_that_it_expects(expect: dict[str, Is]) -> None:
    with pytest.raises(IllegalMove, match="The move blind names no state"):
        Move(name="blind", job_id="job-1", to=JobStatus.RUNNING, expect=expect)


def test_a_job_that_did_not_end_cannot_leave_the_index() -> None:
    with pytest.raises(IllegalMove, match="job-1 did not end"):
        moves.finish(a_running_job())


# --- repeated writes ---


@each_case
def test_a_writer_knows_its_own_write_again(case: Case) -> None:
    job = case.ordinary
    move = case.build(job)
    assert not move.made_by_me(job)
    written = done(move, job)
    assert move.made_by_me(written) is (case.builder not in RECORDED_NOWHERE)


@each_case
def test_a_write_repeated_is_refused_or_changes_nothing(case: Case) -> None:
    job = case.ordinary
    move = case.build(job)
    once = done(move, job)
    if move.is_allowed(once):
        assert move.apply(once) == once


@each_case
def test_the_same_write_of_another_or_at_another_time_is_not_mine(case: Case) -> None:
    job = case.ordinary
    move = case.build(job)
    written = done(move, job)
    for changes in ({"actor": "another"}, {"at": after(0.001)}):
        if not move.events:
            continue
        events = (*move.events[:-1], replace(move.events[-1], **changes))
        theirs = replace(move, events=events, claim_id=move.claim_id and "claim-x")
        assert not theirs.made_by_me(written)


def test_a_write_is_known_again_though_others_wrote_after_it() -> None:
    move = fail(a_running_job())
    retrying = done(move, a_running_job())
    claim = moves.claim(
        a_message(retrying),
        now=after(2),
        wait=WAIT,
        owner="worker-2",
        claim_id="claim-2",
        lease_until=after(47),
    )
    assert move.made_by_me(done(claim, retrying))


def test_another_workers_recovery_of_the_same_token_is_not_my_failure() -> None:
    job = an_abandoned_job()
    recovered = done(recover(job), job)
    for zombie in (
        fail(job),
        fail(job, outcome=Outcome.TIMED_OUT),
        complete(job),
        moves.die(job, now=NOW, actor="worker-1", outcome=Outcome.LOST, reason="x"),
        moves.hand_back(job, now=NOW, actor="worker-1", entry=SOON, reason="x"),
    ):
        assert not zombie.is_allowed(recovered)
        assert not zombie.made_by_me(recovered)


def test_a_claim_is_known_by_its_nonce_alone() -> None:
    job = a_sent_job()
    build: Callable[[str], Move] = lambda claim_id: moves.claim(  # noqa: E731
        a_message(job),
        now=NOW,
        wait=WAIT,
        owner="worker-1",
        claim_id=claim_id,
        lease_until=after(45),
    )
    claimed = done(build("claim-a"), job)
    assert build("claim-a").made_by_me(claimed)
    # The same worker at the same millisecond, for a second delivery of the message.
    assert not build("claim-b").made_by_me(claimed)
    completed = done(complete(claimed), claimed)
    assert not build("claim-a").made_by_me(completed)


def test_of_two_changes_in_one_millisecond_the_loser_is_told_so() -> None:
    job = a_sent_job()

    def change(payload: Content) -> Move:
        return moves.change(
            job, now=NOW, actor="api", sets={"payload": payload}, entry=None, sends_now=True
        )

    changed = done(change(INLINE), job)
    assert change(INLINE).made_by_me(changed)
    assert not change(IN_ITEM).is_allowed(changed)
    assert not change(IN_ITEM).made_by_me(changed)


# --- history ---


def test_events_are_appended_while_there_is_room() -> None:
    job = a_job()
    marked = done(moves.mark_enqueued(job, now=NOW, actor="scheduler"), job)
    assert [event.kind for event in marked.history] == [EventKind.SUBMITTED, EventKind.ENQUEUED]
    assert marked.history_dropped == 0


@each_case
def test_a_long_history_is_compacted_by_the_write_that_would_overfill_it(case: Case) -> None:
    job = with_long_history(case.ordinary)
    move = case.build(job)
    written = done(move, job)
    if "history_as_read" not in move.expect:
        assert written.history == (*job.history, *move.events)
        return
    assert not is_over_budget(written.history)
    assert written.history[0] == job.history[0]
    assert written.history[-len(move.events) :] == move.events
    count_before = len(job.history) + job.history_dropped
    assert len(written.history) + written.history_dropped == count_before + len(move.events)


@each_case
def test_the_record_names_the_state_that_the_move_led_to(case: Case) -> None:
    written = done(case.build(case.ordinary), case.ordinary)
    if case.builder not in RECORDED_NOWHERE:
        assert written.history[-1].status is written.status


@each_case
def test_reasons_are_kept_short(case: Case) -> None:
    move = case.build(case.ordinary)
    assert all(len(event.reason.encode()) <= 40 for event in move.events)


# --- dispatch ---


def test_a_mark_says_when_the_message_was_sent() -> None:
    for job in (a_job(), a_retrying_job(enqueued_at=None)):
        marked = done(moves.mark_enqueued(job, now=NOW, actor="scheduler"), job)
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
    move = moves.mark_dispatched_again(job, now=NOW, actor="s", queue=queue, reason="missed")
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
    taken_back = done(moves.unmark(job, now=NOW, actor="api", reason="throttled"), job)
    assert (taken_back.status, taken_back.enqueued_at) == (status, None)


def test_refiling_moves_the_entry_and_nothing_else() -> None:
    job = a_job(due_at=after(-400), run_at=after(-400))
    moved = done(moves.refile(job, entry=Entry(NOW, 3), now=NOW, actor="api"), job)
    assert (moved.due_at, moved.shard) == (NOW, 3)
    assert (moved.run_at, moved.status, moved.generation) == (after(-400), job.status, 1)


# --- attempts ---


def test_a_claim_makes_its_worker_the_owner() -> None:
    job = a_sent_job(run_at=after(-2), due_at=after(-1))
    move = CASES_BY_BUILDER["claim"].build(job)
    claimed = done(move, job)
    assert (claimed.status, claimed.attempt, claimed.token) == (JobStatus.RUNNING, 1, 1)
    assert (claimed.lease_owner, claimed.lease_until) == ("worker-2", after(45))
    assert (claimed.claim_id, claimed.started_at) == ("claim-2", NOW)
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
    assert (taken.attempt, taken.token, taken.lease_owner) == (2, 2, "worker-2")
    assert (taken.progress, taken.generation, taken.lateness_ms) == (None, 1, 0)
    lost, current = attempts_of(taken.history, {})
    assert (lost.outcome, lost.worker, lost.token) == (Outcome.LOST, "worker-1", 1)
    assert (current.outcome, current.worker, current.token) == (None, "worker-2", 2)


def test_a_heartbeat_extends_the_lease_and_keeps_progress_unless_told() -> None:
    job = a_running_job(progress=Progress(done=1))
    beat = done(moves.heartbeat(job, lease_until=after(45), progress=None), job)
    assert (beat.lease_until, beat.progress) == (after(45), Progress(done=1))
    told = done(moves.heartbeat(job, lease_until=after(45), progress=Progress(done=2)), job)
    assert told.progress == Progress(done=2)
    assert told.history == job.history


def test_a_heartbeat_of_a_job_asked_to_stop_still_extends() -> None:
    job = a_running_job()
    asked = replace(job, cancel_requested_at=NOW)
    assert moves.heartbeat(job, lease_until=after(45), progress=None).is_allowed(asked)


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
    move = moves.hand_back(job, now=NOW, actor="worker-1", entry=SOON, reason="a neighbour hung")
    back = done(move, job)
    assert move.name == "hand_back"
    assert (back.status, back.attempt, back.generation) == (JobStatus.RETRYING, 0, 2)
    assert back.history[-1].kind is EventKind.HANDED_BACK
    assert EventKind.SNOOZED not in {event.kind for event in back.history}


LEASE_ENDS = ["complete", "retry_later", "hand_back", "die", "end_cancelled", "recover"]


@each_case
def test_whoever_ends_an_attempt_clears_its_lease(case: Case) -> None:
    written = done(case.build(case.ordinary), case.ordinary)
    lease = (written.lease_owner, written.lease_until, written.claim_id)
    if case.builder in LEASE_ENDS:
        assert lease == (None, None, None)
    assert (written.status is JobStatus.RUNNING) is (None not in lease)


# --- ends ---


@each_case
def test_an_open_job_is_in_the_index_and_a_final_one_leaves_it_with_nothing_owed(
    case: Case,
) -> None:
    written = done(case.build(case.ordinary), case.ordinary)
    assert (written.due_at is None) is (written.shard is None)
    if not written.status.is_final:
        assert written.due_at is not None
        assert (written.finished_at, written.keep_until) == (None, None)
    elif case.builder == "finish":
        assert written.due_at is None
    else:
        assert (written.due_at is None) is (written.status is not JobStatus.DEAD)
        assert written.finished_at == NOW


@each_case
def test_a_record_is_deleted_only_when_nothing_is_owed_for_it(case: Case) -> None:
    written = done(case.build(case.ordinary), case.ordinary)
    assert (written.keep_until is not None) is (written.due_at is None)


ENDS = ["complete", "end_cancelled", "recover to CANCELLED", "cancel_waiting", "expire"]


@pytest.mark.parametrize("case", [c for c in CASES if c.name in ENDS], ids=lambda case: case.name)
def test_a_job_with_an_object_stays_until_that_is_marked_finished(case: Case) -> None:
    job = replace(case.ordinary, payload=IN_BUCKET)
    ended = done(case.build(job), job)
    assert (ended.due_at, ended.keep_until) == (job.due_at, None)
    gone = done(moves.finish(ended), ended)
    assert (gone.due_at, gone.shard, gone.keep_until) == (None, None, NOW + WEEK)
    assert (gone.status, gone.history) == (ended.status, ended.history)


def test_a_result_in_the_bucket_is_owed_too() -> None:
    job = a_running_job()
    assert done(complete(job, IN_BUCKET), job).due_at == job.due_at
    assert done(complete(job, IN_ITEM), job).due_at is None
    assert owes_on_end(job, JobStatus.SUCCEEDED, IN_BUCKET)
    assert not owes_on_end(job, JobStatus.SUCCEEDED)
    assert owes_on_end(job, JobStatus.DEAD)


def test_success_keeps_result_and_progress() -> None:
    job = a_running_job()
    result, progress = Content(size_bytes=2, text="42"), Progress(done=1, total=1)
    ended = done(complete(job, result, progress), job)
    assert (ended.result, ended.progress, ended.finished_at) == (result, progress, NOW)


@pytest.mark.parametrize(
    ("retention", "key", "kept"),
    [
        (3600, None, timedelta(hours=1)),
        (3600, "k", timedelta(hours=24)),
        (7 * 86_400, "k", WEEK),
        (0, None, timedelta(0)),
    ],
)
def test_a_key_holds_at_least_a_day_after_the_end(
    retention: int, key: str | None, kept: timedelta
) -> None:
    assert keep_after_end(a_job(retention_seconds=retention, idempotency_key=key)) == kept


def test_a_dead_letter_that_nobody_takes_outlives_every_retention() -> None:
    job = a_running_job(retention_seconds=60)
    dead = done(moves.die(job, now=NOW, actor="w", outcome=Outcome.FAILED, reason="E: x"), job)
    assert (dead.due_at, dead.keep_until) == (job.due_at, None)
    assert done(moves.finish(dead), dead).keep_until == after(60)


# --- recovery ---


@pytest.mark.parametrize(
    ("changes", "status", "kind"),
    [
        ({}, JobStatus.RETRYING, EventKind.LOST),
        ({"attempt": 5, "token": 5}, JobStatus.RETRYING, EventKind.LOST),
        ({"attempt": 6, "token": 6}, JobStatus.DEAD, EventKind.LOST),
        ({"retry": RetryPolicy(max_attempts=1)}, JobStatus.DEAD, EventKind.LOST),
        ({"on_lost": OnLost.DEAD}, JobStatus.DEAD, EventKind.LOST),
        ({"cancel_requested_at": after(-90)}, JobStatus.CANCELLED, EventKind.CANCELLED),
        (
            {"cancel_requested_at": after(-90), "on_lost": OnLost.DEAD, "attempt": 6},
            JobStatus.CANCELLED,
            EventKind.CANCELLED,
        ),
    ],
)
def test_a_lost_attempt_is_followed_by_what_its_job_says(
    changes: dict[str, object], status: JobStatus, kind: EventKind
) -> None:
    job = replace(an_abandoned_job(progress=Progress(done=1)), **changes)  # type: ignore[arg-type]
    recovered = done(recover(job), job)
    assert (recovered.status, recovered.history[-1].kind) == (status, kind)
    assert recovered.progress is None
    is_retried = status is JobStatus.RETRYING
    assert recovered.generation == (2 if is_retried else 1)
    assert recovered.attempt == job.attempt
    assert (recovered.finished_at is None) is is_retried


def test_a_recovered_job_is_sent_now_or_by_the_sweep() -> None:
    job = an_abandoned_job()
    assert done(recover(job), job).enqueued_at == NOW
    unsent = done(recover(job, sends_now=False), job)
    assert (unsent.enqueued_at, unsent.due_at) == (None, SOON.due_at)


# --- operators ---


def test_a_waiting_job_is_cancelled_at_once() -> None:
    for job in (a_job(), a_sent_job(), a_retrying_job()):
        move = moves.cancel_waiting(job, now=NOW, actor="api", reason="x")
        cancelled = done(move, job)
        assert cancelled.status is JobStatus.CANCELLED
        assert (cancelled.cancel_requested_at, cancelled.enqueued_at) == (NOW, None)
        assert len(attempts_of(cancelled.history, {})) == 0


def test_a_running_job_is_only_asked() -> None:
    job = a_running_job()
    asked = done(moves.request_cancel(job, now=NOW, actor="api", reason="x"), job)
    assert asked == replace(job, cancel_requested_at=NOW, history=asked.history)


@pytest.mark.parametrize("job", [a_job(), a_sent_job(), a_retrying_job()])
def test_a_change_opens_a_generation_with_its_time_and_place(job: Job) -> None:
    for sends_now in (True, False):
        changed = done(
            moves.change(
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
    move = moves.change(
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
    move = moves.redrive(job, now=NOW, actor="api", entry=SOON, sends_now=sends_now, reason="fixed")
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
        again.lease_until,
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
    move = moves.redrive(job, now=NOW, actor="api", entry=SOON, sends_now=True, reason="")
    assert done(move, job).expires_at == kept


def _claimed_event(token: int) -> object:
    return an_event(
        EventKind.CLAIMED, status=JobStatus.RUNNING, actor="worker-1", attempt=token, token=token
    )


CASES_BY_BUILDER = {case.builder: case for case in CASES}
