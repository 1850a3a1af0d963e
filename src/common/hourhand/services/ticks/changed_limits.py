"""Changes of limits that the sweep follows up: by a caller, or by a deployment.

Jobs that waited for a full limit may start once its number is larger, or once the limit is gone.
Those that have waited long are in buckets that the sweep reads seldom. So after a change it reads
every open bucket, until it has rechecked the wait queues of all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hourhand.domain.ids import short_digest
from hourhand.domain.ticks.timings import Timings
from hourhand.ports.control_store import LimitsSeen, TickRecord
from hourhand.ports.handler_directory import HandlerDirectory
from hourhand.services.limits.job_limits import KnownOverrides

NO_LIMITS = LimitsSeen("")

FOLLOWED_UP_FOR = timedelta(hours=1)
"""At the latest by then every open bucket is read as seldom as before. Where each sweep leaves wait
queues to the next one, there is no sweep that has rechecked all."""


@dataclass(frozen=True, slots=True)
class ChangedLimits:
    """Detects changes of limits, from one tick to the next. Without limits it reads nothing."""

    handlers: HandlerDirectory
    overrides: KnownOverrides
    timings: Timings

    @property
    def settling(self) -> timedelta:
        """How long after a change a worker may still park jobs, because it knows the old number."""
        return 2 * self.timings.control_cache + self.timings.settling

    def look(self, before: TickRecord | None, now: datetime) -> LimitsSeen:
        """Return the limits and since when they are so. Raises `Unavailable`."""
        known = (before.limits if before is not None else None) or NO_LIMITS
        fingerprint = self._fingerprint()
        return known if fingerprint == known.fingerprint else LimitsSeen(fingerprint, now)

    def after_sweep(self, seen: LimitsSeen, now: datetime, *, rechecked_all: bool) -> LimitsSeen:
        """Return what a tick that began at ``now`` records about the limits that it has ``seen``.

        ``rechecked_all``: it read every open bucket, and left no wait queue to the next one.
        """
        if seen.changed_at is None:
            return seen
        age = now - seen.changed_at
        is_over = (rechecked_all and age >= self.settling) or age >= FOLLOWED_UP_FOR
        return replace(seen, changed_at=None) if is_over else seen

    def _fingerprint(self) -> str:
        declared = [f"{info.name} {info.limits}" for info in self.handlers.all() if info.limits]
        if not declared:
            return NO_LIMITS.fingerprint
        return short_digest("limits", str(self.overrides.fresh().revision), *declared)
