"""Changing the number of shards while the system runs."""

from __future__ import annotations

import pytest

from hourhand.domain.errors import InvalidInput, Unavailable
from hourhand.domain.ticks.buckets import bucket_of
from hourhand.memory import START
from hourhand.services.ticks.shards import MAX_LOST_RACES, ShardingService
from tests.world.faults import Faults
from tests.world.world import World


def _service(world: World, faults: Faults | None = None) -> ShardingService:
    control = (faults or Faults()).wrap(world.control)
    return ShardingService(control, world.clock, world.timings)


def test_a_new_count_holds_from_a_bucket_on_that_no_writer_is_late_for(world: World) -> None:
    grown = _service(world).resize(4)
    assert world.control.read_shard_map() == grown
    # Half a minute of an old map and five seconds of a stall end within the present minute.
    assert grown.count_for_writers(bucket_of(START)) == 1
    assert grown.count_for_writers(bucket_of(START) + 1) == 4
    world.advance(30)
    shrunk = _service(world).resize(2)
    assert shrunk.count_for_writers(bucket_of(START) + 1) == 4
    assert shrunk.count_for_writers(bucket_of(START) + 2) == 2
    assert shrunk.count_for_readers(bucket_of(START) + 2) == 4


@pytest.mark.parametrize("count", [0, -1, 100_000])
def test_a_count_out_of_range_is_refused(world: World, count: int) -> None:
    with pytest.raises(InvalidInput):
        _service(world).resize(count)


def test_who_loses_a_race_builds_on_the_winners_map(world: World) -> None:
    faults = Faults().interrupt("write_shard_map", lambda: _service(world).resize(8))
    grown = _service(world, faults).resize(4)
    assert [version.count for version in grown.versions] == [1, 8, 4]


def test_a_map_that_others_change_all_the_time_is_given_up(world: World) -> None:
    faults = Faults()
    for nth in range(1, 99):
        faults.interrupt("write_shard_map", lambda: _service(world).resize(8), nth=nth)
    with pytest.raises(Unavailable):
        _service(world, faults).resize(4)
    assert len(world.control.read_shard_map().versions) == 1 + MAX_LOST_RACES
