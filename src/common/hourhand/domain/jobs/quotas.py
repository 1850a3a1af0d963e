"""Quotas: how many jobs a tenant or a caller may have accepted in a minute, and have live.

All quotas are in the record of the handlers' pauses, which the API, the workers and the scheduler
read in any case: an installation without a quota reads and writes nothing for them.

| sort key of a side item | what |
|---|---|
| ``a.``minute | ``jobs``: those that were counted in that minute |
| ``l`` | ``jobs``shard: the live jobs of a shard. ``at``shard: the minute of the count |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from hourhand.domain.conditions import Path
from hourhand.domain.ids import short_digest
from hourhand.domain.side_items import QUOTA_PREFIX, SideItem, SideItemUpdate, SideKey, Stored
from hourhand.domain.ticks.buckets import bucket_of

MAX_QUOTA = 10**9
MAX_QUOTAS = 100
"""Quotas at a time: the record, which every worker reads, stays small."""

COUNTED_MINUTES = 5
"""For so long a count of live jobs is used: without ticks, no old count keeps jobs out."""

KEPT = timedelta(hours=1)
ANY_END = "*"
"""At the end of a caller: all whose identities begin so, such as the sessions of a role."""


class QuotaKind(StrEnum):
    """Whose jobs a quota bounds."""

    TENANT = "tenant"
    CALLER = "caller"


@dataclass(frozen=True, kw_only=True, slots=True)
class Quota:
    """The quota of one tenant or caller; ``None``: no bound."""

    kind: QuotaKind
    name: str
    accepted_per_minute: int | None = None
    live: int | None = None

    def covers(self, tenant: str | None, caller: str | None) -> bool:
        """Whether a job of a tenant and a caller counts. A component is no caller: ``None``."""
        if self.kind is QuotaKind.TENANT:
            return tenant == self.name
        if caller is None or not self.name.endswith(ANY_END):
            return caller == self.name
        return caller.startswith(self.name.removesuffix(ANY_END))

    @property
    def bounds(self) -> dict[str, int]:
        """The bounds that it has, by their names."""
        named = {"accepted_per_minute": self.accepted_per_minute, "live": self.live}
        return {name: bound for name, bound in named.items() if bound is not None}

    @property
    def live_key(self) -> SideKey:
        """The key of the count of its live jobs."""
        return self._key("l")

    def count_write(self, jobs: int, now: datetime) -> SideItemUpdate:
        """Return the write that counts jobs in the present minute."""
        key = self._key(f"a.{bucket_of(now)}")
        return SideItemUpdate(key=key, adds={"jobs": jobs}, keep_until=now + KEPT)

    def live_write(self, by_shard: Mapping[int, int], now: datetime) -> SideItemUpdate:
        """Return the write that keeps how many live jobs a tick saw in each of its shards."""
        sets: dict[Path, Stored] = {f"jobs{shard}": jobs for shard, jobs in by_shard.items()}
        sets |= {f"at{shard}": bucket_of(now) for shard in by_shard}
        return SideItemUpdate(key=self.live_key, sets=sets, keep_until=now + KEPT)

    def _key(self, sort: str) -> SideKey:
        return SideKey(QUOTA_PREFIX + short_digest("quota", self.kind, self.name), sort)


def live_jobs(item: SideItem | None, now: datetime) -> int:
    """Return how many live jobs the ticks of the last minutes counted."""
    if item is None:
        return 0
    oldest = bucket_of(now) - COUNTED_MINUTES
    shards = [name.removeprefix("at") for name in item.values if name.startswith("at")]
    counted = [shard for shard in shards if (item.number(f"at{shard}") or 0) >= oldest]
    return sum(item.number(f"jobs{shard}") or 0 for shard in counted)
