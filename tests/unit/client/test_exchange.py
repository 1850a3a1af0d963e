"""When a request is sent again, when it must not be, and what is said when it failed."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest

from hourhand.client import (
    ClientError,
    Conflict,
    Invalid,
    NotFound,
    ServerFailed,
    Throttled,
    TooLarge,
    Unauthorised,
    UnexpectedAnswer,
    Unreachable,
)
from hourhand.client._http import MAX_ANSWER_BYTES
from tests.unit.client.callers import Caller, PausingClock, Script, job_answer, problem

Calling = Callable[..., Caller]

LOST = httpx.ReadTimeout("")
NO_CONNECTION = httpx.ConnectError("Connection refused")
THROTTLED = httpx.Response(429, json={"message": "Too Many Requests"})


@pytest.mark.parametrize(
    "failure",
    [
        LOST,
        NO_CONNECTION,
        httpx.RemoteProtocolError("Server disconnected"),
        THROTTLED,
        problem(500, "internal_error"),
        problem(503, "unavailable"),
        httpx.Response(502, text="<html>"),
        httpx.Response(504, json={"message": "Endpoint request timed out"}),
    ],
)
def test_what_may_succeed_later_is_tried_again_until_it_does(
    calling: Calling, failure: Any
) -> None:
    caller = calling(Script(failure, failure, job_answer()))

    assert caller("get", "j1").id == "j1"
    assert len(caller.requests) == 3
    assert len(caller.clock.pauses) == 2


def test_tries_end_at_the_number_that_was_given(calling: Calling) -> None:
    caller = calling(Script(THROTTLED), max_attempts=3)

    with pytest.raises(Throttled):
        caller("get", "j1")
    assert len(caller.requests) == 3


def test_pauses_are_random_and_longer_each_time_up_to_a_bound(calling: Calling) -> None:
    caller = calling(Script(THROTTLED), max_attempts=9)

    with pytest.raises(Throttled):
        caller("get", "j1")
    longest = [0.25, 0.5, 1, 2, 4, 8, 8, 8]
    assert all(p <= most for p, most in zip(caller.clock.pauses, longest, strict=True))
    assert len(set(caller.clock.pauses)) == len(longest)


@pytest.mark.parametrize("in_seconds", [True, False])
def test_who_asks_to_be_left_alone_is_left_alone_for_as_long(
    calling: Calling, in_seconds: bool
) -> None:
    clock = PausingClock()
    until = format_datetime(clock.now() + timedelta(seconds=7), usegmt=True)
    header = {"retry-after": "7" if in_seconds else until}
    caller = calling(Script(httpx.Response(429, headers=header), job_answer()), clock=clock)

    caller("get", "j1")

    assert 7 <= clock.pauses[0] < 8


@pytest.mark.parametrize("header", ["soon", "-3", "1e9", "", "Mon, 05 Jan 2026 08:00:00 -0000"])
def test_a_retry_after_that_says_nothing_is_no_reason_to_wait_longer(
    calling: Calling, header: str
) -> None:
    throttled = httpx.Response(429, headers={"retry-after": header})
    caller = calling(Script(throttled, job_answer()))

    caller("get", "j1")

    assert caller.clock.pauses[0] < 1


def test_who_asks_to_be_left_alone_for_long_is_obeyed_by_giving_up(calling: Calling) -> None:
    caller = calling(Script(httpx.Response(429, headers={"retry-after": "3600"})))

    with pytest.raises(Throttled) as raised:
        caller("get", "j1")
    assert raised.value.retry_after_seconds == 3600
    assert len(caller.requests) == 1


@pytest.mark.parametrize("failure", [NO_CONNECTION, THROTTLED, problem(503, "unavailable")])
def test_a_trigger_is_tried_again_where_it_was_certainly_not_done(
    calling: Calling, failure: Any
) -> None:
    caller = calling(Script(failure, job_answer(201)))

    assert caller("schedules.trigger", "nightly").id == "j1"


@pytest.mark.parametrize(
    "failure", [LOST, httpx.Response(504), problem(500, "internal_error"), httpx.WriteError("")]
)
def test_a_trigger_that_may_have_been_done_is_not_done_twice(
    calling: Calling, failure: Any
) -> None:
    caller = calling(Script(failure, job_answer(201)))

    with pytest.raises(ClientError) as raised:
        caller("schedules.trigger", "nightly")
    assert raised.value.may_have_happened
    assert len(caller.requests) == 1


def test_a_refusal_after_a_lost_answer_says_that_it_may_be_the_own_doing(
    calling: Calling,
) -> None:
    caller = calling(Script(LOST, problem(409, "wrong_state")))

    with pytest.raises(Conflict, match="The answer to an earlier try was lost") as raised:
        caller("redrive", "j1")
    assert raised.value.may_have_happened


def test_a_refusal_at_once_says_nothing_of_lost_answers(calling: Calling) -> None:
    caller = calling(Script(problem(409, "wrong_state")))

    with pytest.raises(Conflict) as raised:
        caller("redrive", "j1")
    assert not raised.value.may_have_happened
    assert str(raised.value) == "D."


@pytest.mark.parametrize("name", ["schedules.delete", "calendars.delete"])
def test_what_is_gone_after_a_lost_delete_is_deleted(calling: Calling, name: str) -> None:
    caller = calling(Script(LOST, problem(404, "not_found")))

    assert caller(name, "nightly") is None


def test_what_never_was_cannot_be_deleted(calling: Calling) -> None:
    caller = calling(Script(problem(404, "not_found")))

    with pytest.raises(NotFound):
        caller("schedules.delete", "nightly")


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (400, "bad_request", Invalid),
        (404, "not_found", NotFound),
        (405, "method_not_allowed", Invalid),
        (409, "idempotency_conflict", Conflict),
        (413, "too_large", TooLarge),
        (415, "unsupported_media_type", Invalid),
        (422, "not_supported_yet", Invalid),
        (500, "internal_error", ServerFailed),
        (503, "written_by_newer", ServerFailed),
    ],
)
def test_a_problem_is_an_exception_with_its_fields(
    calling: Calling, status: int, code: str, expected: type[ClientError]
) -> None:
    errors = [{"field": "run_at", "message": "must be a time"}]
    caller = calling(Script(problem(status, code, errors=errors)), max_attempts=1)

    with pytest.raises(expected) as raised:
        caller("get", "j1")
    error = raised.value
    assert type(error) is expected
    assert (error.status, error.code, error.title, error.detail) == (status, code, "T", "D.")
    assert [(e.field, e.message) for e in error.errors] == [("run_at", "must be a time")]
    assert str(error) == "D. run_at must be a time."


@pytest.mark.parametrize(
    ("status", "body", "expected", "said"),
    [
        (401, {"message": "Unauthorized"}, Unauthorised, "requires a valid token .* Unauthorized"),
        (403, {"message": "Forbidden"}, Unauthorised, "lacks execute-api:Invoke.* Forbidden"),
        (403, {"Message": "User: x is not authorized"}, Unauthorised, "User: x is not"),
        (404, {"message": "Not Found"}, NotFound, "no such route.* Not Found"),
        (413, {"message": "Request Entity Too Large"}, TooLarge, "request is too large"),
        (429, {"message": "Too Many Requests"}, Throttled, "receives too many requests"),
        (500, {"message": "Internal Server Error"}, ServerFailed, "answered 500, but not by"),
        (503, {"message": "Service Unavailable"}, ServerFailed, "Service Unavailable"),
        (418, [], ClientError, "answered 418"),
        (302, "away", UnexpectedAnswer, "answered 302"),
        (400, {"detail": 5, "type": "urn"}, Invalid, "answered 400"),
    ],
)
def test_what_stands_before_the_api_is_understood(
    calling: Calling, status: int, body: Any, expected: type[ClientError], said: str
) -> None:
    caller = calling(Script(httpx.Response(status, json=body)), max_attempts=1)

    with pytest.raises(expected, match=said) as raised:
        caller("get", "j1")
    assert type(raised.value) is expected
    assert raised.value.status == status
    assert raised.value.code == expected.default_code


@pytest.mark.parametrize("body", [b"", b"<html>", b"[" * 100_000, b"\xff\xfe", b'{"message": {}}'])
def test_a_failure_without_words_is_told_all_the_same(calling: Calling, body: bytes) -> None:
    caller = calling(Script(httpx.Response(403, content=body)))

    with pytest.raises(Unauthorised, match=r"lacks execute-api:Invoke"):
        caller("get", "j1")


def test_what_a_failure_says_is_told_in_part_if_it_is_long(calling: Calling) -> None:
    caller = calling(Script(httpx.Response(403, json={"message": "x" * 100_000})))

    with pytest.raises(Unauthorised) as raised:
        caller("get", "j1")
    assert len(str(raised.value)) < 1000


def test_a_gateway_that_wants_a_token_says_what_was_wrong_with_it(calling: Calling) -> None:
    header = {"www-authenticate": 'Bearer error_description="the token has expired"'}
    caller = calling(Script(httpx.Response(401, headers=header)))

    with pytest.raises(Unauthorised, match="the token has expired"):
        caller("get", "j1")


@pytest.mark.parametrize(
    "errors", [None, 5, ["x"], [{"field": 1}], [{"field": "a", "message": None}] * 1000]
)
def test_a_problem_whose_errors_make_no_sense_is_told_all_the_same(
    calling: Calling, errors: Any
) -> None:
    caller = calling(Script(problem(422, "invalid", errors=errors, title=None)))

    with pytest.raises(Invalid) as raised:
        caller("get", "j1")
    assert len(raised.value.errors) <= 100
    assert raised.value.title


def test_an_endpoint_that_does_not_answer_is_named_with_the_reason(calling: Calling) -> None:
    caller = calling(Script(NO_CONNECTION), max_attempts=2)

    with pytest.raises(Unreachable) as raised:
        caller("get", "j1")
    error = raised.value
    assert str(error) == (
        "http://127.0.0.1:8787 did not answer GET /v1/jobs/j1: Connection refused; "
        "is hourhand dev running there? Another address is set by HOURHAND_ENDPOINT, or for "
        "commands by --endpoint or `hourhand context`."
    )
    assert (error.status, error.code, error.may_have_happened) == (None, "unreachable", False)


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (httpx.ReadTimeout(""), "it took longer than 30 s."),
        (httpx.ConnectTimeout(""), "connecting took longer than 10 s."),
        (httpx.RemoteProtocolError(""), "RemoteProtocolError."),
        (httpx.RemoteProtocolError("It broke."), "It broke."),
    ],
)
def test_why_there_was_no_answer_is_told(calling: Calling, failure: Exception, said: str) -> None:
    caller = calling(Script(failure), max_attempts=1)

    with pytest.raises(Unreachable, match=f"{re.escape(said)}$"):
        caller("get", "j1")


def test_an_answer_of_endless_size_is_not_kept(calling: Calling) -> None:
    caller = calling(Script(httpx.Response(200, content=b" " * (MAX_ANSWER_BYTES + 1))))

    with pytest.raises(Unreachable, match="larger than 16,777,216 bytes"):
        caller("get", "j1")


def test_an_answer_that_trickles_in_is_given_up(calling: Calling) -> None:
    clock = PausingClock()

    class Slow(httpx.SyncByteStream, httpx.AsyncByteStream):
        def __iter__(self) -> Any:
            for _ in range(60):
                clock.advance(1)
                yield b" "

        async def __aiter__(self) -> Any:
            for part in self:
                yield part

    answer = Script(lambda _: httpx.Response(200, stream=Slow()))
    caller = calling(answer, clock=clock, max_attempts=1)

    with pytest.raises(Unreachable, match="came too slowly"):
        caller("get", "j1")


def test_an_address_on_this_machine_that_was_chosen_is_not_explained(calling: Calling) -> None:
    caller = calling(Script(NO_CONNECTION), endpoint="http://127.0.0.1:9000", max_attempts=1)

    with pytest.raises(Unreachable, match=r"is hourhand dev running there\?$"):
        caller("get", "j1")


def test_who_asks_another_machine_is_not_asked_about_this_one(calling: Calling) -> None:
    endpoint = "https://jobs.example.com"
    caller = calling(Script(NO_CONNECTION), endpoint=endpoint, token="t", max_attempts=1)

    with pytest.raises(Unreachable, match=r"Connection refused; check the URL and the network\.$"):
        caller("get", "j1")
