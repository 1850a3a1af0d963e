"""What a move leaves on record, and how a writer knows its own write again by it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from hourhand.domain.conditions import Condition, OneOf, all_hold, equals
from hourhand.domain.errors import IllegalTransition
from hourhand.domain.jobs import transitions
from hourhand.domain.jobs.history import (
    REASON_BYTES,
    failure_text,
    history_budget,
    is_over_budget,
    pack_event,
    unpack_event,
)
from hourhand.domain.jobs.job import (
    Content,
    JobStatus,
    Lease,
    OnLost,
    Outcome,
)
from hourhand.domain.jobs.transitions import Transition
from tests.unit.domain.condition_cases import CASES, SOON, WAIT, Case
from tests.unit.domain.job_samples import (
    IN_ITEM,
    INLINE,
    NOW,
    a_message,
    a_running_job,
    a_sent_job,
    after,
    an_abandoned_job,
    with_long_history,
)
from tests.unit.domain.move_samples import CASES_BY_BUILDER, complete, done, fail, recover

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)

RECORDED_NOWHERE = {
    *("debounce", "supersede", "keep_payload", "heartbeat", "finish"),
    *("flag", "clear_flag", "keep_journal", "mark_compensated", "prolong_child"),
    "count_signal",
}
"""Moves that leave no event: repeated, they are harmless."""


# --- the table of states ---


def test_a_move_that_the_table_does_not_hold_cannot_be_built() -> None:
    with pytest.raises(IllegalTransition, match="from SUCCEEDED to RUNNING"):
        Transition(
            name="revive",
            job_id="job-1",
            to=JobStatus.RUNNING,
            expect={"status": OneOf("status", frozenset({JobStatus.SUCCEEDED}))},
        )


@pytest.mark.parametrize("expect", [{}, {"status": equals("status", JobStatus.PENDING)}])
def test_a_move_to_a_state_names_the_states_that_it_expects(expect: dict[str, Condition]) -> None:
    with pytest.raises(IllegalTransition, match="The move blind names no state"):
        Transition(name="blind", job_id="job-1", to=JobStatus.RUNNING, expect=expect)


def test_a_job_that_did_not_end_cannot_leave_the_index() -> None:
    with pytest.raises(IllegalTransition, match="job-1 did not end"):
        transitions.finish(a_running_job())


# --- repeated writes ---


@each_case
def test_a_writer_knows_its_own_write_again(case: Case) -> None:
    job = case.ordinary
    move = case.build(job)
    assert not move.made_by_me(job)
    written = done(move, job)
    is_recorded = case.builder not in RECORDED_NOWHERE
    assert move.made_by_me(written) is is_recorded
    assert not is_recorded or written.history[-1].status is written.status
    for event in move.events:
        assert unpack_event(pack_event(event)) == event, "nothing is lost when it is kept"
        no_reason = pack_event(replace(event, reason=""))
        assert len(pack_event(event)) <= len(no_reason) + REASON_BYTES, "reasons are kept short"


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
    claim = transitions.claim(
        a_message(retrying),
        now=after(2),
        wait=WAIT,
        lease=Lease(owner="worker-2", until=after(47), claim_id="claim-2"),
    )
    assert move.made_by_me(done(claim, retrying))


def test_another_workers_recovery_of_the_same_token_is_not_my_failure() -> None:
    job = an_abandoned_job()
    recovered = done(recover(job), job)
    for zombie in (
        fail(job),
        fail(job, outcome=Outcome.TIMED_OUT),
        complete(job),
        transitions.die(job, now=NOW, actor="worker-1", outcome=Outcome.LOST, reason="x"),
        transitions.hand_back(
            job, now=NOW, actor="worker-1", entry=SOON, sends_now=True, reason="x"
        ),
    ):
        assert not zombie.is_allowed(recovered)
        assert not zombie.made_by_me(recovered)


def test_a_claim_is_known_by_its_nonce_alone() -> None:
    job = a_sent_job()
    build: Callable[[str], Transition] = lambda claim_id: transitions.claim(  # noqa: E731
        a_message(job),
        now=NOW,
        wait=WAIT,
        lease=Lease(owner="worker-1", until=after(45), claim_id=claim_id),
    )
    claimed = done(build("claim-a"), job)
    assert build("claim-a").made_by_me(claimed)
    # The same worker at the same millisecond, for a second delivery of the message.
    assert not build("claim-b").made_by_me(claimed)
    completed = done(complete(claimed), claimed)
    assert not build("claim-a").made_by_me(completed)


def test_of_two_changes_in_one_millisecond_the_loser_is_told_so() -> None:
    job = a_sent_job()

    def change(payload: Content) -> Transition:
        return transitions.change(
            job, now=NOW, actor="api", sets={"payload": payload}, entry=None, sends_now=True
        )

    changed = done(change(INLINE), job)
    assert change(INLINE).made_by_me(changed)
    assert not change(IN_ITEM).is_allowed(changed)
    assert not change(IN_ITEM).made_by_me(changed)


# --- history ---


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


LONG = "TimeoutError: " + "no answer from the mail server, " * 10
BROKEN = failure_text(LONG)
LOST = "Lost: its worker died or lost contact (lease ended at "


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.TIMED_OUT])
def test_a_failed_attempt_leaves_its_failure(outcome: Outcome) -> None:
    job = a_running_job(last_failure="E: before")
    assert done(fail(job, outcome=outcome, reason=LONG), job).last_failure == BROKEN
    dead = transitions.die(job, now=NOW, actor="w", outcome=outcome, reason=LONG)
    assert done(dead, job).last_failure == BROKEN


def test_a_lost_attempt_leaves_that_it_was_lost() -> None:
    job = an_abandoned_job(last_failure="E: before")
    for lost in (done(recover(job), job), done(CASES_BY_BUILDER["take_over"].build(job), job)):
        assert str(lost.last_failure).startswith(LOST)
    dead = an_abandoned_job(on_lost=OnLost.DEAD)
    assert str(done(recover(dead), dead).last_failure).startswith(LOST)


def test_a_snooze_keeps_the_last_failure_and_a_success_ends_it() -> None:
    job = a_running_job(last_failure="E: before")
    assert done(fail(job, outcome=Outcome.SNOOZED, reason="later"), job).last_failure == "E: before"
    assert done(complete(job), job).last_failure is None
    untouched = a_running_job()
    assert "last_failure" not in complete(untouched).sets, "an ordinary end removes no more"


def test_a_long_failure_compacts_the_history_that_it_leaves_no_room_for() -> None:
    job = with_long_history(a_running_job())
    short, long = done(fail(job), job), done(fail(job, reason=LONG), job)
    assert len(long.history) < len(short.history)
    assert not is_over_budget(long.history, long.last_failure)
    assert history_budget(long.last_failure) < 220
    kept = a_running_job(last_failure=BROKEN, history=short.history[:7])
    later = done(fail(kept, outcome=Outcome.SNOOZED, reason="later"), kept)
    assert not is_over_budget(later.history, BROKEN), "a failure of before counts, too"


ON_RECORD = [case for case in CASES if case.builder not in {*RECORDED_NOWHERE, "claim"}]


@pytest.mark.parametrize("case", ON_RECORD, ids=lambda case: case.name)
def test_what_people_do_to_a_waiting_job_belongs_to_no_attempt(case: Case) -> None:
    first, *_ = case.build(replace(case.ordinary, attempt=3, token=7)).events
    is_theirs = case.builder in {"adopt", "cancel_waiting", "change", "redrive"}
    assert (first.attempt, first.token) == ((0, 0) if is_theirs else (3, 7))


@pytest.mark.parametrize("builder", ["park", "unpark"])
def test_a_late_copy_of_a_move_that_is_made_at_the_instant_that_it_expects_is_refused(
    builder: str,
) -> None:
    case = CASES_BY_BUILDER[builder]
    job = replace(case.ordinary, enqueued_at=NOW)
    move = case.build(job)
    assert all_hold(move.expect.values(), job)
    assert not all_hold(move.expect.values(), move.apply(job))
