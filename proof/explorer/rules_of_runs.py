"""The invariants of durable runs: 15, 16, 19, 20 and 21 of the design."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from hourhand.domain.jobs.job import EventKind, Job, JobStatus
from hourhand.domain.jobs.parents import RUN
from hourhand.domain.runs.joins import JoinRecord, is_root, join_of
from hourhand.domain.runs.records import Record, RecordKind, record_key, record_of
from hourhand.domain.runs.reversals import compensation_id
from hourhand.domain.side_items import SideItemKind, SideKey

Items = Mapping[SideKey, Any]
Jobs = Mapping[str, Job]

RECORDS = frozenset({SideItemKind.STEP, SideItemKind.WAIT, SideItemKind.CALLBACK})

WAY = "way-"
"""How the steps of a scenario are called of which a run makes one, whatever happens."""


def judge_runs(before: Items, after: Items) -> Iterator[str]:
    """Yield what a write on side items broke."""
    for key, item in after.items():
        if key.kind in RECORDS and key in before and before[key] != item:
            yield from _settled_stays(record_of(before[key]), record_of(item))
        if key.kind is SideItemKind.WAIT and key not in before:
            yield from _first_wins(before, record_of(item))
        if key.kind is SideItemKind.JOIN and key in before and not is_root(item):
            yield from _ends_count_once(join_of(before[key]), join_of(item))
    waits = [record_of(item) for key, item in after.items() if key.kind is SideItemKind.WAIT]
    taken = Counter((wait.waits_for, wait.signal) for wait in waits if wait.signal is not None)
    for (_, signal), times in taken.items():
        if times > 1:
            yield f"the signal {signal} was returned by {times} waits"
    yield from _sender_in_order(waits)


def _first_wins(before: Items, race: Record) -> Iterator[str]:
    """A branch that ended in an earlier invocation wins. Those of the scenarios make one call."""
    branches = f"{race.path}:"
    calls = [record_of(item) for key, item in before.items() if key.kind in RECORDS]
    ended = {
        call.path.removeprefix(branches).partition("/")[0]
        for call in calls
        if call.path.startswith(branches) and call.is_settled and call.token < race.token
    }
    if ended and race.text not in ended:
        yield f"branch {race.text} won, and {', '.join(sorted(ended))} had ended before"


def _sender_in_order(waits: list[Record]) -> Iterator[str]:
    """One sender numbers its signals behind a colon, and waits for each answer."""
    signals = [wait.signal or "" for wait in sorted(waits, key=_number_of_call)]
    numbers = [int(signal.partition(":")[2]) for signal in signals if ":" in signal]
    if numbers != list(range(1, len(numbers) + 1)):
        yield f"signals of one sender were returned in the order {numbers}"


def _number_of_call(wait: Record) -> int:
    return int(wait.path.partition(".")[2] or 1)


def _settled_stays(old: Record, new: Record) -> Iterator[str]:
    if not old.is_settled or old.created_ms != new.created_ms or new.round > old.round:
        return
    if (old.outcome, old.text, old.signal) != (new.outcome, new.text, new.signal):
        yield f"the settled record of {old.path} changed within its round"


def ways_taken(items: Items) -> Iterator[str]:
    """Yield that the replays of a run went several ways."""
    steps = [record_of(item) for key, item in items.items() if key.kind is SideItemKind.STEP]
    ways = sorted(step.path for step in steps if step.path.startswith(WAY))
    if len(ways) > 1:
        yield f"a replay decided otherwise: {', '.join(ways)}"


def reversals_left(jobs: Jobs, items: Items) -> Iterator[str]:
    """Yield the steps of runs that ended without success which no compensation came to.

    Every step with a compensation has its effect in the scenarios, whatever its record says.
    """
    for key, item in items.items():
        record = record_of(item) if key.kind is SideItemKind.STEP else None
        run = jobs.get(key.partition)
        if record is None or run is None or not record.is_compensated:
            continue
        segment = int(key.sort[1 : key.sort.index("#")] or 0)
        if run.status is JobStatus.SUCCEEDED and segment == run.segment:
            continue
        # Under a new key it had another effect.
        paths = [record.path, *([f"{record.path}:0"] if record.key_round else [])]
        for path in paths:
            undone = {
                record_key(compensation_id(run, segment, round_), 0, RecordKind.STEP, path)
                for round_ in range(1, run.round + 1)
            }
            if not any(one in items and record_of(items[one]).is_settled for one in undone):
                yield f"the step {path} of run {run.id} is never reversed"


def judge_family(before: Jobs, after: Jobs) -> Iterator[str]:
    """Yield what a write on a run or on a child broke between the two."""
    for job_id, job in after.items():
        old = before.get(job_id)
        if old is None or old == job:
            continue
        if job.status is JobStatus.SUCCEEDED and not old.status.is_final:
            live = [one.id for one in _children(job, after) if not one.status.is_final]
            if live:
                yield f"run {job_id} succeeded before its children {', '.join(live)}"
        if job.token > old.token and job.parent is not None:
            run = after.get(job.parent.run_id)
            if run is not None and run.status.is_final and run.due_at is None:
                told = [] if _is_by_person(old) else _children(run, {job_id: job})
                yield from (f"child {one.id} started under a run that is over" for one in told)


def _children(run: Job, jobs: Jobs) -> list[Job]:
    """Return the attached children of a run's segment that no person redrove."""
    return [
        job
        for job in jobs.values()
        if job.parent is not None
        and (job.parent.run_id, job.parent.segment) == (run.id, run.segment)
        and not job.parent.is_abandoned
        and not _is_by_person(job)
    ]


def _is_by_person(job: Job) -> bool:
    redrives = [event for event in job.history if event.kind is EventKind.REDRIVEN]
    return bool(redrives) and redrives[-1].actor != RUN


def _ends_count_once(old: JoinRecord, new: JoinRecord) -> Iterator[str]:
    """No end is forgotten, and none counts in a round that its child was not in."""
    if new.round < old.round:
        yield f"the round of a join record of {old.path} fell"
    for position, code in old.ends.items():
        now = new.ends.get(position)
        if now is None or (code == 0 and now != 0):
            yield f"an end of {old.path} was forgotten"
        elif code < 0 < now < -code:
            yield f"an end of {old.path} counts in a later round than it was in"
        elif code > 0 > now and now != -(code + 1):
            yield f"a round of a child of {old.path} was skipped"
