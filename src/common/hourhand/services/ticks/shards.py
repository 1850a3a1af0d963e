"""Changing the number of shards while the system runs, for buckets still in the future."""

from __future__ import annotations

from dataclasses import dataclass

from hourhand.domain.errors import Unavailable
from hourhand.domain.ticks.buckets import ShardMap, bucket_of
from hourhand.domain.ticks.timings import Timings
from hourhand.ports.clock import Clock
from hourhand.ports.control_store import ControlStore

MAX_LOST_RACES = 5
"""Operators that change the map at the same time; beyond this the call fails."""


@dataclass(frozen=True, slots=True)
class ShardingService:
    """Grows and shrinks the shard map. Jobs filed under older versions stay where they are."""

    control: ControlStore
    clock: Clock
    timings: Timings

    def resize(self, count: int) -> ShardMap:
        """File jobs in ``count`` shards from a bucket on that no writer is late for.

        Writers read the map again within `Timings.control_cache`; until then they file under
        the version before, which readers still cover. Raises `InvalidInput` for a count out of
        range, `Unavailable` where others change the map all the time.
        """
        for _ in range(MAX_LOST_RACES):
            now = self.clock.now()
            current = self.control.read_shard_map()
            settled = now + self.timings.control_cache + self.timings.stall_bound
            grown = current.with_version(bucket_of(settled) + 1, count, now=now)
            if self.control.write_shard_map(grown, expected_version=current.version):
                return grown
        raise Unavailable("Other operators change the shard map at the same time; try again.")
