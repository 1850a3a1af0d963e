"""The records of a run's journal, which stand beside its job.

Join records, which count the ends of child jobs, are in `hourhand.domain.runs.joins`. A call
that submitted children is one `Record` here.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from hourhand.domain.jobs.job import ErrorInfo
from hourhand.domain.runs.joins import JoinedCall
from hourhand.domain.runs.names import branch_of, is_below
from hourhand.domain.side_items import SideItem, SideKey

MAX_RECORDS = 100_000
MAX_JOURNAL_BYTES = 200_000_000
"""The largest journal of a segment."""

WARN_AT = 0.1
"""The part of the largest journal at which the runtime warns. Each replay reads the journal whole:
20 MB are 5,000 read units, and take the 3,000 a second of one partition two seconds (DynamoDB
guide, partitions)."""

RECORD_BYTES = 100
"""What a record has beside its path and its result, about."""

INLINE_BYTES = 4_096
"""The largest result that is kept in its record."""

IN_ITEM = "#"
"""How the place of a result begins that is in an item; the rest names its writer."""

VALUE_BYTES = 256_000
"""The largest result that is kept in an item beside its record. A larger one is an object."""

ERROR_MESSAGE_CHARACTERS = 500

SLEEP, SIGNAL, CHILDREN, TAKE = "t", "g", "h", "l"
"""What a wait record is for; the name of the signal, or of the rate limit, follows."""


class RecordKind(StrEnum):
    """The letter of a record's kind, in its sort key."""

    STEP = "s"
    WAIT = "w"
    CALLBACK = "k"
    CURSOR = "t"
    CHANGE = "v"
    RESET = "z"
    CHILD = "c"
    DECISIONS = "g"


KIND_NAMES: Mapping[RecordKind, str] = {
    RecordKind.STEP: "step",
    RecordKind.WAIT: "wait",
    RecordKind.CALLBACK: "callback",
    RecordKind.CURSOR: "iterate",
    RecordKind.CHANGE: "version",
    RecordKind.CHILD: "child",
    RecordKind.DECISIONS: "graph",
}


class RecordOutcome(StrEnum):
    """How far the call of a record is."""

    STARTED = "X"
    RETRYING = "R"
    WAITING = "W"
    SUCCEEDED = "S"
    FAILED = "F"
    TIMED_OUT = "T"


