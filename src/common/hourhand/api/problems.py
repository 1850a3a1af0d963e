"""Errors as callers see them: RFC 9457 problem details."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

from hourhand.api.http_response import Answer
from hourhand.domain.errors import HourhandError, Unavailable
from hourhand.ports.telemetry import Telemetry

PROBLEM_JSON = "application/problem+json"
RETRY_AFTER_SECONDS = 2
"""How soon to repeat what failed because AWS did not answer: its own clients waited already."""

LOGGED_FRAMES = 20

_TITLES = {
    "bad_request": "The request is not well formed",
    "not_found": "There is no such thing",
    "method_not_allowed": "The method is not allowed here",
    "wrong_state": "Its state does not allow this",
    "idempotency_conflict": "The key or id was used with another body",
    "too_large": "The input is too large",
    "unsupported_media_type": "The body is of a type that is not taken",
    "invalid": "The input is invalid",
    "not_supported_yet": "Known, but not supported yet",
    "internal_error": "Something failed on our side",
    "unavailable": "Not available at the moment",
    "written_by_newer": "A newer version must answer this",
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
    """Whether ``error`` is one that callers are told about, and not a fault of our own."""
    return isinstance(error, HourhandError) and error.code in _TITLES


def problem(error: Exception) -> dict[str, Any]:
    """Return ``error`` as a problem object; ``type`` is stable, for programs to go by.

    A fault of our own tells nothing of the inside.
    """
    if not isinstance(error, HourhandError) or not is_foreseen(error):
        return _problem("internal_error", 500, "It was logged. The request may be repeated.")
    value = _problem(error.code, error.status, error.detail)
    if error.errors:
        value["errors"] = [{"field": e.field, "message": e.message} for e in error.errors]
    return value


def problem_answer(error: Exception) -> Answer:
    """Return the answer that tells ``error``."""
    value = problem(error)
    answer = Answer.of(value, status=value["status"], content_type=PROBLEM_JSON)
    if value["status"] == Unavailable.status:
        return answer.with_headers({"retry-after": str(RETRY_AFTER_SECONDS)})
    return answer


def log_if_unforeseen(telemetry: Telemetry, error: Exception) -> None:
    """Log a fault of our own: its type and where it arose, but no text, which may be a caller's."""
    if is_foreseen(error):
        return
    frames = traceback.extract_tb(error.__traceback__)[-LOGGED_FRAMES:]
    telemetry.warning(
        "A request failed in a way that nobody foresaw.",
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
