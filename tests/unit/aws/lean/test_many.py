"""Many calls at once by one thread: each is told what it alone would be, in the order asked."""

from __future__ import annotations

import itertools
import json
import socket
import threading
from collections import Counter
from contextlib import closing
from functools import partial
from http.client import HTTPConnection
from typing import Any

import pytest
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
)
from hypothesis import given
from hypothesis import strategies as st

from hourhand.aws import clients
from hourhand.aws.lean import _client
from hourhand.aws.lean._lines import Answer, Endpoint
from hourhand.aws.lean._round import MOST_LINES, Flight, Lines, Request, Told
from hourhand.aws.parallel_calls import Bulk
from tests.examples import examples
from tests.unit.aws.lean.conftest import boto, lean
from tests.unit.aws.lean.raw_server import (
    Behaviour,
    RawServer,
    cut_off,
    gibberish,
    hung_up,
    raw_server,
    refusing,
    reset,
    whole,
    with_checksum,
)

MANY = 3 * MOST_LINES
WAIT_SECONDS = 30
NOWHERE = "http://127.0.0.1:1"


def asked(count: int) -> list[dict[str, Any]]:
    return [{"Number": number} for number in range(count)]


def number_of(body: bytes) -> int:
    return int(json.loads(body)["Number"])


def echoed(body: bytes) -> Behaviour:
    return whole(200, {"Number": number_of(body)})


def client_of(server: RawServer, *, attempts: int = 1) -> Any:
    return lean(boto("dynamodb", server.url, attempts=attempts))


def kind_of(told: Any) -> Any:
    if isinstance(told, ClientError):
        return told.response["Error"]["Code"]
    return type(told) if isinstance(told, BotoCoreError) else told


# --- order and width ----------------------------------------------------------------------------


def test_answers_are_in_the_order_asked_whoever_answers_first(server: RawServer) -> None:
    all_there = threading.Barrier(MOST_LINES, timeout=WAIT_SECONDS)
    turns = [threading.Event() for _ in range(MOST_LINES + 1)]

    def backwards(body: bytes) -> Behaviour:
        number = number_of(body)
        all_there.wait()
        if number + 1 < MOST_LINES:
            assert turns[number + 1].wait(WAIT_SECONDS)

        def answer(connection: Any) -> bool:
            echoed(body)(connection)
            turns[number].set()
            return True

        return answer

    server.answer_to = backwards
    assert client_of(server).many("BatchGetItem", asked(MOST_LINES)) == asked(MOST_LINES)


def test_each_is_asked_once_over_lines_that_stay_open(server: RawServer) -> None:
    server.answer_to = echoed
    client = client_of(server)
    for _ in range(2):
        assert client.many("BatchGetItem", asked(MANY)) == asked(MANY)
    bodies = Counter(number_of(body) for _, _, body in server.requests)
    assert bodies == dict.fromkeys(range(MANY), 2)
    assert server.connections <= MOST_LINES


def test_there_are_as_many_lines_as_a_boto3_client_of_ours_has_connections() -> None:
    assert MOST_LINES == clients.MAX_CONNECTIONS


def test_nothing_is_asked_for_nothing(server: RawServer) -> None:
    assert client_of(server).many("BatchGetItem", []) == []
    assert server.connections == 0


