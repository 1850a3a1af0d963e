"""The watermark as the leader keeps it, and resweeps, which lower it.

A resweep is an operator's request that the sweep reads buckets again which it had closed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from hourhand.domain.errors import Unavailable
from hourhand.domain.ticks.buckets import bucket_start
from hourhand.domain.ticks.resweep import (
    ResweepProgress,
    next_request,
    progress_of,
    require_since,
    take_up,
)
from hourhand.domain.ticks.timings import Timings
from hourhand.domain.ticks.watermark import SweepPlan, Watermark, advance, first_watermark
from hourhand.domain.times import rfc3339
from hourhand.ports.clock import Clock
from hourhand.ports.control_store import ControlStore
from hourhand.ports.randomness import Randomness
from hourhand.ports.telemetry import Telemetry

MAX_LOST_RACES = 5
"""Operators that ask at the same time; each of them is then served by the earliest time."""


@dataclass(frozen=True, slots=True)
class WatermarkKeeper:
    """Reads the state of the sweep at the start of a tick, and stores it at its end."""

    control: ControlStore
    clock: Clock
    timings: Timings
    telemetry: Telemetry

    def current(self, now: datetime, shard_map_version: int) -> Watermark:
        """Return the state of the sweep; a new installation's is kept before its first sweep.

        Otherwise ticks that fail one after another would each start from their own time.
        """
        found = self.control.read_watermark()
        if found is None:
            first = first_watermark(now, shard_map_version, self.timings)
            self.control.write_watermark(first, previous=None)
            found = self.control.read_watermark() or first
        return self._take_up_resweep(found, shard_map_version)

    def _take_up_resweep(self, state: Watermark, shard_map_version: int) -> Watermark:
        """Lower the watermark if a resweep was requested since; it is stored before any read."""
        # A request that is not seen yet is seen by the next tick, at half the price of a read.
        if take_up(state, self.control.read_resweep(may_lag=True)) is state:
            return state
        # One that lags may show a request before the last one, which was taken up long ago.
        lowered = take_up(state, self.control.read_resweep())
        if lowered is state:
            return state
        lowered = replace(lowered, shard_map_version=shard_map_version)
        if not self.control.write_watermark(lowered, previous=state):
            # Another leader wrote it meanwhile; the next tick finds the request again.
            self.telemetry.count("watermark_refused")
            return state
        self.telemetry.info(
            "A resweep begins: the watermark was lowered, and older buckets are read again.",
            since=rfc3339(bucket_start(lowered.low)),
        )
        return lowered

    def advance(
        self,
        state: Watermark,
        plan: SweepPlan,
        seen: dict[int, bool],
        now: datetime,
        shard_map_version: int,
    ) -> Watermark:
        """Move it as far as ``seen`` allows, and store it; return the state that stands."""
        moved = advance(
            state, plan, seen, now=now, read_until=self.clock.now(), timings=self.timings
        )
        moved = replace(moved, shard_map_version=shard_map_version)
        if self.control.write_watermark(moved, previous=state):
            return moved
        # Another leader wrote it, or the shard map grew: this sweep proves nothing any more.
        self.telemetry.count("watermark_refused")
        return state


@dataclass(frozen=True, slots=True)
class ResweepService:
    """Requests resweeps, and says how far the last one is. The leader's next tick takes one up."""

    control: ControlStore
    clock: Clock
    randomness: Randomness

    def request(self, since: datetime) -> ResweepProgress:
        """Ask for every bucket from that of ``since`` to be read again.

        A request that the last one covers changes nothing. Raises `InvalidInput` for a time that
        is in the future or more than `MAX_RESWEEP` ago, `Unavailable` where others ask all the
        time.
        """
        require_since(since, self.clock.now())
        request_id = self.randomness.nonce()
        for _ in range(MAX_LOST_RACES):
            now = self.clock.now()
            current = self.control.read_resweep()
            state = self.control.read_watermark()
            wanted = next_request(current, state, since=since, now=now, request_id=request_id)
            if wanted is current or self.control.write_resweep(wanted, previous=current):
                return progress_of(wanted, state)
        raise Unavailable("Other resweeps are requested at the same time; try again.")

    def progress(self) -> ResweepProgress:
        """Return how far the last requested resweep is."""
        return progress_of(self.control.read_resweep(), self.control.read_watermark())
