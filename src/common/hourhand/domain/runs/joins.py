"""The ends of child jobs, as a run's journal counts them: join records.

A join record has the ends of up to `CHUNK` children of one call. Each child's end is one entry of
its map ``ends``, so that a repeated report changes nothing and no child counts twice:

| entry | the child |
|---|---|
| none | has not ended |
| 0 | succeeded; this never changes |
| r > 0 | ended badly in its round r |
| -r < 0 | was redriven: only an end in round r or later counts |

A call with several join records and without a window has a *root* as well. It counts the join
records that are full. It is a hint for the wake-up of the run: the run decides by the join records.

``round`` of a record is the round of the run for which its children were looked through. ``count``
is how many children it has, or how many records the call of a root has. ``places`` stands in its
place while a batch is open: by the position, 0: reserved, 1: there.

The root of an open batch has ``opening`` until the batch is closed, ``total``, its members, as a
close stated it, and ``version``, which counts what was stated; see
`hourhand.domain.runs.open_batches`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hourhand.domain.jobs.parents import CHUNK
from hourhand.domain.side_items import SideItem, SideKey

GROUP = 400
"""Children that are put before the next join records: a replay looks again at these alone."""

INLINE_RESULT_BYTES = 1_000
"""The largest result of an only child that its join record keeps."""

MAX_CHILDREN = 100_000
"""Children of a run in all its calls, until it restarts."""

OPEN, LOCKED = 1, 2
"""Whether a batch takes members, or is being closed: ``opening`` of its root."""

ENDS = "ends"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildrenCall:
    """What a call of a run says of its children.

    ``window``: the most of them that exist unfinished. ``tolerate``: how many may end badly before
    the call ends; ``None``: all. ``min_success``: how many successes are enough, and required.
    """

    total: int
    handler: str
    is_map: bool = False
    is_abandoned: bool = False
    window: int | None = None
    tolerate: int | None = None
    min_success: int | None = None

    @property
    def most_failures(self) -> int | None:
        """How many children may end badly: those that the successes do not need, at most."""
        if self.min_success is None:
            return self.tolerate
        spare = self.total - self.min_success
        return spare if self.tolerate is None else min(self.tolerate, spare)

    @property
    def chunk(self) -> int:
        """The children of a join record: with a window a quarter of it, so that it stays used."""
        if self.total == 1:
            return 1
        return CHUNK if self.window is None else min(CHUNK, -(-self.window // 4))

    @property
    def has_root(self) -> bool:
        """Whether several join records are counted by a root."""
        return self.window is None and self.total > self.chunk

    @property
    def records(self) -> int:
        """How many join records it has in the end."""
        return -(-self.total // self.chunk)

    def expected(self, number: int) -> int:
        """Return the children of one of its join records."""
        return min(self.chunk, self.total - number * self.chunk)


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinRecord:
    """One join record. ``ends``: see the table of this module, by the position in the record.

    ``added``: of a batch that is open, its members: 1 if the member is there, 0 if a request has
    only reserved its place.
    """

    key: str
    number: int
    created_ms: int
    round: int
    token: int
    order: int
    began_ms: int | None
    path: str
    expected: int
    call: ChildrenCall
    ends: Mapping[int, int]
    result_text: str | None = None
    added: Mapping[int, int] | None = None

    @property
    def succeeded(self) -> int:
        """How many children succeeded."""
        return sum(code == 0 for code in self.ends.values())

    @property
    def failed(self) -> int:
        """How many children ended badly."""
        return sum(code > 0 for code in self.ends.values())

    @property
    def is_open(self) -> bool:
        """Whether children may still be added."""
        return self.added is not None

    @property
    def is_full(self) -> bool:
        """Whether all children ended, and none can be added."""
        return not self.is_open and self.succeeded + self.failed == self.expected

    @property
    def first_index(self) -> int:
        """The index of its first child within the call."""
        return self.number * self.call.chunk

    def open_positions(self) -> list[int]:
        """Return the positions of the children that have not ended."""
        positions = range(self.expected) if self.added is None else sorted(self.added)
        return [n for n in positions if self.ends.get(n, -1) < 0]


@dataclass(frozen=True, slots=True)
class JoinedCall:
    """All join records of one call, in their order."""

    key: str
    records: tuple[JoinRecord, ...]

    @property
    def call(self) -> ChildrenCall:
        """What the call says of its children."""
        return self.records[0].call

    @property
    def submitted(self) -> int:
        """How many children exist, or are about to."""
        return sum(record.expected for record in self.records)

    @property
    def succeeded(self) -> int:
        """How many children succeeded."""
        return sum(record.succeeded for record in self.records)

    @property
    def failed(self) -> int:
        """How many children ended badly."""
        return sum(record.failed for record in self.records)

    @property
    def live(self) -> int:
        """How many of the submitted children have not ended."""
        return self.submitted - self.succeeded - self.failed

    @property
    def has_room(self) -> bool:
        """Whether more children of the call may be submitted now."""
        return bool(self.next_numbers(self.call))

    def next_numbers(self, call: ChildrenCall) -> list[int]:
        """Return the join records of ``call`` that may be put now, of a `GROUP` at most."""
        live, found = self.live, []
        first = len(self.records)
        for number in range(first, min(first + max(GROUP // call.chunk, 1), call.records)):
            live += call.expected(number)
            if call.window is not None and live > call.window:
                break
            found.append(number)
        return found

    @property
    def is_open(self) -> bool:
        """Whether it has the members of a batch that is not closed."""
        return any(record.is_open for record in self.records)

    @property
    def is_over(self) -> bool:
        """Whether every child of the call was submitted and has ended."""
        return not self.is_open and self.live == 0 and self.submitted >= self.call.total

    def end_of(self, index: int) -> int | None:
        """Return the code of a child's end; ``None`` while it has not ended."""
        number, position = divmod(index, self.call.chunk)
        code = self.records[number].ends.get(position) if number < len(self.records) else None
        return code if code is not None and code >= 0 else None

    def failed_indexes(self) -> Iterator[int]:
        """Yield the indexes of the children that ended badly."""
        for record in self.records:
            for position, code in sorted(record.ends.items()):
                if code > 0:
                    yield record.first_index + position

    @property
    def last_group(self) -> tuple[JoinRecord, ...]:
        """The records whose children may not all have been put: those before have them."""
        return self.records[-max(GROUP // self.call.chunk, 1) :]

    def with_record(self, changed: JoinRecord) -> JoinedCall:
        """Return the call with a record as it stands now, a new one included."""
        others = [one for one in self.records if one.number != changed.number]
        records = sorted((*others, changed), key=lambda one: one.number)
        return replace(self, records=tuple(records))


@dataclass(frozen=True, slots=True)
class RootRecord:
    """The root of a call. ``full``: by the number of a full join record, its successes.

    Of a batch that was open: its ``opening``, which is `OPEN`, then `LOCKED`, then ``None``, the
    ``total`` of its members as it was stated, and the ``version`` of that.
    """

    records: int
    full: Mapping[int, int] = field(default_factory=dict)
    failed: Mapping[int, int] = field(default_factory=dict)
    opening: int | None = None
    total: int | None = None
    version: int = 0

    @property
    def is_open(self) -> bool:
        """Whether it is the root of a batch that is not closed yet."""
        return self.opening is not None

    @property
    def takes_members(self) -> bool:
        """Whether members may still be added to the batch."""
        return self.opening == OPEN

    @property
    def is_full(self) -> bool:
        """Whether all join records are full."""
        return not self.is_open and len(self.full) >= self.records


def is_root(item: SideItem) -> bool:
    """Whether an item of the kind is a root: its key has no number."""
    return "." not in item.key.sort.partition("#c")[2]


def join_prefix(segment: int) -> str:
    """Return how the sort keys of the join records of a segment begin."""
    return f"R{segment or ''}#c"


def join_record_key(run_id: str, segment: int, key: str, number: int) -> SideKey:
    """Return the key of a join record."""
    return SideKey(run_id, f"{join_prefix(segment)}{key}.{number:04d}")


def root_key(run_id: str, segment: int, key: str) -> SideKey:
    """Return the key of the root of a call."""
    return SideKey(run_id, f"{join_prefix(segment)}{key}")


def join_of(item: SideItem) -> JoinRecord:
    """Read a join record."""
    key, _, number = item.key.sort.partition("#c")[2].partition(".")
    call = ChildrenCall(
        total=item.number("total") or 0,
        handler=item.text("handler") or "",
        is_map=bool(item.number("is_map")),
        is_abandoned=bool(item.number("is_abandoned")),
        window=item.number("window"),
        tolerate=item.number("tolerate"),
        min_success=item.number("min_success"),
    )
    added = None
    if item.number("count") is None:
        added = {int(name): state for name, state in item.numbers("places").items()}
    return JoinRecord(
        key=key,
        number=int(number),
        created_ms=item.number("created_ms") or 0,
        round=item.number("round") or 0,
        token=item.number("token") or 0,
        order=item.number("order") or 0,
        began_ms=item.number("began_ms"),
        path=item.text("path") or "",
        expected=len(item.numbers("places")) if added is not None else item.number("count") or 0,
        call=call,
        ends={int(name): code for name, code in item.numbers(ENDS).items()},
        result_text=item.text("result_text"),
        added=added,
    )


def joined_calls(items: Iterable[SideItem], created_ms: int) -> list[JoinedCall]:
    """Return the calls of a run that submitted children, from the items of that kind."""
    calls: dict[str, list[JoinRecord]] = defaultdict(list)
    for record in (join_of(item) for item in items if not is_root(item)):
        if record.created_ms == created_ms:
            calls[record.key].append(record)
    return [JoinedCall(key, without_strays(records)) for key, records in calls.items()]


def without_strays(records: Sequence[JoinRecord]) -> tuple[JoinRecord, ...]:
    """Return the join records of a call without those that are none of a closed batch.

    A request that came too late may have reserved places behind its last record.
    """
    total = max((record.call.total for record in records if not record.is_open), default=None)
    if total is None:
        return tuple(records)
    call = replace(records[0].call, total=total)
    return tuple(record for record in records if not record.is_open or record.number < call.records)


def root_of(item: SideItem) -> RootRecord:
    """Read the root of a call."""
    return RootRecord(
        records=item.number("count") or 0,
        full={int(name): count for name, count in item.numbers("full").items()},
        failed={int(name): count for name, count in item.numbers("failed").items()},
        opening=item.number("opening"),
        total=item.number("total"),
        version=item.number("version") or 0,
    )


def wakes_run(record: JoinRecord, root: RootRecord | None) -> bool:
    """Whether a run must look at a call after this join record changed.

    Without a root: if the record is full, or crossed a threshold. With one, if all are full, or if
    what the root has of all of them crossed one.
    """
    call = record.call
    if root is None:
        if record.is_full:
            return True
        succeeded, failed = record.succeeded, record.failed
    else:
        if root.is_full:
            return True
        succeeded, failed = sum(root.full.values()), sum(root.failed.values())
    return is_decided(call, succeeded, failed)


def is_decided(call: ChildrenCall, succeeded: int, failed: int) -> bool:
    """Whether a call ends although children of it have not: by a threshold."""
    if call.most_failures is not None and failed > call.most_failures:
        return True
    return call.min_success is not None and succeeded >= call.min_success
