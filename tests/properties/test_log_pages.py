"""Every line of a log comes once, in order, in bounded pages, however few are read at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from hourhand.domain.jobs.job import EventKind, HistoryEvent, Job, JobStatus
from hourhand.domain.jobs.log import ListOrder, LogLine, Span
from hourhand.memory import START, MemoryClock
from hourhand.ports.job_logs import ReadLines
from hourhand.ports.job_store import JobDetails, JobStore
from hourhand.services.jobs.logs import MAX_READS_A_PAGE, LogService
from tests.world.factories import make_job

MILLISECOND = timedelta(milliseconds=1)
MAX_PAGES = 3_000


@dataclass
class BusyLog:
    """A log of which one read finds at most ``most`` lines."""

    lines: Sequence[LogLine]
    most: int
    reads: int = 0

    def read(self, job_id: str, span: Span) -> ReadLines:
        self.reads += 1
        found = [line for line in self.lines if span.start <= line.at < span.end]
        return ReadLines(tuple(found[: self.most]), len(found) <= self.most)


@dataclass
class OneJob:
    """A store that holds one job."""

    job: Job

    def get_details(self, job_id: str, **_: Any) -> JobDetails:
        return JobDetails(job=self.job)


def a_job(attempts: Sequence[tuple[int, int]]) -> tuple[Job, list[tuple[int, int]]]:
    """Return a job with attempts, each so long after the one before, and when they were in ms."""
    history: list[HistoryEvent] = []
    times, now_ms = [], 0
    for token, (pause_ms, length_ms) in enumerate(attempts, start=1):
        start_ms, now_ms = now_ms + pause_ms, now_ms + pause_ms + length_ms
        times.append((start_ms, now_ms))
        for kind, at_ms in ((EventKind.CLAIMED, start_ms), (EventKind.FAILED, now_ms)):
            history.append(
                HistoryEvent(
                    kind=kind,
                    at=START + at_ms * MILLISECOND,
                    status=JobStatus.RETRYING,
                    actor="w-1",
                    attempt=token,
                    token=token,
                )
            )
    job = make_job(
        status=JobStatus.RETRYING,
        attempt=len(attempts),
        token=len(attempts),
        history=tuple(history),
    )
    return job, times


@st.composite
def logs(draw: st.DrawFn) -> tuple[Job, list[LogLine]]:
    attempts = st.tuples(st.integers(0, 10**7), st.integers(0, 900_000))
    job, times = a_job(draw(st.lists(attempts, min_size=1, max_size=4)))
    lines = []
    for number in range(draw(st.integers(0, 30))):
        start_ms, end_ms = draw(st.sampled_from(times))
        # Few moments, so that several lines share one.
        at_ms = start_ms + draw(st.integers(0, 5)) * max((end_ms - start_ms) // 5, 1)
        at = START + min(at_ms, end_ms) * MILLISECOND
        lines.append(LogLine(id=f"{number:03d}", at=at, level="INFO", message=str(number)))
    return job, sorted(lines, key=lambda line: line.place)


@given(logs(), st.sampled_from(ListOrder), st.integers(1, 40), st.integers(30, 60))
def test_every_line_comes_once_and_in_order(
    log: tuple[Job, list[LogLine]], order: ListOrder, limit: int, most: int
) -> None:
    _walk(log, order, limit, most)


@given(logs(), st.sampled_from(ListOrder), st.integers(1, 40))
def test_little_at_a_time_is_enough(
    log: tuple[Job, list[LogLine]], order: ListOrder, limit: int
) -> None:
    busiest = max((sum(o.at == line.at for o in log[1]) for line in log[1]), default=1)
    _walk(log, order, limit, busiest)


def _walk(log: tuple[Job, list[LogLine]], order: ListOrder, limit: int, most: int) -> None:
    job, lines = log
    busy = BusyLog(lines, most)
    clock = MemoryClock(START + timedelta(days=30))
    service = LogService(cast("JobStore", OneJob(job)), busy, clock)
    told: list[LogLine] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        before = busy.reads
        page = service.page(job.id, order=order, limit=limit, cursor=cursor)
        assert busy.reads - before <= MAX_READS_A_PAGE
        assert len(page.lines) <= limit
        told += page.lines
        cursor = page.next_cursor
        if cursor is None:
            break
    assert cursor is None, "the log has no end"
    assert told == (lines if order is ListOrder.OLDEST else lines[::-1])
