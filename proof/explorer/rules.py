"""The invariants: what must hold of every write, every start of a handler and every state."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from hourhand.domain.jobs.job import ATTEMPT_ENDS, LATE, EventKind, Job, JobStatus, OnLost
from hourhand.domain.ticks.buckets import ShardMap, bucket_of
from hourhand.domain.ticks.watermark import Watermark
from proof.explorer.rules_of_records import judge_record
from proof.explorer.rules_of_schedules import judge_groups

ZERO = timedelta(0)


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes: the name by which it owns jobs, and how far its clock is ahead."""

    worker: str
    skew: timedelta


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far clocks are ahead at the most, and those of owners by their names.

    ``are_kept``: whether all are within the margin; else a lease may be taken early.
    """

    most_ahead: timedelta = ZERO
    are_kept: bool = True
    skew_of: Any = None

    def owner_skew(self, worker: str | None) -> timedelta:
        """Return how far the clock of a job's owner is ahead."""
        return ZERO if self.skew_of is None else self.skew_of(worker)


@dataclass(frozen=True, slots=True)
class Run:
    """A handler that runs: of which job, under which token, in whose process.

    ``ends_ms``: when its process is ended by its timer, since the handler would not stop.
    """

    job_id: str
    token: int
    label: str
    ends_ms: int | None = None


def judge_write(
    before: Job | None,
    after: Job | None,
    writer: Writer,
    now: datetime,
    bounds: Bounds,
    move: str = "",
) -> Iterator[str]:
    """Yield what a write on a job broke; ``now`` is the true time, ``move`` what was written."""
    if after is None:
        yield "an accepted job vanished"
        return
    if before is not None:
        yield from _never_fall(before, after)
        yield from judge_record(before, after, move)
        yield from _final_is_final(before, after)
        yield from _owner_is_respected(before, after, writer, now, bounds)
        if after.token > before.token:
            yield from _claim_is_right(before, after, now, bounds)
        elif before.status is JobStatus.RUNNING and after.status is not JobStatus.RUNNING:
            yield from _end_is_right(before, after)
        has_expired = after.expires_at is not None and after.expires_at <= now + bounds.most_ahead
        if after.status is JobStatus.EXPIRED is not before.status and not has_expired:
            yield "it expired before its time"
        was_cancelled = after.status is JobStatus.CANCELLED is not before.status
        if was_cancelled and after.history[-1].reason == LATE and not has_expired:
            yield "it ended as late before it was late"
    yield from _is_consistent(after)


def _never_fall(before: Job, after: Job) -> Iterator[str]:
    for name in ("generation", "round", "token"):
        if getattr(after, name) < getattr(before, name):
            yield f"its {name} fell"


def _final_is_final(before: Job, after: Job) -> Iterator[str]:
    if not before.status.is_final:
        return
    if after.round == before.round and after.status is not before.status:
        yield f"a final state changed within its round, from {before.status} to {after.status}"
    elif after.round == before.round and _outcome(after) != _outcome(before):
        yield "what a job ended with changed within its round"
    if after.round == before.round and before.due_at is None and after.due_at is not None:
        yield "a job for which nothing is owed came back to the index"
    elif after.round == before.round and after.due_at not in {before.due_at, None}:
        yield "the entry of a job that ended was filed anew"


def _outcome(job: Job) -> tuple[object, ...]:
    return (job.result, job.finished_at, job.token, job.attempt)


def _owner_is_respected(
    before: Job, after: Job, writer: Writer, now: datetime, bounds: Bounds
) -> Iterator[str]:
    """Nobody but its owner ends or takes an attempt before its lease is over."""
    if before.status is not JobStatus.RUNNING or not bounds.are_kept:
        return
    is_left = after.status is not JobStatus.RUNNING or after.token != before.token
    changes_lease = after.at("lease.until") != before.at("lease.until")
    if writer.worker == before.at("lease.owner") or not (is_left or changes_lease):
        return
    shown = now + bounds.owner_skew(before.at("lease.owner"))
    if before.lease is not None and shown <= before.lease.until:
        yield f"a live owner lost its job: its lease lasts until {before.lease.until:%H:%M:%S.%f}"


