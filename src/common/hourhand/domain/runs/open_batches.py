"""The writes by which members join an open batch, and by which it is closed.

| request | writes |
|---|---|
| add | *reserve* the places of the members, read the root, put their jobs, *confirm* the places |
| close | *state* the total in the root, read the places, *lock* the root, *seal* each join record |

Each statement and each *objection* gives the root a new version, and the lock names the version
that was read before the places. An add that finds a total stated after it reserved objects. So a
lock has seen every place whose member is put, and no request puts a member after the lock. A
reserved place is never given back: the seal drops the places beyond the total.

A child's end and the seal write the same item, so the later one finds the record full.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from hourhand.domain.conditions import Absent, Compares, Condition, NoItem
from hourhand.domain.jobs.parents import CHUNK
from hourhand.domain.runs.joins import (
    LOCKED,
    OPEN,
    ChildrenCall,
    JoinRecord,
    join_record_key,
    root_key,
)
from hourhand.domain.runs.writes import Scope
from hourhand.domain.side_items import SideItemUpdate

_PLACES = "places"
_RESERVED, _THERE = 0, 1


def put_open_root(scope: Scope, key: str) -> SideItemUpdate:
    """Return the write that puts the root of an open batch, unless it is there."""
    return SideItemUpdate(
        key=root_key(scope.run_id, scope.segment, key),
        expect=(NoItem(),),
        sets={
            "created_ms": scope.created_ms,
            "opening": OPEN,
            "version": 0,
            "full": {},
            "failed": {},
        },
        keep_until=scope.keep_until,
    )


def put_reserved(
    scope: Scope, path: str, key: str, number: int, positions: Collection[int], *, now_ms: int
) -> SideItemUpdate:
    """Return the write that puts a join record with reserved places, unless it is there."""
    return SideItemUpdate(
        key=join_record_key(scope.run_id, scope.segment, key, number),
        expect=(NoItem(),),
        sets={
            "created_ms": scope.created_ms,
            "round": scope.round,
            "began_ms": now_ms,
            "path": path,
            "is_map": 1,
            "ends": {},
            _PLACES: {str(position): _RESERVED for position in positions},
        },
        keep_until=scope.keep_until,
    )


def reserve(scope: Scope, key: str, number: int, positions: Collection[int]) -> SideItemUpdate:
    """Return the write that reserves places in a join record.

    Refused once one of them is reserved, or the record is sealed.
    """
    return SideItemUpdate(
        key=join_record_key(scope.run_id, scope.segment, key, number),
        expect=(Absent("count"), *(Absent((_PLACES, str(n))) for n in positions)),
        sets={(_PLACES, str(n)): _RESERVED for n in positions},
    )


def confirm(scope: Scope, key: str, number: int, positions: Collection[int]) -> SideItemUpdate:
    """Return the write that records that the jobs of reserved places are there.

    Refused once the record is sealed: then another request confirmed them.
    """
    return SideItemUpdate(
        key=join_record_key(scope.run_id, scope.segment, key, number),
        expect=(Absent("count"),),
        sets={(_PLACES, str(n)): _THERE for n in positions},
    )


def state_total(scope: Scope, key: str, total: int, *, version: int) -> SideItemUpdate:
    """Return the write that states the total of a batch in its root.

    From now on a request reserves no place beyond it.
    """
    return SideItemUpdate(
        key=root_key(scope.run_id, scope.segment, key),
        expect=_is_open_at(version),
        sets={"total": total, "count": -(-total // CHUNK), "version": version + 1},
    )


def object_to_total(scope: Scope, key: str, *, version: int) -> SideItemUpdate:
    """Return the write after which a close reads the places again before it locks the root."""
    return SideItemUpdate(
        key=root_key(scope.run_id, scope.segment, key),
        expect=_is_open_at(version),
        sets={"version": version + 1},
    )


def lock(scope: Scope, key: str, *, version: int) -> SideItemUpdate:
    """Return the write after which the total stands, and no request puts a member."""
    return SideItemUpdate(
        key=root_key(scope.run_id, scope.segment, key),
        expect=_is_open_at(version),
        sets={"opening": LOCKED},
    )


def _is_open_at(version: int) -> tuple[Condition, ...]:
    return (Compares("opening", "=", OPEN), Compares("version", "=", version))


def seal(scope: Scope, record: JoinRecord, total: int) -> SideItemUpdate:
    """Return the write after which a join record of a locked batch is one as any other."""
    call = ChildrenCall(total=total, handler="")
    return SideItemUpdate(
        key=join_record_key(scope.run_id, scope.segment, record.key, record.number),
        expect=(Absent("count"),),
        sets={"count": call.expected(record.number), "total": total, "tolerate": 0},
        removes=(_PLACES,),
    )


def end_opening(scope: Scope, key: str) -> SideItemUpdate:
    """Return the write after which a locked batch is closed: its join records are sealed."""
    return SideItemUpdate(
        key=root_key(scope.run_id, scope.segment, key),
        expect=(Compares("opening", "=", LOCKED),),
        removes=("opening",),
    )


def first_missing(records: Collection[JoinRecord], total: int) -> int | None:
    """Return the index of the first member that is not there; ``None``: all are there."""
    there = {
        record.first_index + position
        for record in records
        for position in (
            range(record.expected)
            if record.added is None
            else (n for n, state in record.added.items() if state == _THERE)
        )
    }
    return next((index for index in range(total) if index not in there), None)


def first_beyond(records: Collection[JoinRecord], total: int) -> int | None:
    """Return the index of the first place beyond a total that a member has, or may get."""
    return min((index for index in _places(records) if index >= total), default=None)


def next_total(records: Collection[JoinRecord]) -> int:
    """Return the total of a batch that ends with its last member."""
    return max(_places(records), default=-1) + 1


def _places(records: Collection[JoinRecord]) -> Iterator[int]:
    """Yield the indexes that are reserved or taken."""
    for record in records:
        positions = range(record.expected) if record.added is None else record.added
        yield from (record.first_index + position for position in positions)
