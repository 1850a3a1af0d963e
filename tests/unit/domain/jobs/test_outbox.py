"""Which tasks follow the end of a job, and in which order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hourhand.domain.jobs.job import FINAL, Content, Job, JobStatus
from hourhand.domain.jobs.outbox import OutboxTask, outbox_tasks
from hourhand.testing import make_job

IN_BUCKET = Content(key="payload/j/1", size_bytes=300_000)
LETTER, PAUSE, MARK = (
    OutboxTask.SEND_DEAD_LETTER,
    OutboxTask.PAUSE_SCHEDULE,
    OutboxTask.MARK_OBJECTS,
)
PLAIN = make_job()
PAUSING = replace(PLAIN, schedule_id="nightly", pauses_schedule=True)


@pytest.mark.parametrize(
    ("job", "tasks"),
    [
        (PLAIN, (LETTER,)),
        (PAUSING, (PAUSE, LETTER)),
        (replace(PAUSING, payload=IN_BUCKET), (PAUSE, LETTER, MARK)),
    ],
)
def test_a_dead_job_pauses_its_schedule_first_then_sends_its_letter(
    job: Job, tasks: tuple[OutboxTask, ...]
) -> None:
    assert outbox_tasks(job, JobStatus.DEAD) == tasks


@pytest.mark.parametrize("status", sorted(FINAL - {JobStatus.DEAD}))
def test_any_other_end_has_a_task_only_for_objects(status: JobStatus) -> None:
    assert outbox_tasks(PAUSING, status) == ()
    assert outbox_tasks(replace(PAUSING, payload=IN_BUCKET), status) == (MARK,)


def test_a_result_in_the_bucket_is_marked() -> None:
    assert outbox_tasks(PLAIN, JobStatus.SUCCEEDED, IN_BUCKET) == (MARK,)
    assert outbox_tasks(PLAIN, JobStatus.SUCCEEDED, Content(size_bytes=2, text="{}")) == ()
