"""The indexes of the jobs table: what is due when, and the listing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from hourhand.aws.failures import Call, ask
from hourhand.aws.layout.jobs import bucket_partition, dead_partition, listing_partition
from hourhand.aws.layout.values import read_text, read_time, text
from hourhand.aws.lean import Failure
from hourhand.aws.listing import Bounds, ListingMerge, bounds_of
from hourhand.aws.paging import Position, QueriedPage, query_page
from hourhand.aws.parallel_calls import Bulk
from hourhand.aws.table_schema import DEAD_INDEX, LISTING_INDEX, LISTING_SHARDS, RUN_AT_INDEX
from hourhand.domain.jobs.job import IndexEntry
from hourhand.domain.ticks.watermark import Place
from hourhand.ports.job_store import IndexPage, ListingPage, ListingPosition

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def read_first_pages(
    bulk: Bulk[DynamoDBClient], table: str, places: Sequence[Place], *, limit: int
) -> list[IndexPage | None]:
    """Read the first page of many shards of buckets, side by side, in the order of ``places``.

    ``None`` for one that could not be read, or that holds what cannot be understood.
    """
    asked = [{"TableName": table, **_bucket_query(*place, limit)} for place in places]
    return [_page_or_none(answer) for answer in bulk.each("Query", asked)]


def _page_or_none(answer: Any) -> IndexPage | None:
    if isinstance(answer, Failure):
        return None
    try:
        return _index_page(QueriedPage(answer["Items"], answer.get("LastEvaluatedKey")))
    except (KeyError, TypeError, ValueError):
        return None


def _bucket_query(bucket: int, shard: int, limit: int) -> dict[str, Any]:
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


@dataclass(frozen=True, slots=True)
class JobIndexes:
    """Reads the indexes: eventually consistent, hints all of them."""

    client: DynamoDBClient
    table: str

    def read_bucket(
        self, bucket: int, shard: int, *, position: Position | None, limit: int
    ) -> IndexPage:
        """Read one page of one shard of a bucket."""
        arguments = _bucket_query(bucket, shard, limit)
        return _index_page(query_page(self.client, self.table, position, **arguments))

    def list_jobs(
        self,
        *,
        dead_only: bool,
        newest: ListingPosition | None,
        created_before: datetime,
        created_after: datetime,
        limit: int,
    ) -> ListingPage:
        """Read one page of the listing, or of the dead jobs."""
        bounds = bounds_of(newest, created_before, created_after)
        query = self._query_dead if dead_only else self._query_all
        return ListingMerge(query, bounds, LISTING_SHARDS, limit).page()

    def count_dead(self, limit: int) -> int:
        """Count the dead jobs, at most ``limit`` (up to 3,000: they are one page) in each shard.

        An entry is some 60 bytes (200 at most), and a read unit takes 8 KB of an eventually
        consistent query: 4 units for the eight shards while few jobs are dead, and some 60 at the
        worst for a limit of 1,000.
        """
        return sum(self._count_dead(shard, limit) for shard in range(LISTING_SHARDS))

    def _count_dead(self, shard: int, limit: int) -> int:
        answer = ask(
            Call("Query", f"table {self.table}"),
            self.client.query,
            TableName=self.table,
            IndexName=DEAD_INDEX.name,
            Select="COUNT",
            KeyConditionExpression="d = :partition",
            ExpressionAttributeValues={":partition": text(dead_partition(shard))},
            Limit=limit,
        )
        return answer["Count"]

    def _query_all(
        self, shard: int, bounds: Bounds, limit: int, position: Position | None
    ) -> QueriedPage:
        partition = listing_partition(shard)
        return self._query_newest(LISTING_INDEX.name, "l", partition, bounds, limit, position)

    def _query_dead(
        self, shard: int, bounds: Bounds, limit: int, position: Position | None
    ) -> QueriedPage:
        partition = dead_partition(shard)
        return self._query_newest(DEAD_INDEX.name, "d", partition, bounds, limit, position)

    def _query_newest(
        self,
        index: str,
        key: str,
        partition: str,
        bounds: Bounds,
        limit: int,
        position: Position | None,
    ) -> QueriedPage:
        return query_page(
            self.client,
            self.table,
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