def test_threads_do_not_read_one_anothers_answers(server: RawServer) -> None:
    server.answer_to = echoed
    client = client_of(server)
    found: list[Any] = []

    def work() -> None:
        found.append(client.many("BatchGetItem", asked(MANY)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_SECONDS)
    assert found == [asked(MANY)] * 4


# --- what goes wrong ----------------------------------------------------------------------------

ODD = [
    refusing("ValidationException"),
    refusing("ThrottlingException"),
    whole(503, b""),
    hung_up,
    reset,
    cut_off,
    gibberish,
    whole(200, b"{"),
    with_checksum({"a": 1}, off_by=1),
    whole(200, {"a": 2}, Connection="close"),
    whole(200, {"a": 3}),
]


@examples(40)
@given(st.lists(st.sampled_from(range(len(ODD))), max_size=2 * MOST_LINES))
def test_each_is_told_what_it_would_be_alone(answers: list[int]) -> None:
    with raw_server() as server:
        server.answer_to = lambda body: ODD[answers[number_of(body)]]
        client = lean(boto("dynamodb", server.url))
        told = client.many("BatchGetItem", asked(len(answers)))
        alone = []
        for each in asked(len(answers)):
            try:
                alone.append(client.batch_get_item(**each))
            except (BotoCoreError, ClientError) as error:
                alone.append(error)
        client.close()
    for together, single in zip(told, alone, strict=True):
        # Many at once may have lost the others' patience before the last of them.
        assert kind_of(together) == kind_of(single) or isinstance(together, BotoCoreError)
    assert [kind_of(t) for t in told[:MOST_LINES]] == [kind_of(a) for a in alone[:MOST_LINES]]


def test_one_that_is_not_answered_holds_up_no_other(server: RawServer) -> None:
    silent = server.silent
    server.answer_to = lambda body: silent if number_of(body) == 3 else echoed(body)
    told = client_of(server).many("BatchGetItem", asked(MANY))
    assert isinstance(told[3], ReadTimeoutError)
    assert told[:3] + told[4:] == asked(MANY)[:3] + asked(MANY)[4:]


def test_what_is_put_off_waits_alone_and_all_else_goes_on(
    server: RawServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Longer than any test: nothing is tried again before all else was answered.
    monkeypatch.setattr(_client, "backoff_seconds", lambda tries, _: 1000.0 * tries)
    seen: Counter[int] = Counter()

    def at_a_later_try(body: bytes) -> Behaviour:
        number = number_of(body)
        seen[number] += 1
        is_put_off = number < 3 and seen[number] <= number + 1
        return refusing("ThrottlingException") if is_put_off else echoed(body)

    server.answer_to = at_a_later_try
    client = client_of(server, attempts=4)
    waits: list[float] = []
    client._sleep = waits.append
    assert client.many("BatchGetItem", asked(MANY)) == asked(MANY)
    order = [number_of(body) for _, _, body in server.requests]
    assert sorted(order[:MANY]) == list(range(MANY)), "the rest waits for what was put off"
    assert Counter(order[MANY:]) == {0: 1, 1: 2, 2: 3}
    assert len(waits) == len(order[MANY:])


def test_tries_end_for_each_by_itself(server: RawServer) -> None:
    server.answer_to = lambda body: (
        refusing("ThrottlingException") if number_of(body) == 1 else echoed(body)
    )
    told = client_of(server, attempts=3).many("BatchGetItem", asked(3))
    assert [kind_of(each) for each in told] == [{"Number": 0}, "ThrottlingException", {"Number": 2}]
    assert Counter(number_of(body) for _, _, body in server.requests) == {0: 1, 1: 3, 2: 1}


def test_once_nobody_answers_the_rest_is_not_begun(server: RawServer) -> None:
    server.answers = [hung_up]
    told = client_of(server).many("BatchGetItem", asked(MANY))
    assert {type(each) for each in told} == {ConnectionClosedError}
    assert MOST_LINES <= len(server.requests) < MANY


def test_as_long_as_some_are_answered_all_are_begun(server: RawServer) -> None:
    # Never as many in a row as there are lines: each line of the half that is not answered is
    # followed by a half that is.
    server.answer_to = lambda body: hung_up if number_of(body) % 2 else echoed(body)
    told = client_of(server).many("BatchGetItem", asked(MANY))
    assert [kind_of(each) for each in told[::2]] == asked(MANY)[::2]
    assert {kind_of(each) for each in told[1::2]} == {ConnectionClosedError}
    assert len(server.requests) == MANY


def test_nobody_there(server: RawServer) -> None:
    client = lean(boto("dynamodb", NOWHERE))
    told = client.many("BatchGetItem", asked(MANY))
    assert {type(each) for each in told} == {EndpointConnectionError}


def test_without_credentials_nothing_is_sent(server: RawServer) -> None:
    client = lean(boto("dynamodb", server.url), lambda: None)
    told = client.many("BatchGetItem", asked(MANY))
    assert {type(each) for each in told} == {NoCredentialsError}
    assert server.requests == []


def test_an_answer_that_comes_in_pieces_holds_up_no_other(server: RawServer) -> None:
    others_are_asked = threading.Event()

    def in_pieces(connection: socket.socket) -> bool:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{")
        assert others_are_asked.wait(WAIT_SECONDS)
        connection.sendall(b'"Number": 0')
        connection.sendall(b"}")
        return True

    def answer(body: bytes) -> Behaviour:
        if len(server.requests) == MANY:
            others_are_asked.set()
        return in_pieces if number_of(body) == 0 else echoed(body)

    server.answer_to = answer
    assert client_of(server).many("BatchGetItem", asked(MANY)) == asked(MANY)


def test_an_answer_that_trickles_has_the_time_of_any_other(server: RawServer) -> None:
    text = json.dumps({"Number": 0, "Long": "x" * 60}).encode()

    def trickling(connection: socket.socket) -> bool:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text))
        for byte in text:
            # Each well before the time is over, all of them long after.
            server.released.wait(0.1)
            connection.sendall(bytes([byte]))
        return True

    server.answer_to = lambda body: trickling if number_of(body) == 0 else echoed(body)
    told = client_of(server).many("BatchGetItem", asked(3))
    assert [kind_of(each) for each in told] == [ReadTimeoutError, {"Number": 1}, {"Number": 2}]


@pytest.mark.parametrize("is_stray_at_once", [True, False])
def test_what_nobody_asked_for_is_nobodys_answer(server: RawServer, is_stray_at_once: bool) -> None:
    is_asked_again = threading.Event()
    all_strayed = threading.Barrier(MOST_LINES + 1, timeout=WAIT_SECONDS)

    def with_stray(body: bytes) -> Behaviour:
        def answer(connection: socket.socket) -> bool:
            echoed(body)(connection)
            if not is_stray_at_once:
                assert is_asked_again.wait(WAIT_SECONDS)
            whole(200, {"Number": -1})(connection)
            all_strayed.wait()
            return True

        return answer if number_of(body) < MOST_LINES else echoed(body)

    def request(number: int) -> Any:
        if number == MOST_LINES:
            is_asked_again.set()
            all_strayed.wait()
        return {"host": "loopback"}, json.dumps({"Number": number}).encode()

    server.answer_to = with_stray
    lines = Lines(Endpoint(url=server.url, connect_timeout=5, read_timeout=5))
    told = lines.post_many(MANY, request)
    assert [json.loads(each.body) for each in told] == asked(MANY)  # type: ignore[union-attr]
    lines.close()


@pytest.mark.parametrize("error", [TimeoutError, socket.gaierror])
def test_who_cannot_be_reached_is_not_waited_for_by_each_line(
    server: RawServer, monkeypatch: pytest.MonkeyPatch, error: type[OSError]
) -> None:
    server.answer_to = echoed
    client = client_of(server)
    tries: list[int] = []

    def connect(_: HTTPConnection) -> None:
        tries.append(1)
        raise error

    monkeypatch.setattr(HTTPConnection, "connect", connect)
    told = client.many("BatchGetItem", asked(MANY))
    assert {type(each) for each in told} <= {ConnectTimeoutError, EndpointConnectionError}
    assert len(tries) == 1


def test_lines_that_are_open_go_on_where_no_other_can_be_made(
    server: RawServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answer_to = echoed
    client = client_of(server)
    client.many("BatchGetItem", asked(2))

    def connect(_: HTTPConnection) -> None:
        raise TimeoutError

    monkeypatch.setattr(HTTPConnection, "connect", connect)
    told = client.many("BatchGetItem", asked(MANY))
    assert Counter(type(each) for each in told) == {ConnectTimeoutError: 1, dict: MANY - 1}
    assert server.connections == 2


def test_a_line_is_made_anew_once_those_that_were_open_are_closed(
    server: RawServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answer_to = lambda body: whole(200, {"Number": number_of(body)}, Connection="close")
    connect, tries = HTTPConnection.connect, itertools.count(1)

    def connect_but_once(connection: HTTPConnection) -> None:
        if next(tries) == 2:
            raise TimeoutError
        connect(connection)

    monkeypatch.setattr(HTTPConnection, "connect", connect_but_once)
    lines = Lines(Endpoint(url=server.url, connect_timeout=5, read_timeout=5))
    told: list[Told | None] = [None] * MANY

    def request(number: int) -> Request:
        return {}, json.dumps({"Number": number}).encode()

    with closing(Flight()) as flight:
        for index in range(MANY):
            flight.begin(lines, partial(request, index), partial(told.__setitem__, index))
        # Not as long as it takes: what is under way ends, or this test would not.
        for _ in range(100 * MANY):
            flight.step()
    assert flight.is_over
    assert Counter(type(each) for each in told) == {ConnectTimeoutError: 1, Answer: MANY - 1}


def test_an_answer_that_is_still_due_is_nobody_elses(server: RawServer) -> None:
    """An interrupted round leaves no line behind on which a stranger's answer arrives."""
    server.answer_to = echoed
    lines = Lines(Endpoint(url=server.url, connect_timeout=5, read_timeout=5))

    def request(number: int) -> Any:
        if number == 5:
            raise KeyboardInterrupt
        return {"host": "loopback"}, json.dumps({"Number": 100 + number}).encode()

    with pytest.raises(KeyboardInterrupt):
        lines.post_many(MOST_LINES, request)
    assert not lines._free
    (told,) = lines.post_many(1, lambda _: ({"host": "loopback"}, b'{"Number": 7}'))
    assert json.loads(told.body) == {"Number": 7}  # type: ignore[union-attr]
    lines.close()


# --- by boto3 -----------------------------------------------------------------------------------


def test_boto3_is_asked_one_by_one_and_told_the_same(server: RawServer) -> None:
    requests = [{"RequestItems": {"jobs": {"Keys": [{"p": {"S": str(n)}}]}}} for n in range(3)]
    found = {"Responses": {"jobs": [{"p": {"S": "x"}}]}}
    server.answers = [whole(200, found), refusing("ValidationException"), whole(200, found)]
    client = boto("dynamodb", server.url)
    told: list[Any] = Bulk(client).each("BatchGetItem", requests)
    assert [kind_of(told[1])] == ["ValidationException"]
    assert [each["Responses"] for each in (told[0], told[2])] == [found["Responses"]] * 2


def test_boto3_is_asked_no_more_once_nobody_answers(server: RawServer) -> None:
    server.answers = [hung_up]
    told = Bulk(boto("dynamodb", server.url)).each("BatchGetItem", [{"RequestItems": {}}] * 3)
    assert [type(each) for each in told] == [ConnectionClosedError] * 3
    assert len(server.requests) == 1
