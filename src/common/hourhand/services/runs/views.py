"""What callers see of a run: its recorded calls, and its journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from hourhand.domain.ids import content_hash
from hourhand.domain.jobs.job import ErrorInfo, Job, JobStatus
from hourhand.domain.jobs.log import ListOrder
from hourhand.domain.jobs.parents import child_id
from hourhand.domain.jobs.pauses import parked_for
from hourhand.domain.jobs.waiting import WaitKind
from hourhand.domain.runs.joins import JoinedCall
from hourhand.domain.runs.names import MAP_END
from hourhand.domain.runs.records import (
    CHILDREN,
    KIND_NAMES,
    SIGNAL,
    Record,
    RecordKind,
    RecordOutcome,
    journal_prefix,
    record_of,
    sleeps,
)
from hourhand.domain.runs.reversals import GIVEN_UP, compensation_id
from hourhand.domain.times import from_ms, to_ms
from hourhand.ports.handler_directory import HandlerDirectory
from hourhand.services.cursors import seal, unseal
from hourhand.services.jobs.payload_store import PayloadStore
from hourhand.services.runs.journals import DurableRuns
from hourhand.services.runs.results import Values
from hourhand.services.runs.signals import require_run, scope_at

_STATUSES = {
    RecordOutcome.STARTED: "running",
    RecordOutcome.RETRYING: "retrying",
    RecordOutcome.WAITING: "waiting",
    RecordOutcome.SUCCEEDED: "succeeded",
    RecordOutcome.FAILED: "failed",
    RecordOutcome.TIMED_OUT: "failed",
}
_TIMED_OUT = ErrorInfo(type="SignalTimeout", message="No signal came in time.", retryable=False)

MAX_COMPENSATIONS = 20
"""Compensations of segments that were given up which a page names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """A recorded call. ``result_text`` absent: none is shown; ``omits_result``: it is too large.

    ``job_id``: of a call that submitted one child. ``of``: how many children it has, and how many
    of them succeeded and failed.
    """

    path: str
    kind: str
    status: str
    signal: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    until: datetime | None = None
    attempts: int = 0
    result_text: str | None = None
    omits_result: bool = False
    error: ErrorInfo | None = None
    is_private: bool = False
    is_compensated: bool = False
    job_id: str | None = None
    of: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class StepViews:
    """A page of the calls of a run, and how many have each status in all.

    ``compensations``: with the first page, the jobs that reverse its steps, by their segments.
    """

    steps: tuple[StepView, ...]
    summary: Mapping[str, int]
    next_cursor: str | None
    compensations: Mapping[int, Job] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JournalView:
    """A page of a journal; each record with its result, ``None`` where it is omitted."""

    job: Job
    payload_text: str
    records: tuple[tuple[Record, str | None], ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class RunViews:
    """Reads runs for callers. Every page reads the whole journal: 1 read unit for each 4 KB."""

    runs: DurableRuns
    handlers: HandlerDirectory
    contents: PayloadStore

    def steps(
        self,
        job_id: str,
        *,
        limit: int,
        cursor: str | None,
        order: ListOrder = ListOrder.OLDEST,
    ) -> StepViews:
        """Return a page of the calls of a run. Raises `NotFound`, `NotDurable`, `InvalidInput`."""
        job = require_run(self.runs.ports.jobs, self.handlers, job_id)
        # What a run waited for when it ended goes on waiting.
        now = job.finished_at or self.runs.ports.clock.now()
        records = self._records(job)
        steps = _steps(job, records, now) + _awaited(job, records)
        summary = Counter(step.status for step in steps)
        listing = f"steps {order}"
        start = _start(job_id, listing, cursor)
        if order is ListOrder.OLDEST:
            page = steps[start : start + limit]
            start += len(page)
        else:
            # A cursor counts the older calls, so that new ones do not move the pages.
            older = steps[:start] if cursor else steps
            start = max(len(older) - limit, 0)
            page = older[start:][::-1]
        compensations = {} if cursor else self._compensations(job)
        end = _next(job_id, listing, start, len(steps))
        return StepViews(tuple(page), summary, end, compensations)

    def _compensations(self, job: Job) -> dict[int, Job]:
        """Return the compensations of a run. One that was never redriven costs a read at most."""
        rounds, ports = {}, self.runs.ports
        if job.round > 1:
            prefix = f"{journal_prefix(0)}{RecordKind.RESET}{GIVEN_UP}"
            items = ports.side_items.query_items(job.id, prefix=prefix, limit=MAX_COMPENSATIONS)
            ended = [
                one for one in map(record_of, items) if one.created_ms == to_ms(job.created_at)
            ]
            rounds = {int(one.path.removeprefix(GIVEN_UP)): one.round for one in ended}
        if job.status.is_final and job.status is not JobStatus.SUCCEEDED:
            rounds[job.segment] = job.round
        ids = {segment: compensation_id(job, segment, rounds[segment]) for segment in rounds}
        found = {segment: ports.jobs.get(ids[segment]) for segment in sorted(ids)}
        return {segment: undo for segment, undo in found.items() if undo is not None}

    def journal(self, job_id: str, *, limit: int, cursor: str | None) -> JournalView:
        """Return a page of a journal with its results. Raises as `steps`."""
        job = require_run(self.runs.ports.jobs, self.handlers, job_id)
        records = self._records(job)
        start = _start(job_id, "journal", cursor)
        page = records[start : start + limit]
        values = Values(self.runs.ports, scope_at(job, self.runs.ports))
        texts = iter(values.texts_of([one for one in page if not one.is_private]))
        shown = tuple((one, None if one.is_private else next(texts)) for one in page)
        payload = self.contents.read(job.id, job.payload) or "null"
        end = _next(job_id, "journal", start + len(page), len(records))
        return JournalView(job, payload, shown, end)

    def _records(self, job: Job) -> list[Record]:
        calls = (
            record for record in self.runs.show(job) if record.kind is not RecordKind.DECISIONS
        )
        return sorted(calls, key=lambda record: record.order)


def _steps(job: Job, records: Sequence[Record], now: datetime) -> list[StepView]:
    """Return the calls. The record of how a map ended is a part of the map, not a call."""
    maps = {record.path for record in records if record.joined is not None}
    ends = {record.path: record for record in records if record.path.endswith(MAP_END)}
    return [
        _step(record, now)
        if record.joined is None
        else _children(job, record, record.joined, ends.get(record.path + MAP_END))
        for record in records
        if record.path not in ends or record.path.removesuffix(MAP_END) not in maps
    ]


def _step(record: Record, now: datetime) -> StepView:
    status = _STATUSES[record.outcome]
    if sleeps(record) and (record.until_ms or 0) <= to_ms(now):
        status = "succeeded"
    if record.kind is RecordKind.CURSOR and record.outcome is RecordOutcome.WAITING:
        status = "running"
    is_failure = record.outcome in {RecordOutcome.FAILED, RecordOutcome.RETRYING}
    error = record.error if is_failure else None
    if record.outcome is RecordOutcome.TIMED_OUT:
        error = _TIMED_OUT
    # What a wait for several children records is which of them decided it.
    is_own = record.waits_for != CHILDREN and not record.is_private
    has_result = record.outcome is RecordOutcome.SUCCEEDED and is_own
    return StepView(
        path=record.path,
        kind=KIND_NAMES[record.kind],
        status=status,
        signal=record.waits_for.removeprefix(SIGNAL) if _is_signal_wait(record) else None,
        started_at=_time(record.began_ms),
        finished_at=_time(record.ended_ms),
        until=_time(record.until_ms),
        attempts=record.count,
        result_text=record.text if has_result or record.kind is RecordKind.CURSOR else None,
        omits_result=has_result and record.place is not None,
        error=error,
        is_private=record.is_private,
        is_compensated=record.is_compensated,
    )


def _children(run: Job, record: Record, joined: JoinedCall, end: Record | None) -> StepView:
    """Return a call that submitted children. It succeeded if no more failed than it tolerates.

    ``end``: of a map, how it ended before all of its children had.
    """
    most = joined.call.most_failures if joined.call.is_map else 0
    has_failed = most is not None and joined.failed > most
    waits = "failed" if has_failed else "waiting"
    status = "succeeded" if joined.is_over and not has_failed else waits
    return StepView(
        path=record.path,
        kind="map" if joined.call.is_map else KIND_NAMES[record.kind],
        status=_STATUSES[end.outcome] if end else status,
        started_at=_time(record.began_ms),
        finished_at=_time(end.ended_ms) if end else None,
        error=end.error if end and end.outcome is RecordOutcome.FAILED else None,
        # The first record of a map may be that of a single child, whose result is not the map's.
        result_text=None if joined.call.is_map else joined.records[0].result_text,
        job_id=None if joined.call.is_map else child_id(run.id, run.segment, joined.key, 0),
        of={
            "total": max(joined.call.total, joined.submitted),
            "succeeded": joined.succeeded,
            "failed": joined.failed,
        },
    )


def _awaited(job: Job, records: Sequence[Record]) -> list[StepView]:
    """Return the wait without a record that a run is in: one without a time is not recorded."""
    waiting = parked_for(job)
    if waiting is None or waiting.kind is not WaitKind.SIGNAL or waiting.name is None:
        return []
    if any(r.outcome is RecordOutcome.WAITING and r.waits_for[1:] == waiting.name for r in records):
        return []
    name, since = waiting.name, waiting.since
    paths = {record.path for record in records}
    places = (name if count == 1 else f"{name}.{count}" for count in range(1, len(paths) + 2))
    path = next(place for place in places if place not in paths)
    return [StepView(path=path, kind="wait", status="waiting", signal=name, started_at=since)]


def _is_signal_wait(record: Record) -> bool:
    return record.kind is RecordKind.WAIT and record.waits_for.startswith(SIGNAL)


def _time(ms: int | None) -> datetime | None:
    return None if ms is None else from_ms(ms)


def _start(job_id: str, listing: str, cursor: str | None) -> int:
    if cursor is None:
        return 0
    (start,) = unseal(cursor, content_hash(listing, job_id), (int,))
    return max(int(start), 0)


def _next(job_id: str, listing: str, end: int, total: int) -> str | None:
    return seal((end,), content_hash(listing, job_id)) if 0 < end < total else None
