"""The waiter records of jobs whose handlers are paused: hints at which jobs wait, and in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.waiting import (
    MAX_POSITION,
    WAITERS_KEPT,
    WaitsFor,
    delete_own_waiter,
    delete_waiter,
    pause_partition,
    put_waiter,
    waiter_job_id,
)
from hourhand.domain.side_items import WAITER_PREFIX, SideItem
from hourhand.ports.side_item_store import SideItemStore
from hourhand.ports.telemetry import Telemetry
from hourhand.services.optional import reason_of

RECORDS_A_READ = 100
"""Waiter records that are read together: their jobs are one BatchGetItem."""


@dataclass(frozen=True, slots=True)
class WaiterRecords:
    """Puts, reads and deletes waiter records."""

    side_items: SideItemStore
    telemetry: Telemetry

    def put(self, job: Job, waits_for: WaitsFor, now: datetime) -> None:
        """Put the record of a job that is about to be parked."""
        partition = pause_partition(job.handler)
        keep_until = now + WAITERS_KEPT
        self.side_items.write_item(
            put_waiter(partition, waits_for.rank, job.id, job.generation, keep_until)
        )

    def page(self, handler: str, after: SideItem | None = None) -> tuple[SideItem, ...]:
        """Read the records of a handler behind ``after``, in their order."""
        return self.side_items.query_items(
            pause_partition(handler),
            prefix=WAITER_PREFIX,
            after=after.key.sort if after is not None else None,
            limit=RECORDS_A_READ,
        )

    def position(self, job: Job) -> int | None:
        """Return the place of a parked job among those that wait, from 1, if it is at most 100."""
        records = self.side_items.query_items(
            pause_partition(job.handler), prefix=WAITER_PREFIX, limit=MAX_POSITION
        )
        job_ids = [waiter_job_id(record) for record in records]
        return job_ids.index(job.id) + 1 if job.id in job_ids else None

    def delete(self, record: SideItem) -> None:
        """Delete a record, if it is as it was read."""
        self.side_items.write_item(delete_waiter(record))

    def delete_all(self, handler: str, limit: int, may_go_on: Callable[[], bool]) -> bool:
        """Delete up to ``limit`` records of a handler that is not paused; whether none is left.

        The sweep finds a parked job without a record.
        """
        for _ in range(0, limit, RECORDS_A_READ):
            if not may_go_on():
                return False
            records = self.page(handler)
            if not records:
                return True
            for record in records:
                self.delete(record)
        return False

    def forget(self, job: Job) -> None:
        """Delete the record of ``job`` as it was when it was parked, if it was.

        Raises nothing: a record that stays is deleted when the handler is resumed.
        """
        waits_for = job.waits_for
        if waits_for is None or not waits_for.is_pause:
            return
        partition = pause_partition(job.handler)
        try:
            self.side_items.write_item(
                delete_own_waiter(partition, waits_for.rank, job.id, job.generation)
            )
        except Exception as error:  # noqa: BLE001 - what ended the wait stands, whatever this was
            self.telemetry.warning(
                "A waiter record could not be deleted. It is deleted when the handler is resumed.",
                job_id=job.id,
                reason=reason_of(error),
            )
