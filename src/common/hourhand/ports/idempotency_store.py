"""The idempotency table: which keys were executed, and which are being executed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from hourhand.domain.jobs.job import Content


@dataclass(frozen=True, kw_only=True, slots=True)
class IdempotencyRecord:
    """What is known of the work that one job did under its idempotency key.

    The record stands for the job ``job_id`` that was created at ``job_created_at``. A job that is
    submitted under the key once that one was deleted has the same id and is another job.
    ``result`` may lie beside the job or in the bucket, kept as long as the record.
    """

    key: str
    job_id: str
    job_created_at: datetime
    token: int
    inputs_hash: str
    is_done: bool
    keep_until: datetime
    result: Content | None = None


class IdempotencyStore(Protocol):
    """The records that guard execution; only workers write them."""

    def begin(self, record: IdempotencyRecord, *, now: datetime) -> IdempotencyRecord | None:
        """Claim the key for an attempt.

        Written if there is no record, if the record's time is over, if it is in progress for
        the same job under an older or the same token (that attempt's lease is over: ours holds
        the job), or if it stands for a job that had this id before (that job is deleted, or ours
        could not have been put). Returns ``None`` when written, else the record that stands.
        """

    def finish(self, record: IdempotencyRecord) -> bool:
        """Store the result, if the record is still ours (job, creation, token). Whether it was."""
