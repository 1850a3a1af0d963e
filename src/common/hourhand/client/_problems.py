"""Turns an answer that reports a failure into an exception.

The API's functions answer with problems (RFC 9457). API Gateway in front of them has its own form,
such as ``{"message": "Too Many Requests"}``, and a proxy in between may have any other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from hourhand.answers.batches import FieldProblem
from hourhand.client._steps import Answer
from hourhand.client._values import (
    ClientError,
    Conflict,
    Invalid,
    NotFound,
    ServerFailed,
    Throttled,
    TooLarge,
    Unauthorised,
    UnexpectedAnswer,
)

TYPE_PREFIX = "urn:hourhand:"
NOT_DONE = frozenset({"unavailable", "written_by_newer"})
"""The codes of failures after which nothing is half done."""

QUOTA_EXCEEDED = "quota_exceeded"

MAX_TOLD_CHARACTERS = 500
MAX_FIELD_PROBLEMS = 100

_INVALID_STATUSES = frozenset(
    {
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.METHOD_NOT_ALLOWED,
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        HTTPStatus.UNPROCESSABLE_ENTITY,
    }
)
_KINDS: Mapping[int, type[ClientError]] = {
    **dict.fromkeys(_INVALID_STATUSES, Invalid),
    HTTPStatus.UNAUTHORIZED: Unauthorised,
    HTTPStatus.FORBIDDEN: Unauthorised,
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.CONFLICT: Conflict,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: TooLarge,
    HTTPStatus.TOO_MANY_REQUESTS: Throttled,
}
_FOREIGN_DETAILS: Mapping[int, str] = {
    HTTPStatus.UNAUTHORIZED: "The API requires a valid token (JWT).",
    HTTPStatus.FORBIDDEN: "The caller is not allowed to do this: it lacks execute-api:Invoke, "
    "or the signature is not accepted.",
    HTTPStatus.NOT_FOUND: "The server has no such route. Check that the endpoint is Hourhand's "
    "API.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "The request is too large.",
    HTTPStatus.TOO_MANY_REQUESTS: "The API receives too many requests.",
}


def failure_of(answer: Answer, request: str) -> ClientError:
    """Return the exception for an answer other than 2xx; ``request`` is for its message."""
    fields = _object(answer.body)
    if isinstance(fields.get("detail"), str) and isinstance(fields.get("type"), str):
        return problem_failure(fields, answer.status)
    return _foreign_failure(answer, fields, request)


def problem_failure(problem: Mapping[str, Any], status: int) -> ClientError:
    """Return the exception for a problem object of the API, whatever it lacks."""
    code = str(problem.get("type", "")).removeprefix(TYPE_PREFIX)
    title, detail = problem.get("title"), problem.get("detail")
    # A quota may be used up for a minute: the caller decides whether it waits so long.
    is_temporary = _is_temporary(status) and code != QUOTA_EXCEEDED
    return _kind(status)(
        str(detail or title or f"The API answered {status}."),
        status=status,
        code=code or None,
        title=str(title or ""),
        errors=_field_problems(problem.get("errors")),
        is_temporary=is_temporary,
        may_have_happened=_is_failure(status) and code not in NOT_DONE,
    )


def _foreign_failure(answer: Answer, fields: Mapping[str, Any], request: str) -> ClientError:
    """Return the exception for an answer that is not of the API's own functions."""
    status = answer.status
    said = fields.get("message") or fields.get("Message") or answer.headers.get("www-authenticate")
    said_text = f" It said: {str(said)[:MAX_TOLD_CHARACTERS]}" if said else ""
    standard = f"{request} was answered {status}, but not by Hourhand's functions."
    return _kind(status)(
        f"{_FOREIGN_DETAILS.get(status, standard)}{said_text}",
        status=status,
        is_temporary=_is_temporary(status),
        # After a gateway's time-out the request may have been done.
        may_have_happened=_is_failure(status),
    )


def _kind(status: int) -> type[ClientError]:
    if _is_failure(status):
        return ServerFailed
    if status < HTTPStatus.BAD_REQUEST:
        return UnexpectedAnswer
    return _KINDS.get(status, ClientError)


def _is_failure(status: int) -> bool:
    return status >= HTTPStatus.INTERNAL_SERVER_ERROR


def _is_temporary(status: int) -> bool:
    return _is_failure(status) or status == HTTPStatus.TOO_MANY_REQUESTS


def _field_problems(errors: Any) -> list[FieldProblem]:
    if not isinstance(errors, list):
        return []
    return [
        FieldProblem(field=str(one.get("field", "")), message=str(one.get("message", "")))
        for one in errors[:MAX_FIELD_PROBLEMS]
        if isinstance(one, dict)
    ]


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
