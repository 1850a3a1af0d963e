"""An answer is the same however it was cut on its way, and is there only once it is whole."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection

import pytest
from botocore.exceptions import ConnectionClosedError
from hypothesis import given
from hypothesis import strategies as st

from hourhand.aws.lean._lines import Answer, Connection, Endpoint
from tests.examples import examples

BODY = b'{"Items": []}'
OK = b"HTTP/1.1 200 OK\r\n"
SIZED = OK + b"Content-Length: 13\r\nX: y\r\n\r\n" + BODY
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\n" + BODY[:5] + b"\r\n8\r\n" + BODY[5:]
CHUNKED += b"\r\n0\r\n\r\n"
AFTER_ANOTHER = b"HTTP/1.1 100 Continue\r\n\r\n" + SIZED
BY_BARE_LINES = SIZED.replace(b"\r\n", b"\n")
EMPTY = b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n"
TILL_ITS_END = OK + b"\r\n" + BODY

WITH_AN_END = [SIZED, CHUNKED, AFTER_ANOTHER, BY_BARE_LINES, EMPTY]


@contextmanager
def line_to() -> Iterator[tuple[Connection, socket.socket]]:
    """Yield a line on which an answer is due, and its other end."""
    here, there = socket.socketpair()
    line = Connection(Endpoint(url="http://127.0.0.1:1", connect_timeout=1, read_timeout=1))
    line._connection = HTTPConnection("127.0.0.1", 1)
    line._connection.sock = here
    line.send({}, b"")
    there.recv(1000)
    with there:
        yield line, there
    line.close()


def pieces_of(answer: bytes, cuts: set[int]) -> list[bytes]:
    places = [0, *sorted(cut for cut in cuts if 0 < cut < len(answer)), len(answer)]
    return [answer[start:end] for start, end in itertools.pairwise(places)]


@examples(60)
@given(st.sampled_from(WITH_AN_END), st.sets(st.integers(1, 120)))
def test_it_is_whole_with_its_last_byte_and_not_before(answer: bytes, cuts: set[int]) -> None:
    *earlier, last = pieces_of(answer, cuts)
    with line_to() as (line, there):
        assert line.take() is None
        for piece in earlier:
            there.sendall(piece)
            assert line.take() is None
            assert not line.is_free
        there.sendall(last)
        told = line.take()
        assert isinstance(told, Answer)
        assert told.body == (b"" if answer is EMPTY else BODY)
        assert line.is_free


def test_one_without_a_length_is_whole_when_the_line_ends() -> None:
    with line_to() as (line, there):
        for piece in pieces_of(TILL_ITS_END, {3, 20, 25}):
            there.sendall(piece)
            assert line.take() is None
        there.shutdown(socket.SHUT_WR)
        told = line.take()
        assert told is not None
        assert told.body == BODY
        assert not line.is_free


@examples(60)
@given(st.sampled_from(WITH_AN_END), st.integers(0, 120))
def test_one_that_was_cut_off_is_none(answer: bytes, length: int) -> None:
    with line_to() as (line, there):
        # Of what follows the last of its bytes nothing depends.
        there.sendall(answer[: min(length, answer.rfind(BODY[-1:]))])
        line.take()
        there.shutdown(socket.SHUT_WR)
        with pytest.raises(ConnectionClosedError):
            # It may have been all that there was to take.
            line.take()
        assert not line.is_free


def test_the_next_answer_is_not_in_the_light_of_the_last() -> None:
    with line_to() as (line, there):
        there.sendall(OK + b"Content-Length: 1000\r\n\r\n" + b"x" * 1000)
        assert line.take() is not None
        line.send({}, b"")
        there.sendall(SIZED)
        told = line.take()
        assert told is not None
        assert told.body == BODY


def test_a_line_on_which_more_came_than_was_asked_for_is_ended() -> None:
    with line_to() as (line, there):
        there.sendall(SIZED + b"H")
        told = line.take()
        assert told is not None
        assert told.body == BODY
        assert not line.is_free
