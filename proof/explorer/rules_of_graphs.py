"""The invariants of batches and graphs: 18 and 23 of the design."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.runs.built_in import BATCH
from hourhand.domain.runs.records import record_of
from hourhand.domain.side_items import SideItemKind, SideKey

ON_COMPLETE, ON_SUCCESS = -1, -2
"""The payloads of callbacks, by which the rules know them."""

LETTERS = 3
"""Codes of a round: a decision is its round times this, and its letter."""


def judge_decisions(before: Mapping[SideKey, Any], after: Mapping[SideKey, Any]) -> Iterator[str]:
    """Yield which decisions a write changed within their round, or lost."""
    for key, item in after.items():
        if key.kind is not SideItemKind.DECISIONS or key not in before:
            continue
        old, new = record_of(before[key]).decisions, record_of(item).decisions
        for number, code in old.items():
            if number not in new:
                yield f"the decision on node {number} was lost"
            elif new[number] != code and new[number] // LETTERS <= code // LETTERS:
                yield f"the decision on node {number} changed within its round"


def judge_batches(before: Mapping[str, Job], after: Mapping[str, Job]) -> Iterator[str]:
    """Yield what a write broke of the callbacks of batches, and of their ends."""
    for batch in after.values():
        if batch.handler == BATCH:
            members, callbacks = _jobs_of(batch, after)
            for name, times in Counter(callbacks).items():
                if times > 1:
                    yield f"the callback {name} exists {times} times"
            if len(callbacks) > len(_jobs_of(batch, before)[1]):
                live = [job.id for job in members if not job.status.is_final]
                yield from (f"a callback came before the member {one} ended" for one in live)
            old = before.get(batch.id)
            if old is not None and old.status is JobStatus.SUCCEEDED:
                late = [job.id for job in members if job.id not in before]
                yield from (f"the member {one} was put into a batch that had ended" for one in late)
            elif old is not None and not old.status.is_final and _ended_by_its_members(batch):
                yield from _ended_wrongly(batch, members, callbacks)


def batches_left(jobs: Mapping[str, Job]) -> Iterator[str]:
    """Yield which batches did not end by their members, once all faults are over."""
    for batch in jobs.values():
        if batch.handler == BATCH and batch.status.is_final and not _is_past_deadline(batch):
            if not _ended_by_its_members(batch):
                yield f"the batch ended {batch.status} for {batch.last_failure}"
            else:
                yield from _ended_wrongly(batch, *_jobs_of(batch, jobs))


def _jobs_of(batch: Job, jobs: Mapping[str, Job]) -> tuple[list[Job], list[str]]:
    """Return the members of a batch, and the payloads of its callbacks, which name them."""
    links = [(job, job.parent) for job in jobs.values() if job.parent is not None]
    own = [(job, link.is_abandoned) for job, link in links if link.run_id == batch.id]
    members = [job for job, is_callback in own if not is_callback]
    return members, [job.payload.text or "" for job, is_callback in own if is_callback]


def _ended_by_its_members(batch: Job) -> bool:
    if batch.status is JobStatus.SUCCEEDED:
        return True
    failure = batch.last_failure or ""
    return batch.status is JobStatus.DEAD and failure.startswith("BatchFailed: ")


def _is_past_deadline(batch: Job) -> bool:
    """Whether it ended when its time was over: then it may be DEAD, whatever its members did."""
    ended, deadline = batch.finished_at, batch.run_deadline
    return ended is not None and deadline is not None and ended >= deadline


def _ended_wrongly(batch: Job, members: list[Job], callbacks: list[str]) -> Iterator[str]:
    live = [job.id for job in members if not job.status.is_final]
    if live:
        yield f"the batch ended before its members {', '.join(live)}"
    if str(ON_COMPLETE) not in callbacks:
        yield "the batch ended, and on_complete was not put"
    if batch.status is JobStatus.SUCCEEDED:
        if str(ON_SUCCESS) not in callbacks:
            yield "the batch succeeded, and on_success was not put"
        result = batch.result.text if batch.result is not None else None
        if json.loads(result or "{}").get("total") != len(members):
            yield "the batch did not count each of its members once"
