"""Durable runs as the API returns them."""

from __future__ import annotations

import json
from typing import Any

from hourhand.answers import runs
from hourhand.domain.runs.joins import JoinedCall
from hourhand.domain.runs.records import KIND_NAMES, Record, RecordOutcome
from hourhand.domain.times import from_ms
from hourhand.json_dataclasses import to_json
from hourhand.services.runs.redrives import RedrivePlan
from hourhand.services.runs.views import JournalView, StepView, StepViews

MAX_SHOWN_RESULT = 1_000_000
"""Characters of a result in a page of a journal; a larger one is omitted."""


def step_page(page: StepViews) -> dict[str, Any]:
    """Return a page of the calls of a run."""
    steps = [_step(step) for step in page.steps]
    undone = [
        {"job_id": job.id, "segment": segment, "status": job.status.value}
        for segment, job in page.compensations.items()
    ]
    return {
        "steps": steps,
        "summary": dict(page.summary),
        "next_cursor": page.next_cursor,
        "compensations": undone,
    }


def journal_page(page: JournalView) -> dict[str, Any]:
    """Return a page of a journal."""
    job = page.job
    return to_json(
        runs.JournalPage,
        job,
        job_id=job.id,
        payload=json.loads(page.payload_text),
        records=[_record(record, text) for record, text in page.records],
        next_cursor=page.next_cursor,
    )


def redrive_plan(plan: RedrivePlan) -> dict[str, Any]:
    """Return what a redrive would run again."""
    return {"reset": list(plan.reset), "kept": list(plan.kept), "new_keys": plan.new_keys}


def accepted() -> dict[str, Any]:
    """Return that a signal or a completion was recorded."""
    return {"accepted": True}


def _step(step: StepView) -> dict[str, Any]:
    return to_json(
        runs.Step,
        step,
        result=None if step.result_text is None else json.loads(step.result_text),
        omitted=step.omits_result,
        private=step.is_private,
        compensates=step.is_compensated,
        of=None if step.of is None else dict(step.of),
    )


def _record(record: Record, text: str | None) -> dict[str, Any]:
    has_result = record.outcome is RecordOutcome.SUCCEEDED or record.text is not None
    is_shown = text is not None and len(text) <= MAX_SHOWN_RESULT
    is_error = record.outcome in {RecordOutcome.FAILED, RecordOutcome.RETRYING}
    return to_json(
        runs.JournalRecord,
        record,
        kind=KIND_NAMES[record.kind],
        outcome=record.outcome.value,
        attempts=record.count,
        started_at=_time(record.began_ms),
        finished_at=_time(record.ended_ms),
        until=_time(record.until_ms),
        signal_id=record.signal,
        result=json.loads(text) if is_shown and text is not None and not is_error else None,
        error=record.error if is_error else None,
        omitted=has_result and not is_error and not is_shown,
        compensates=record.is_compensated,
        names=None if record.names_text is None else json.loads(record.names_text),
        children=None if record.joined is None else _children(record.joined),
    )


def _children(joined: JoinedCall) -> runs.JournalChildren:
    call = joined.call
    return runs.JournalChildren(
        key=joined.key,
        total=call.total,
        handler=call.handler,
        is_map=call.is_map,
        is_abandoned=call.is_abandoned,
        window=call.window,
        tolerate=call.tolerate,
        min_success=call.min_success,
        ends={
            str(record.first_index + position): code
            for record in joined.records
            for position, code in sorted(record.ends.items())
        },
    )


def _time(ms: int | None) -> Any:
    return None if ms is None else from_ms(ms)
