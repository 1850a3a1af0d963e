"""Where payloads and results are kept: in the job's item, beside it, or in the bucket."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from hourhand.domain.errors import FieldError, TooLarge
from hourhand.domain.ids import content_hash
from hourhand.domain.jobs.actions import needs_payload_renewal
from hourhand.domain.jobs.job import MAX_CONTENT_BYTES, Content, Job
from hourhand.domain.jobs.policies import Policies
from hourhand.domain.jobs.transitions import keep_after_end
from hourhand.domain.ticks.timings import Timings
from hourhand.ports.clock import Clock
from hourhand.ports.job_store import JobDetails, JobStore
from hourhand.ports.object_store import ObjectStore
from hourhand.services.jobs.aspects import DONE, Settled

INLINE_PAYLOAD_BYTES = 256
INLINE_RESULT_BYTES = 128
"""What fits into the hot item without its life costing a second write unit."""

ITEM_BYTES = 256_000
"""The largest text kept as an item of its own; an item of DynamoDB holds at most 400 KB."""


@dataclass(frozen=True, slots=True)
class PayloadStore:
    """Keeps JSON texts where they cost least, and finds them again.

    What is kept beside a job is named by its content, so that a second submission under the same
    id can never overwrite the text of the first.
    """

    jobs: JobStore
    objects: ObjectStore

    def keep_payload(self, job_id: str, text: str, keep_until: datetime) -> Content:
        """Keep a payload; raises `TooLarge` beyond `MAX_CONTENT_BYTES`."""
        return self._keep("payload", job_id, text, INLINE_PAYLOAD_BYTES, keep_until)

    def keep_result(self, job_id: str, text: str, keep_until: datetime) -> Content:
        """Keep a result; raises `TooLarge` beyond `MAX_CONTENT_BYTES`."""
        return self._keep("result", job_id, text, INLINE_RESULT_BYTES, keep_until)

    def read(self, job_id: str, content: Content) -> str | None:
        """Return the text, or ``None`` where it is gone."""
        if content.text is not None:
            return content.text
        if content.item is not None:
            return self.jobs.get_text(job_id, content.item)
        return self.objects.get(content.key or "")

    def renew_payload(self, job: Job, runs_at: datetime, timings: Timings) -> datetime | None:
        """Keep the payload beside a job that is to run at ``runs_at`` for longer, if it must be.

        Returns until when, for the job's own record: a crash before that is written leaves the
        text kept longer than the job says. ``None``: the text lasts, and was not written again.
        """
        if job.payload.item is None or not needs_payload_renewal(job, runs_at, timings):
            return None
        until = payload_kept_until(runs_at, job, timings)
        self.jobs.extend_text(job.id, job.payload.item, until)
        return until

    def mark_finished(self, job: Job, keep_until: datetime) -> None:
        """Let the objects of a final job expire; what lies in the table has its own end."""
        for key in object_keys(job):
            self.objects.mark_finished(key, keep_until)

    def settle_replaced(self, job_id: str, key: str | None, keep_until: datetime) -> None:
        """Let the object of a payload expire, if it had one, whose job has another payload.

        Objects are named by their texts: what one writer leaves behind, another at the same time
        may bring back. The last one to come handles what the job has now.
        """
        if key is not None:
            self.objects.mark_finished(key, keep_until)
        current = self.jobs.get(job_id)
        if current is not None and not current.status.is_final:
            self.keep_live(current)

    def mark_live(self, job: Job) -> None:
        """Keep the objects of a job that is still to run."""
        for key in object_keys(job):
            self.objects.mark_live(key)

    def keep_live(self, job: Job) -> None:
        """Keep the objects of a redriven job, unless it has ended since.

        Others may be marking them for its last end, or for its next. The last one to come marks
        them for what the job is by then.
        """
        if not object_keys(job):
            return
        self.mark_live(job)
        current = self.jobs.get(job.id)
        if current is not None and current.keep_until is not None:
            self.mark_finished(current, current.keep_until)

    def _keep(
        self, field: str, job_id: str, text: str, inline_bytes: int, keep_until: datetime
    ) -> Content:
        size = len(text.encode())
        if size <= inline_bytes:
            return Content(size_bytes=size, text=text)
        if size > MAX_CONTENT_BYTES:
            message = f"is {size:,} bytes of JSON; at most {MAX_CONTENT_BYTES:,} are allowed"
            raise TooLarge(f"The {field} is too large.", errors=(FieldError(field, message),))
        name = content_hash(field, text)[:16]
        if size <= ITEM_BYTES:
            item = f"{field}.{name}"
            self.jobs.put_text(job_id, item, text, keep_until)
            return Content(size_bytes=size, item=item)
        key = f"{field}/{job_id}/{name}"
        self.objects.put(key, text)
        return Content(size_bytes=size, key=key)


@dataclass(frozen=True, slots=True)
class ObjectEnds:
    """Lets the objects of jobs that ended expire: an outbox task."""

    contents: PayloadStore
    clock: Clock

    def settle(self, ended: JobDetails) -> Settled:
        """Mark the objects of a job as finished. Raises `Unavailable`."""
        job = ended.job
        keep_until = job.keep_until or self.clock.now() + keep_after_end(job)
        self.contents.mark_finished(job, keep_until)
        return DONE


def fits_inline(payload_text: str) -> bool:
    """Whether a payload is kept in the job's own item."""
    return len(payload_text.encode()) <= INLINE_PAYLOAD_BYTES


def payload_kept_until(run_at: datetime, job: Job | Policies, timings: Timings) -> datetime:
    """Return the end of a payload's item: far beyond the job's, and renewed by the sweep.

    It is set when the item is written, because setting it at the job's end would cost the write
    units of the whole item again. An item whose job was never put ends by itself.
    """
    return run_at + timings.payload_kept + timedelta(seconds=job.retention_seconds)


def object_keys(job: Job) -> tuple[str, ...]:
    """Return the keys in the bucket that belong to ``job``."""
    contents = (job.payload, job.result)
    return tuple(c.key for c in contents if c is not None and c.key is not None)
