"""Shards: how many there are, and sharing them out among invocations of the scheduler."""

from __future__ import annotations

from dataclasses import dataclass

from hourhand.domain.errors import Unavailable
from hourhand.domain.ticks.buckets import ShardMap, bucket_of
from hourhand.domain.ticks.timings import Timings
from hourhand.ports.clock import Clock
from hourhand.ports.control_store import ControlStore
from hourhand.ports.sweep_invoker import SweepInvoker
from hourhand.ports.telemetry import Telemetry
from hourhand.services.ticks.leadership import Stint

MAX_LOST_RACES = 5
"""Operators that change the map at the same time; beyond this the call fails."""

MAX_INVOCATIONS = 16
"""Further invocations that one tick starts; they share its shards out among themselves."""


@dataclass(frozen=True, slots=True)
class ShardingService:
    """Changes the number of shards while the system runs, for buckets still in the future.

    Jobs filed under older versions of the map stay where they are.
    """

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


@dataclass(frozen=True, slots=True)
class FanOut:
    """Starts further invocations for a tick that reads more than ``entries`` entries; 0: never."""

    invoker: SweepInvoker
    clock: Clock
    telemetry: Telemetry
    entries: int

    def sharing(self, most_shards: int) -> Sharing:
        """Return how the shards of one tick are shared out, of which a bucket has so many."""
        return Sharing(self, most_shards)


@dataclass(slots=True)
class Sharing:
    """Which shards of one tick further invocations sweep: ``given_away``."""

    fan_out: FanOut
    most_shards: int
    given_away: frozenset[int] = frozenset()
    has_asked: bool = False

    def is_needed(self, entries: int) -> bool:
        """Whether to ask for help after so many entries, which happens once a tick."""
        if self.has_asked or self.most_shards == 1 or not 0 < self.fan_out.entries <= entries:
            return False
        self.has_asked = True
        return True

    def hand_over_all_but(self, shard: int, stint: Stint) -> None:
        """Share out every shard but the one that the leader goes on with."""
        fan_out = self.fan_out
        shards = [other for other in range(self.most_shards) if other != shard]
        tick_at = fan_out.clock.now()
        taken: set[int] = set()
        for first in range(min(len(shards), MAX_INVOCATIONS)):
            share = shards[first::MAX_INVOCATIONS]
            if not stint.may_go_on():
                break
            if fan_out.invoker.invoke(share, epoch=stint.lease.epoch, tick_at=tick_at):
                taken.update(share)
        if taken:
            fan_out.telemetry.count("shards_handed_over", len(taken))
        else:
            fan_out.telemetry.warning(
                "No shard could be handed over. This tick sweeps what it can by itself.",
                shards=len(shards),
            )
        self.given_away = frozenset(taken)