SETTLED = frozenset({RecordOutcome.SUCCEEDED, RecordOutcome.FAILED, RecordOutcome.TIMED_OUT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record. Times are in ms.

    ``created_ms``: when its job was created: whose record it is, for an id can be used again.
    ``index``: its number in the invocation that has the ``token``. ``count``: tries of a step so
    far, or saves of a cursor. ``text``: the result or the error as JSON; or ``place``: where it is,
    of ``size`` bytes. ``until_ms``: when a retry is due or a wait times out. ``decisions``: of a
    graph, on each node by its number. ``joined``: of a call that submitted children, their ends.
    ``is_unknown``: an earlier try under its key may have had its effect. ``key_round``,
    ``effects_text``: of a step with a compensation, the round that gave its key, and the effects
    that it had before. ``names_text``: of a cursor, how often the rows so far used each name.
    """

    kind: RecordKind
    path: str
    created_ms: int
    outcome: RecordOutcome
    round: int
    token: int
    index: int
    count: int = 0
    began_ms: int | None = None
    ended_ms: int | None = None
    text: str | None = None
    place: str | None = None
    size: int = 0
    until_ms: int | None = None
    signal: str | None = None
    waits_for: str = ""
    secret: str | None = field(default=None, repr=False)
    beat_ms: int | None = None
    beat_seconds: int | None = None
    is_private: bool = False
    is_compensated: bool = False
    is_lazy: bool = False
    decisions: Mapping[str, int] = field(default_factory=dict)
    joined: JoinedCall | None = None
    is_unknown: bool = False
    key_round: int = 0
    effects_text: str | None = None
    names_text: str | None = None

    @property
    def is_in_item(self) -> bool:
        """Whether its result is in an item beside it."""
        return self.place is not None and self.place.startswith(IN_ITEM)

    @property
    def is_settled(self) -> bool:
        """Whether it never changes any more within its round."""
        return self.outcome in SETTLED

    @property
    def order(self) -> tuple[int, int]:
        """Which of two records is newer: by token and number, so that no clock counts."""
        return self.token, self.index

    @property
    def size_bytes(self) -> int:
        """What it takes of the largest journal, with its value."""
        texts = (self.text, self.names_text, self.effects_text)
        return RECORD_BYTES + len(self.path) + sum(len(text or "") for text in texts) + self.size

    @property
    def error(self) -> ErrorInfo:
        """Return the error of a call that failed, or is to be tried again."""
        kind, message = json.loads(self.text or '["Error",""]')
        is_retried = self.outcome is RecordOutcome.RETRYING
        return ErrorInfo(type=kind, message=message, retryable=is_retried)


_STORED = {one.name for one in fields(Record)} - {"kind", "path", "joined"}
ATTRIBUTES = tuple(
    sorted(_STORED - {"created_ms", "outcome", "round", "token", "index", "decisions"})
)
"""Those that a write of a record removes unless it sets them."""


def sleeps(record: Record) -> bool:
    """Whether a record is that of a sleep, which ends by its time alone."""
    return record.kind is RecordKind.WAIT and record.waits_for == SLEEP


def error_text(error: ErrorInfo) -> str:
    """Return an error as a record keeps it."""
    return json.dumps([error.type, error.message[:ERROR_MESSAGE_CHARACTERS]], ensure_ascii=False)


_FLAGS = ("is_private", "is_compensated", "is_lazy", "is_unknown")


def record_of(item: SideItem) -> Record:
    """Read a record of a journal."""
    _, _, rest = item.key.sort.partition("#")
    values: dict[str, Any] = dict.fromkeys(("created_ms", "round", "token", "index"), 0)
    values |= {name: value for name, value in item.values.items() if name in _STORED}
    values |= {flag: bool(values.get(flag)) for flag in _FLAGS}
    outcome = RecordOutcome(item.text("outcome") or RecordOutcome.SUCCEEDED)
    return Record(**{**values, "kind": RecordKind(rest[0]), "path": rest[1:], "outcome": outcome})


def record_of_children(joined: JoinedCall) -> Record:
    """Return a call that submitted children as one record of its journal."""
    first = joined.records[0]
    return Record(
        kind=RecordKind.CHILD,
        path=first.path,
        created_ms=first.created_ms,
        outcome=RecordOutcome.SUCCEEDED if joined.is_over else RecordOutcome.WAITING,
        round=max(record.round for record in joined.records),
        token=first.token,
        index=first.order,
        began_ms=first.began_ms,
        text=first.result_text,
        joined=joined,
    )


def journal_prefix(segment: int) -> str:
    """Return how the sort keys of a segment's records begin."""
    return f"R{segment or ''}#"


def record_key(run_id: str, segment: int, kind: RecordKind, path: str) -> SideKey:
    """Return the key of a record."""
    return SideKey(run_id, f"{journal_prefix(segment)}{kind}{path}")


def value_key(run_id: str, segment: int, path: str, writer: str) -> SideKey:
    """Return the key of a value item: it names the writer, so that no other replaces it."""
    return SideKey(run_id, f"V{segment or ''}#{path}#{writer}")


class Journal:
    """The records of a segment that count in this round, as a replay visits them."""

    def __init__(
        self,
        records: Iterable[Record],
        *,
        round_: int,
        resets: Mapping[str, int],
        keys: Mapping[str, int] | None = None,
    ) -> None:
        """``resets``: the newest round in which a path was reset; ``keys``: with new step keys."""
        self.round = round_
        self._resets = resets
        self._keys = resets if keys is None else keys
        self._records: dict[str, Record] = {}
        self._changes: dict[str, Record] = {}
        self._all: dict[tuple[RecordKind, str], Record] = {}
        self._visited: set[tuple[RecordKind, str]] = set()
        self._newest_visited: dict[str, tuple[int, int]] = {}
        self._newest: dict[tuple[str, int], int] = defaultdict(int)
        self._opened: set[str] = set()
        self.size_bytes = 0
        for record in records:
            self._add(record)

    def __len__(self) -> int:
        return len(self._all)

    def reset_round(self, path: str) -> int:
        """Return the newest round in which ``path`` was reset; 0 if never."""
        return _newest(self._resets, path)

    def key_round(self, path: str) -> int:
        """Return the newest round that gave the step at ``path`` a new key; 0 if none did."""
        return _newest(self._keys, path)

    def stored(self, kind: RecordKind, path: str) -> Record | None:
        """Return a record as it stands, whether it counts in this round or not."""
        return self._all.get((kind, path))

    def find(self, path: str) -> Record | None:
        """Return the record in force of the call at ``path``, and count it as visited."""
        record = self._records.get(path)
        if record is None or record.round < self.reset_round(path):
            return None
        self._visit(record)
        return record

    def change(self, path: str) -> Record | None:
        """Return the record in force of a version, and count it as visited."""
        record = self._changes.get(path)
        if record is None or record.round < self.reset_round(path):
            return None
        self._visit(record)
        return record

    def put(self, record: Record) -> None:
        """Note a record that was written, or read again, in this invocation."""
        self._add(record)
        self._visit(record)

    def was_visited(self, record: Record) -> bool:
        """Whether the call of a record came in this replay."""
        return (record.kind, record.path) in self._visited

    @property
    def has_branches(self) -> bool:
        """Whether this replay came to a branch."""
        return bool(self._opened)

    def open_branch(self, path: str) -> None:
        """Note that the replay came to the branch at ``path``."""
        self._opened.add(f"{path}/")

    def is_past(self, branch: str) -> bool:
        """Whether the run was past this point of a branch before.

        Then the journal holds an unvisited record of the branch that is newer than every visited
        one. Those of a branch within it count while the replay has not come to that one.
        """
        newest = self._newest_visited.get(branch, (0, 0))
        return any(
            key not in self._visited
            and record.order > newest
            and self._is_still_to_come(record, branch)
            and self._counts(record)
            for key, record in self._all.items()
        )

    def is_followed(self, joined: JoinedCall) -> bool:
        """Whether the invocation that put the last children of a call recorded a later call.

        Calls of a branch come one after the other, so all of those children were put.
        """
        last = joined.records[-1]
        return self._newest[branch_of(last.path), last.token] > last.order

    def children(self) -> list[JoinedCall]:
        """Return the calls in force that submitted children."""
        found = (record.joined for record in self._all.values() if self._counts(record))
        return [joined for joined in found if joined is not None]

    def _is_still_to_come(self, record: Record, branch: str) -> bool:
        """Whether the call of a record is of a branch, or of one that is to be opened there."""
        if not record.path.startswith(branch):
            return False
        within, slash, _ = record.path[len(branch) :].partition("/")
        return not slash or f"{branch}{within}/" not in self._opened

    def records(self) -> list[Record]:
        """Return the records that count in this round, oldest first."""
        return sorted(filter(self._counts, self._all.values()), key=lambda record: record.order)

    def unvisited(self) -> list[str]:
        """Return the paths of the records in force that no call came to."""
        return [r.path for r in self.records() if not self.was_visited(r)]

    def newest_index(self, token: int) -> int:
        """Return the highest number of a record of an invocation; 0 if it wrote none."""
        return max((r.index for r in self._all.values() if r.token == token), default=0)

    def newest_token(self) -> int:
        """Return the token of the newest record; 0 without one.

        A start is no progress: a step may kill its process each time.
        """
        ended = (r for r in self._all.values() if r.outcome is not RecordOutcome.STARTED)
        return max((record.token for record in ended), default=0)

    def signals_taken(self) -> set[str]:
        """Return the ids of the signals that waits of this segment returned."""
        return {f"{r.waits_for}#{r.signal}" for r in self._all.values() if r.signal is not None}

    def ended_waits(self) -> set[str]:
        """Return the paths of the waits in force that are over."""
        waits = (r for r in self._all.values() if r.kind is RecordKind.WAIT and r.is_settled)
        return {record.path for record in waits if self._counts(record)}

    def _counts(self, record: Record) -> bool:
        if record.round < self.reset_round(record.path):
            return False
        return record.outcome is not RecordOutcome.FAILED or record.round == self.round

    def _visit(self, record: Record) -> None:
        self._visited.add((record.kind, record.path))
        branch = branch_of(record.path)
        self._newest_visited[branch] = max(self._newest_visited.get(branch, (0, 0)), record.order)

    def _add(self, record: Record) -> None:
        key = (record.kind, record.path)
        before = self._all.get(key)
        self.size_bytes += record.size_bytes - (before.size_bytes if before else 0)
        self._all[key] = record
        of_branch = (branch_of(record.path), record.token)
        self._newest[of_branch] = max(self._newest[of_branch], record.index)
        if record.kind is RecordKind.CHANGE:
            self._changes[record.path] = record
            return
        standing = self._records.get(record.path)
        # A left-over of another kind under this path: the newest one was its last call.
        if standing is None or standing.kind is record.kind or standing.order <= record.order:
            self._records[record.path] = record


def _newest(resets: Mapping[str, int], path: str) -> int:
    return max((rd for reset, rd in resets.items() if is_below(path, reset)), default=0)
