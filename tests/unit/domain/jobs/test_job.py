"""The defaults that docs/reference/api.md states, and the properties of a job."""

from __future__ import annotations

from datetime import timedelta

from hourhand.domain.jobs.job import Backoff, Jitter, JobMessage, OnLost, Priority, RetryPolicy
from tests.unit.domain.job_samples import NOW, a_job, a_sent_job


def test_an_attempt_is_retried_five_times_with_a_growing_delay() -> None:
    assert RetryPolicy() == RetryPolicy(
        max_attempts=6,
        backoff=Backoff.EXPONENTIAL,
        base_seconds=1,
        max_delay_seconds=3600,
        jitter=Jitter.ADDITIVE,
    )


def test_a_job_has_the_policies_that_nobody_stated() -> None:
    job = a_job()
    assert (job.priority, job.queue, job.pool) == (Priority.MEDIUM, Priority.MEDIUM, "default")
    assert (job.timeout_seconds, job.on_lost) == (300, OnLost.RETRY)
    assert timedelta(seconds=job.retention_seconds) == timedelta(days=7)
    assert (job.generation, job.round, job.attempt, job.token) == (1, 1, 0, 0)
    assert job.history_dropped == 0
    assert dict(job.tags) == {}


def test_a_message_without_a_limit_means_the_default_one() -> None:
    message = JobMessage(job_id="j", generation=1, attempt=0, token=0, due_at=NOW, run_at=NOW)
    assert message.timeout_seconds == a_job().timeout_seconds


def test_a_job_is_sent_once_it_says_when() -> None:
    assert a_sent_job().is_sent
    assert not a_job().is_sent
