"""The demo's way in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.local.demo.client import Answer, ApiClient
from hourhand.local.http_server import serve


def echo(event: Any, _: Any) -> dict[str, Any]:
    request = event["requestContext"]["http"]
    body = {"method": request["method"], "path": event["rawPath"], "body": event.get("body")}
    return {"statusCode": 202, "body": json.dumps(body)}


def test_a_request_is_answered_with_status_and_json() -> None:
    server = serve(echo, port=0)
    client = ApiClient("127.0.0.1", server.port)
    assert client.get("/v1/jobs") == Answer(
        202, {"method": "GET", "path": "/v1/jobs", "body": None}
    )
    answer = client.post("/v1/jobs", {"handler": "greet"})
    assert json.loads(answer.body["body"]) == {"handler": "greet"}
    assert client.put("/v1/schedules/s", {}).body["method"] == "PUT"
    assert client.delete("/v1/schedules/s").body["method"] == "DELETE"
    client.close()
    server.close()


def test_a_server_that_is_gone_is_told() -> None:
    server = serve(echo, port=0)
    client = ApiClient("127.0.0.1", server.port)
    server.close()
    with pytest.raises(Unavailable, match="GET /v1/jobs had no answer"):
        client.get("/v1/jobs")
