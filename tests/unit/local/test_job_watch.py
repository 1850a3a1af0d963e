"""The local cloud keeps what it sees of its jobs: log lines, and how a process ended."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

import pytest

from hourhand.aws.layout.messages import message_body
from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import Job, JobStatus, Lease, Outcome, Priority
from hourhand.domain.jobs.log import Span
from hourhand.local.backend import Backend
from hourhand.local.events import BatchEnded, ChildDied, Logged
from hourhand.local.job_watch import JobWatch
from hourhand.memory import START, MemoryClock, MemoryJobLogs, MemoryJobStore
from tests.world.factories import make_job, make_message

ALWAYS = Span(START, START + timedelta(days=1))


class FakeBackend:
    """As much of a backend as is asked here."""

    def __init__(self) -> None:
        self.clock = MemoryClock()
        self.store = MemoryJobStore()

    def job_store(self) -> MemoryJobStore:
        return self.store


class Stage:
    def __init__(self) -> None:
        self.backend = FakeBackend()
        self.logs = MemoryJobLogs()
        self.watch = JobWatch(cast("Backend", self.backend), self.logs)

    def put(self, status: JobStatus = JobStatus.RUNNING) -> Job:
        fields: dict[str, Any] = {"status": status, "attempt": 2, "token": 3}
        if status is JobStatus.RUNNING:
            fields["lease"] = Lease(owner="w-1", until=START, claim_id="c")
        job = make_job(**fields)
        self.backend.store.put(job)
        return job

    def die(self, job: Job, exit_code: int, *, pid: int = 7, of_batch: int = 7) -> None:
        self.watch(
            ChildDied(
                name="worker-1", pid=pid, exit_code=exit_code, restart_seconds=0, at_monotonic=0
            )
        )
        self.end(job, "its process died", pid=of_batch)

    def end(self, job: Job, crash: str | None, *, pid: int = 7) -> None:
        body = message_body(make_message(job))
        self.watch(
            BatchEnded(
                worker="worker-1", pid=pid, queue=Priority.HIGH, bodies=(body, "{}"), crash=crash
            )
        )


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_the_line_of_a_job_is_kept_at_the_time_of_the_cloud(stage: Stage) -> None:
    fields = {"job_id": "one", "attempt": 1, "rows": 3}
    stage.watch(Logged(name="worker-1", sentence="Sent.", level="ERROR", fields=fields))
    stage.watch(Logged(name="worker-1", sentence="Of no job.", level="INFO"))
    (line,) = stage.logs.read("one", ALWAYS).lines
    assert (line.at, line.level, line.message, line.attempt) == (START, "ERROR", "Sent.", 1)
    assert line.fields == {"rows": 3}


@pytest.mark.parametrize(
    ("exit_code", "reason"), [(3, "exit code 3"), (-9, "killed by signal 9 (Killed)")]
)
def test_the_end_of_the_process_is_kept_with_the_attempt_that_it_ran(
    stage: Stage, exit_code: int, reason: str
) -> None:
    job = stage.put()
    stage.die(job, exit_code)
    (kept,) = stage.backend.store.kept_failures(job.id).values()
    attempt = kept.attempt
    assert (attempt.number, attempt.token, attempt.worker) == (2, 3, "w-1")
    assert attempt.outcome is Outcome.LOST
    assert attempt.error is not None
    assert (attempt.error.type, attempt.error.message) == ("Lost", reason)


@pytest.mark.parametrize("status", [s for s in JobStatus if s is not JobStatus.RUNNING])
def test_a_job_whose_attempt_ended_before_its_process_is_left_alone(
    stage: Stage, status: JobStatus
) -> None:
    job = stage.put(status)
    stage.die(job, 70)
    assert stage.backend.store.kept_failures(job.id) == {}


def test_a_batch_that_another_process_ran_or_that_only_raised_says_nothing(stage: Stage) -> None:
    job = stage.put()
    stage.die(job, 3, pid=7, of_batch=8)
    stage.end(job, None)
    assert stage.backend.store.kept_failures(job.id) == {}


def test_a_store_without_an_answer_and_a_job_that_is_gone_disturb_nothing(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.die(make_job(id="gone"), 3)
    job = stage.put()

    def refuse(_: str) -> Job:
        raise Unavailable

    monkeypatch.setattr(stage.backend.store, "get", refuse)
    stage.die(job, 3)
    assert stage.backend.store.kept_failures(job.id) == {}
