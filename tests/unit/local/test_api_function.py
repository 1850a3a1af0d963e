"""The API function in the cloud's own process."""

from __future__ import annotations

import base64
import sys
from typing import Any

from hourhand.local.entry_points import LocalContext
from hourhand.local.events import ApiAnswered, News, Printed
from hourhand.local.http_server import ApiFunction

EVENT = {"rawPath": "/v1/jobs", "requestContext": {"http": {"method": "GET", "path": "/v1/jobs"}}}
CONTEXT = LocalContext(function_name="api", aws_request_id="r-1")


class Loads:
    """Makes new instances of a function; each tells its number, and prints when it is wired."""

    def __init__(self) -> None:
        self.number = 0

    def __call__(self) -> Any:
        self.number += 1
        number = self.number

        def handler(event: Any, _: Any) -> dict[str, Any]:
            if event["rawPath"] == "/v1/health":
                sys.stdout.write(f"wired {number}\n")
            return {"statusCode": 200, "body": str(number)}

        return handler


def test_each_answer_is_told() -> None:
    heard: list[News] = []
    api = ApiFunction(Loads(), heard.append)
    heard.clear()
    assert api(EVENT, CONTEXT)["body"] == "1"
    assert heard == [ApiAnswered(method="GET", path="/v1/jobs", status=200, body="1")]


def test_the_token_of_a_callback_is_not_told() -> None:
    heard: list[News] = []
    api = ApiFunction(Loads(), heard.append)
    api({**EVENT, "rawPath": "/v1/callbacks/cb_secret/fail"}, CONTEXT)
    assert isinstance(heard[-1], ApiAnswered)
    assert heard[-1].path == "/v1/callbacks/{token}/fail"


def test_a_large_answer_is_told_as_it_reads_not_as_it_travels() -> None:
    def handler(_: Any, __: Any) -> dict[str, Any]:
        body = base64.b64encode(b'{"id": "j1"}').decode()
        return {"statusCode": 200, "body": body, "isBase64Encoded": True}

    heard: list[News] = []
    ApiFunction(lambda: handler, heard.append)(EVENT, CONTEXT)
    assert heard == [ApiAnswered(method="GET", path="/v1/jobs", status=200, body='{"id": "j1"}')]


def test_what_the_function_writes_when_it_is_wired_is_told_not_printed(capsys: Any) -> None:
    heard: list[News] = []
    ApiFunction(Loads(), heard.append)
    assert heard == [Printed(name="api", line="wired 1")]
    assert capsys.readouterr().out == ""


def test_a_reload_answers_with_a_new_instance() -> None:
    api = ApiFunction(Loads(), lambda _: None)
    api.reload()
    assert api(EVENT, CONTEXT)["body"] == "2"
