"""The table of states: what it allows, and that it allows nothing else."""

from __future__ import annotations

from datetime import timedelta
from itertools import product

import pytest

from hourhand.domain.errors import IllegalTransition
from hourhand.domain.jobs.job import (
    FINAL,
    NOT_STARTED,
    OPEN,
    REDRIVABLE,
    JobMessage,
    JobStatus,
    OnLost,
    Priority,
)
from hourhand.domain.jobs.retry import Backoff, Jitter, RetryPolicy
from hourhand.domain.jobs.states import (
    CANCELLED,
    DEAD,
    ENQUEUED,
    EXPIRED,
    LEGAL_MOVES,
    PENDING,
    RETRYING,
    RUNNING,
    SUCCEEDED,
    is_legal,
    require_legal,
)
from tests.unit.domain.job_samples import NOW, a_job, a_sent_job

TABLE = [
    ({PENDING, RETRYING}, {ENQUEUED}),
    ({PENDING, ENQUEUED, RETRYING}, {RUNNING}),
    ({RUNNING}, {PENDING, ENQUEUED, RUNNING, SUCCEEDED, RETRYING, DEAD, CANCELLED}),
    ({PENDING, ENQUEUED, RETRYING}, {PENDING, ENQUEUED}),
    ({PENDING, ENQUEUED, RETRYING}, {CANCELLED, EXPIRED, DEAD}),
    ({SUCCEEDED, DEAD, EXPIRED, CANCELLED}, {PENDING, ENQUEUED}),
]
"""The transitions of docs/explanation/states.md, grouped."""

LEGAL = {pair for sources, targets in TABLE for pair in product(sources, targets)}
EVERY_PAIR = list(product(JobStatus, JobStatus))


@pytest.mark.parametrize(("source", "target"), EVERY_PAIR)
def test_a_pair_is_legal_exactly_where_the_table_has_it(
    source: JobStatus, target: JobStatus
) -> None:
    assert is_legal(source, target) is ((source, target) in LEGAL)


@pytest.mark.parametrize(("source", "target"), sorted(LEGAL))
def test_a_legal_move_says_when_it_is_made(source: JobStatus, target: JobStatus) -> None:
    require_legal([source], target)
    assert LEGAL_MOVES[source][target]


@pytest.mark.parametrize(("source", "target"), sorted(set(EVERY_PAIR) - LEGAL))
def test_an_illegal_move_is_refused_by_name(source: JobStatus, target: JobStatus) -> None:
    with pytest.raises(IllegalTransition, match=f"from {source} to {target}"):
        require_legal([source], target)


def test_one_bad_source_among_good_ones_is_found() -> None:
    with pytest.raises(IllegalTransition, match="from SUCCEEDED to RUNNING"):
        require_legal({PENDING, ENQUEUED, SUCCEEDED}, RUNNING)


def test_every_state_is_waiting_or_running_or_final() -> None:
    assert NOT_STARTED | {RUNNING} | FINAL == set(JobStatus)
    assert NOT_STARTED | {RUNNING} == OPEN
    assert not NOT_STARTED & FINAL
    assert RUNNING not in NOT_STARTED | FINAL
    assert FINAL - {SUCCEEDED} == REDRIVABLE


@pytest.mark.parametrize("status", JobStatus)
def test_a_state_knows_what_it_is(status: JobStatus) -> None:
    assert status.is_final is (status in {SUCCEEDED, DEAD, CANCELLED, EXPIRED})
    assert status.is_waiting is (status in {PENDING, ENQUEUED, RETRYING})


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
    message = JobMessage(
        job_id="j", handler="greet", generation=1, attempt=0, token=0, due_at=NOW, run_at=NOW
    )
    assert message.timeout_seconds == a_job().timeout_seconds


def test_a_job_is_sent_once_it_says_when() -> None:
    assert a_sent_job().is_sent
    assert not a_job().is_sent
