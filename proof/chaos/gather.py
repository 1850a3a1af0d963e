"""Asking the cloud of a run for what `evidence` is made of."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from http import HTTPStatus

from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.local.events import BatchBegun, BatchEnded, ChildDied, Measured, Ticked
from hourhand.ports.job_store import JobStore
from proof.chaos.child import BEGAN
from proof.chaos.evidence import Commit, Ending, Tick
from proof.rig.news import Recorder
from tests.acceptance.http_api import Answer

IDS_A_READ = 100
ATTEMPT_ENDED = "An attempt ended."


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


def deaths_in(news: Recorder) -> dict[int, float]:
    """Return when each process died."""
    return {died.pid: at for at, died in news.timed(ChildDied)}


def commits_in(news: Recorder) -> list[Commit]:
    """Return the outcomes that workers say they committed."""
    return [
        Commit(
            job_id=str(line.fields["job_id"]),
            attempt=int(line.fields["attempt"]),
            outcome=str(line.fields["outcome"]),
            worker=line.name,
        )
        for line in news.logged(ATTEMPT_ENDED)
    ]


def ticks_in(news: Recorder) -> list[Tick]:
    """Return the ticks that came to their end."""
    return [
        Tick(
            name=ticked.name,
            # When it began the child says itself: its news may come late.
            began_at=float(ticked.report[BEGAN]),
            ended_at=at,
            led=bool(ticked.report["led"]),
            verdict=str(ticked.report["verdict"]),
        )
        for at, ticked in news.timed(Ticked)
        if ticked.report is not None
    ]


def totals_in(news: Recorder) -> Counter[str]:
    """Return what was counted in all, by metric."""
    totals: Counter[str] = Counter()
    for measured in news.of(Measured):
        for name, values in measured.values.items():
            if not name.endswith("_ms"):
                totals[name] += int(sum(values))
    return totals


def longest_busy(news: Recorder) -> str | None:
    """Return the worker whose batch takes longest by now; ``None``: all are idle."""
    begun = {batch.worker: at for at, batch in news.timed(BatchBegun)}
    ended = {batch.worker: at for at, batch in news.timed(BatchEnded)}
    busy = {worker: at for worker, at in begun.items() if ended.get(worker, 0.0) < at}
    return min(busy, key=busy.__getitem__, default=None)
