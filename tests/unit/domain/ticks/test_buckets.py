"""Time buckets, shards, and a shard count that may change while jobs are filed."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest

from hourhand.domain.errors import InvalidInput
from hourhand.domain.ticks.buckets import (
    MAX_SHARD_MAP_VERSIONS,
    MAX_SHARDS,
    ShardMap,
    ShardMapVersion,
    bucket_end,
    bucket_of,
    bucket_start,
    file_entry,
    shard_of,
)
from tests.unit.domain.job_samples import NOW, after

NOON_BUCKET = bucket_of(NOW)


def test_a_bucket_is_a_minute_that_begins_and_ends_on_it() -> None:
    assert bucket_of(after(0)) == bucket_of(after(59.999)) == NOON_BUCKET
    assert bucket_of(after(60)) == NOON_BUCKET + 1
    assert bucket_of(after(-0.001)) == NOON_BUCKET - 1
    assert bucket_start(NOON_BUCKET) == NOW
    assert bucket_end(NOON_BUCKET) == after(60)


def test_a_shard_is_the_same_in_every_process() -> None:
    # The first 32 bits of SHA-256: a hash that changed with a release would orphan what is filed.
    assert [shard_of(job_id, 2**32) for job_id in ("a", "job-1")] == [0xCA978112, 0x026AB639]
    assert [shard_of(job_id, 16) for job_id in ("a", "job-1")] == [2, 9]


def test_jobs_spread_over_all_shards() -> None:
    sizes = Counter(shard_of(f"job-{n}", 8) for n in range(4000))
    assert set(sizes) == set(range(8))
    assert max(sizes.values()) < 2 * min(sizes.values())


def test_a_new_installation_has_one_shard_everywhere() -> None:
    shard_map = ShardMap()
    assert shard_map.version == 1
    assert shard_map.count_for_writers(0) == shard_map.count_for_readers(NOON_BUCKET) == 1


@pytest.mark.parametrize(
    ("versions", "buckets", "writers", "readers"),
    [
        ([(0, 1), (100, 8), (200, 2)], [99, 100, 199, 200], [1, 8, 8, 2], [1, 8, 8, 8]),
        ([(0, 1), (200, 8), (100, 2)], [99, 100, 200], [1, 2, 2], [1, 2, 8]),
        ([(100, 4)], [5], [4], [4]),
    ],
    ids=["in order", "a later version may begin earlier", "before the first version"],
)
def test_writers_use_the_newest_version_and_readers_the_largest(
    versions: list[tuple[int, int]], buckets: list[int], writers: list[int], readers: list[int]
) -> None:
    shard_map = ShardMap(tuple(ShardMapVersion(*version) for version in versions))
    assert [shard_map.count_for_writers(b) for b in buckets] == writers
    assert [shard_map.count_for_readers(b) for b in buckets] == readers


def test_the_map_grows_by_appending() -> None:
    grown = ShardMap().with_version(NOON_BUCKET + 1, 4, now=NOW)
    assert grown.versions == (ShardMapVersion(0, 1), ShardMapVersion(NOON_BUCKET + 1, 4))
    assert grown.version == 2


@pytest.mark.parametrize(
    ("from_bucket", "count", "field"),
    [
        (NOON_BUCKET, 4, "from_bucket"),
        (NOON_BUCKET - 1, 4, "from_bucket"),
        (NOON_BUCKET + 1, 0, "count"),
        (NOON_BUCKET + 1, MAX_SHARDS + 1, "count"),
    ],
)
def test_a_bad_version_is_refused_by_the_name_of_its_field(
    from_bucket: int, count: int, field: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        ShardMap().with_version(from_bucket, count, now=NOW)
    assert [error.field for error in refused.value.errors] == [field]


@pytest.mark.parametrize("count", [1, MAX_SHARDS])
def test_the_bounds_themselves_are_allowed(count: int) -> None:
    grown = ShardMap().with_version(NOON_BUCKET + 1, count, now=NOW)
    assert grown.count_for_writers(NOON_BUCKET + 1) == count


def test_the_map_is_bounded() -> None:
    full = ShardMap(tuple(ShardMapVersion(n, 1) for n in range(MAX_SHARD_MAP_VERSIONS)))
    with pytest.raises(InvalidInput) as refused:
        full.with_version(NOON_BUCKET + 1, 2, now=NOW)
    assert [error.field for error in refused.value.errors] == ["versions"]


def test_a_job_is_filed_by_the_count_of_the_bucket_that_it_falls_in() -> None:
    shard_map = ShardMap().with_version(NOON_BUCKET + 2, 16, now=NOW)
    early = file_entry("job-1", NOW, NOW, shard_map)
    late = file_entry("job-1", NOW + timedelta(minutes=2), NOW, shard_map)
    assert (early.shard, late.shard) == (0, 9)
