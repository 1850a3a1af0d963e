"""The control table in memory: leases, shard map, watermark, the last tick and callers."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hourhand.domain.jobs.pauses import NO_PAUSES, HandlerPauses
from hourhand.domain.limits.overrides import NO_OVERRIDES, LimitOverrides
from hourhand.domain.ticks.buckets import ShardMap
from hourhand.domain.ticks.leases import may_be_taken
from hourhand.domain.ticks.resweep import ResweepRequest
from hourhand.domain.ticks.watermark import Watermark, falls
from hourhand.ports.control_store import Lease, LeaseHeld, TickRecord


@dataclass(frozen=True, slots=True)
class _Tenure:
    """The record of one lease; without ``lease`` it is free, and ``epoch`` was the last."""

    epoch: int
    lease: Lease | None


class MemoryControlStore:
    """Implements the port `ControlStore`; safe for threads."""

    def __init__(self, shard_map: ShardMap | None = None) -> None:
        """Start as a new installation does, with one shard unless given a map."""
        self._lock = threading.RLock()
        self._tenures: dict[str, _Tenure] = {}
        self._shard_map = shard_map or ShardMap()
        self._watermark: Watermark | None = None
        self._resweep: ResweepRequest | None = None
        self._tick: TickRecord | None = None
        self._pauses = NO_PAUSES
        self._overrides = NO_OVERRIDES
        self._secret: bytes | None = None
        self._callers: dict[str, str] = {}

    # --- leases ---

    def acquire_lease(
        self, name: str, holder: str, *, now: datetime, until: datetime, margin: timedelta
    ) -> Lease | LeaseHeld:
        """Take a lease that may be taken; see the port `ControlStore`."""
        with self._lock:
            tenure = self._tenures.get(name, _Tenure(0, None))
            held = tenure.lease
            if held is not None and held.holder == holder:
                lease = replace(held, until=until)
            elif held is None or may_be_taken(held.until, now=now, until=until, margin=margin):
                lease = Lease(
                    name=name,
                    holder=holder,
                    epoch=tenure.epoch + 1,
                    until=until,
                    acquired_at=now,
                    taken_from=held.holder if held is not None else None,
                )
            else:
                return LeaseHeld(held.holder, held.epoch, held.until)
            self._tenures[name] = _Tenure(lease.epoch, lease)
            return lease

    def renew_lease(self, lease: Lease, until: datetime) -> Lease | None:
        """Extend it, if holder and epoch still stand; ``None``: it is lost."""
        with self._lock:
            if not self._stands(lease):
                return None
            renewed = replace(lease, until=until)
            self._tenures[lease.name] = _Tenure(lease.epoch, renewed)
            return renewed

    def release_lease(self, lease: Lease) -> bool:
        """Give it up, if holder and epoch still stand. The epoch is kept for the next holder."""
        with self._lock:
            if not self._stands(lease):
                return False
            self._tenures[lease.name] = _Tenure(lease.epoch, None)
            return True

    def read_lease(self, name: str) -> Lease | None:
        """Read the present lease; ``None`` if it was never taken, or was given up."""
        with self._lock:
            tenure = self._tenures.get(name)
            return tenure.lease if tenure is not None else None

    def _stands(self, lease: Lease) -> bool:
        tenure = self._tenures.get(lease.name)
        if tenure is None or tenure.lease is None:
            return False
        return (tenure.lease.holder, tenure.lease.epoch) == (lease.holder, lease.epoch)

    # --- shard map and watermark ---

    def read_shard_map(self) -> ShardMap:
        """Read the shard map; a new installation has one shard."""
        with self._lock:
            return self._shard_map

    def write_shard_map(self, shard_map: ShardMap, *, expected_version: int) -> bool:
        """Store a map with one more version, if it was not changed since."""
        with self._lock:
            if self._shard_map.version != expected_version:
                return False
            if shard_map.version != expected_version + 1:
                return False
            self._shard_map = shard_map
            return True

    def read_watermark(self) -> Watermark | None:
        """Read the state of the sweep."""
        with self._lock:
            return self._watermark

    def write_watermark(self, state: Watermark, *, previous: Watermark | None) -> bool:
        """Store it, if the record is still ``previous`` and the shard map has its version."""
        with self._lock:
            if self._watermark != previous:
                return False
            if previous is not None and falls(previous, state):
                return False
            if self._shard_map.version != state.shard_map_version:
                return False
            self._watermark = state
            return True

    # --- requests for a resweep ---

    def read_resweep(self, *, may_lag: bool = False) -> ResweepRequest | None:  # noqa: ARG002
        """Read the last request for a resweep; this store never lags."""
        with self._lock:
            return self._resweep

    def write_resweep(self, request: ResweepRequest, *, previous: ResweepRequest | None) -> bool:
        """Store a request, if the last one is still ``previous``."""
        with self._lock:
            if self._resweep != previous:
                return False
            self._resweep = request
            return True

    # --- pauses of handlers ---

    def read_pauses(self) -> HandlerPauses:
        """Read the pauses of handlers."""
        with self._lock:
            return self._pauses

    def write_pauses(self, pauses: HandlerPauses, *, previous: int) -> bool:
        """Store them, if the record still has the revision ``previous``."""
        with self._lock:
            if self._pauses.revision != previous:
                return False
            self._pauses = pauses
            return True

    # --- overrides of limits ---

    def read_overrides(self) -> LimitOverrides:
        """Read the overrides of limits."""
        with self._lock:
            return self._overrides

    def write_overrides(self, overrides: LimitOverrides, *, previous: int) -> bool:
        """Store them, if the record still has the revision ``previous``."""
        with self._lock:
            if self._overrides.revision != previous:
                return False
            self._overrides = overrides
            return True

    # --- the last tick ---

    def read_tick(self) -> TickRecord | None:
        """Read what the last tick found."""
        with self._lock:
            return self._tick

    def write_tick(self, record: TickRecord) -> None:
        """Store what this tick found."""
        with self._lock:
            self._tick = record

    # --- the secret of derived ids ---

    def read_secret(self) -> bytes | None:
        """Read the installation's secret; ``None`` before it is created."""
        with self._lock:
            return self._secret

    def create_secret(self, secret: bytes) -> bytes:
        """Store the installation's secret if there is none; return the one that stands."""
        with self._lock:
            if self._secret is None:
                self._secret = secret
            return self._secret

    # --- callers ---

    def keep_caller(self, key: str, identity: str) -> str:
        """Store the identity of a caller under ``key`` if there is none; return what stands."""
        with self._lock:
            return self._callers.setdefault(key, identity)

    def read_callers(self, keys: Sequence[str]) -> Mapping[str, str]:
        """Read identities by their keys; keys without one are left out."""
        with self._lock:
            return {key: self._callers[key] for key in keys if key in self._callers}
