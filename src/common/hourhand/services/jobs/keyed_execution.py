"""Execution under an idempotency key: a job with a key runs to success once.

Once an attempt is done, a later attempt of the same job with the same inputs returns its recorded
result without calling the handler; one with other inputs is refused. An attempt that crashed in
progress leaves a record that the next owner of the job takes over.

A record stands for the one job that wrote it. Once that job is deleted, its key is free: the next
job under it was accepted and runs, whatever the record says. A redrive is the same job.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from hourhand.domain.ids import content_hash, idempotency_record_key
from hourhand.domain.jobs.job import Content, Job
from hourhand.domain.jobs.transitions import KEY_HOLDS_AT_LEAST, keep_after_end
from hourhand.ports.clock import Clock
from hourhand.ports.idempotency_store import IdempotencyRecord, IdempotencyStore

IN_PROGRESS_KEPT = timedelta(hours=1)
"""How long an attempt in progress is on record: longer than any attempt lasts."""


class KeyState(StrEnum):
    """What the record under a job's key says to the attempt that wants to run."""

    RUN = "run"
    REPLAY = "replay"
    OTHER_INPUTS = "other_inputs"
    TAKEN = "taken"


@dataclass(frozen=True, slots=True)
class KeyCheck:
    """The answer, with the recorded result where there is one to replay."""

    state: KeyState
    result: Content | None = None


@dataclass(frozen=True, slots=True)
class IdempotencyGuard:
    """Reads and writes the records; a job without a key needs none: its own item is the record.

    Nor does a durable run: its journal is one, and a part of it may run again after its success.
    """

    records: IdempotencyStore
    clock: Clock

    def begin(self, job: Job, payload_text: str) -> KeyCheck:
        """Claim the key of ``job`` for its current attempt."""
        if job.idempotency_key is None or job.is_durable_run:
            return KeyCheck(KeyState.RUN)
        now = self.clock.now()
        record = self._record(job, payload_text)
        standing = self.records.begin(record, now=now)
        if standing is None:
            return KeyCheck(KeyState.RUN)
        if not standing.is_done or standing.job_created_at > job.created_at:
            # A later job of this id holds the key: its result is not this one's.
            return KeyCheck(KeyState.TAKEN)
        if standing.inputs_hash != record.inputs_hash:
            return KeyCheck(KeyState.OTHER_INPUTS)
        return KeyCheck(KeyState.REPLAY, standing.result)

    def finish(self, job: Job, payload_text: str, result: Content) -> bool:
        """Note the result of a successful attempt; whether the record was still its own."""
        if job.idempotency_key is None or job.is_durable_run:
            return True
        record = self._record(job, payload_text, result)
        return self.records.finish(record)

    def _record(
        self, job: Job, payload_text: str, result: Content | None = None
    ) -> IdempotencyRecord:
        kept = IN_PROGRESS_KEPT if result is None else keep_after_end(job) + KEY_HOLDS_AT_LEAST
        return IdempotencyRecord(
            key=idempotency_record_key(job.tenant, job.idempotency_key or ""),
            job_id=job.id,
            job_created_at=job.created_at,
            token=job.token,
            inputs_hash=content_hash(job.handler, payload_text),
            is_done=result is not None,
            keep_until=self.clock.now() + kept,
            result=result,
        )
