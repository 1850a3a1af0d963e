"""Lets jobs in as far as the quotas of their tenants and their caller allow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from hourhand.domain.callers import identity_of
from hourhand.domain.errors import QuotaExceeded
from hourhand.domain.jobs.quotas import Quota, QuotaKind, live_jobs
from hourhand.domain.side_items import SideKey
from hourhand.domain.ticks.buckets import bucket_end, bucket_of
from hourhand.domain.times import ceil_seconds
from hourhand.ports.clock import Clock
from hourhand.ports.job_store import JobStore
from hourhand.ports.side_item_store import SideItemStore
from hourhand.services.callers import Callers
from hourhand.services.jobs.known_pauses import KnownPauses

LIVE_AGAIN_SECONDS = 60
"""When live jobs are counted again: with the next tick."""

Seen = Mapping[tuple[str | None, str, int], int]
"""The live jobs that a sweep saw: by tenant, actor and shard."""


@dataclass(slots=True)
class QuotaGate:
    """Counts accepted jobs, with one write for each quota and request.

    The jobs that are refused count, too: for the rest of the minute all are refused, without a
    write. So the jobs that are accepted in a minute are never more than the quota.
    """

    pauses: KnownPauses
    side_items: SideItemStore
    callers: Callers
    clock: Clock
    _full: dict[SideKey, int] = field(default_factory=dict, init=False)

    def refusals(self, tenants: Sequence[str | None], actor: str) -> list[QuotaExceeded | None]:
        """Count jobs of these tenants; return for each why it is refused, or ``None``.

        The first are accepted, as far as the quotas allow. Raises `Unavailable`.
        """
        found: list[QuotaExceeded | None] = [None] * len(tenants)
        quotas = self.pauses.current().quotas
        # The caller's first: what it may not submit uses nothing of its tenant's quota.
        caller = self._caller(actor, quotas)
        for quota in sorted(quotas, key=lambda one: one.kind):
            places = [
                n
                for n, tenant in enumerate(tenants)
                if not found[n] and quota.covers(tenant, caller)
            ]
            if places:
                left, why = self._take(quota, len(places))
                for place in places[left:]:
                    found[place] = why
        return found

    def refusals_of_new(
        self, tenants: Mapping[str, str | None], actor: str, jobs: JobStore
    ) -> dict[str, QuotaExceeded]:
        """Return which jobs are refused, by their ids; ``tenants``: by the same.

        What exists is not counted again: a repeated request gets further. Raises `Unavailable`.
        """
        quotas = self.pauses.current().quotas
        caller = self._caller(actor, quotas)
        if not any(one.covers(of, caller) for one in quotas for of in set(tenants.values())):
            return {}
        found = jobs.get_many(list(tenants))
        missing = [job_id for job_id in tenants if job_id not in found]
        counted = self.refusals([tenants[job_id] for job_id in missing], actor)
        return {job_id: why for job_id, why in zip(missing, counted, strict=True) if why}

    def keep_live(self, seen: Seen, shards: Iterable[int], now: datetime) -> None:
        """Keep the live jobs that a sweep of these shards saw."""
        quotas = [quota for quota in self.pauses.current().quotas if quota.live is not None]
        identities = self.callers.identities({actor for _, actor, _ in seen})
        for quota in quotas:
            counts = Counter(dict.fromkeys(shards, 0))
            for (tenant, actor, shard), jobs in seen.items():
                if quota.covers(tenant, identity_of(actor, identities)):
                    counts[shard] += jobs
            self.side_items.write_item(quota.live_write(counts, now))

    def _caller(self, actor: str, quotas: Sequence[Quota]) -> str | None:
        if all(quota.kind is QuotaKind.TENANT for quota in quotas):
            return None
        return identity_of(actor, self.callers.identities({actor}))

    def _take(self, quota: Quota, jobs: int) -> tuple[int, QuotaExceeded]:
        """Return how many of so many jobs a quota accepts, and why it refuses the others."""
        now = self.clock.now()
        left = jobs
        words = f"The {quota.kind} {quota.name}"
        why = QuotaExceeded("", 0)
        if quota.live is not None:
            live = live_jobs(self.side_items.read_item(quota.live_key, is_consistent=False), now)
            left = min(left, max(quota.live - live, 0))
            why = QuotaExceeded(
                f"{words} has {live:,} live jobs; its quota is {quota.live:,}.", LIVE_AGAIN_SECONDS
            )
        if quota.accepted_per_minute is None or not left:
            return left, why
        minute = bucket_of(now)
        full = QuotaExceeded(
            f"{words} may submit {quota.accepted_per_minute:,} jobs in a minute.",
            max(ceil_seconds(bucket_end(minute) - now), 1),
        )
        if self._full.get(quota.live_key) == minute:
            return 0, full
        counted = self.side_items.write_item(quota.count_write(left, now)).item
        before = (counted.number("jobs") or left) - left if counted is not None else 0
        room = max(quota.accepted_per_minute - before, 0)
        if room < left:
            self._full[quota.live_key] = minute
            return room, full
        return left, why
