"""An API Gateway event (payload format 2.0) as a request: its route, its caller and its body."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from hourhand.api.access import OWN_BODIES, Bound, own_query
from hourhand.api.json_text import read_json
from hourhand.api.problems import UnsupportedMediaType
from hourhand.api.requests._errors import quoted
from hourhand.domain.callers import LOCAL
from hourhand.domain.errors import BadRequest, FieldError, InvalidInput

MAX_QUERY_FIELDS = 50

JSON_BLANKS = " \t\r\n"
"""JSON's white space (RFC 8259, section 2); Python's own takes in control characters."""

PUBLIC_PATH = "/v1/callbacks/{token}/{action}"
PUBLIC_ROUTE_KEY = f"POST {PUBLIC_PATH}"
"""The one route without authorisation, of a deployment with `public_callbacks`."""

_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")
_XRAY_ROOT = re.compile(r"(?:^|;)\s*Root=1-([0-9a-f]{8})-([0-9a-f]{24})(?:;|$)")
_NO_TRACE = "0" * 32


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What a route works on. ``path`` is without the stage; header names are in lower case.

    ``authorizer`` is what API Gateway knows of the caller, and ``trace_id`` 32 hex digits or
    ``None``. `hourhand.api.routing` adds the rest: ``actor``, the key under which the history
    keeps the caller, and what bounds a caller to the jobs and schedules of one ``tenant``.
    ``is_public``: it came by the route that API Gateway opens to everybody.
    """

    method: str
    path: str
    stage_prefix: str
    raw_query: str
    headers: Mapping[str, str]
    body: str | None
    is_base64: bool
    authorizer: Mapping[str, Any]
    trace_id: str | None
    is_public: bool = False
    actor: str = LOCAL
    tenant: str | None = None
    bound: Bound | None = None

    @property
    def has_body(self) -> bool:
        """Whether anything but white space was sent."""
        return bool(self.body and (self.is_base64 or self.body.strip(JSON_BLANKS)))

    def query(self) -> dict[str, str]:
        """Return the query's fields; raises `InvalidInput` for too many or a repeated one."""
        try:
            pairs = parse_qsl(
                self.raw_query, keep_blank_values=True, max_num_fields=MAX_QUERY_FIELDS
            )
        except ValueError as error:
            fault = FieldError("query", f"must have at most {MAX_QUERY_FIELDS} fields")
            raise InvalidInput("The query is too long.", errors=(fault,)) from error
        query = dict(pairs)
        if len(query) < len(pairs):
            names = [name for name, _ in pairs]
            twice = sorted({quoted(name) for name in names if names.count(name) > 1})
            errors = tuple(FieldError(name, "must be given at most once") for name in twice)
            raise InvalidInput("The query has a field more than once.", errors=errors)
        if self.tenant is not None and self.bound is Bound.QUERY:
            return own_query(query, self.tenant)
        return query

    def address(self, path: str) -> str:
        """Return the address of a path after ``/v1``, as callers reach it."""
        return f"{self.stage_prefix}/v1{path}"

    def text(self) -> str:
        """Return the body as text. Raises `BadRequest` where it is no UTF-8."""
        body = self.body or ""
        if not self.is_base64:
            return body
        try:
            return base64.b64decode(body, validate=True).decode("utf-8")
        except (binascii.Error, UnicodeDecodeError) as error:
            raise BadRequest("The body is not UTF-8 text.") from error

    def json(self) -> Any:
        """Return the body's value. Raises `UnsupportedMediaType` and `BadRequest`."""
        self._require_json_type()
        text = self.text()
        if not text.strip(JSON_BLANKS):
            raise BadRequest("A JSON body is required.")
        value = read_json(text)
        narrow = None if self.bound is None else OWN_BODIES.get(self.bound)
        if self.tenant is None or narrow is None:
            return value
        return narrow(value, self.tenant)

    def _require_json_type(self) -> None:
        media_type, _, parameters = self.headers.get("content-type", "").partition(";")
        charset = parameters.replace('"', "").replace(" ", "").lower()
        is_json = media_type.strip().lower() == "application/json"
        if not is_json or charset not in {"", "charset=utf-8"}:
            raise _unsupported("content-type", "must be application/json (in UTF-8)")
        if self.headers.get("content-encoding", "identity").lower() != "identity":
            raise _unsupported("content-encoding", "must be absent: send the body uncompressed")


def read_event(event: Mapping[str, Any]) -> Request:
    """Return the request that API Gateway's ``event`` describes."""
    context = event.get("requestContext") or {}
    headers = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
    path, stage_prefix = _without_stage(event.get("rawPath") or "/", context.get("stage"))
    return Request(
        method=context["http"]["method"].upper(),
        path=path,
        stage_prefix=stage_prefix,
        raw_query=event.get("rawQueryString") or "",
        headers=headers,
        body=event.get("body"),
        is_base64=bool(event.get("isBase64Encoded")),
        authorizer=context.get("authorizer") or {},
        trace_id=trace_id_of(headers),
        is_public=event.get("routeKey") == PUBLIC_ROUTE_KEY,
    )


def trace_id_of(headers: Mapping[str, str]) -> str | None:
    """Return the W3C trace id of the caller's ``traceparent``, else of X-Ray's header."""
    w3c = _TRACEPARENT.fullmatch(headers.get("traceparent", "").strip())
    if w3c is not None and w3c[1] != _NO_TRACE:
        return w3c[1]
    xray = _XRAY_ROOT.search(headers.get("x-amzn-trace-id", ""))
    if xray is not None and xray[1] + xray[2] != _NO_TRACE:
        return xray[1] + xray[2]
    return None


def _without_stage(path: str, stage: str | None) -> tuple[str, str]:
    """Part the path from the name of a stage: only the ``$default`` one is not in it."""
    prefix = f"/{stage}"
    if stage and stage != "$default" and (path + "/").startswith(prefix + "/"):
        return path[len(prefix) :] or "/", prefix
    return path, ""


def _unsupported(header: str, message: str) -> UnsupportedMediaType:
    return UnsupportedMediaType(errors=(FieldError(header, message),))
