"""The numbers of limits as one process knows them."""

from __future__ import annotations

from dataclasses import dataclass

from hourhand.domain.limits.job_limits import JobLimit
from hourhand.domain.limits.overrides import LimitOverride, LimitOverrides
from hourhand.services.jobs.known_pauses import KnownRecord


@dataclass(slots=True)
class KnownOverrides(KnownRecord[LimitOverrides]):
    """The overrides of limits. They are read only for jobs that have limits.

    A worker that knows an old number parks no job that was granted a slot by the new one: the job
    holds it, and its message names the shard. So no message needs to carry the revision.
    """

    def _read(self) -> LimitOverrides:
        return self.control.read_overrides()

    def max_of(self, limit: JobLimit, declared: int) -> int:
        """Return the present number of a limit. May raise `Unavailable`."""
        return self.current().max_of(limit, declared)

    def closed_shards(self, limit: JobLimit) -> int:
        """Return how many shards a limit had before it was lowered. May raise `Unavailable`."""
        override = self.current().limits.get(limit.id, LimitOverride())
        return override.closed_shards(self.clock.now())
