"""Sending the messages of jobs that are due soon, and taking back a mark that was not true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from hourhand.domain.errors import WrittenByNewer
from hourhand.domain.ids import trace_id_for
from hourhand.domain.model import Job, JobMessage, Priority
from hourhand.domain.moves import unmark
from hourhand.domain.times import floor_seconds
from hourhand.domain.timings import SQS_MAX_DELAY
from hourhand.ports import Clock, JobStore, Outgoing, Queues, Telemetry
from hourhand.services.newer import tell_newer
from hourhand.services.optional import reason_of
from hourhand.services.writing import make_move


def message_of(job: Job) -> JobMessage:
    """Return the message that announces the current generation of ``job``."""
    return JobMessage(
        job_id=job.id,
        generation=job.generation,
        attempt=job.attempt,
        token=job.token,
        due_at=job.due_at or job.run_at,
        run_at=job.run_at,
        timeout_seconds=job.timeout_seconds,
        tenant=job.tenant,
        trace_id=job.trace_id or trace_id_for(job.id),
        is_judged=job.schedule_id is not None,
    )


def outgoing_of(
    job: Job, now: datetime, rounding: timedelta, queue: Priority | None = None
) -> Outgoing:
    """Return the message of ``job`` with the rest of its time, in whole seconds.

    ``rounding``: see `Timings.delay_rounding`. A worker that receives the message a fraction early
    waits for that fraction.
    """
    message = message_of(job)
    delay = min(message.due_at - now + rounding, SQS_MAX_DELAY)
    return Outgoing(
        message=message,
        queue=queue or job.queue,
        delay_seconds=floor_seconds(delay),
    )


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends what a write just announced by its ``enqueued_at``."""

    jobs: JobStore
    queues: Queues
    clock: Clock
    telemetry: Telemetry
    rounding: timedelta

    def send_announced(self, jobs: Sequence[Job], actor: str) -> None:
        """Send the messages of those ``jobs`` whose write said "sent", unless they began already.

        What SQS did not accept is marked as never sent, so that the next tick sends it. Should
        that mark fail too, or this process die, the sweep sends the message after a minute.
        """
        announced = [job for job in jobs if job.is_sent and job.status.is_waiting]
        if not announced:
            return
        now = self.clock.now()
        outgoing = [outgoing_of(job, now, self.rounding) for job in announced]
        try:
            failures = self.queues.send(outgoing)
        except Exception as error:  # noqa: BLE001 - the jobs are accepted, whatever this was
            failures = [reason_of(error)] * len(outgoing)
        for job, failure in zip(announced, failures, strict=True):
            if failure is not None:
                self._take_back(job, failure, actor)

    def _take_back(self, job: Job, failure: str, actor: str) -> None:
        self.telemetry.warning(
            "A message was not accepted; the next tick sends it.", job_id=job.id, reason=failure
        )
        self.telemetry.count("send_failures")
        now = self.clock.now()
        try:
            make_move(
                self.jobs,
                job,
                lambda current: unmark(current, now=now, actor=actor, reason=failure),
            )
        except WrittenByNewer as newer:
            tell_newer(self.telemetry, newer)
        except Exception as error:  # noqa: BLE001 - the job is accepted, whatever this was
            self.telemetry.warning(
                "Could not record the failed send. The sweep will detect that the message is "
                "missing and send it again.",
                job_id=job.id,
                reason=reason_of(error),
            )
