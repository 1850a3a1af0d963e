"""The API and the console on loopback, on one port, and the API function in this process.

The console's page comes from its files; everything else becomes an event of API Gateway for the
function's entry point. Which requests the server answers at all: `hourhand.loopback`.
"""

from __future__ import annotations

import io
import json
import logging
import threading
import uuid
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from hourhand.console.pages import About, Pages
from hourhand.domain.runs.tokens import hide_token
from hourhand.local.entry_points import Handler, LocalContext
from hourhand.local.events import ApiAnswered, Listener
from hourhand.local.lambda_events import answer_body, gateway_event
from hourhand.local.log_lines import read_line
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


NAME = "api"


class ApiFunction:
    """An entry point for the HTTP server, which is replaced when the handlers change.

    ``load`` returns a new instance of the function. Each answer is told to a listener.
    """

    def __init__(self, load: Callable[[], Handler], tell: Listener) -> None:
        """Load the first instance."""
        self._load = load
        self._tell = tell
        self._handler = self._fresh()

    def __call__(self, event: Mapping[str, Any], context: object) -> Mapping[str, Any]:
        """Answer one request."""
        answer: Mapping[str, Any] = self._handler(event, context)
        request = event["requestContext"]["http"]
        self._tell(
            ApiAnswered(
                method=request["method"],
                path=hide_token(event["rawPath"]),
                status=answer["statusCode"],
                # Large answers travel in base64, as they do through API Gateway.
                body=answer_body(dict(answer)).decode(),
            )
        )
        return answer

    def reload(self) -> None:
        """Replace the function, as a deployment does: the new one reads the manifest again."""
        self._handler = self._fresh()

    def _fresh(self) -> Handler:
        handler = self._load()
        # The first request wires it; its log goes to wherever standard output points then.
        with redirect_stdout(_Lines(lambda line: self._tell(read_line(NAME, line)))):
            answer = handler(_health_check(), LocalContext(function_name=NAME, aws_request_id="-"))
        assert answer["statusCode"] == HTTPStatus.OK, json.dumps(answer)
        return handler


def _health_check() -> dict[str, Any]:
    return gateway_event(
        method="GET",
        target="/v1/health",
        headers=[],
        body=b"",
        request_id="-",
        now=datetime.now(UTC),
    )


class _Lines(io.TextIOBase):
    """A text stream that passes on each whole line that is written to it, by any thread."""

    def __init__(self, pass_on: Callable[[str], None]) -> None:
        self._pass_on = pass_on
        self._rest = ""
        self._lock = threading.Lock()

    def write(self, text: str) -> int:
        with self._lock:
            *lines, self._rest = (self._rest + text).split("\n")
            for line in lines:
                self._pass_on(line)
        return len(text)
