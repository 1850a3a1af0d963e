"""The API and the console on loopback, on one port.

The console's page comes from its files; everything else becomes an event of API Gateway for the
function's entry point. Which requests the server answers at all: `hourhand.loopback`.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from hourhand.console.pages import About, Pages
from hourhand.local.gateway_events import answer_body, gateway_event
from hourhand.local.lambda_context import LocalContext
from hourhand.loopback import Reply, Request, RunningServer, serve_loopback

API_SECONDS = 29.0
"""An HTTP API of API Gateway waits at most 30 s for its function."""

_log = logging.getLogger(__name__)

EntryPoint = Callable[[Mapping[str, Any], object], Mapping[str, Any]]


def serve(handler: EntryPoint, host: str = "127.0.0.1", port: int = 8787) -> RunningServer:
    """Answer requests with ``handler``, from threads of their own; port 0 takes a free one.

    Raises `InvalidInput` for a host that is not loopback and for a port that cannot be had.
    """
    pages = Pages(About())

    def respond(request: Request) -> Reply:
        return pages.find(request) or _call(handler, request)

    return serve_loopback(respond, host, port)


def _call(handler: EntryPoint, request: Request) -> Reply:
    request_id = str(uuid.uuid4())
    event = gateway_event(
        # The entry point need not know HEAD: it is GET, whose body is not sent.
        method="GET" if request.method == "HEAD" else request.method,
        target=request.target,
        headers=request.headers.items(),
        body=request.body,
        request_id=request_id,
        now=datetime.now(UTC),
    )
    context = LocalContext(
        function_name="api", aws_request_id=request_id, limit_seconds=API_SECONDS
    )
    try:
        answer = handler(event, context)
    except Exception:  # noqa: BLE001 - whatever it raised, the client gets an answer
        # As API Gateway does when a function fails.
        _log.exception("The API function failed.")
        body = json.dumps({"message": "Internal Server Error"}).encode()
        return Reply(500, {"content-type": "application/json"}, body)
    headers = answer.get("headers") or {}
    return Reply(answer["statusCode"], headers, answer_body(dict(answer)))
