"""Shards of a limit: shares are filled from the first, and jobs spread over them."""

from __future__ import annotations

from collections import Counter

import pytest

from hourhand.domain.limits.slot_shards import (
    SLOTS_A_SHARD,
    other_shard,
    pack_shards,
    shard_count,
    shards_to_try,
    share_of,
    unpack_shards,
)


@pytest.mark.parametrize(
    ("limit_max", "shares"),
    [(0, [0]), (1, [1]), (20, [20]), (21, [20, 1]), (45, [20, 20, 5]), (1000, [20] * 50)],
)
def test_shares_are_filled_from_the_first_shard(limit_max: int, shares: list[int]) -> None:
    assert [share_of(n, limit_max) for n in range(shard_count(limit_max))] == shares
    assert share_of(shard_count(limit_max), limit_max) == 0


def test_workers_that_see_two_numbers_never_admit_more_than_the_larger() -> None:
    for one in range(1, 121):
        for other in range(1, one):
            shards = range(shard_count(one))
            admitted = sum(max(share_of(n, one), share_of(n, other)) for n in shards)
            assert admitted == one


def test_a_job_tries_one_or_two_shards_by_its_id() -> None:
    assert shards_to_try("job", SLOTS_A_SHARD) == (0,)
    first: Counter[int] = Counter()
    lengths: Counter[int] = Counter()
    for n in range(2_000):
        tried = shards_to_try(f"job-{n}", 45)
        assert set(tried) <= {0, 1, 2}
        assert len(set(tried)) == len(tried)
        first[tried[0]] += 1
        lengths[len(tried)] += 1
    assert first[2] == pytest.approx(2_000 * 5 / 45, rel=0.2)
    assert first[0] == pytest.approx(2_000 * 20 / 45, rel=0.1)
    assert set(lengths) == {1, 2}
    assert shards_to_try("job-1", 45) == shards_to_try("job-1", 45)


def test_a_job_that_ends_asks_each_other_shard_as_often_and_never_its_own() -> None:
    assert other_shard("job", 1, 0, SLOTS_A_SHARD) is None
    assert other_shard("job", 1, 0, SLOTS_A_SHARD + 1) == 1
    asked = Counter(other_shard(f"job-{n}", 1, 2, 100) for n in range(2_000))
    assert set(asked) == {0, 1, 3, 4}
    assert min(asked.values()) == pytest.approx(500, rel=0.2)


@pytest.mark.parametrize(
    ("shards", "packed"),
    [({}, None), ({1: 0}, b"\x01\x00"), ({2: 49, 0: 3}, b"\x00\x03\x02\x31")],
    ids=["none", "one", "two"],
)
def test_the_shards_of_a_job_are_stored_in_two_bytes_each(
    shards: dict[int, int], packed: bytes | None
) -> None:
    assert pack_shards(shards) == packed
    assert unpack_shards(packed) == shards
