"""The indexes of the jobs table: what is due when, and the listing.

A page of the listing is a merge of its shards, newest first, in one strict order. It goes on from
a position, not from a token of DynamoDB's, so it shows nothing twice and leaves nothing out,
whatever was added or deleted meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from hourhand.aws.batches import Bulk
from hourhand.aws.failures import Call, ask
from hourhand.aws.layout.jobs import (
    bucket_partition,
    dead_partition,
    discarded_partition,
    listing_partition,
    listing_sort_key,
)
from hourhand.aws.layout.values import read_text, read_time, text
from hourhand.aws.lean import Failure
from hourhand.aws.records import Position, QueriedPage, Records, require_limit
from hourhand.aws.table_schema import DEAD_INDEX, LISTING_INDEX, LISTING_SHARDS, RUN_AT_INDEX
from hourhand.domain.jobs.job import IndexEntry
from hourhand.domain.ticks.watermark import Place
from hourhand.domain.times import to_ms
from hourhand.ports.job_store import IndexPage, ListedJob, Listing, ListingPage, ListingPosition

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

MAX_QUERIES_A_SHARD = 3
"""Queries that one page may cost on average for each shard: the first, and two more."""

SPARE_ENTRIES = 8
"""Read of each shard beyond its share of a page, so that chance rarely costs a second query."""

_PARTITIONS = {
    Listing.ALL: (listing_partition,),
    Listing.DEAD: (dead_partition, discarded_partition),
    Listing.UNRESOLVED: (dead_partition,),
    Listing.DISCARDED: (discarded_partition,),
}
"""The kinds of partitions that a listing is read from; each kind has all shards."""

_LAST_MS = 10**13 - 1
"""The last instant that a sort key of 13 digits can hold: in the year 2286."""


def _page_or_none(answer: Any) -> IndexPage | None:
    if isinstance(answer, Failure):
        return None
    try:
        return _index_page(QueriedPage(answer["Items"], answer.get("LastEvaluatedKey")))
    except (KeyError, TypeError, ValueError):
        return None


def _bucket_query(bucket: int, shard: int, limit: int) -> dict[str, Any]:
    require_limit(limit)
    return {
        "IndexName": RUN_AT_INDEX.name,
        "KeyConditionExpression": "b = :bucket",
        "ExpressionAttributeValues": {":bucket": text(bucket_partition(bucket, shard))},
        "Limit": limit,
    }


def _index_page(page: QueriedPage) -> IndexPage:
    entries = tuple(
        IndexEntry(job_id=read_text(item["p"]), due_at=read_time(item["k"])) for item in page.items
    )
    return IndexPage(entries, page.position)


class JobIndexes:
    """What a `JobStore` reads of the indexes: eventually consistent, hints all of them.

    ``bulk``: how the pages are asked for.
    """

    def __init__(self, bulk: Bulk[DynamoDBClient], table: str) -> None:
        """Call nothing yet."""
        self.bulk: Bulk[Any] = bulk
        self.table = table
        self._pages = Records(bulk.client, table)

    def read_bucket(
        self, bucket: int, shard: int, *, position: Position | None, limit: int
    ) -> IndexPage:
        """Read one page of one shard of a bucket of the ``run_at`` index."""
        arguments = _bucket_query(bucket, shard, limit)
        return _index_page(self._pages.query(position, **arguments))

    def read_buckets(self, places: Sequence[Place], *, limit: int) -> list[IndexPage | None]:
        """Read the first page of many shards of buckets, side by side, in their order.

        ``None`` for one that could not be read, or that holds what cannot be understood:
        `read_bucket` says why.
        """
        asked = [{"TableName": self.table, **_bucket_query(*place, limit)} for place in places]
        return [_page_or_none(answer) for answer in self.bulk.each("Query", asked)]

    def list_jobs(
        self,
        listing: Listing,
        *,
        newest: ListingPosition | None,
        created_before: datetime,
        created_after: datetime,
        limit: int,
    ) -> ListingPage:
        """List job ids by creation, newest first, strictly after ``newest`` in that order."""
        require_limit(limit)
        bounds = bounds_of(newest, created_before, created_after)
        index, key = (LISTING_INDEX, "l") if listing is Listing.ALL else (DEAD_INDEX, "d")
        partitions = [
            partition(shard)
            for partition in _PARTITIONS[listing]
            for shard in range(LISTING_SHARDS)
        ]

        def query(shard: int, bounds: Bounds, limit: int, position: Position | None) -> QueriedPage:
            partition = partitions[shard]
            return self._query_newest(index.name, key, partition, bounds, limit, position)

        return ListingMerge(query, bounds, len(partitions), limit).page()

    def count_dead(self, limit: int) -> int:
        """Count the DEAD jobs that are unresolved now, by an index: exactly up to ``limit``.

        At most ``limit`` (up to 3,000: they are one page) are counted in each shard. An entry is
        some 60 bytes (200 at most), and a read unit takes 8 KB of an eventually consistent query:
        4 units for the eight shards while few jobs are dead, and some 60 at the worst for a limit
        of 1,000.
        """
        require_limit(limit)
        return sum(self._count_dead(shard, limit) for shard in range(LISTING_SHARDS))

    def _count_dead(self, shard: int, limit: int) -> int:
        answer = ask(
            Call("Query", f"table {self.table}"),
            self.bulk.client.query,
            TableName=self.table,
            IndexName=DEAD_INDEX.name,
            Select="COUNT",
            KeyConditionExpression="d = :partition",
            ExpressionAttributeValues={":partition": text(dead_partition(shard))},
            Limit=limit,
        )
        return int(answer["Count"])

    def _query_newest(
        self,
        index: str,
        key: str,
        partition: str,
        bounds: Bounds,
        limit: int,
        position: Position | None,
    ) -> QueriedPage:
        return self._pages.query(
            position,
            IndexName=index,
            KeyConditionExpression=f"{key} = :partition AND c BETWEEN :first AND :end",
            ExpressionAttributeValues={
                ":partition": text(partition),
                ":first": text(bounds.first),
                ":end": text(bounds.end),
            },
            ScanIndexForward=False,
            Limit=limit,
        )


# --- the listing --------------------------------------------------------------------------------


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
    _queries_left: int = field(init=False)

    def __post_init__(self) -> None:
        """Start with every shard unread."""
        self._queries_left = MAX_QUERIES_A_SHARD * self.shard_count
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
            job = _listed(*newest.entries.popleft())
            # While a job is discarded, both its old and its new entry may be seen.
            if not listed or listed[-1] != job:
                listed.append(job)
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
