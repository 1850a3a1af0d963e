"""Which jobs and which events are searched for, and which jobs an operation in bulk is for."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from datetime import datetime

from hourhand.domain.ids import canonical_json, content_hash
from hourhand.domain.jobs.dead_letter_groups import group_id_of, is_of_type
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.times import rfc3339


def _fingerprint(*values: object) -> str:
    plain = [rfc3339(value) if isinstance(value, datetime) else value for value in values]
    return content_hash(canonical_json(plain))


@dataclass(frozen=True, kw_only=True, slots=True)
class JobFilter:
    """Which jobs are meant; all that is given must hold. ``tag`` is a key and its value."""

    status: JobStatus | None = None
    handler: str | None = None
    schedule_id: str | None = None
    tenant: str | None = None
    tag: tuple[str, str] | None = None
    error_type: str | None = None
    error_group: str | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    discarded: bool | None = None

    @property
    def is_empty(self) -> bool:
        """Whether every job is meant, or every one that was not discarded: nearly all jobs."""
        return not any(astuple(self))

    @property
    def fingerprint(self) -> str:
        """What two equal filters share, and no others."""
        return _fingerprint("filters", *astuple(self))

    def matches(self, job: Job) -> bool:
        """Whether ``job`` passes all that is given.

        The times of creation are not looked at again: the listing is in their order.
        """
        if self.tag is not None and job.tags.get(self.tag[0]) != self.tag[1]:
            return False
        wanted = (
            (self.status, job.status),
            (self.handler, job.handler),
            (self.schedule_id, job.schedule_id),
            (self.tenant, job.tenant),
            (self.discarded, job.discarded_at is not None),
        )
        if not all(expected is None or expected == actual for expected, actual in wanted):
            return False
        if self.error_type is not None and not is_of_type(job, self.error_type):
            return False
        return self.error_group is None or group_id_of(job) == self.error_group


@dataclass(frozen=True, kw_only=True, slots=True)
class BulkChange:
    """For which jobs an operation in bulk is. ``cursor``: where the call before has ended.

    ``dry_run``: count them alone. ``expected_count``: refuse to change many more than this.
    """

    filters: JobFilter
    dry_run: bool = False
    expected_count: int | None = None
    cursor: str | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditSearch:
    """What callers did: with which job, schedule or handler, who, and when (``end`` excluded)."""

    job: str | None = None
    schedule: str | None = None
    handler: str | None = None
    caller: str | None = None
    start: datetime | None = None
    end: datetime | None = None
    tenant: str | None = None
    limit: int
    cursor: str | None = None

    @property
    def fingerprint(self) -> str:
        """What two searches for the same events share, and no others."""
        subject = (self.job, self.schedule, self.handler)
        return _fingerprint("audit", *subject, self.caller, self.start, self.end, self.tenant)