def _claim_is_right(before: Job, after: Job, now: datetime, bounds: Bounds) -> Iterator[str]:
    latest = now + bounds.most_ahead
    if after.status is not JobStatus.RUNNING or after.token != before.token + 1:
        yield "a token was given without a claim"
    if before.run_at > latest or (before.due_at is not None and before.due_at > latest):
        yield "it was claimed before it was due"
    if before.cancel_requested_at is not None:
        yield "it was claimed although somebody asked to cancel it"
    # By its claimer's clock: who stands still between its look at it and the write may be late.
    claimed_at = after.started_at or now
    if before.expires_at is not None and before.expires_at <= claimed_at:
        yield "it was claimed after it expired"
    if before.status is JobStatus.RUNNING and before.on_lost is OnLost.DEAD:
        yield "a job that must not be run again was taken over"
    claim = after.history[-1]
    if claim.kind is not EventKind.CLAIMED or (claim.token, claim.attempt) != (
        after.token,
        after.attempt,
    ):
        yield "its history tells of another claim than was made"


def _end_is_right(before: Job, after: Job) -> Iterator[str]:
    ends = [e for e in after.history[-2:] if e.kind in ATTEMPT_ENDS and e.token == before.token]
    if not ends:
        yield "an attempt ended and its history does not tell"
        return
    was_asked = before.cancel_requested_at is not None
    if was_asked and after.status.is_waiting:
        yield "a job that was asked to stop is to run again"
    if after.status is JobStatus.CANCELLED and not was_asked:
        yield "a running job was cancelled and nobody asked for it"
    if ends[-1].kind is EventKind.LOST:
        may_run = before.on_lost is OnLost.RETRY and before.attempt < before.retry.max_attempts
        if after.status.is_waiting and not may_run:
            yield "a lost attempt is followed by another that is not allowed"
        if after.status is JobStatus.DEAD and may_run:
            yield "a lost attempt was the last although another is allowed"


def _is_consistent(job: Job) -> Iterator[str]:
    if job.attempt > job.retry.max_attempts:
        yield "it has more attempts than are allowed"
    if (job.status is JobStatus.RUNNING) is not (job.lease is not None):
        yield f"it is {job.status} and its lease does not fit that"
    counted = Counter(e.token for e in job.history if e.kind in ATTEMPT_ENDS and e.attempt > 0)
    if any(times > 1 for times in counted.values()):
        yield "an attempt ended twice"
    if not job.status.is_final and job.due_at is None:
        yield "it is not final, and not in the index"


def judge_start(
    job: Job, stored: Job | None, runs: Sequence[Run], writer: Writer, now: datetime, bounds: Bounds
) -> Iterator[str]:
    """Yield what the start of a handler breaks. ``job``: as its worker knows it."""
    if job.run_at > now + bounds.most_ahead:
        yield "a handler started before run_at"
    if any(run.job_id == job.id and run.token == job.token for run in runs):
        yield "two handlers run under one token"
    if job.lease is None or now + writer.skew > job.lease.until or not bounds.are_kept:
        # Its process stood still for longer than its lease: it may not know yet.
        return
    if stored is None or stored.status is not JobStatus.RUNNING or stored.token != job.token:
        yield "a handler started that does not own its job"


def judge_jobs(jobs: Sequence[Job], now: datetime) -> Iterator[str]:
    """Yield what all jobs together break."""
    yield from judge_groups(jobs, now)
    counted = Counter((j.schedule_id, j.occurrence) for j in jobs if j.occurrence is not None)
    for (schedule_id, occurrence), times in counted.items():
        if times > 1:
            yield f"{schedule_id} has {times} jobs for {occurrence}"


def out_of_sight(
    jobs: Sequence[Job], shard_map: ShardMap, watermark: Watermark | None
) -> Iterator[tuple[str, str]]:
    """Yield each job with something to come that the sweep does not read, and why not."""
    for job in jobs:
        if job.due_at is None or job.shard is None:
            continue
        bucket = bucket_of(job.due_at)
        if watermark is not None and bucket < watermark.low and bucket not in watermark.open:
            yield job.id, f"{job.id} is {job.status} in a bucket that the sweep has closed"
        # The largest of all that cover the bucket: counted here, not asked of the map.
        counts = [each.count for each in shard_map.versions if each.from_bucket <= bucket]
        if job.shard >= max(counts, default=shard_map.versions[0].count):
            yield job.id, f"{job.id} is {job.status} in shard {job.shard}, which nobody reads"


def letters_owed(jobs: Sequence[Job], letters: Sequence[Any]) -> Iterator[str]:
    """Yield the DEAD jobs that left the index before their dead letter was sent."""
    gone = [job for job in jobs if job.status is JobStatus.DEAD and job.due_at is None]
    if not gone:
        return
    told = [json.loads(letter.body)["job"] for letter in letters]
    sent = {(each["id"], each["round"]) for each in told}
    for job in gone:
        if (job.id, job.round) not in sent:
            yield f"{job.id} is DEAD, out of the index, and its dead letter was never sent"
