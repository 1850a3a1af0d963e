"""What is read of an API Gateway event beside its body: who asks, under which trace, for what."""

from __future__ import annotations

from typing import Any

import pytest

from hourhand.api.http_request import Request, read_event, trace_id_of
from hourhand.api.problems import UnsupportedMediaType
from hourhand.domain.errors import BadRequest, InvalidInput
from tests.functions.api_client import load_event

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def request(**changes: Any) -> Request:
    return read_event({**load_event("http_api_iam"), **changes})


@pytest.mark.parametrize(
    ("headers", "trace_id"),
    [
        ({}, None),
        ({"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}, TRACE),
        ({"traceparent": f"00-{'0' * 32}-00f067aa0ba902b7-01"}, None),
        ({"traceparent": f"ff-{TRACE}-00f067aa0ba902b7-01"}, None),
        ({"traceparent": f"00-{TRACE.upper()}-00f067aa0ba902b7-01"}, None),
        ({"traceparent": "nonsense"}, None),
        ({"x-amzn-trace-id": f"Root=1-{TRACE[:8]}-{TRACE[8:]}"}, TRACE),
        ({"x-amzn-trace-id": f"Self=1-x;Root=1-{TRACE[:8]}-{TRACE[8:]};Sampled=1"}, TRACE),
        ({"x-amzn-trace-id": f"Root=1-{TRACE}"}, None),
        (
            {
                "traceparent": f"00-{TRACE}-00f067aa0ba902b7-01",
                "x-amzn-trace-id": "Root=1-69200b1c-3a1f5c7e9b2d4f6081a3c5e7",
            },
            TRACE,
        ),
        (
            {
                "traceparent": "nonsense",
                "x-amzn-trace-id": "Root=1-69200b1c-3a1f5c7e9b2d4f6081a3c5e7",
            },
            "69200b1c3a1f5c7e9b2d4f6081a3c5e7",
        ),
    ],
)
def test_the_trace_is_the_callers_own_if_it_is_valid(
    headers: dict[str, str], trace_id: str | None
) -> None:
    assert trace_id_of(headers) == trace_id


def test_a_recorded_event_of_a_stage_is_read() -> None:
    read = read_event(load_event("http_api_jwt"))
    assert (read.method, read.path, read.stage_prefix) == ("GET", "/v1/jobs", "/prod")
    assert read.query() == {"status": "PENDING", "tag": "customer:42", "limit": "10"}
    assert read.authorizer["jwt"]["claims"]["sub"] == "auth0|5f7c8ec7c33c6c004bbafe82"
    assert read.trace_id == TRACE
    assert not read.has_body


def test_a_path_that_only_begins_like_the_stage_is_left_alone() -> None:
    event = load_event("http_api_jwt")
    assert read_event({**event, "rawPath": "/production/v1"}).path == "/production/v1"
    assert read_event({**event, "rawPath": "/prod"}).path == "/"


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "Application/JSON ; charset=UTF-8", 'application/json;charset="utf-8"'],
)
def test_json_is_read_whatever_the_case_of_its_type(content_type: str) -> None:
    assert request(headers={"Content-Type": content_type}).json() == {"handler": "greet"}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "application/json; charset=latin-1"},
        {"content-type": "application/jsonp"},
        {"content-type": "application/json", "content-encoding": "gzip"},
    ],
)
def test_no_other_type_of_body_is_taken(headers: dict[str, str]) -> None:
    with pytest.raises(UnsupportedMediaType):
        request(headers=headers).json()


@pytest.mark.parametrize("body", ["/w==", "no base64", "e30"])
def test_a_base64_body_must_be_utf_8_in_base64(body: str) -> None:
    with pytest.raises(BadRequest):
        request(body=body, isBase64Encoded=True).json()


@pytest.mark.parametrize("body", [None, "", "  \n", "\t\r\n "])
def test_an_absent_body_is_told_as_such(body: str | None) -> None:
    assert not request(body=body).has_body
    with pytest.raises(BadRequest, match="required"):
        request(body=body).json()


@pytest.mark.parametrize("body", ["\x1c", "\x1d", "\x1f \n", "\x0b", "\x85", "\u2003"])
def test_what_python_takes_for_white_space_and_json_does_not_is_a_body(body: str) -> None:
    assert request(body=body).has_body
    with pytest.raises(BadRequest) as raised:
        request(body=body).json()
    assert "required" not in raised.value.detail


def test_a_query_field_may_come_once() -> None:
    with pytest.raises(InvalidInput) as caught:
        request(rawQueryString="status=DEAD&limit=5&status=PENDING").query()
    assert [fault.field for fault in caught.value.errors] == ["status"]


def test_a_query_has_a_bounded_number_of_fields() -> None:
    with pytest.raises(InvalidInput):
        request(rawQueryString="&".join(f"f{n}=1" for n in range(51))).query()
