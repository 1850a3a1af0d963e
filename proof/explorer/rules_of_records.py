"""The invariants of what a job tells of itself, and of the records under idempotency keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from hourhand.domain.jobs.job import EventKind, Job, JobStatus, OnLost
from hourhand.memory.job_store import KeptText
from hourhand.ports.idempotency_store import IdempotencyRecord

OPENS_A_GENERATION = frozenset(
    {"change", "redrive", "fail", "snooze", "hand_back", "suspend", "wake", "restart"}
)
"""Moves after which no message that is out there may start the job."""

KEY_REFUSED = ("IdempotencyConflict", "IdempotencyKeyTaken")
"""The errors of an attempt under a key that it does not get."""

REDRIVABLE = frozenset({JobStatus.DEAD, JobStatus.EXPIRED, JobStatus.CANCELLED})


def judge_record(before: Job, after: Job, move: str) -> Iterator[str]:
    """Yield what a write broke of a job's own record; ``move`` is the name of the write."""
    lost = (Counter(before.history) - Counter(after.history)).total()
    if lost > after.history_dropped - before.history_dropped:
        yield "an event is off the record"
    ends_lost = before.status is JobStatus.RUNNING and after.status.is_waiting
    if (move in OPENS_A_GENERATION or ends_lost) and after.generation <= before.generation:
        yield f"no generation was opened by its {move}"
    if move == "hand_back" and before.on_lost is OnLost.DEAD:
        yield "a job that must not run again was handed back"
    yield from _payload_is_right(before, move)
    if after.round != before.round:
        yield from _round_is_new(before, after)
        return
    yield from _discard_is_right(before, after, move)
    old, new = before.due_at, after.due_at
    # A cancelled job that owes something is filed for the next sweep.
    is_same = before.generation == after.generation and after.status is not JobStatus.CANCELLED
    if is_same and old is not None and new is not None and new < old:
        yield "its entry was filed earlier than it was"
    if before.cancel_requested_at is not None:
        if after.cancel_requested_at != before.cancel_requested_at:
            yield "a request to stop was forgotten, or replaced by a later one"
        if after.status not in {JobStatus.RUNNING, JobStatus.SUCCEEDED, JobStatus.CANCELLED}:
            yield f"a job that was asked to stop became {after.status}"
    is_running = before.status is JobStatus.RUNNING and after.status is JobStatus.RUNNING
    if (
        is_running
        and after.token == before.token
        and after.at("lease.owner") != before.at("lease.owner")
    ):
        yield "the owner of a job changed without a claim"


def _payload_is_right(before: Job, move: str) -> Iterator[str]:
    if move == "debounce" and (before.token > 0 or before.status.is_final):
        yield "a job that had begun took a newer payload"


def _round_is_new(before: Job, after: Job) -> Iterator[str]:
    if before.status not in REDRIVABLE:
        yield f"a job that was {before.status} went round again"
    if before.status is JobStatus.DEAD and before.due_at is not None:
        yield "a new round begins while the dead letter of the old one is owed"
    if after.attempt != 0:
        yield "a new round begins with attempts of the old one"
    if before.compensated_round is not None and after.segment == before.segment:
        yield "a run whose steps were reversed began again with their results"
    left = (after.cancel_requested_at, after.keep_until, after.finished_at, after.lease)
    if any((*left, after.discarded_at, after.discard_note)):
        yield "a new round begins with what ended the old one"


def _discard_is_right(before: Job, after: Job, move: str) -> Iterator[str]:
    if before.discarded_at is not None and after.discarded_at != before.discarded_at:
        yield "a discard was forgotten, or replaced by a later one"
    if after.discarded_at is not None and after.status is not JobStatus.DEAD:
        yield f"a job that is {after.status} was discarded"
    if move == "discard":
        event = after.history[-1]
        if (event.kind, event.token) != (EventKind.DISCARDED, before.token):
            yield "a discard is not on record, or is of an end that nobody saw"


def judge_texts(jobs: Sequence[Job], texts: Mapping[str, Mapping[str, KeptText]]) -> Iterator[str]:
    """Yield the jobs that are to run and whose payload beside them ends sooner than they say."""
    for job in jobs:
        until = job.payload_kept_until
        if job.status.is_final or until is None or job.payload.item is None:
            continue
        kept = texts.get(job.id, {}).get(job.payload.item)
        if kept is None or kept.keep_until < until:
            yield f"job {job.id}: its payload ends sooner than it says"
        if job.due_at is not None and until <= job.due_at:
            yield f"job {job.id}: it is to run after its payload has ended, as it says"


def judge_keys(
    before: Mapping[str, IdempotencyRecord], after: Mapping[str, IdempotencyRecord]
) -> Iterator[str]:
    """Yield what a write on the records under keys broke."""
    for key, record in before.items():
        new = after.get(key)
        if new is None or new == record:
            continue
        if new.job_id == record.job_id and new.job_created_at != record.job_created_at:
            if new.job_created_at < record.job_created_at:
                yield f"a zombie of a deleted job {record.job_id} wrote the record under its key"
            continue
        if new.job_id == record.job_id and new.token < record.token:
            yield f"a zombie of job {record.job_id} wrote the record under its key"
        if record.is_done and not new.is_done:
            yield f"what job {record.job_id} did under its key is on record no more"


def keys_and_jobs(
    jobs: Sequence[Job], records: Mapping[str, IdempotencyRecord]
) -> Iterator[tuple[str, str]]:
    """Yield where jobs and the records under their keys do not fit, each with the job's id."""
    keyed = [job for job in jobs if job.idempotency_key is not None]
    if not keyed:
        return
    counted = Counter((job.tenant, job.idempotency_key) for job in keyed)
    for (_, key), times in counted.items():
        if times > 1:
            yield "", f"{times} jobs were made under the key {key}"
    done = {(each.job_id, each.job_created_at) for each in records.values() if each.is_done}
    for job in keyed:
        if job.status is JobStatus.SUCCEEDED and (job.id, job.created_at) not in done:
            yield "", f"job {job.id} succeeded, and nothing is on record under its key"
        others = {each.job_id for each in records.values()} - {job.id}
        refused = any(event.reason.startswith(KEY_REFUSED) for event in job.history)
        if refused and not others:
            yield "", f"job {job.id} was accepted and refused for what it did before it was deleted"
