from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from hourhand.aws.job_indexes import MAX_QUERIES_A_SHARD, Bounds, ListingMerge, bounds_of
from hourhand.aws.layout.jobs import listing_sort_key
from hourhand.aws.layout.values import Item
from hourhand.aws.records import Position, QueriedPage
from hourhand.domain.times import to_ms
from hourhand.memory import START
from hourhand.ports.job_store import ListingPage, ListingPosition

SHARDS = 4
EVERYTHING = Bounds(listing_sort_key(0, ""), listing_sort_key(10**13 - 1, ""))


class Shards:
    """Sorted shards, queried as DynamoDB does: BETWEEN takes both ends in."""

    def __init__(self, keys: Sequence[tuple[int, str]], *, page: int = 1_000) -> None:
        self.page = page
        self.queries = 0
        self.keys: list[list[str]] = [[] for _ in range(SHARDS)]
        for number, (ms, tie) in enumerate(keys):
            self.keys[number % SHARDS].append(listing_sort_key(ms, tie))

    def query(
        self, shard: int, bounds: Bounds, limit: int, position: Position | None
    ) -> QueriedPage:
        self.queries += 1
        inside = [k for k in self.keys[shard] if bounds.first <= k <= bounds.end]
        newest_first = sorted(inside, reverse=True)
        if position is not None:
            newest_first = [key for key in newest_first if key < position["c"]]
        shown = newest_first[: min(limit, self.page)]
        items: list[Item] = [{"c": {"S": key}, "p": {"S": f"job of {key}"}} for key in shown]
        goes_on = len(shown) < len(newest_first)
        return QueriedPage(items, {"c": shown[-1]} if goes_on else None)


def page_of(shards: Shards, bounds: Bounds, limit: int) -> ListingPage:
    return ListingMerge(shards.query, bounds, SHARDS, limit).page()


def all_pages(shards: Shards, limit: int) -> list[ListingPosition]:
    found: list[ListingPosition] = []
    bounds = EVERYTHING
    for _ in range(1_000):
        page = page_of(shards, bounds, limit)
        assert len(page.jobs) <= limit
        found.extend(job.position for job in page.jobs)
        if page.next is None:
            return found
        bounds = Bounds(EVERYTHING.first, listing_sort_key(page.next.created_ms, page.next.tie))
    raise AssertionError("the last page never came")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("limit", [1, 3, 50])
@pytest.mark.parametrize("page", [1, 2, 1_000])
def test_pages_show_everything_once_newest_first(seed: int, limit: int, page: int) -> None:
    chance = random.Random(seed)
    # Few instants: many jobs are of the same millisecond, and pages end among them.
    keys = [(1_767_000_000_000 + chance.randrange(9), f"{n:04d}") for n in range(40)]
    chance.shuffle(keys)
    expected = sorted((ListingPosition(ms, tie) for ms, tie in keys), reverse=True)
    assert all_pages(Shards(keys, page=page), limit) == expected


def test_one_shard_that_holds_everything_is_read_on() -> None:
    shards = Shards([])
    shards.keys[2] = [listing_sort_key(1_767_000_000_000 + n, "aa") for n in range(200)]
    assert len(all_pages(shards, 100)) == 200


def test_a_page_costs_a_bounded_number_of_queries() -> None:
    shards = Shards([(1_767_000_000_000 + n, "aa") for n in range(500)], page=1)
    page = page_of(shards, EVERYTHING, 200)
    assert shards.queries <= MAX_QUERIES_A_SHARD * SHARDS
    assert 0 < len(page.jobs) < 200
    assert page.next == page.jobs[-1].position


@pytest.mark.parametrize("limit", [1, 2, 3, 50])
def test_a_job_that_moves_between_two_partitions_is_shown_once(limit: int) -> None:
    shards = Shards([(1_767_000_000_000 + n, "aa") for n in range(5)])
    moving = shards.keys[2][0]
    shards.keys[0].append(moving)
    keys = [listing_sort_key(each.created_ms, each.tie) for each in all_pages(shards, limit)]
    assert len(keys) == 5
    assert keys.count(moving) == 1


def test_an_empty_range_costs_no_query() -> None:
    shards = Shards([(1_767_000_000_000, "aa")])
    assert page_of(shards, bounds_of(None, START, START), 10) == ListingPage((), None)
    assert shards.queries == 0


def test_a_page_that_ends_with_the_last_job_is_the_last() -> None:
    shards = Shards([(1_767_000_000_000 + n, "aa") for n in range(SHARDS)])
    assert page_of(shards, EVERYTHING, SHARDS).next is None


def test_the_range_begins_with_created_after_and_ends_before_created_before() -> None:
    hour = timedelta(hours=1)
    bounds = bounds_of(None, START + hour, START)
    first, last = to_ms(START), to_ms(START + hour)
    inside = [listing_sort_key(first, "aa"), listing_sort_key(last - 1, "zz")]
    outside = [listing_sort_key(first - 1, "zz"), listing_sort_key(last, "aa")]
    assert all(bounds.first <= key < bounds.end for key in inside)
    assert not any(bounds.first <= key < bounds.end for key in outside)


def test_a_position_outside_the_range_does_not_widen_it() -> None:
    later = ListingPosition(to_ms(START + timedelta(days=1)), "aa")
    assert bounds_of(later, START, START - timedelta(days=1)).end == listing_sort_key(
        to_ms(START), ""
    )


@pytest.mark.parametrize(
    "instant", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)]
)
def test_times_beyond_the_keys_are_their_ends(instant: datetime) -> None:
    bounds = bounds_of(None, instant, datetime(1, 1, 1, tzinfo=UTC))
    assert len(bounds.first) == len(bounds.end) == len(listing_sort_key(0, ""))
