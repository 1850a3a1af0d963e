"""The child jobs of one invocation of a durable run: submitted, joined, redriven with their run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from hourhand.domain.errors import InvalidInput, TooLarge
from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.parents import (
    MAX_LEVELS,
    NOT_NEEDED,
    ChildSpec,
    ParentLink,
    cancel_reason,
    child_id,
    join_key,
    midnight_after,
)
from hourhand.domain.runs.answers import REPLAY_MISMATCH, Failure, RunEnds, RunLost, Value
from hourhand.domain.runs.calls import (
    CancelChildren,
    ChildFailure,
    ChildIds,
    ChildrenTotal,
    ChildResults,
    EndOfWait,
    EndWait,
    FindJoined,
    JoinedAt,
    LiveChildren,
    MembersTotal,
    NextChildren,
    WaitUntil,
)
from hourhand.domain.runs.joins import (
    ChildrenCall,
    JoinedCall,
    JoinRecord,
    join_of,
    root_key,
    root_of,
)
from hourhand.domain.runs.records import (
    CHILDREN,
    RecordKind,
    RecordOutcome,
    error_text,
    record_of_children,
)
from hourhand.domain.runs.writes import put_join, put_root, require_rounds, wait_allowed
from hourhand.domain.side_items import SideItem, Stored
from hourhand.domain.times import from_ms, to_ms
from hourhand.services.runs.children import (
    READ_TOGETHER,
    failure_of,
    needs_cancel,
    open_children,
    was_cancelled_before,
)
from hourhand.services.runs.records import Answers, RunRecords
from hourhand.services.runs.waits import set_deadline

MAX_LOST_RACES = 20
"""How often a join record may change between a read and a write of ours."""

ROUNDS_TOGETHER = 25
"""Children that one write requires a later round of: DynamoDB takes 4 KB of condition."""


def _level(run: RunRecords) -> int:
    """How many runs are above a child of this one."""
    return 1 if run.job.parent is None else run.job.parent.level + 1


# --- submission ---


def next_children(run: RunRecords, call: NextChildren) -> JoinedCall:
    """Submit the next children of a call, up to `GROUP`; return how far the call is.

    The join records precede their children. Those of the next group follow only once all
    children of this one are there. So the journal is the progress, and a replay looks again at
    one group.
    """
    joined = _joined(run, call.path, call.children)
    if joined is None:
        joined = _submit_group(
            run, call.path, _key_of(run, call.path), call.children, (), call.spec_of
        )
        run.checked_calls.add(joined.key)
        return joined
    if joined.key not in run.checked_calls and not run.replays_only:
        joined = _repair(run, joined, call.spec_of)
        run.checked_calls.add(joined.key)
    if joined.has_room:
        joined = _submit_group(
            run, call.path, joined.key, joined.call, joined.records, call.spec_of
        )
    return joined


def _joined(run: RunRecords, path: str, call: ChildrenCall) -> JoinedCall | None:
    """Return a call as it is recorded. Raises `RunEnds` if the code makes another one."""
    record = run.find(RecordKind.CHILD, path)
    joined = record.joined if record is not None else None
    if joined is not None and joined.call.total != call.total:
        raise RunEnds(
            REPLAY_MISMATCH,
            f"The call {path} has {call.total} children now, and its record has "
            f"{joined.call.total}. Fix the code, then redrive the run.",
        )
    return joined


def _key_of(run: RunRecords, path: str) -> str:
    return join_key(path, run.journal.reset_round(path), run.scope.created_ms)


def _submit_group(
    run: RunRecords,
    path: str,
    key: str,
    call: ChildrenCall,
    records: tuple[JoinRecord, ...],
    spec_of: Callable[[int], ChildSpec],
) -> JoinedCall:
    run.require_writable()
    if _level(run) > MAX_LEVELS:
        raise RunEnds(
            "TooManyLevels",
            f"The call {path} submits a child with more than {MAX_LEVELS} runs above it: "
            f"{run.job.handler} is itself a child at level {MAX_LEVELS}.",
        )
    joined = JoinedCall(key, records)
    numbers = joined.next_numbers(call)
    # Built first: a child that is refused leaves no record that waits for it.
    children = [
        _build(run, key, call, number * call.chunk + position, spec_of)
        for number in numbers
        for position in range(call.expected(number))
    ]
    if not records and call.has_root:
        run.ports.side_items.write_item(put_root(run.scope, key, call))
    for number in numbers:
        joined = joined.with_record(_put_join(run, path, key, number, call))
    run.journal.put(record_of_children(joined))
    if not records and run.children_total is not None:
        run.children_total += call.total
    run.ports.children.put(children)
    return joined


def _build(
    run: RunRecords, key: str, call: ChildrenCall, index: int, spec_of: Callable[[int], ChildSpec]
) -> Job:
    link = ParentLink(
        run_id=run.run_id,
        segment=run.segment,
        join_key=key,
        index=index,
        chunk=call.chunk,
        is_abandoned=call.is_abandoned,
        level=_level(run),
        kept_until=midnight_after(run.scope.keep_until),
    )
    spec = spec_of(index)
    try:
        return run.ports.children.build(run.job, link, spec)
    except (InvalidInput, TooLarge) as refused:
        raise type(refused)(_naming_fields(refused), errors=refused.errors) from refused


def _put_join(run: RunRecords, path: str, key: str, number: int, call: ChildrenCall) -> JoinRecord:
    run.require_room()
    order = run.index + 1
    now_ms = to_ms(run.ports.clock.now())
    update = put_join(run.scope, path, key, number, call, order=order, now_ms=now_ms)
    record = _standing(run.ports.side_items.write_item(update).item)
    if (record.token, record.order) == (run.scope.token, order):
        run.index = order
        run.new_records += 1
    if record.call != call:
        # Another owner put it, whose code makes another call: that one stands.
        raise RunLost
    return record


# --- what a crash, or an older round, left ---


def _repair(run: RunRecords, joined: JoinedCall, spec_of: Callable[[int], ChildSpec]) -> JoinedCall:
    """Put children that a lost worker did not, and redrive those that failed before."""
    if not joined.call.is_abandoned:
        for record in joined.records:
            joined = joined.with_record(_require_rounds(run, record))
        run.journal.put(record_of_children(joined))
        _redrive_required(run, joined)
    # An invocation goes on behind the puts of a group: its next record says that they are done.
    group = joined.last_group
    if group[-1].token == run.scope.token or run.journal.is_followed(joined):
        return joined
    places = open_children(run.job, joined, group)
    found = run.ports.children.read(list(places))
    missing = [
        _build(run, joined.key, joined.call, record.first_index + position, spec_of)
        for job_id, (record, position) in places.items()
        if job_id not in found
    ]
    if missing:
        run.ports.children.put(missing)
    return joined


def _require_rounds(run: RunRecords, record: JoinRecord) -> JoinRecord:
    """Let only later ends of those children count that an older round of the run had."""
    for _ in range(MAX_LOST_RACES):
        rounds = _rounds_to_require(run, record)
        if not rounds and record.round >= run.scope.round:
            return record
        first = dict(list(rounds.items())[:ROUNDS_TOGETHER])
        is_last = len(first) == len(rounds)
        scope = run.scope if is_last else replace(run.scope, round=record.round)
        written = run.ports.side_items.write_item(require_rounds(scope, record, first))
        record = _standing(written.item)
    raise RunLost


def _rounds_to_require(run: RunRecords, record: JoinRecord) -> dict[int, int]:
    """Return from which round on the ends of failed children count, by their positions."""
    failed = {position: code for position, code in record.ends.items() if code > 0}
    if record.round >= run.scope.round:
        # A late cancellation by an older round of the run is no failure in this one.
        failed = _cancelled_before(run, record, failed) if run.scope.round > 1 else {}
    return {position: code + 1 for position, code in failed.items()}


def _cancelled_before(
    run: RunRecords, record: JoinRecord, failed: Mapping[int, int]
) -> dict[int, int]:
    ids = {_id_of(run, record.key, record.first_index + n): n for n in failed}
    found = run.ports.children.read(list(ids))
    return {
        ids[job_id]: failed[ids[job_id]]
        for job_id, job in found.items()
        if was_cancelled_before(job, run.scope.round)
    }


def _redrive_required(run: RunRecords, joined: JoinedCall) -> None:
    """Redrive the children of which a later round is required, if they ended before it."""
    required = {
        _id_of(run, joined.key, record.first_index + position): -code
        for record in joined.records
        for position, code in record.ends.items()
        if code < 0
    }
    for job_id, job in run.ports.children.read(list(required)).items():
        if job.status.is_final and job.round < required[job_id]:
            run.ports.children.redrive(job)


# --- ends ---


def child_results(run: RunRecords, call: ChildResults) -> list[str | None]:
    """Return the results of children as JSON; ``None`` of those that did not succeed."""
    joined = _require_joined(run, call.path)
    only = joined.records[0].result_text
    if only is not None and joined.call.total == 1:
        return [only]
    wanted = [_id_of(run, joined.key, n) for n in call.indexes if joined.end_of(n) == 0]
    found = run.ports.children.read(wanted)
    texts = {job_id: run.ports.children.result_text(job) for job_id, job in found.items()}
    if len(texts) < len(wanted):
        raise RunEnds("JournalExpired", f"A result of the children of {call.path} is gone.")
    return [texts.get(_id_of(run, joined.key, n)) for n in call.indexes]


def child_failure(run: RunRecords, call: ChildFailure) -> Failure:
    """Return why a child ended badly."""
    job_id = _id_of(run, _require_joined(run, call.path).key, call.index)
    return Failure(failure_of(run.ports.children.read([job_id]).get(job_id)))


def child_ids(run: RunRecords, call: ChildIds) -> list[str]:
    """Return the ids of all children of a call, in their order."""
    joined = _require_joined(run, call.path)
    return [_id_of(run, joined.key, index) for index in range(joined.call.total)]


def joined(run: RunRecords, call: JoinedAt) -> JoinedCall:
    """Return how far the children of a call are."""
    return _require_joined(run, call.path)


def find_joined(run: RunRecords, call: FindJoined) -> JoinedCall | None:
    """Return how far a call is, in a run that may not have made it yet."""
    # Without a check of its kind: a map without items is recorded as a step.
    record = run.journal.find(call.path)
    return None if record is None else record.joined


def members_total(run: RunRecords, call: MembersTotal) -> int | None:
    """Return how many members a batch has that was open; ``None`` while it is open."""
    item = run.ports.side_items.read_item(
        root_key(run.run_id, run.segment, _key_of(run, call.path))
    )
    root = None if item is None else root_of(item)
    return None if root is None or root.is_open else root.total


def children_total(run: RunRecords, _: ChildrenTotal) -> int:
    """Return how many children the calls of the run ask for, ended ones included."""
    if run.children_total is None:
        # Counted once: a run may make tens of thousands of calls, one after the other.
        run.children_total = sum(joined.call.total for joined in run.journal.children())
    return run.children_total


def live_children(run: RunRecords, _: LiveChildren) -> int:
    """Return how many attached children of the run have not ended.

    Without those of an open batch: places in it may be reserved whose jobs never come.
    """
    return sum(
        joined.live
        for joined in run.journal.children()
        if not joined.call.is_abandoned and not joined.is_open
    )


def end_of_wait(run: RunRecords, call: EndOfWait) -> Value | Failure | None:
    """Return how a wait for several children ended, if that is recorded."""
    record = run.find(RecordKind.WAIT, call.path, CHILDREN)
    if record is None or record.outcome is RecordOutcome.WAITING:
        return None
    if record.outcome is RecordOutcome.FAILED:
        return Failure(record.error)
    return Value(run.text_of(record))


def wait_until(run: RunRecords, call: WaitUntil) -> Value | Failure | datetime:
    """Return until when a wait lasts, or how it ended; see the port."""
    record = run.find(RecordKind.WAIT, call.path, CHILDREN)
    if record is None or record.round < run.scope.round:
        # A redrive runs the children again that failed, and gives them their time again.
        until = run.ports.clock.now() + call.timeout
        record = set_deadline(run, call.path, CHILDREN, until, run.scope.round)
    if not record.is_settled and run.time_to(record.until_ms) > timedelta(0):
        return from_ms(record.until_ms or 0)
    return end_of_wait(run, EndOfWait(call.path)) or end_wait(run, EndWait(call.path, call.late))


def end_wait(run: RunRecords, call: EndWait) -> Value | Failure:
    """Record how a wait for several children ended; return what is recorded."""
    kept: dict[str, Stored | None]
    if isinstance(call.end, Failure):
        outcome, kept = RecordOutcome.FAILED, {"text": error_text(call.end.error)}
    else:
        outcome, kept = RecordOutcome.SUCCEEDED, run.kept(call.path, call.end.text)
    values: dict[str, Stored | None] = {
        "outcome": outcome.value,
        "waits_for": CHILDREN,
        "ended_ms": to_ms(run.ports.clock.now()),
        **kept,
    }
    floor = run.floor(RecordKind.WAIT, call.path)
    run.put(RecordKind.WAIT, call.path, values, wait_allowed(run.scope, floor))
    return end_of_wait(run, EndOfWait(call.path)) or call.end


def cancel_children(run: RunRecords, call: CancelChildren) -> None:
    """Cancel the children of a call that have not ended: it ended without them."""
    joined = _require_joined(run, call.path)
    if run.replays_only:
        return
    job_ids = list(open_children(run.job, joined, joined.records))
    reason = cancel_reason(NOT_NEEDED, run.scope.round)
    for start in range(0, len(job_ids), READ_TOGETHER):
        found = run.ports.children.read(job_ids[start : start + READ_TOGETHER])
        asked = [job for job in found.values() if needs_cancel(job)]
        run.ports.children.cancel(asked, reason)


def _require_joined(run: RunRecords, path: str) -> JoinedCall:
    record = run.journal.stored(RecordKind.CHILD, path)
    joined = record.joined if record is not None else None
    assert joined is not None, "next_children comes first"
    return joined


def _id_of(run: RunRecords, key: str, index: int) -> str:
    return child_id(run.run_id, run.segment, key, index)


def _naming_fields(refused: InvalidInput | TooLarge) -> str:
    """Return why a child is refused. The error of a run has one sentence, and no list of fields."""
    missing = [one for one in refused.errors if one.message not in refused.detail]
    if not missing:
        return refused.detail
    return f"The child is invalid: {'; '.join(f'{one.field} {one.message}' for one in missing)}."


def _standing(item: SideItem | None) -> JoinRecord:
    """Return a join record after a write. Raises `RunLost` if it is gone."""
    if item is None:
        raise RunLost
    return join_of(item)


ANSWERS: Answers = {
    NextChildren: next_children,
    ChildResults: child_results,
    ChildFailure: child_failure,
    ChildIds: child_ids,
    JoinedAt: joined,
    FindJoined: find_joined,
    MembersTotal: members_total,
    ChildrenTotal: children_total,
    LiveChildren: live_children,
    EndOfWait: end_of_wait,
    WaitUntil: wait_until,
    EndWait: end_wait,
    CancelChildren: cancel_children,
}
"""What answers each call."""
