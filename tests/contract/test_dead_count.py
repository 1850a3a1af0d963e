"""How many jobs are unresolved: what a store counts of its dead jobs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest

from hourhand.domain.jobs import transitions
from hourhand.domain.jobs.job import JobStatus
from hourhand.ports.job_store import JobStore
from hourhand.testing import ACTOR, make_entry, make_job

NewId = Callable[[], str]


def test_dead_jobs_are_counted_while_they_are_dead(
    own_job_store: JobStore, new_id: NewId, now: datetime
) -> None:
    assert own_job_store.count_dead(10) == 0
    dead = [make_job(id=new_id(), status=JobStatus.DEAD, created_at=now) for _ in range(5)]
    others = [make_job(id=new_id(), status=status, created_at=now) for status in JobStatus]
    for job in [*dead, *(job for job in others if job.status is not JobStatus.DEAD)]:
        own_job_store.put(job)
    assert own_job_store.count_dead(10) == 5
    redrive = transitions.redrive(
        dead[0], now=now, actor=ACTOR, entry=make_entry(dead[0]), sends_now=False, reason=""
    )
    own_job_store.transition(redrive)
    assert own_job_store.count_dead(10) == 4


def test_more_dead_jobs_than_the_limit_are_counted_as_no_fewer(
    own_job_store: JobStore, new_id: NewId, now: datetime
) -> None:
    for _ in range(12):
        own_job_store.put(make_job(id=new_id(), status=JobStatus.DEAD, created_at=now))
    assert [own_job_store.count_dead(limit) for limit in (12, 13, 100)] == [12, 12, 12]
    assert all(limit <= own_job_store.count_dead(limit) <= 12 for limit in range(1, 12))


def test_counting_needs_a_limit(own_job_store: JobStore) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        own_job_store.count_dead(0)
