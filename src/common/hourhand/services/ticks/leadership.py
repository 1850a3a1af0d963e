"""Elects the scheduler that sweeps: one leader a tick, for efficiency. Safety does not need one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from hourhand.domain.ticks.timings import Timings
from hourhand.ports.clock import Clock
from hourhand.ports.control_store import ControlStore, Lease, LeaseHeld
from hourhand.ports.telemetry import Telemetry

TICK_RESERVE_SECONDS = 8
"""What must be left of the function's time to finish a page, write the watermark and end."""

SCHEDULES_SHARE = 0.2
"""What part of a tick's time its sweep leaves to the visits: a backlog must not stop schedules."""

_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Leadership:
    """Takes, renews and gives up leases of the control table, and measures it."""

    control: ControlStore
    clock: Clock
    timings: Timings
    telemetry: Telemetry

    def acquire(self, name: str, holder: str) -> Lease | LeaseHeld:
        """Take the lease ``name``, or return its holder."""
        began = self.clock.monotonic()
        now = self.clock.now()
        result = self.control.acquire_lease(
            name,
            holder,
            now=now,
            until=now + self.timings.leader_lease,
            margin=self.timings.clock_margin,
        )
        if isinstance(result, LeaseHeld):
            self.telemetry.count("elections_followed")
            return result
        self.telemetry.count("elections_won")
        self.telemetry.observe("election_ms", (self.clock.monotonic() - began) * 1000)
        if result.taken_from is not None:
            self.telemetry.count("hand_offs")
            self.telemetry.info(
                "A lease was taken over from a holder that did not give it up.",
                lease=name,
                epoch=result.epoch,
                taken_from=result.taken_from,
            )
        return result

    def keep(self, lease: Lease) -> Lease | None:
        """Renew a lease of which a third is used up; ``None`` where it was lost."""
        now = self.clock.now()
        if lease.until - now > self.timings.leader_lease * 2 / 3:
            return lease
        renewed = self.control.renew_lease(lease, now + self.timings.leader_lease)
        if renewed is None:
            self.telemetry.count("leases_lost")
            self.telemetry.warning(
                "A lease was lost; its holder stops.", lease=lease.name, epoch=lease.epoch
            )
        return renewed

    def release(self, lease: Lease) -> None:
        """Give the lease up, so that the next tick need not wait for its end."""
        self.control.release_lease(lease)
        held = self.clock.now() - lease.acquired_at
        self.telemetry.observe("lease_held_ms", held / _MILLISECOND)


@dataclass(slots=True)
class Stint:
    """A lease under which a sweep goes on while it lasts and time is left.

    ``kept_seconds`` of that time are kept for what comes after the sweep.
    """

    leadership: Leadership
    lease: Lease
    remaining_seconds: Callable[[], float]
    kept_seconds: float = 0.0
    is_lost: bool = False

    def keep_for_visits(self) -> None:
        """Let the sweep that follows leave its part of the time to the schedules."""
        left = self.remaining_seconds() - TICK_RESERVE_SECONDS
        self.kept_seconds = max(0.0, left * SCHEDULES_SHARE)

    def may_go_on(self) -> bool:
        """Renew the lease if need be; say whether to read another page."""
        needed = TICK_RESERVE_SECONDS + self.kept_seconds
        if self.is_lost or self.remaining_seconds() < needed:
            return False
        kept = self.leadership.keep(self.lease)
        if kept is None:
            self.is_lost = True
            return False
        self.lease = kept
        return True
