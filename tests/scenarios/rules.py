"""What no world may show, beyond `tests.world.checks`: rules on each write and on each run."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from hourhand.domain.jobs.job import EventKind, JobStatus, OnLost
from tests.world.checks import check_world
from tests.world.watched_store import Change
from tests.world.world import World

IMPOSSIBLE = ("IllegalTransition", "ValueError", "TypeError", "AssertionError")
"""Errors of what would be written, and not of the store that was asked."""

LATE_AFTER = timedelta(seconds=12)
"""A simulated worker looks for messages every ten seconds; the rest is the waits of a fraction."""


def check_rules(world: World) -> None:
    """Check a world that came to rest, write by write and run by run. All clocks must agree."""
    check_world(world)
    for change in world.store.changes:
        _check_write(world, change)
    for run in world.runs:
        expires_at = run.job.expires_at
        assert expires_at is None or run.started_at < expires_at, "a job began after expires_at"
    # A store refuses a job that cannot be, and a writer that can do without its write goes on.
    for line in world.telemetry.logs:
        reason = str(line.fields.get("reason", ""))
        assert not reason.startswith(IMPOSSIBLE), f"{line.sentence} {reason}"


def check_punctual(world: World) -> None:
    """Check also that every run began when it was due: where no message and no process was lost.

    And that nothing is left in the bucket for ever.
    """
    check_rules(world)
    assert world.objects.keys() == set(world.objects.finished()), "an object never expires"
    for run in world.runs:
        assert run.job.due_at is not None
        late = run.started_at - run.job.due_at
        assert late <= LATE_AFTER, f"job {run.job.id} began {late} late"


def _check_write(world: World, change: Change) -> None:
    before, after = change.before, change.after
    if before is None:
        return
    same_round = before.round == after.round
    if before.cancel_requested_at is not None and same_round:
        ends = {JobStatus.RUNNING, JobStatus.SUCCEEDED, JobStatus.CANCELLED}
        assert after.status in ends, f"a job that was asked to stop became {after.status}"
        assert before.token == after.token, "a job that was asked to stop was claimed"
        is_first = after.cancel_requested_at == before.cancel_requested_at
        assert is_first, "a request to stop was forgotten, or replaced by a later one"
    if before.discarded_at is not None and same_round:
        is_first = after.discarded_at == before.discarded_at
        assert is_first, "a discard was forgotten, or replaced by a later one"
    if after.discarded_at is not None:
        assert same_round, "a new round began as discarded"
        assert after.status is JobStatus.DEAD, "a job that is not DEAD was discarded"
    was_lost = any(e.kind is EventKind.LOST for e in after.history[-2:] if e not in before.history)
    if was_lost:
        assert before.lease is not None
        over = before.lease.until + world.timings.clock_margin
        assert over < change.at, "an attempt was declared lost while its lease lasted"
    if after.token > before.token and same_round:
        _check_claim(change, was_lost=was_lost)
    if before.status is JobStatus.RUNNING and after.token == before.token:
        is_owners = (
            before.at("lease.owner") == after.at("lease.owner") or after.at("lease.owner") is None
        )
        assert is_owners, "the owner of a job changed without a claim"
    lost = (Counter(before.history) - Counter(after.history)).total()
    assert lost <= after.history_dropped - before.history_dropped, "an event is off the record"
    if change.name in {"change", "redrive", "fail", "snooze", "hand_back"}:
        assert after.generation > before.generation, "a change opened no generation"
    # A cancelled job that owes something is filed for the next sweep.
    is_same = before.generation == after.generation and after.status is not JobStatus.CANCELLED
    if is_same and before.due_at and after.due_at:
        assert after.due_at >= before.due_at, "an entry was filed earlier than it was"


def _check_claim(change: Change, *, was_lost: bool) -> None:
    before, after = change.before, change.after
    assert before is not None
    assert not before.status.is_final, "a job that had ended was claimed"
    assert before.status is not JobStatus.RUNNING or was_lost, "a job that ran was claimed"
    if was_lost:
        assert before.on_lost is OnLost.RETRY, "a lost job was run again, against its policy"
    assert before.due_at is None or before.due_at <= change.at, "a job was claimed before it is due"
    event = after.history[-1]
    assert (event.token, event.attempt) == (after.token, after.attempt), "the record is wrong"
