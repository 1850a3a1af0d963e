"""Calls the API function as API Gateway does: with events made from recorded ones."""

from __future__ import annotations

import base64
import json
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hourhand.api.app import App
from hourhand.api.json_text import write_json
from tests.functions.documented import META_PATHS, require_documented

EVENTS = Path(__file__).parent / "events"

ALICE = "arn:aws:sts::123456789012:assumed-role/Submitter/alice@example.com"
"""The caller of the recorded events that IAM authorised."""


def load_event(name: str) -> dict[str, Any]:
    """Return a recorded event."""
    event: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text(encoding="utf-8"))
    return event


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def fields(self) -> list[str]:
        """The fields that a problem names."""
        assert self.headers["content-type"] == "application/problem+json"
        return [error["field"] for error in self.json.get("errors", [])]


def read_answer(answer: dict[str, Any]) -> Response:
    """Return what a caller gets of the function's answer."""
    # Lambda answers JSON or not at all.
    assert len(json.dumps(answer, ensure_ascii=False).encode()) <= 6_291_556
    body = answer["body"]
    text = base64.b64decode(body).decode() if answer["isBase64Encoded"] else body
    return Response(answer["statusCode"], answer["headers"], text)


class ApiClient:
    """Sends requests to an app, and holds every answer against the OpenAPI document.

    ``body`` is a value for JSON; ``text`` a body as it stands.
    """

    def __init__(self, app: App) -> None:
        self.app = app
        self.template = load_event("http_api_iam")

    def send(
        self,
        method: str,
        target: str,
        body: Any = ...,
        *,
        text: str | None = None,
        base64_body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Response:
        event = deepcopy(self.template)
        path, _, query = target.partition("?")
        event["rawPath"] = event["requestContext"]["http"]["path"] = path
        event["rawQueryString"] = query
        event["requestContext"]["http"]["method"] = method
        event["headers"].update(headers or {})
        if base64_body is not None:
            event["body"] = base64.b64encode(base64_body).decode()
            event["isBase64Encoded"] = True
        elif text is not None or body is not ...:
            event["body"] = write_json(body) if text is None else text
        else:
            del event["body"]
        response = read_answer(self.app(event, None))
        if response.text and method != "HEAD" and path not in META_PATHS:
            require_documented(method, path, response.status, response.headers, response.json)
        return response

    def get(self, target: str) -> Response:
        return self.send("GET", target)

    def post(self, target: str, body: Any = ..., **more: Any) -> Response:
        return self.send("POST", target, body, **more)

    def patch(self, target: str, body: Any = ..., **more: Any) -> Response:
        return self.send("PATCH", target, body, **more)

    def submit(self, **body: Any) -> Any:
        """Submit a job of handler ``greet`` and return it."""
        response = self.post("/v1/jobs", {"handler": "greet", **body})
        assert response.status in {200, 201}, response.text
        return response.json
