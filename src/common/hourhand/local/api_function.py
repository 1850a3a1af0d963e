"""The API function in this process.

It reports its requests, and is replaced when the handlers change.
"""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from hourhand.local.entry_points import Handler
from hourhand.local.events import ApiAnswered, Listener
from hourhand.local.gateway_events import answer_body, gateway_event
from hourhand.local.lambda_context import LocalContext
from hourhand.local.log_lines import read_line

NAME = "api"


class ApiFunction:
    """An entry point for the HTTP server. ``load`` returns a new instance of the function."""

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
                path=event["rawPath"],
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
