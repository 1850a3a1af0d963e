"""The writes by which members join an open batch, and by which it is closed.

A member is *reserved* first, then its job is put, then the member is *confirmed*. A close states
the total in the root, then *seals* each join record: with the right number of members, all
confirmed. A child's end and the seal write the same item, so the later one finds the record full.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from hourhand.domain.durable.joins import ChildrenCall, JoinRecord, join_record_key, root_key
from hourhand.domain.durable.writes import Scope
from hourhand.domain.jobs.parents import CHUNK
from hourhand.domain.side_items import (
    Compares,
    Lacks,
    NoItem,
    Path,
    SideItemUpdate,
    SizeIs,
    Stored,
)

_ADDED = "a"


def put_open_root(scope: Scope, key: str) -> SideItemUpdate:
    """Return the write that puts the root of an open batch, unless it is there."""
    return SideItemUpdate(
        key=root_key(scope.run_id, scope.segment, key),
        expect=(NoItem(),),
        sets={"cr": scope.created_ms, "op": 1, "sh": {}, "fa": {}},
        keep_until=scope.keep_until,
    )


def put_open_join(scope: Scope, path: str, key: str, number: int, *, now_ms: int) -> SideItemUpdate:
    """Return the write that puts a join record without members, unless it is there."""
    return SideItemUpdate(
        key=join_record_key(scope.run_id, scope.segment, key, number),
        expect=(NoItem(),),
        sets={
            "cr": scope.created_ms,
            "rd": scope.round,
            "bg": now_ms,
            "pa": path,
            "mp": 1,
            "e": {},
            _ADDED: {},
        },
        keep_until=scope.keep_until,
    )


def reserve(scope: Scope, key: str, number: int, positions: Collection[int]) -> SideItemUpdate:
    """Return the write that reserves places of members which have none yet.

    Refused once one of them has a place, or the record is sealed.
    """
    return _change(
        scope,
        key,
        number,
        {(_ADDED, str(n)): 0 for n in positions},
        tuple(Lacks((_ADDED, str(n))) for n in positions),
    )


def confirm(scope: Scope, key: str, number: int, positions: Collection[int]) -> SideItemUpdate:
    """Return the write that says that the jobs of reserved members are there."""
    return _change(scope, key, number, {(_ADDED, str(n)): 1 for n in positions}, ())


def give_back(scope: Scope, key: str, number: int, positions: Collection[int]) -> SideItemUpdate:
    """Return the write that gives reserved places back whose jobs were not put."""
    return SideItemUpdate(
        key=join_record_key(scope.run_id, scope.segment, key, number),
        expect=(Lacks("n"), *(Compares((_ADDED, str(n)), "=", 0) for n in positions)),
        removes=tuple((_ADDED, str(n)) for n in positions),
    )


def _change(
    scope: Scope,
    key: str,
    number: int,
    sets: Mapping[Path, Stored],
    clauses: tuple[Lacks, ...],
) -> SideItemUpdate:
    return SideItemUpdate(
        key=join_record_key(scope.run_id, scope.segment, key, number),
        expect=(Lacks("n"), *clauses),
        sets=sets,
    )


def close_root(scope: Scope, key: str, total: int, *, seen: int | None) -> SideItemUpdate:
    """Return the write that states the total of a batch. ``seen``: the one that it had.

    From now on a request reserves no place beyond the total.
    """
    return SideItemUpdate(
        key=root_key(scope.run_id, scope.segment, key),
        expect=(Lacks("tt") if seen is None else Compares("tt", "=", seen),),
        sets={"tt": total, "n": -(-total // CHUNK)},
    )


def seal(scope: Scope, record: JoinRecord, total: int) -> SideItemUpdate:
    """Return the write after which a join record takes no members any more.

    It names the number of members: one that was reserved since it was read is not lost.
    """
    expected = ChildrenCall(total=total, handler="").expected(record.number)
    return SideItemUpdate(
        key=join_record_key(scope.run_id, scope.segment, record.key, record.number),
        expect=(Lacks("n"), SizeIs(_ADDED, "=", expected)),
        sets={"n": expected, "tt": total},
        removes=(_ADDED,),
    )


def end_opening(scope: Scope, key: str, total: int) -> SideItemUpdate:
    """Return the write after which a batch is closed: all of its join records are sealed."""
    return SideItemUpdate(
        key=root_key(scope.run_id, scope.segment, key),
        expect=(Compares("tt", "=", total),),
        removes=("op",),
    )


def first_missing(records: Collection[JoinRecord], total: int) -> int | None:
    """Return the index of the first member that is not there; ``None``: all are there."""
    confirmed = {
        record.first_index + position
        for record in records
        for position in (
            range(record.expected)
            if record.added is None
            else (n for n, state in record.added.items() if state)
        )
    }
    return next((index for index in range(total) if index not in confirmed), None)


def first_beyond(records: Collection[JoinRecord], total: int) -> int | None:
    """Return the index of the first place beyond a total that a member has, or may get."""
    return min((index for index in _places(records) if index >= total), default=None)


def next_total(records: Collection[JoinRecord]) -> int:
    """Return the total of a batch that ends with its last member."""
    return max(_places(records), default=-1) + 1


def _places(records: Collection[JoinRecord]) -> list[int]:
    return [
        record.first_index + position
        for record in records
        for position in (record.added if record.added is not None else range(record.expected))
    ]
