"""The conditional writes of journals and join records as values: each names what may stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from hourhand.domain.conditions import Absent, Compares, Condition, NoItem, Path, either
from hourhand.domain.jobs.parents import ParentLink
from hourhand.domain.runs.joins import (
    ENDS,
    ChildrenCall,
    JoinRecord,
    join_record_key,
    root_key,
)
from hourhand.domain.runs.records import (
    ATTRIBUTES,
    Record,
    RecordKind,
    RecordOutcome,
    record_key,
    value_key,
)
from hourhand.domain.side_items import SideItemUpdate, Stored

Alternative = Condition | tuple[Condition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose records are written: a run's, in a segment and round, by the owner with the token."""

    run_id: str
    created_ms: int
    segment: int
    round: int
    token: int
    keep_until: datetime

    @property
    def is_own(self) -> Condition:
        """The record is of this run, not of an earlier job of the same id."""
        return Compares("created_ms", "=", self.created_ms)

    def may_put(self, floor: int) -> tuple[Alternative, ...]:
        """No record counts: there is none, or it is another run's, or of an older round."""
        return (
            NoItem(),
            Compares("created_ms", "<", self.created_ms),
            (self.is_own, Compares("round", "<", floor)),
        )


def put_record(
    scope: Scope,
    kind: RecordKind,
    path: str,
    index: int,
    values: Mapping[str, Stored | None],
    *,
    allowed: tuple[Alternative, ...],
) -> SideItemUpdate:
    """Return the write of a whole record, where one of ``allowed`` holds for what stands."""
    sets: dict[Path, Stored] = {
        "created_ms": scope.created_ms,
        "round": scope.round,
        "token": scope.token,
        "index": index,
        **{name: value for name, value in values.items() if value is not None},
    }
    return SideItemUpdate(
        key=record_key(scope.run_id, scope.segment, kind, path),
        expect=(either(*allowed),),
        sets=sets,
        removes=tuple(name for name in ATTRIBUTES if name not in sets),
        keep_until=scope.keep_until,
    )


def put_reset(
    scope: Scope, name: str, resets: Mapping[str, int], keys: Mapping[str, int]
) -> SideItemUpdate:
    """Return the write of a reset record: the newest round in which each path was reset.

    ``keys``: the newest round that gave its steps new keys, 0 if none did. Older code does not read
    that, and gives new keys each time. The record has a name of its own, and no effect until the
    run names it.
    """
    return SideItemUpdate(
        key=record_key(scope.run_id, scope.segment, RecordKind.RESET, name),
        expect=(NoItem(),),
        sets={"created_ms": scope.created_ms, "resets": resets, "keys": keys},
        keep_until=scope.keep_until,
    )


def put_value(scope: Scope, path: str, writer: str, text: str) -> SideItemUpdate:
    """Return the write of a result that is too large for its record."""
    return SideItemUpdate(
        key=value_key(scope.run_id, scope.segment, path, writer),
        sets={"created_ms": scope.created_ms, "text": text},
        keep_until=scope.keep_until,
    )


def same_retry(scope: Scope, seen: Record) -> Alternative:
    """The step failed and is retrying, and no other worker has added an attempt since."""
    return (
        scope.is_own,
        Compares("outcome", "=", RecordOutcome.RETRYING.value),
        Compares("round", "=", seen.round),
        Compares("count", "=", seen.count),
    )


def step_allowed(scope: Scope, floor: int, seen: Record | None) -> tuple[Alternative, ...]:
    """What may stand where the outcome of a plain step is recorded."""
    allowed = scope.may_put(floor)
    if seen is not None and seen.outcome is RecordOutcome.RETRYING:
        allowed += (same_retry(scope, seen),)
    return allowed


def start_allowed(
    scope: Scope, floor: int, seen: Record | None, *, is_once: bool
) -> tuple[Alternative, ...]:
    """What may stand where the start of a step is recorded.

    Without ``once`` a start of an older invocation may be replaced: the step runs again.
    """
    allowed = step_allowed(scope, floor, seen)
    if not is_once:
        allowed += (
            (
                scope.is_own,
                Compares("outcome", "=", RecordOutcome.STARTED.value),
                Compares("token", "<", scope.token),
            ),
        )
    return allowed


def outcome_allowed(scope: Scope, count: int) -> tuple[Alternative, ...]:
    """What must stand where the outcome of a started step is recorded: its own start."""
    return (
        (
            scope.is_own,
            Compares("outcome", "=", RecordOutcome.STARTED.value),
            Compares("token", "=", scope.token),
            Compares("count", "=", count),
        ),
    )


def interruption_allowed(scope: Scope, seen: Record) -> tuple[Alternative, ...]:
    """What must stand where a step that runs once is recorded as interrupted: the start seen."""
    return (
        (
            scope.is_own,
            Compares("outcome", "=", RecordOutcome.STARTED.value),
            Compares("token", "=", seen.token),
        ),
    )


def wait_allowed(scope: Scope, floor: int) -> tuple[Alternative, ...]:
    """What may stand where the outcome of a wait is recorded."""
    return (
        *scope.may_put(floor),
        (scope.is_own, Compares("outcome", "=", RecordOutcome.WAITING.value)),
    )


