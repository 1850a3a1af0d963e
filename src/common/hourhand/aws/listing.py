"""Pages of the listing: a merge of its shards, newest first, in one strict order.

A page goes on from a position, not from a token of DynamoDB's, so it shows nothing twice and
leaves nothing out, whatever was added or deleted meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from hourhand.aws.layout.jobs import listing_sort_key
from hourhand.aws.layout.values import read_text
from hourhand.aws.paging import Position, QueriedPage
from hourhand.domain.times import to_ms
from hourhand.ports.job_store import ListedJob, ListingPage, ListingPosition

MAX_LISTING_QUERIES = 24
"""Queries that one page may cost: one for each shard, and two more for each."""

SPARE_ENTRIES = 8
"""Read of each shard beyond its share of a page, so that chance rarely costs a second query."""

_LAST_MS = 10**13 - 1
"""The last instant that a sort key of 13 digits can hold: in the year 2286."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The part of the order that is asked for: sort keys from ``first`` to before ``end``."""

    first: str
    end: str

    @property
    def is_empty(self) -> bool:
        """Whether nothing can lie in it: DynamoDB refuses a BETWEEN that is upside down."""
        return self.end <= self.first


QueryShard = Callable[[int, Bounds, int, Position | None], QueriedPage]
"""Query one shard, newest first: shard, bounds, limit, position."""


def bounds_of(
    newest: ListingPosition | None, created_before: datetime, created_after: datetime
) -> Bounds:
    """Return the part of the order that a page may show, strictly after ``newest``.

    ``created_after`` is in it, ``created_before`` is not.
    """
    end = listing_sort_key(_in_range(created_before), "")
    if newest is not None:
        end = min(end, listing_sort_key(newest.created_ms, newest.tie))
    return Bounds(listing_sort_key(_in_range(created_after), ""), end)


def _in_range(instant: datetime) -> int:
    return max(0, min(to_ms(instant), _LAST_MS))


@dataclass(slots=True)
class _Shard:
    number: int
    entries: deque[tuple[str, str]] = field(default_factory=deque)
    position: Position | None = None
    is_read_out: bool = False


@dataclass(slots=True)
class ListingMerge:
    """One page in the making."""

    query: QueryShard
    bounds: Bounds
    shard_count: int
    limit: int
    _shards: list[_Shard] = field(init=False)
    _queries_left: int = field(default=MAX_LISTING_QUERIES, init=False)

    def __post_init__(self) -> None:
        """Start with every shard unread."""
        self._shards = [_Shard(number) for number in range(self.shard_count)]

    def page(self) -> ListingPage:
        """Read as much as needed and return the page."""
        listed: list[ListedJob] = []
        if self.bounds.is_empty:
            return ListingPage((), None)
        while len(listed) < self.limit and self._fill():
            shards = [shard for shard in self._shards if shard.entries]
            if not shards:
                return ListingPage(tuple(listed), None)
            newest = max(shards, key=lambda shard: shard.entries[0])
            listed.append(_listed(*newest.entries.popleft()))
        if all(shard.is_read_out and not shard.entries for shard in self._shards):
            return ListingPage(tuple(listed), None)
        assert listed, "the bound allows a query for every shard, and each returns something"
        return ListingPage(tuple(listed), listed[-1].position)

    def _fill(self) -> bool:
        """Have an entry of each unfinished shard at hand; ``False``: it would cost too much."""
        for shard in self._shards:
            while not shard.entries and not shard.is_read_out:
                if self._queries_left == 0:
                    return False
                self._queries_left -= 1
                self._read(shard)
        return True

    def _read(self, shard: _Shard) -> None:
        limit = self.limit // self.shard_count + SPARE_ENTRIES
        page = self.query(shard.number, self.bounds, limit, shard.position)
        keys = ((read_text(item["c"]), read_text(item["p"])) for item in page.items)
        # BETWEEN takes its ends in; ours is where the page before stopped.
        shard.entries.extend(key for key in keys if key[0] != self.bounds.end)
        shard.position = page.position
        shard.is_read_out = page.position is None


def _listed(sort_key: str, job_id: str) -> ListedJob:
    created_ms, _, tie = sort_key.partition(".")
    return ListedJob(job_id, ListingPosition(int(created_ms), tie))
