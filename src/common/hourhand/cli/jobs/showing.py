"""``hourhand jobs show`` and ``events``: one job with all its fields."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from rich.text import Text

from hourhand.answers.jobs import Attempt, ErrorDetails, Event, Job, WaitsFor
from hourhand.cli.jobs.listing import is_of_an_earlier_round, status_text, waiting_text
from hourhand.cli.output.harmless import cell
from hourhand.cli.output.tables import Column, fact, facts
from hourhand.cli.output.times import Times, duration
from hourhand.cli.session import Session
from hourhand.domain.ids import trace_id_for

ATTEMPT_COLUMNS = (
    Column("TRY", is_number=True),
    Column("OUTCOME"),
    Column("STARTED"),
    Column("TOOK", rank=2),
    Column("WORKER", rank=3, is_flexible=True),
    Column("ERROR", is_flexible=True),
)
EVENT_COLUMNS = (
    Column("WHEN"),
    Column("EVENT"),
    Column("STATUS", rank=2),
    Column("TRY", rank=1, is_number=True),
    Column("BY", is_flexible=True),
    Column("REASON", is_flexible=True),
)
_GATEWAY = re.compile(r"\.execute-api\.([a-z0-9-]+)\.amazonaws\.com$")
"""The host of an API whose URL is API Gateway's own."""

PROBLEM_STYLES = {"FAILED": "red", "TIMED_OUT": "red", "LOST": "red", "SUCCEEDED": "green"}


def show(session: Session, job: Job) -> None:
    """Print one job."""
    if session.gives_json(job):
        return
    link = trace_link(session, job)
    known = {"trace in X-Ray": link} if link is not None else {}
    session.print(facts([*_facts(job, session.times), *known.items()]))
    if job.attempts:
        session.print("")
        session.print_table(ATTEMPT_COLUMNS, (_attempt_row(a, session.times) for a in job.attempts))
    if job.history_dropped:
        told = f"{dropped_text(job.history_dropped)} Attempts among them may be missing here."
        session.print(Text(told, "dim"))
    _print_content(session, job, "payload", job.payload)
    if job.result is not None or "result" in job.omitted:
        _print_content(session, job, "result", job.result)
    if job.error is not None:
        _print_error(session, job.error, is_earlier=is_of_an_earlier_round(job))


def show_changed(session: Session, job: Job, did: str) -> None:
    """Print one line about a job that changed, or the whole job as JSON."""
    if session.gives_json(job):
        return
    asked = ", asked to stop" if job.cancel_requested_at and not job.is_final else ""
    due = "" if job.is_final else f", due {session.times.full(job.due_at or job.run_at)}"
    due = "" if job.status == "RUNNING" else due
    head = Text.assemble(cell(job.id), f"  {did}: ", status_text(job.status))
    session.print(Text.assemble(head, asked, due, cell(_still_waits(job)), cell(_note(job))))


def show_events(session: Session, job_id: str) -> None:
    """Print a job's events, oldest first, and how many were dropped where they would stand."""
    history = session.client.events(job_id)
    if session.is_json:
        for event in history:
            session.print_json(event.raw)
        return
    rows = [_event_row(event, session.times) for event in history]
    if history.dropped:
        # The first event is always kept.
        rows.insert(1, ("...", "", "", "", "", dropped_text(history.dropped)))
    session.print_table(EVENT_COLUMNS, rows)


def dropped_text(count: int) -> str:
    """Return that a long history has dropped ``count`` events."""
    return "1 older event was dropped." if count == 1 else f"{count:,} older events were dropped."


def _event_row(event: Event, times: Times) -> tuple[Text | str, ...]:
    return (
        times.absolute(event.at),
        event.kind,
        status_text(event.status),
        str(event.attempt or ""),
        event.caller or event.actor,
        event.reason or "",
    )


def _still_waits(job: Job) -> str:
    """Return that a job which was made due waits on, where that is known."""
    waits = waiting_text(job)
    return f"; it still {waits}" if waits else ""


def _note(job: Job) -> str:
    return f", note: {job.discard_note}" if job.discard_note else ""


def trace_link(session: Session, job: Job) -> str | None:
    """Return where the console of AWS shows the trace that the submitter of ``job`` brought.

    ``None`` if it brought none, or if the Region is not known.
    """
    host = urlsplit(session.client.endpoint).hostname or ""
    named = _GATEWAY.search(host)
    region = named[1] if named else session.connection.region
    is_on_aws = named is not None or not (host == "localhost" or host.startswith("127."))
    trace_id = job.trace_id
    if trace_id is None or region is None or not is_on_aws or trace_id == trace_id_for(job.id):
        return None
    console = f"https://{region}.console.aws.amazon.com/cloudwatch/home?region={region}"
    return f"{console}#xray:traces/1-{trace_id[:8]}-{trace_id[8:]}"


