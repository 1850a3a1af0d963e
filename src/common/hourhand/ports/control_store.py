"""The control table: leases, shard map, watermark, resweeps, pauses, overrides, the last tick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from hourhand.domain.jobs.job import Priority
from hourhand.domain.jobs.pauses import HandlerPauses
from hourhand.domain.limits.overrides import LimitOverrides
from hourhand.domain.ticks.buckets import ShardMap
from hourhand.domain.ticks.resweep import ResweepRequest
from hourhand.domain.ticks.unmarked_dispatch import SentWindow
from hourhand.domain.ticks.watermark import Watermark


@dataclass(frozen=True, kw_only=True, slots=True)
class Lease:
    """A named lease of the control table: the leader's, or one shard's for one tick."""

    name: str
    holder: str
    epoch: int
    until: datetime
    acquired_at: datetime
    taken_from: str | None = None


@dataclass(frozen=True, slots=True)
class LeaseHeld:
    """Another holder has the lease."""

    holder: str
    epoch: int
    until: datetime


@dataclass(frozen=True, slots=True)
class LimitsSeen:
    """The limits as the sweep knows them: their declarations and their numbers.

    ``changed_at``: when it first saw them so. ``None``: since then it has rechecked every job that
    waits.
    """

    fingerprint: str
    changed_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TickRecord:
    """What the last tick found, for ``GET /stats`` and the dashboard.

    ``sent``: what the last sweep that was whole has sent, if marks are left out. ``limits``: those
    that it knew. ``botocore``: the version that the scheduler runs with, for ``hourhand doctor``; a
    store of AWS fills it in.
    """

    at: datetime
    holder: str
    epoch: int
    oldest_due_seconds: Mapping[Priority, float] = field(default_factory=dict)
    open_buckets: int = 0
    skew_ms: int = 0
    sent: SentWindow | None = None
    limits: LimitsSeen | None = None
    botocore: str = field(default="", compare=False)


class ControlStore(Protocol):
    """The control table: leases, shard map, watermark. Workers cannot write it."""

    def acquire_lease(
        self, name: str, holder: str, *, now: datetime, until: datetime, margin: timedelta
    ) -> Lease | LeaseHeld:
        """Take a lease if it is free, expired by more than ``margin``, or ``holder``'s own.

        So too one that lasts longer than ``until`` by more than ``margin``: its holder's clock was
        ahead, and if it died, no scheduler could lead for as long. That costs duplicates at worst.
        The epoch increases with each change of holder.
        """

    def renew_lease(self, lease: Lease, until: datetime) -> Lease | None:
        """Extend it, if holder and epoch still stand; ``None``: it is lost."""

    def release_lease(self, lease: Lease) -> bool:
        """Give it up, if holder and epoch still stand. The epoch is kept for the next holder."""

    def read_lease(self, name: str) -> Lease | None:
        """Read the present lease, strongly consistent."""

    def read_shard_map(self) -> ShardMap:
        """Read the shard map, strongly consistent; a new installation has one shard."""

    def write_shard_map(self, shard_map: ShardMap, *, expected_version: int) -> bool:
        """Store a map with one more version, if it was not changed since. Whether it was stored."""

    def read_watermark(self) -> Watermark | None:
        """Read the state of the sweep, strongly consistent."""

    def write_watermark(self, state: Watermark, *, previous: Watermark | None) -> bool:
        """Store it, if the record is still ``previous`` and the shard map has its version.

        ``low`` never falls, but with a new resweep. Whether it was stored.
        """

    def read_resweep(self, *, may_lag: bool = False) -> ResweepRequest | None:
        """Read the last request for a resweep, strongly consistent unless it ``may_lag``."""

    def write_resweep(self, request: ResweepRequest, *, previous: ResweepRequest | None) -> bool:
        """Store a request, if the last one is still ``previous``. Whether it was stored."""

    def read_pauses(self) -> HandlerPauses:
        """Read the pauses of handlers, strongly consistent; none of revision 0 at first."""

    def write_pauses(self, pauses: HandlerPauses, *, previous: int) -> bool:
        """Store them, if the record still has the revision ``previous``. Whether it was stored."""

    def read_overrides(self) -> LimitOverrides:
        """Read the overrides of limits, strongly consistent; none of revision 0 at first."""

    def write_overrides(self, overrides: LimitOverrides, *, previous: int) -> bool:
        """Store them, if the record still has the revision ``previous``. Whether it was stored."""

    def read_tick(self) -> TickRecord | None:
        """Read what the last tick found."""

    def write_tick(self, record: TickRecord) -> None:
        """Store what this tick found."""

    def read_secret(self) -> bytes | None:
        """Read the installation's secret, strongly consistent; ``None`` before it is created."""

    def create_secret(self, secret: bytes) -> bytes:
        """Store the installation's secret if there is none; return the one that stands.

        It never changes: the ids of jobs are derived from it.
        """

    def keep_caller(self, key: str, identity: str) -> str:
        """Store the identity of a caller under ``key`` if there is none; return what stands.

        It never changes and is never deleted: events name the caller by the key.
        """

    def read_callers(self, keys: Sequence[str]) -> Mapping[str, str]:
        """Read identities by their keys; keys without one are left out, and may lag."""
