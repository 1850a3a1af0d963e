"""Overrides: the numbers of limits that an operator set, in the place of those in the code.

All overrides are one record of the control table. Workers, the API and the sweep read it, and cache
it for a while. It is read only where a handler has limits.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache

from hourhand.domain.errors import WrongState
from hourhand.domain.limits.declarations import Limit, settable
from hourhand.domain.limits.job_limits import JobLimit
from hourhand.domain.limits.keys import KeySource, key_digest
from hourhand.domain.limits.slot_shards import shard_count

MAX_OVERRIDES = 200
"""Limits that are overridden at a time: the record, which every worker reads, stays small."""

MAX_KEYS = 200
"""Keys of one limit that have a number of their own."""

CLOSED_SHARDS_KNOWN = timedelta(hours=1)
"""How long the shards are known that a limit had before it was lowered."""

MAX_NUMBERS = 1_000
"""Numbers of keys in the whole record: with keys of 256 bytes, it stays below 350 KB."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitOverride:
    """The numbers of one limit. ``max``: of every key that has none among ``keys``.

    ``None``: the number that the code states. ``shards``: how many it had at most before it was
    lowered, known until ``shards_until``: jobs may hold slots and wait in them.
    """

    max: int | None = None
    keys: Mapping[str, int] = field(default_factory=dict)
    shards: int = 0
    shards_until: datetime | None = None

    def changed(self, changes: LimitChanges) -> LimitOverride:
        """Return the numbers after a change."""
        keys = {name: n for name, n in {**self.keys, **changes.keys}.items() if n is not None}
        return replace(self, max=changes.max if changes.sets_max else self.max, keys=keys)

    @property
    def is_empty(self) -> bool:
        """Whether it overrides nothing."""
        return self.max is None and not self.keys

    def most_shards(self, declared: int) -> int:
        """Return how many shards any key of a concurrency limit has."""
        number = declared if self.max is None else self.max
        return shard_count(max(number, *self.keys.values()) if self.keys else number)

    def closed_shards(self, now: datetime) -> int:
        """Return how many shards the limit had at most before it was lowered; 0 if long ago."""
        return self.shards if self.shards_until is not None and now < self.shards_until else 0


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitChanges:
    """New numbers of one limit. ``None`` restores the number that the code states.

    ``sets_max``: whether ``max`` is given. ``keys``: the keys whose numbers change.
    """

    sets_max: bool = False
    max: int | None = None
    keys: Mapping[str, int | None] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return what the audit shows: ``max 3, acme 10, globex restored``."""
        given = {"max": self.max} if self.sets_max else {}
        numbers = [*given.items(), *self.keys.items()]
        return ", ".join(f"{key} {'restored' if n is None else n}" for key, n in numbers)


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitOverrides:
    """The overrides by the id of the limit. Each write of the record increases ``revision``."""

    revision: int = 0
    limits: Mapping[str, LimitOverride] = field(default_factory=dict)

    def max_of(self, limit: JobLimit, declared: int) -> int:
        """Return the number of a limit for the key of a job; ``declared`` if none is set.

        A number that the limit cannot have is the nearest one that it can: a deployment may have
        changed what the limit is.
        """
        override = self.limits.get(limit.id)
        if override is None:
            return declared
        number = override.max
        for text, of_key in override.keys.items():
            if limit.digest in digests_of_key(limit.id, text):
                number = of_key
                break
        if number is None:
            return declared
        lowest, highest = settable(limit.limit)
        return min(max(number, lowest), highest)

    def changed(
        self, limit_id: str, changes: LimitChanges, declared: Collection[str]
    ) -> LimitOverrides:
        """Return the record after a change of one limit; itself if nothing changes.

        ``declared``: the limits that exist; overrides of others are dropped if the record is full.
        Raises `WrongState` if it is full even so.
        """
        before = self.limits.get(limit_id, LimitOverride())
        after = before.changed(changes)
        if after == before:
            return self
        limits = {**self.limits, limit_id: after}
        if after.is_empty and not after.shards:
            del limits[limit_id]
        if _is_full(limits):
            limits = {known: one for known, one in limits.items() if known in declared}
        if _is_full(limits) or len(after.keys) > MAX_KEYS:
            raise WrongState(
                f"At most {MAX_OVERRIDES} limits, {MAX_KEYS} keys of one limit and "
                f"{MAX_NUMBERS:,} keys of all limits have numbers of their own. Remove some first."
            )
        return replace(self, revision=self.revision + 1, limits=limits)

    def without(self, limit_id: str) -> LimitOverrides:
        """Return the record without the override of a limit; itself if it has none."""
        if self.limits.get(limit_id, LimitOverride()).is_empty:
            return self
        left = {**self.limits, limit_id: replace(self.limits[limit_id], max=None, keys={})}
        if not left[limit_id].shards:
            del left[limit_id]
        return replace(self, revision=self.revision + 1, limits=left)

    def noting_shards(self, limit_id: str, shards: int, now: datetime) -> LimitOverrides:
        """Return the record with the number of shards that a limit had until now."""
        left = {
            known: one
            for known, one in self.limits.items()
            if known == limit_id or not one.is_empty or one.closed_shards(now)
        }
        before = left.get(limit_id, LimitOverride())
        most, until = max(shards, before.closed_shards(now)), now + CLOSED_SHARDS_KNOWN
        left[limit_id] = replace(before, shards=most, shards_until=until)
        return replace(self, limits=left)


NO_OVERRIDES = LimitOverrides()


# A worker compares the keys of a limit several times for each job.
@lru_cache(maxsize=2 * MAX_NUMBERS)
def digests_of_key(limit_id: str, text: str) -> tuple[bytes, ...]:
    """Return what identifies the keys that ``text`` may name.

    It names the text itself and, where it is JSON of another type, that value: ``42`` is the text
    as well as the number, as either may stand in a payload.
    """
    itself = key_digest(limit_id, text)
    try:
        value = json.loads(text)
        # Python reads NaN and 1e999, which are no JSON: they have no digest.
        return (itself,) if isinstance(value, str) else (itself, key_digest(limit_id, value))
    except ValueError:
        return (itself,)


def sole_digest(limit_id: str, limit: Limit) -> bytes | None:
    """Return what identifies a limit that has a single key; ``None`` for one that has many."""
    path = limit.path
    if path.divides:
        return None
    value = path.fields[0] if path.source is KeySource.LITERAL else None
    return path.digest(limit_id, value)


def _is_full(limits: Mapping[str, LimitOverride]) -> bool:
    numbers = sum(len(one.keys) for one in limits.values())
    return len(limits) > MAX_OVERRIDES or numbers > MAX_NUMBERS
