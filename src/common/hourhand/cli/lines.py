"""The events of the local cloud, as one short line each; changes of schedules are among them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Any

from rich.text import Text

from hourhand.local.child_process import exit_reason
from hourhand.local.events import (
    ApiAnswered,
    BatchBegun,
    BatchEnded,
    ChildDied,
    ChildStarted,
    HandlersLoaded,
    Logged,
    Measured,
    News,
    Printed,
    QueueFailed,
    Ticked,
)

PrintedLine = tuple[str, str, str]
"""A word, its style, and the rest of the line."""

_CALENDAR = "calendar"
_SCHEDULE_OPERATIONS = {"pause": "paused", "resume": "resumed"}

QUIET, NORMAL, VERBOSE = -1, 0, 1
"""How much is shown: quiet, normal or verbose."""

ATTEMPT_ENDED = "An attempt ended."
OCCURRENCE_CANCELLED = "An occurrence was cancelled before it began."
DECLARED = "A schedule that the code declares was put."

_OUTCOMES = {
    "SUCCEEDED": ("succeeded", "green"),
    "FAILED": ("failed", "red"),
    "TIMED_OUT": ("timed out", "red"),
    "SNOOZED": ("snoozed", "cyan"),
    "CANCELLED": ("cancelled", "magenta"),
}
_OPERATIONS = {
    "cancel": "cancelled",
    "redrive": "redriven",
    "discard": "discarded",
    "run-now": "run now",
}
_KNOWN_TO_LINE = frozenset({"job_id", "handler"})
_WORD_WIDTH = 11


def line_of(news: News, now: datetime, detail: int = NORMAL) -> Text | None:
    """Return the line for an event at the local time ``now``, or ``None`` for no line."""
    line = _PRINTERS[type(news)](news, detail)
    if line is None:
        return None
    word, style, rest = line
    time = now.strftime("%H:%M:%S.") + f"{now.microsecond // 1000:03d}"
    return Text.assemble((time, "dim"), "  ", (f"{word:<{_WORD_WIDTH}}", style), " ", rest)


def _printed(news: Printed, _: int) -> PrintedLine:
    return news.name, "dim", news.line


def _child_died(news: ChildDied, _: int) -> PrintedLine:
    again = f"restarts in {news.restart_seconds:g} s"
    how = exit_reason(news.exit_code)
    return "died", "bold red", f"{news.name} (pid {news.pid}): {how}; {again}"


def _child_started(news: ChildStarted, detail: int) -> PrintedLine | None:
    if news.is_restart and detail >= NORMAL:
        return "started", "green", f"{news.name} (pid {news.pid}) is ready again"
    return _verbosely(detail, "started", f"{news.name} (pid {news.pid})")


def _queue_failed(news: QueueFailed, _: int) -> PrintedLine:
    return "sqs", "yellow", f"{news.operation} failed: {news.reason}"


def _handlers_loaded(news: HandlersLoaded, detail: int) -> PrintedLine | None:
    if news.error is not None:
        return "handlers", "bold red", f"not loaded, the previous ones stay: {news.error}"
    names = f"loaded: {', '.join(news.names)}"
    if news.notes:
        return "handlers", "yellow", "\n".join([names, *news.notes])
    return ("handlers", "green", names) if detail >= NORMAL else None


def _ticked(news: Ticked, detail: int) -> PrintedLine | None:
    if news.error is not None:
        return "tick", "yellow", f"failed, the next tick tries again: {news.error}"
    did = {name: value for name, value in (news.report or {}).items() if name != "holder"}
    took = f"{news.took_seconds * 1000:.0f} ms"
    return _verbosely(detail, "tick", f"{news.name} {took} {_fields(did)}")


def _batch_begun(news: BatchBegun, detail: int) -> PrintedLine | None:
    text = f"{_job_ids(news)} by {news.worker} from {news.queue}"
    return _verbosely(detail, "received", text)


def _batch_ended(news: BatchEnded, detail: int) -> PrintedLine | None:
    if news.crash is not None:
        return "crashed", "yellow", f"{_job_ids(news)} in {news.worker}: {news.crash}"
    return _verbosely(detail, "done", f"{_job_ids(news)} by {news.worker}")


def _measured(news: Measured, detail: int) -> PrintedLine | None:
    sums = {name: sum(numbers) for name, numbers in news.values.items()}
    return _verbosely(detail, "metrics", f"{news.name}: {_fields(sums)}")


def _logged(news: Logged, detail: int) -> PrintedLine | None:
    text = f"{news.sentence} {_fields(news.fields)}"
    if news.is_warning:
        return "warning", "yellow", text
    if news.sentence == ATTEMPT_ENDED and detail >= NORMAL:
        return _attempt(news.fields)
    if news.sentence == OCCURRENCE_CANCELLED and detail >= NORMAL:
        return _skipped(news.fields)
    if news.sentence == DECLARED and detail >= NORMAL:
        return _declared(news.fields)
    if news.fields.keys() >= _KNOWN_TO_LINE and detail >= NORMAL:
        # What a handler logged by ctx.logger. A line about a handler alone has no job.
        job = f"{news.fields['job_id']}  {news.fields['handler']}"
        rest = {name: v for name, v in news.fields.items() if name not in _KNOWN_TO_LINE}
        return "log", "", f"{job}  {news.sentence} {_fields(rest)}"
    return _verbosely(detail, "log", f"{news.name}: {text}")


def _verbosely(detail: int, word: str, text: str) -> PrintedLine | None:
    return (word, "dim", text) if detail >= VERBOSE else None


def _attempt(fields: Mapping[str, Any]) -> PrintedLine:
    word, style = _OUTCOMES.get(fields["outcome"], (str(fields["outcome"]).lower(), ""))
    parts = [f"attempt {fields['attempt']}"]
    if fields.get("took_ms") is not None:
        parts.append(f"took {_duration(fields['took_ms'])}")
    if fields.get("error"):
        ahead = "will be retried" if fields.get("will_retry") else "no further attempt"
        parts.append(f"{fields['error']}, {ahead}")
    occurrence = _occurrence_of(fields)
    if occurrence is not None:
        parts.append(occurrence)
    return word, style, f"{fields['job_id']}  {fields['handler']}  {', '.join(parts)}"


def _answered(news: ApiAnswered, detail: int) -> PrintedLine | None:
    """Show changes and refusals; show reads only where every request is shown."""
    if detail <= QUIET:
        return None
    request = f"{news.method} {news.path} {news.status}"
    if news.status >= HTTPStatus.BAD_REQUEST:
        problem = _json(news.body)
        errors = "; ".join(f"{e['field']} {e['message']}" for e in problem.get("errors", ()))
        return "refused", "yellow", f"{request}: {errors or problem.get('detail', '')}"
    change = _change(news)
    if change is not None:
        return change
    return _verbosely(detail, "request", request)


def _change(news: ApiAnswered) -> PrintedLine | None:
    parts = news.path.strip("/").split("/")
    match news.method, parts:
        case "POST", ["v1", "jobs"]:
            return _submitted(_json(news.body), is_new=news.status == HTTPStatus.CREATED)
        case "POST", ["v1", "jobs", "batch"]:
            results = _json(news.body).get("results", [])
            refused = sum("error" in result for result in results)
            text = f"{len(results) - refused} jobs in a batch, {refused} refused"
            return "submitted", "blue", text
        case "POST", ["v1", "jobs", "cancel" | "redrive" | "discard" as operation]:
            answer = _json(news.body)
            text = f"{answer.get('matched')} jobs match, {answer.get('changed')} changed"
            return _OPERATIONS[operation], "magenta", text
        case "POST", ["v1", "jobs", _, "redrive"] if "status" not in _json(news.body):
            # The plan of a redrive: nothing was changed.
            return None
        case "POST", ["v1", "jobs", job_id, operation] if operation in _OPERATIONS:
            return _OPERATIONS[operation], "magenta", f"{job_id}  {_status(news)}"
        case "PATCH", ["v1", "jobs", job_id]:
            return "changed", "magenta", f"{job_id}  {_status(news)}"
        case _, ["v1", *rest]:
            return _schedule_change(news.method, rest, news.status, _json(news.body))
        case _:
            return None


def _schedule_change(
    method: str, parts: Sequence[str], status: int, answer: Mapping[str, Any]
) -> PrintedLine | None:
    """Return what a request changed; ``parts`` are those of its path after the version."""
    match method, parts:
        case "PUT", ["schedules", schedule_id]:
            word = "scheduled" if status == HTTPStatus.CREATED else "changed"
            return word, "blue", f"{schedule_id}  {_described(answer)}"
        case "POST", ["schedules" | "handlers" as noun, name, "pause" | "resume" as operation]:
            what = f"{name}  {_described(answer)}" if noun == "schedules" else f"handler {name}"
            return _SCHEDULE_OPERATIONS[operation], "magenta", what
        case "POST", ["schedules", schedule_id, "trigger"]:
            job = f"{answer.get('id')}  {answer.get('handler')}"
            return "triggered", "blue", f"{job}  of {schedule_id}"
        case "POST", ["schedules", schedule_id, "backfill"]:
            return _backfill(schedule_id, answer)
        case "PUT", ["calendars", name]:
            count = len(answer.get("exclude", ()))
            text = f"{name}  {count} exclusions, revision {answer.get('revision')}"
            return _CALENDAR, "blue", text
        case "DELETE", ["schedules", schedule_id]:
            return "deleted", "magenta", f"schedule {schedule_id}"
        case "DELETE", ["calendars", name]:
            return "deleted", "magenta", f"calendar {name}"
        case _:
            return None


def _declared(fields: Mapping[str, Any]) -> PrintedLine:
    """Return the line of a schedule that the code declares and a tick put."""
    text = f"{fields['schedule_id']}  {fields['expression']} ({fields['timezone']})"
    return "scheduled", "blue", f"{text}, by its handler"


def _occurrence_of(fields: Mapping[str, Any]) -> str | None:
    """Return the schedule and scheduled time of the job in a log line, or ``None``."""
    if "schedule_id" not in fields or "occurrence" not in fields:
        return None
    return f"{fields['schedule_id']} at {fields['occurrence']}"


def _skipped(fields: Mapping[str, Any]) -> PrintedLine:
    """Return the line of an occurrence that was skipped."""
    job = f"{fields['job_id']}  {fields['handler']}"
    return "skipped", "magenta", f"{job}  {fields['reason']}, {_occurrence_of(fields)}"


def _described(schedule: Mapping[str, Any]) -> str:
    expression = schedule.get("expression")
    text = expression if isinstance(expression, str) else " | ".join(expression or ())
    state = schedule.get("status")
    if state == "active":
        state = f"next at {schedule.get('next_at')}"
    return f"{schedule.get('handler')}  {text} ({schedule.get('timezone')}), {state}"


def _backfill(schedule_id: str, report: Mapping[str, Any]) -> PrintedLine | None:
    if report.get("dry_run"):
        return None
    span = f"{report.get('first')} to {report.get('last')}"
    return "backfill", "blue", f"{schedule_id}  {report.get('total')} scheduled times, {span}"


def _submitted(job: Mapping[str, Any], *, is_new: bool) -> PrintedLine | None:
    if "run_at" not in job:
        return None
    wait = datetime.fromisoformat(job["run_at"]) - datetime.fromisoformat(job["created_at"])
    seconds = wait.total_seconds()
    due = f"due in {_duration(seconds * 1000)}" if seconds > 0 else "due now"
    text = f"{job['id']}  {job['handler']}  {job['priority']}, {due}"
    return (
        ("submitted", "blue", text) if is_new else ("known", "blue", f"{text} (submitted before)")
    )


def _status(news: ApiAnswered) -> str:
    job = _json(news.body)
    asked = ", asked to stop" if job.get("cancel_requested_at") else ""
    return f"{job.get('handler')}  is {job.get('status')}{asked}"


def _job_ids(batch: BatchBegun | BatchEnded) -> str:
    return ", ".join(str(_json(body).get("job")) for body in batch.bodies)


def _json(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _fields(fields: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in fields.items() if name != "trace_id")


_MS_IN = {"d": 86_400_000, "h": 3_600_000, "min": 60_000, "s": 1000}


def _duration(milliseconds: float) -> str:
    for unit, size in _MS_IN.items():
        if milliseconds >= size:
            return f"{milliseconds / size:.3g} {unit}"
    return f"{milliseconds:.0f} ms"


_PRINTERS: Mapping[type, Callable[[Any, int], PrintedLine | None]] = {
    Printed: _printed,
    ChildDied: _child_died,
    ChildStarted: _child_started,
    QueueFailed: _queue_failed,
    HandlersLoaded: _handlers_loaded,
    Ticked: _ticked,
    BatchBegun: _batch_begun,
    BatchEnded: _batch_ended,
    Measured: _measured,
    Logged: _logged,
    ApiAnswered: _answered,
}
