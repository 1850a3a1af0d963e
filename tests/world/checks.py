"""What must be true of a world once all faults are over: the invariants of the protocol."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

from hourhand.domain.jobs.job import ATTEMPT_ENDS, EventKind, HistoryEvent, Job, JobStatus
from hourhand.domain.ticks.buckets import bucket_of
from hourhand.services.jobs.attempt import HAND_BACK_DELAY
from tests.world.runs import Run
from tests.world.world import World

SWEEP_FAILURES = {
    "Shards could not be read in parallel. Each one is read alone.",
    "A shard could not be read; the next tick tries again.",
    "A shard could not be checked; the next tick tries again.",
    "The queues could not be counted. Jobs whose messages are missing are sent again.",
    "Jobs could not be dispatched; the next tick tries again.",
    "Jobs could not be read; the next tick tries again.",
    "No decision could be made about a job.",
    "A job could not be repaired; the next tick tries again.",
}

_ENDS_OF_JOBS = {
    JobStatus.SUCCEEDED: {EventKind.SUCCEEDED},
    JobStatus.DEAD: {EventKind.FAILED, EventKind.TIMED_OUT, EventKind.LOST},
    JobStatus.CANCELLED: {EventKind.CANCELLED},
    JobStatus.EXPIRED: {EventKind.EXPIRED},
}


def check_world(world: World) -> None:
    """Check every job of a world that came to rest."""
    assert not world.queues.messages(), "a message is left"
    assert not world.queues.backstop, "a message was received too often"
    assert not world.store.late_copies, world.store.late_copies
    check_sweeps(world)
    for job in world.store.jobs().values():
        check_end(job)
        check_commits(world, job)
        check_dead_letters(world, job)
        check_index_is_empty(world, job)
        check_owners(world, job)


def check_sweeps(world: World) -> None:
    """Whatever a sweep told and left was a call without an answer, and no mistake of ours."""
    told = [line for line in world.telemetry.warnings if line.sentence in SWEEP_FAILURES]
    assert len(told) == world.telemetry.total("sweep_failures")
    for line in told:
        assert line.fields["reason"].startswith("Unavailable: "), line


def check_end(job: Job) -> None:
    """The job is final, nothing is owed, and its history tells of its end exactly once."""
    assert job.status.is_final, f"job {job.id} is {job.status}"
    assert (job.due_at, job.shard) == (None, None), "its entry is still in the index"
    assert job.lease is None
    assert job.finished_at is not None
    assert job.keep_until is not None
    of_round = _of_this_round(job)
    ends = [e for e in of_round if e.status is job.status and e.kind in _ENDS_OF_JOBS[job.status]]
    assert len(ends) == 1, f"history tells of the end {len(ends)} times: {job.history}"
    since = [event.kind for event in of_round[of_round.index(ends[0]) + 1 :]]
    was_discarded = [EventKind.DISCARDED] if job.discarded_at is not None else []
    assert since == was_discarded, f"something happened after the end: {job.history}"


def _of_this_round(job: Job) -> Sequence[HistoryEvent]:
    starts = [n for n, event in enumerate(job.history) if event.kind is EventKind.REDRIVEN]
    return job.history[starts[-1] :] if starts else job.history


def is_of(job: Job, seen: Job) -> bool:
    """Whether ``seen`` is this job, and not a deleted one that had its id before."""
    return (seen.id, seen.created_at) == (job.id, job.created_at)


def check_commits(world: World, job: Job) -> None:
    """Each round ended exactly once, and so did each attempt."""
    ends: Counter[int] = Counter()
    attempts: dict[int, set[object]] = defaultdict(set)
    for change in (c for c in world.store.changes if is_of(job, c.after)):
        before, after = change.before, change.after
        if after.status.is_final and (before is None or not before.status.is_final):
            ends[after.round] += 1
        if before is not None and before.status.is_final and before.round == after.round:
            assert before.status is after.status, "a final state was left within its round"
        known = before.history if before is not None else ()
        for event in (e for e in after.history if e not in known and e.kind in ATTEMPT_ENDS):
            attempts[event.token].add(event)
        assert after.attempt <= after.retry.max_attempts
    assert ends == dict.fromkeys(range(1, job.round + 1), 1)
    attempts.pop(0, None)
    assert all(len(events) == 1 for events in attempts.values()), attempts
    assert set(attempts) == set(range(1, job.token + 1)), "an attempt began and never ended"


def lost_attempts(world: World) -> int:
    """Return how many attempts ended because their lease ran out."""
    return sum(
        event.kind is EventKind.LOST
        for change in world.store.changes
        for event in change.after.history[-2:]
        if change.before is not None and event not in change.before.history
    )


def check_dead_letters(world: World, job: Job) -> None:
    """Every round that ended in DEAD has a dead letter, and no other has one."""
    dead = {
        change.after.round
        for change in world.store.changes
        if change.after.id == job.id and change.after.status is JobStatus.DEAD
    }
    assert set(letters_by_round(world, job)) == dead


def letters_by_round(world: World, job: Job) -> Counter[int]:
    """Return how many dead letters were sent for each round of a job."""
    letters = [json.loads(letter.body)["job"] for letter in world.queues.dead_letters]
    return Counter(letter["round"] for letter in letters if letter["id"] == job.id)


def check_index_is_empty(world: World, job: Job) -> None:
    """No place where the job was ever filed shows it any more."""
    places = {
        (bucket_of(change.after.due_at), change.after.shard)
        for change in world.store.changes
        if change.after.id == job.id
        and change.after.due_at is not None
        and change.after.shard is not None
    }
    for bucket, shard in places:
        page = world.store.read_bucket(bucket, shard, position=None, limit=1000)
        assert job.id not in {entry.job_id for entry in page.entries}


def _is_replayed(run: Run, following: Run) -> bool:
    """Whether a durable run went on in its invocation, since what it waits for completed."""
    has_ended = run.ended_at is not None and run.ended_at <= following.started_at
    return run.job.is_durable_run and run.token == following.token and has_ended


def check_owners(world: World, job: Job) -> None:
    """No two live owners, no two runs under one token, no run before its time."""
    runs = [run for run in world.runs if is_of(job, run.job)]
    for run in runs:
        assert run.started_at >= run.job.run_at, "a handler ran before run_at"
        assert run.job.due_at is not None
        assert run.started_at >= run.job.due_at, "a handler ran before it was due"
    for run, following in pairwise(runs):
        assert run.token < following.token or _is_replayed(run, following)
        assert is_over(world, run, following.started_at), "two handlers ran at once"


def is_over(world: World, run: Run, instant: datetime) -> bool:
    """Whether a run had ended at ``instant``, or must have but for a process that was paused."""
    assert run.ended_at is not None
    if run.ended_at <= instant or run.owned_until < instant:
        return True
    handed_back = [
        change.at
        for change in world.store.changes
        if change.name == "hand_back" and change.after.token == run.token
    ]
    return bool(handed_back) and handed_back[0] + HAND_BACK_DELAY <= instant


def assert_nothing_is_out_of_sight(world: World) -> None:
    """Every job that is not final lies above the watermark or in an open bucket."""
    state = world.control.read_watermark()
    assert state is not None
    for job in world.unfinished():
        assert job.due_at is not None
        bucket = bucket_of(job.due_at)
        assert bucket >= state.low or bucket in state.open, f"{job.id} in {bucket}, {state}"
