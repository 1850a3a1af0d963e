"""Errors as callers see them: RFC 9457 problem details."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

from hourhand.api.http_response import Answer
from hourhand.domain.errors import HourhandError, QuotaExceeded, Unavailable
from hourhand.ports.telemetry import Telemetry

PROBLEM_JSON = "application/problem+json"
RETRY_AFTER_SECONDS = 2
"""When to retry a request that failed because AWS did not answer; the AWS client waited already."""

LOGGED_FRAMES = 20

_TITLES = {
    "bad_request": "The request is malformed",
    "forbidden": "Not allowed",
    "not_found": "Not found",
    "method_not_allowed": "Method not allowed",
    "wrong_state": "The state does not allow this",
    "idempotency_conflict": "The key or id was used with another body",
    "unique_conflict": "Another job has the unique key",
    "run_ended": "The run has ended",
    "not_durable": "The job is no durable run",
    "already_completed": "The callback was completed before",
    "compensated": "The steps of the run were reversed",
    "batch_closed": "The batch is closed",
    "members_missing": "A job of the batch is missing",
    "count_changed": "More jobs match than expected",
    "too_large": "The input is too large",
    "unsupported_media_type": "Unsupported content type",
    "invalid": "The input is invalid",
    "invalid_unique": "The unique key is invalid",
    "invalid_debounce": "The debounce is invalid",
    "missing_key": "The job lacks its key",
    "no_keyed_limit": "The handler has no limit that takes a key",
    "not_supported_yet": "Not supported yet",
    "internal_error": "Internal server error",
    "unavailable": "Temporarily unavailable",
    "quota_exceeded": "A quota is used up",
    "written_by_newer": "Written by a newer version of Hourhand",
}


class MethodNotAllowed(HourhandError):
    """The route exists, but not for this method."""

    code = "method_not_allowed"
    status = 405


class UnsupportedMediaType(HourhandError):
    """A body must be application/json."""

    code = "unsupported_media_type"
    status = 415


def is_foreseen(error: Exception) -> bool:
    """Whether ``error`` is one that callers may see, and not a fault of Hourhand."""
    return isinstance(error, HourhandError) and error.code in _TITLES


def problem(error: Exception) -> dict[str, Any]:
    """Return ``error`` as a problem object; ``type`` is stable, for programs to go by.

    The problem of an unexpected error reveals nothing internal.
    """
    if not isinstance(error, HourhandError) or not is_foreseen(error):
        return _problem("internal_error", 500, "The error was logged. The request can be retried.")
    value = _problem(error.code, error.status, error.detail)
    if error.errors:
        value["errors"] = [{"field": e.field, "message": e.message} for e in error.errors]
    return value


def problem_answer(error: Exception) -> Answer:
    """Return the answer with the problem of ``error``."""
    value = problem(error)
    answer = Answer.of(value, status=value["status"], content_type=PROBLEM_JSON)
    if isinstance(error, QuotaExceeded):
        return answer.with_headers({"retry-after": str(error.retry_after_seconds)})
    if value["status"] == Unavailable.status:
        return answer.with_headers({"retry-after": str(RETRY_AFTER_SECONDS)})
    return answer


def log_if_unforeseen(telemetry: Telemetry, error: Exception) -> None:
    """Log a fault of our own: its type and where it arose, but no text, which may be a caller's."""
    if is_foreseen(error):
        return
    frames = traceback.extract_tb(error.__traceback__)[-LOGGED_FRAMES:]
    telemetry.warning(
        "A request failed with an unexpected error. The API answered 500.",
        error=type(error).__name__,
        at=[f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames],
    )


def _problem(code: str, status: int, detail: str) -> dict[str, Any]:
    return {
        "type": f"urn:hourhand:{code}",
        "title": _TITLES[code],
        "status": status,
        "detail": detail,
    }