def cursor_allowed(scope: Scope, floor: int, saves: int) -> tuple[Alternative, ...]:
    """What may stand where a cursor is saved: an older invocation's, or its own last save.

    Never that of an iteration that is over.
    """
    goes_on = (scope.is_own, Compares("outcome", "=", RecordOutcome.WAITING.value))
    return (
        *scope.may_put(floor),
        (*goes_on, Compares("token", "<", scope.token)),
        (*goes_on, Compares("token", "=", scope.token), Compares("count", "=", saves)),
    )


def put_join(
    scope: Scope, path: str, key: str, number: int, call: ChildrenCall, *, order: int, now_ms: int
) -> SideItemUpdate:
    """Return the write that puts a join record, unless it is there. It precedes its children."""
    given: dict[Path, Stored | None] = {
        "window": call.window,
        "tolerate": call.tolerate,
        "min_success": call.min_success,
        "is_abandoned": 1 if call.is_abandoned else None,
        "is_map": 1 if call.is_map else None,
    }
    return SideItemUpdate(
        key=join_record_key(scope.run_id, scope.segment, key, number),
        expect=(NoItem(),),
        sets={
            "created_ms": scope.created_ms,
            "round": scope.round,
            "token": scope.token,
            "order": order,
            "began_ms": now_ms,
            "path": path,
            "handler": call.handler,
            "count": call.expected(number),
            "total": call.total,
            ENDS: {},
            **{name: value for name, value in given.items() if value is not None},
        },
        keep_until=scope.keep_until,
    )


def put_root(scope: Scope, key: str, call: ChildrenCall) -> SideItemUpdate:
    """Return the write that puts the root of a call, unless it is there."""
    return SideItemUpdate(
        key=root_key(scope.run_id, scope.segment, key),
        expect=(NoItem(),),
        sets={"created_ms": scope.created_ms, "count": call.records, "full": {}, "failed": {}},
        keep_until=scope.keep_until,
    )


def report_success(link: ParentLink, result_text: str | None) -> SideItemUpdate:
    """Return the write that records the success of a child, whatever stands of it."""
    sets: dict[Path, Stored] = {(ENDS, str(link.position)): 0}
    if result_text is not None:
        sets["result_text"] = result_text
    return _report(link, sets)


def report_failure(link: ParentLink, round_: int) -> SideItemUpdate:
    """Return the write that records that a child ended badly in its round.

    Not over a success, an end in a later round, or the demand for a later round: then the report
    is late.
    """
    entry = (ENDS, str(link.position))
    allowed = either(
        Absent(entry),
        (Compares(entry, ">=", -round_), Compares(entry, "<", 0)),
        (Compares(entry, ">", 0), Compares(entry, "<", round_)),
    )
    return _report(link, {entry: round_}, allowed)


def _report(link: ParentLink, sets: Mapping[Path, Stored], *clauses: Condition) -> SideItemUpdate:
    return SideItemUpdate(
        key=join_record_key(link.run_id, link.segment, link.join_key, link.record_number),
        expect=clauses,
        # Without an end: where the run is gone, the report must not create an item.
        sets=sets,
    )


def report_full(run_id: str, segment: int, record: JoinRecord) -> SideItemUpdate:
    """Return the write that records in the root that a join record is full.

    With its failures: the last child to end may be the one that the call does not tolerate. Nothing
    removes the entry where a redrive opens the record again: what the root has too much costs an
    invocation, and what it lacked would be a wake-up that is lost.
    """
    number = str(record.number)
    sets: dict[Path, Stored] = {("full", number): record.succeeded}
    if record.failed:
        sets["failed", number] = record.failed
    return SideItemUpdate(key=root_key(run_id, segment, record.key), sets=sets)


def report_failures(run_id: str, segment: int, record: JoinRecord) -> SideItemUpdate:
    """Return the write that records in the root how many children of a record ended badly.

    A late copy with a lower number is refused.
    """
    entry = ("failed", str(record.number))
    fewer = either(Absent(entry), Compares(entry, "<", record.failed))
    root = root_key(run_id, segment, record.key)
    return SideItemUpdate(key=root, expect=(fewer,), sets={entry: record.failed})


def require_rounds(scope: Scope, record: JoinRecord, rounds: Mapping[int, int]) -> SideItemUpdate:
    """Return the write after which only later ends of failed children count.

    ``rounds``: by the position, the round from which on. It names what was read: a child that a
    person redrove may have succeeded since. The record has the round of the run then.
    """
    return SideItemUpdate(
        key=join_record_key(scope.run_id, scope.segment, record.key, record.number),
        expect=(
            Compares("created_ms", "=", scope.created_ms),
            Compares("round", "=", record.round),
            *(Compares((ENDS, str(n)), "=", record.ends[n]) for n in rounds),
        ),
        # Not lower: a late owner of an older round must not open the record once more.
        sets={
            "round": max(scope.round, record.round),
            **{(ENDS, str(n)): -round_ for n, round_ in rounds.items()},
        },
    )
