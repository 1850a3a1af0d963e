"""Time buckets and shards: where in the ``run_at`` index a job is filed and looked for.

A bucket is one minute of due time, named by the minutes since 1970-01-01T00:00Z. A shard is one
of N slices of a bucket; N may change while the system runs, see `ShardMap`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hourhand.domain.errors import FieldError, InvalidInput

BUCKET_LENGTH = timedelta(minutes=1)
MAX_SHARDS = 1024
MAX_SHARD_MAP_VERSIONS = 200
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def bucket_of(due_at: datetime) -> int:
    """Return the bucket in which a job due at ``due_at`` is filed."""
    return (due_at - _EPOCH) // BUCKET_LENGTH


def bucket_start(bucket: int) -> datetime:
    """Return the first instant of ``bucket``."""
    return _EPOCH + bucket * BUCKET_LENGTH


def bucket_end(bucket: int) -> datetime:
    """Return the first instant after ``bucket``."""
    return bucket_start(bucket + 1)


def shard_of(job_id: str, count: int) -> int:
    """Return the slice, of ``count``, that ``job_id`` falls in: the same in every process."""
    digest = hashlib.sha256(job_id.encode()).digest()
    return int.from_bytes(digest[:4], "big") % count


@dataclass(frozen=True, slots=True)
class ShardMapVersion:
    """From this bucket on, jobs are filed in ``count`` shards."""

    from_bucket: int
    count: int


@dataclass(frozen=True, slots=True)
class ShardMap:
    """The append-only list of shard counts. It can grow and shrink without orphans.

    Writers use the newest version that covers a bucket; readers the largest count of all that
    cover it, because a job may have been filed under any of them.
    """

    versions: tuple[ShardMapVersion, ...] = (ShardMapVersion(0, 1),)

    @property
    def version(self) -> int:
        """The number of the newest version, from 1."""
        return len(self.versions)

    def count_for_writers(self, bucket: int) -> int:
        """Return how many shards a job due in ``bucket`` is spread over today."""
        covering = [v.count for v in self.versions if v.from_bucket <= bucket]
        return covering[-1] if covering else self.versions[0].count

    def count_for_readers(self, bucket: int) -> int:
        """Return how many shards must be read to see every job filed in ``bucket``."""
        covering = [v.count for v in self.versions if v.from_bucket <= bucket]
        return max(covering, default=self.versions[0].count)

    def with_version(self, from_bucket: int, count: int, *, now: datetime) -> ShardMap:
        """Return the map with a version added, for buckets still in the future.

        Raises `InvalidInput` where ``from_bucket`` is not in the future, ``count`` is out of
        range, or the map is full.
        """
        errors = []
        if from_bucket <= bucket_of(now):
            errors.append(FieldError("from_bucket", "must be a bucket still in the future"))
        if not 1 <= count <= MAX_SHARDS:
            errors.append(FieldError("count", f"must be 1 to {MAX_SHARDS}"))
        if len(self.versions) >= MAX_SHARD_MAP_VERSIONS:
            errors.append(FieldError("versions", f"at most {MAX_SHARD_MAP_VERSIONS} are kept"))
        if errors:
            raise InvalidInput("The shard map cannot be changed like this.", errors=tuple(errors))
        return ShardMap((*self.versions, ShardMapVersion(from_bucket, count)))


@dataclass(frozen=True, slots=True)
class Entry:
    """A place in the ``run_at`` index: when the job is due and in which shard it is filed."""

    due_at: datetime
    shard: int

    @property
    def bucket(self) -> int:
        """The time bucket of the entry."""
        return bucket_of(self.due_at)


def file_entry(job_id: str, run_at: datetime, now: datetime, shard_map: ShardMap) -> Entry:
    """Return where a job is filed that should run at ``run_at``.

    ``due_at`` is max(``run_at``, ``now``), so that nothing is ever filed behind the sweep.
    """
    due_at = max(run_at, now)
    return Entry(due_at, shard_of(job_id, shard_map.count_for_writers(bucket_of(due_at))))
