"""The shard map under chance: whatever writer filed a job, today's readers look there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from hourhand.domain.ticks.buckets import (
    BUCKET_LENGTH,
    ShardMap,
    bucket_end,
    bucket_of,
    bucket_start,
    file_entry,
    shard_of,
)

START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
MINUTES = st.integers(0, 100).map(lambda n: timedelta(minutes=n))
JOB_IDS = st.text("abcdef0123456789-_", min_size=1, max_size=20)


@st.composite
def map_histories(draw: st.DrawFn) -> list[tuple[datetime, ShardMap]]:
    """The versions of a map, each with the time from which it was there."""
    now, shard_map = START, ShardMap()
    versions = [(now, shard_map)]
    for _ in range(draw(st.integers(0, 6))):
        now += draw(MINUTES)
        from_bucket = bucket_of(now) + draw(st.integers(1, 60))
        shard_map = shard_map.with_version(from_bucket, draw(st.integers(1, 64)), now=now)
        versions.append((now, shard_map))
    return versions


@given(map_histories(), MINUTES, MINUTES, JOB_IDS, st.data())
def test_readers_see_whatever_any_writer_filed_with_any_older_map(
    history: list[tuple[datetime, ShardMap]],
    wrote: timedelta,
    ahead: timedelta,
    job_id: str,
    data: st.DataObject,
) -> None:
    # A writer may hold a map for as long as it likes; the reader reads the newest, consistently.
    _, writers_map = data.draw(st.sampled_from(history))
    readers_map = history[-1][1]
    now = START + wrote
    entry = file_entry(job_id, now + ahead, now, writers_map)
    assert 0 <= entry.shard < readers_map.count_for_readers(entry.bucket)
    assert entry.bucket == bucket_of(now + ahead)


@given(map_histories(), st.integers(0, 300))
def test_no_version_ever_hides_a_shard_that_an_older_one_showed(
    history: list[tuple[datetime, ShardMap]], minute: int
) -> None:
    bucket = bucket_of(START) + minute
    counts = [shard_map.count_for_readers(bucket) for _, shard_map in history]
    assert counts == sorted(counts)
    assert all(m.count_for_writers(bucket) <= m.count_for_readers(bucket) for _, m in history)


@given(map_histories(), st.integers(0, 300))
def test_a_new_version_changes_nothing_about_the_past(
    history: list[tuple[datetime, ShardMap]], back: int
) -> None:
    for (_, older), (since, newer) in pairwise(history):
        bucket = bucket_of(since) - back
        assert older.count_for_writers(bucket) == newer.count_for_writers(bucket)
        assert older.count_for_readers(bucket) == newer.count_for_readers(bucket)


@given(st.datetimes(datetime(1970, 1, 1), datetime(2201, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
def test_every_instant_lies_in_its_bucket(instant: datetime) -> None:
    bucket = bucket_of(instant)
    assert bucket_start(bucket) <= instant < bucket_end(bucket)
    assert bucket_end(bucket) - bucket_start(bucket) == BUCKET_LENGTH


@given(JOB_IDS, st.integers(1, 1024))
def test_a_shard_is_one_of_those_there_are(job_id: str, count: int) -> None:
    assert 0 <= shard_of(job_id, count) < count


@given(JOB_IDS, MINUTES, st.integers(-3000, 3000))
def test_nothing_is_filed_behind_now(job_id: str, since: timedelta, ahead: int) -> None:
    now = START + since
    run_at = now + timedelta(minutes=ahead)
    entry = file_entry(job_id, run_at, now, ShardMap())
    assert entry.due_at == max(run_at, now)
    assert entry.bucket >= bucket_of(now)
