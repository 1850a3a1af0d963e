"""Jobs as JSON; docs/reference/api.md describes it for callers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from hourhand.answers import batches, jobs
from hourhand.api.http_response import MAX_ANSWER_BYTES
from hourhand.api.problems import problem
from hourhand.domain.callers import identity_of, name_of
from hourhand.domain.ids import is_json
from hourhand.domain.jobs.dead_letter_groups import DeadLetterGroup
from hourhand.domain.jobs.history import is_requested, reason_told
from hourhand.domain.jobs.job import Content, HistoryEvent, Job
from hourhand.json_dataclasses import to_json
from hourhand.services.jobs.bulk import BulkResult
from hourhand.services.jobs.logs import LogPage
from hourhand.services.jobs.queries import DeadLetterGroups, JobEvents, JobPage, JobReport

ALL_BUT_CONTENTS_BYTES = 500_000
"""Room for what is in an answer beside payloads and results: tags, attempts, tracebacks."""

MAX_CONTENTS_BYTES = MAX_ANSWER_BYTES - ALL_BUT_CONTENTS_BYTES


def job_response(report: JobReport) -> dict[str, Any]:
    """Return a job, whole.

    ``omitted`` names what is not told though it exists: the larger of payload and result where
    both together are more than an answer holds, and what was not read or is kept no more.
    ``damaged`` names what is kept and is not JSON: it is omitted, too.
    """
    job = report.job
    texts: dict[str, str | None] = {
        "payload": report.payload_text,
        "result": report.result_text,
    }
    contents = {"payload": job.payload, "result": job.result}
    damaged = [name for name, text in texts.items() if text is not None and not is_json(text)]
    texts.update(dict.fromkeys(damaged))
    largest = max(texts, key=lambda name: _size_bytes(texts[name]))
    if sum(_size_bytes(text) for text in texts.values()) > MAX_CONTENTS_BYTES:
        texts[largest] = None
    return to_json(
        jobs.Job,
        job,
        **_shown(report),
        payload=_value(texts["payload"]),
        result=_value(texts["result"]),
        omitted=[n for n in texts if contents[n] is not None and texts[n] is None],
        damaged=damaged,
    )


def job_summary(report: JobReport) -> dict[str, Any]:
    """Return a job as listings show it: without payload, result and tracebacks."""
    return to_json(jobs.JobSummary, report.job, **_shown(report))


def _shown(report: JobReport) -> dict[str, Any]:
    """Return the fields of every answer that the job has not, or has otherwise."""
    job, waiting = report.job, report.waits_for
    return {
        "attempts": report.attempts,
        "error": report.error,
        "lease": _lease(job),
        "waits_for": None if waiting is None else to_json(jobs.WaitsFor, waiting),
        "reserved_start": _reserved_start(job),
        "parent_id": None if job.parent is None else job.parent.run_id,
    }


def job_page(page: JobPage) -> dict[str, Any]:
    """Return a page of a listing."""
    return to_json(jobs.JobPage, page, jobs=[job_summary(report) for report in page.jobs])


def job_events(events: JobEvents, identities: Mapping[str, str]) -> dict[str, Any]:
    """Return a job's history; ``dropped`` events had to go from its middle.

    ``identities``: those of the callers that its events name, as far as they are known.
    """
    told = [_event(event, identities) for event in events.events]
    return to_json(jobs.Events, events, events=told)


def log_page(page: LogPage) -> dict[str, Any]:
    """Return a page of a job's log."""
    return to_json(jobs.LogPage, page, lines=[to_json(jobs.LogLine, line) for line in page.lines])


def dead_letter_groups(found: DeadLetterGroups) -> dict[str, Any]:
    """Return dead letters in groups."""
    groups = [to_json(jobs.DeadLetterGroup, group, newest=_newest(group)) for group in found.groups]
    return to_json(jobs.DeadLetterGroups, found, groups=groups)


def _newest(group: DeadLetterGroup) -> jobs.DeadLetter:
    return jobs.DeadLetter(id=group.newest_id, at=group.last_at, message=group.message)


def bulk_result(result: BulkResult) -> dict[str, Any]:
    """Return what a bulk operation did."""
    failed = [{"id": failure.id, "error": problem(failure.error)} for failure in result.failed]
    return to_json(batches.BulkResult, result, failed=failed)


def contents_bytes(job: Job) -> int:
    """Return how much a whole job's payload and result add to an answer, before reading them."""
    contents: tuple[Content | None, ...] = (job.payload, job.result)
    return sum(content.size_bytes for content in contents if content is not None)


def _event(event: HistoryEvent, identities: Mapping[str, str]) -> dict[str, Any]:
    identity = identity_of(event.actor, identities)
    return to_json(
        jobs.Event,
        event,
        kind=event.kind.name,
        actor=event.actor if identity is None else name_of(identity),
        caller=identity if is_requested(event) else None,
        reason=reason_told(event),
    )


def _lease(job: Job) -> jobs.Lease | None:
    if job.lease is None:
        return None
    return jobs.Lease(owner=job.lease.owner, expires_at=job.lease.until)


def _reserved_start(job: Job) -> datetime | None:
    if job.reservation is None or job.waits_for is not None or not job.status.is_waiting:
        return None
    return job.reservation.at


def _size_bytes(text: str | None) -> int:
    return 0 if text is None else len(text.encode())


def _value(text: str | None) -> Any:
    return None if text is None else json.loads(text)