def _facts(job: Job, times: Times) -> Iterator[tuple[str, Text | str]]:
    yield "job", job.id
    yield "handler", job.handler
    yield "status", _status(job, times)
    yield "priority", job.priority
    yield from _moments(job, times)
    yield "attempts used", f"{job.attempt} of {job.retry.max_attempts}, {_retry(job)}"
    yield "time limit", f"{duration(job.timeout_seconds)} per attempt"
    yield "if its worker is lost", "runs again" if job.on_lost == "retry" else "ends DEAD"
    limits = (f"{each.name}={each.key}" if each.key else each.name for each in job.limits or ())
    yield from fact("note", job.discard_note)
    yield from fact("schedule", job.schedule_id)
    yield from fact("tenant", job.tenant)
    yield from fact("tags", ", ".join(f"{key}:{value}" for key, value in job.tags.items()))
    yield from fact("limits", ", ".join(limits))
    yield from fact("idempotency key", job.idempotency_key)
    yield from fact("trace", job.trace_id)
    if job.progress is not None:
        total = "" if job.progress.total is None else f" of {job.progress.total:g}"
        yield "progress", f"{job.progress.done:g}{total} {job.progress.message or ''}".strip()


def _status(job: Job, times: Times) -> Text:
    text = status_text(job.status)
    if job.lease is not None:
        until = times.relative(job.lease.expires_at)
        text.append_text(cell(f", worker {job.lease.owner}, lease ends {until}"))
    if job.cancel_requested_at is not None and not job.is_final:
        text.append_text(cell(f", asked to stop {times.relative(job.cancel_requested_at)}"))
    if job.discarded_at is not None:
        text.append_text(cell(f", discarded {times.relative(job.discarded_at)}"))
    if waits := waiting_text(job):
        text.append_text(cell(f", {waits}{_place(job.waits_for)}"))
    text.no_wrap, text.overflow = False, "fold"
    return text


def _place(waits: WaitsFor | None) -> str:
    if waits is None:
        return ""
    most = f" ({waits.max_running} at once)" if waits.max_running is not None else ""
    if waits.blocked_by is not None:
        most += f", blocked by its ancestor {waits.blocked_by}"
    return f"{most}, position {waits.position}" if waits.position else most


def _moments(job: Job, times: Times) -> Iterator[tuple[str, str]]:
    yield from fact("scheduled time", job.occurrence, times.full)
    yield from fact("run at", job.run_at, times.full)
    if job.waits_for is not None:
        yield from fact("waits since", job.waits_for.since, times.full)
    if job.due_at != job.run_at:
        yield from fact("due", job.due_at, times.full)
    yield from fact("created", job.created_at, times.full)
    yield from fact("message sent", job.enqueued_at, times.full)
    yield from fact("started", job.started_at, times.full)
    yield from fact("ended", job.finished_at, times.full)
    yield from fact("expires", job.expires_at, times.full)
    yield from fact("late by", job.lateness_ms, lambda late_ms: duration(late_ms / 1000))


def _retry(job: Job) -> str:
    retry = job.retry
    base, longest = duration(retry.base_seconds), duration(retry.max_delay_seconds)
    # A fixed delay does not grow, so it has no range.
    delays = f"of {base}" if retry.backoff == "fixed" else f"from {base} to {longest}"
    return f"{retry.backoff} backoff {delays}, {retry.jitter} jitter"


def _attempt_row(attempt: Attempt, times: Times) -> tuple[Text | str, ...]:
    took = ""
    if attempt.started_at is not None and attempt.finished_at is not None:
        took = duration(attempt.finished_at - attempt.started_at)
    outcome = attempt.outcome or "running"
    error = attempt.error
    return (
        str(attempt.number),
        cell(outcome, PROBLEM_STYLES.get(outcome, "")),
        "" if attempt.started_at is None else times.absolute(attempt.started_at),
        took,
        attempt.worker,
        "" if error is None else f"{error.type}: {error.message}",
    )


def _print_content(session: Session, job: Job, name: str, value: Any) -> None:
    session.print("", Text(name, "bold"))
    if name in job.damaged:
        session.print(Text("  not shown: the stored value is not JSON", "dim"))
        return
    if name in job.omitted:
        session.print(Text("  not shown: too large for an answer, or no longer kept", "dim"))
        return
    session.print_text(_indented(json.dumps(value, indent=2, ensure_ascii=False, default=dict)))


def _print_error(session: Session, error: ErrorDetails, *, is_earlier: bool) -> None:
    ahead = "" if error.retryable else "  not retryable"
    name = "earlier error" if is_earlier else "error"
    session.print("", Text.assemble((name, "bold"), (ahead, "dim")))
    session.print_text(_indented(f"{error.type}: {error.message}"), "red")
    if error.traceback:
        session.print_text(_indented(error.traceback.rstrip()), "dim")


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))
