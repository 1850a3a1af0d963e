"""Asking the cloud of a run for what `evidence` is made of."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from http import HTTPStatus

from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.ports.job_store import JobStore
from proof.chaos.cloud import ChaosCloud
from proof.chaos.evidence import Ending
from tests.acceptance.http_api import Answer

IDS_A_READ = 100
MOST_LETTERS = 5_000


class ChaosFailed(Exception):
    """The run could not be made: the cloud did not do what nobody disturbed."""


def ending_of(job: Job) -> Ending:
    """Return what the rules look at of a job."""
    result = job.result.text if job.result is not None else None
    return Ending(
        status=job.status,
        claims=job.token,
        history=job.history,
        dropped_events=job.history_dropped,
        result_run=(json.loads(result) or {}).get("run") if result else None,
        finished_at=job.finished_at.timestamp() if job.finished_at else None,
    )


def read_jobs(store: JobStore, job_ids: Sequence[str]) -> Iterator[tuple[str, Job]]:
    for start in range(0, len(job_ids), IDS_A_READ):
        yield from store.get_many(job_ids[start : start + IDS_A_READ]).items()


def cancelled_as(answer: Answer) -> JobStatus | None:
    if answer.status == HTTPStatus.CONFLICT:
        return None
    if answer.status != HTTPStatus.OK:
        raise ChaosFailed(f"a cancel was answered with {answer.status}: {answer.body}")
    return JobStatus(answer.body["status"])


def dead_letters(cloud: ChaosCloud) -> Counter[str]:
    """Return how many letters there are of each job; they are taken out of the queue."""
    found: Counter[str] = Counter()
    url = cloud.settings.dead_letter_queue
    for _ in range(MOST_LETTERS):
        messages = cloud.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get(
            "Messages", []
        )
        if not messages:
            break
        found.update(json.loads(message["Body"])["job"]["id"] for message in messages)
        cloud.sqs.delete_message_batch(
            QueueUrl=url,
            Entries=[
                {"Id": str(index), "ReceiptHandle": message["ReceiptHandle"]}
                for index, message in enumerate(messages)
            ],
        )
    return found
