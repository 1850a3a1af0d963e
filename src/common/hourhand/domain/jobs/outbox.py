"""The outbox tasks of a job: what must follow its end.

The entry in the index ``run_at`` is the outbox. It stays until the job is final and each of its
tasks was settled, so that the sweep settles what a process that died has left. Every task is safe
to repeat: a crash between a task and the removal of the entry runs it once more.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from hourhand.domain.jobs.job import Content, Job, JobStatus
from hourhand.domain.jobs.waiting import WaitKind


class OutboxTask(StrEnum):
    """One task. Tasks are settled in the order of this list."""

    PAUSE_SCHEDULE = "pause_schedule"
    """Pause the schedule of a DEAD job that asks for it: before the failure is reported."""
    CANCEL_CHILDREN = "cancel_children"
    """Cancel the attached children of a durable run that did not succeed. With many children this
    task takes several ticks, so the tasks that must not be repeated each time come after it."""
    SEND_DEAD_LETTER = "send_dead_letter"
    """Send the dead letter of a DEAD job. A second one has the same job id and round."""
    NOTIFY_PARENT = "notify_parent"
    """Record the end of a child for its run, and wake the run if that waits for it."""
    RELEASE_SLOTS = "release_slots"
    """Release the slots of a job that was parked: it ends without a message of its own, which
    would do it if the component that ended it died. And those of a DEAD job that paused its
    schedule: until then no other job of the schedule may start in its place."""
    MARK_OBJECTS = "mark_objects"
    """Mark the job's objects in the bucket as finished; without the mark they never expire."""
    START_COMPENSATION = "start_compensation"
    """Put the job that reverses the steps of a durable run. A second put is refused. Last: what
    comes of it decides how long the run is kept."""


def outbox_tasks(
    job: Job, status: JobStatus, result: Content | None = None
) -> tuple[OutboxTask, ...]:
    """Return what must follow once ``job`` is in the final ``status`` with ``result``."""
    return tuple(_tasks(job, status, result))


def is_pausing(job: Job) -> bool:
    """Whether the schedule of a job that failed is still to be paused for it."""
    return job.status is JobStatus.DEAD and job.pauses_schedule and job.due_at is not None


def waits_for_slot(job: Job) -> bool:
    """Whether a job waits, or waited as it ended, for a slot of a limit that is no pause."""
    waits = job.waits_for
    return waits is not None and waits.kind is WaitKind.SLOT and not waits.is_pause


def _tasks(job: Job, status: JobStatus, result: Content | None) -> Iterator[OutboxTask]:
    if status is JobStatus.DEAD and job.pauses_schedule:
        yield OutboxTask.PAUSE_SCHEDULE
    if job.is_durable_run and status is not JobStatus.SUCCEEDED:
        yield OutboxTask.CANCEL_CHILDREN
    if status is JobStatus.DEAD:
        yield OutboxTask.SEND_DEAD_LETTER
    if job.parent is not None:
        yield OutboxTask.NOTIFY_PARENT
    if waits_for_slot(job) or (status is JobStatus.DEAD and job.pauses_schedule):
        yield OutboxTask.RELEASE_SLOTS
    if job.payload.key is not None or (result is not None and result.key is not None):
        yield OutboxTask.MARK_OBJECTS
    # One that was never claimed has no steps; which of them need a reversal, the journal says.
    if job.is_durable_run and status is not JobStatus.SUCCEEDED:
        yield OutboxTask.START_COMPENSATION
