"""Changes of schedules, calendars and handlers, and their jobs, as parts of an event line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

Told = tuple[str, str, str]
"""A word, its style, and the rest of the line."""

_CALENDAR = "calendar"
_OPERATIONS = {"pause": "paused", "resume": "resumed"}


def schedule_change(
    method: str, parts: Sequence[str], status: int, answer: Mapping[str, Any]
) -> Told | None:
    """Return what a request changed; ``parts`` are those of its path after the version."""
    match method, parts:
        case "PUT", ["schedules", schedule_id]:
            word = "scheduled" if status == HTTPStatus.CREATED else "changed"
            return word, "blue", f"{schedule_id}  {_described(answer)}"
        case "POST", ["schedules" | "handlers" as noun, name, "pause" | "resume" as operation]:
            what = f"{name}  {_described(answer)}" if noun == "schedules" else f"handler {name}"
            return _OPERATIONS[operation], "magenta", what
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


def declared(fields: Mapping[str, Any]) -> Told:
    """Return the line of a schedule that the code declares and a tick put."""
    text = f"{fields['schedule_id']}  {fields['expression']} ({fields['timezone']})"
    return "scheduled", "blue", f"{text}, by its handler"


def occurrence_of(fields: Mapping[str, Any]) -> str | None:
    """Return the schedule and scheduled time of the job in a log line, or ``None``."""
    if "schedule_id" not in fields or "occurrence" not in fields:
        return None
    return f"{fields['schedule_id']} at {fields['occurrence']}"


def skipped(fields: Mapping[str, Any]) -> Told:
    """Return the line of an occurrence that was skipped."""
    job = f"{fields['job_id']}  {fields['handler']}"
    return "skipped", "magenta", f"{job}  {fields['reason']}, {occurrence_of(fields)}"


def _described(schedule: Mapping[str, Any]) -> str:
    expression = schedule.get("expression")
    text = expression if isinstance(expression, str) else " | ".join(expression or ())
    state = schedule.get("status")
    if state == "active":
        state = f"next at {schedule.get('next_at')}"
    return f"{schedule.get('handler')}  {text} ({schedule.get('timezone')}), {state}"


def _backfill(schedule_id: str, report: Mapping[str, Any]) -> Told | None:
    if report.get("dry_run"):
        return None
    span = f"{report.get('first')} to {report.get('last')}"
    return "backfill", "blue", f"{schedule_id}  {report.get('total')} scheduled times, {span}"
