"""The demo's way in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hourhand.local.demo.client import DemoFailed, client_of, failures_told
from hourhand.local.http_server import serve


class Failing:
    """An API that fails, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, event: Any, _: Any) -> dict[str, Any]:
        self.asked += 1
        problem = {"type": "urn:hourhand:unavailable", "title": "No", "detail": "The table rests."}
        headers = {"content-type": "application/problem+json"}
        return {"statusCode": 503, "headers": headers, "body": json.dumps(problem)}


def test_what_the_api_fails_to_do_ends_the_demo_and_is_not_tried_again() -> None:
    api = Failing()
    server = serve(api, port=0)
    with (
        client_of(f"http://127.0.0.1:{server.port}") as client,
        pytest.raises(DemoFailed, match="The table rests"),
        failures_told(),
    ):
        client.get("j")
    server.close()
    assert api.asked == 1


def test_a_server_that_is_gone_ends_the_demo() -> None:
    server = serve(Failing(), port=0)
    server.close()
    with (
        client_of(f"http://127.0.0.1:{server.port}") as client,
        pytest.raises(DemoFailed, match="did not answer GET /v1/jobs/j"),
        failures_told(),
    ):
        client.get("j")


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(KeyError), failures_told():
        raise KeyError
