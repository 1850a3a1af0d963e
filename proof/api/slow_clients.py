"""Clients that take their time: they hold their own connection, and nobody else's."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

from proof.api.wire import Reply, Target, well_formed

SLOW_CLIENTS = 60
"""Less than half of the connections that the local server has."""

CALLS = 20

UNFINISHED = (
    b"",
    b"P",
    b"POST /v1/jobs HTTP/1.1\r\nHo",
    b"POST /v1/jobs HTTP/1.1\r\nX-Slow: " + b"x" * 1000,
    b"POST /v1/jobs HTTP/1.1\r\n" + b"X-A: 1\r\n" * 50,
)
"""How far they come: the head never ends. One more kind promises a body and sends half of it."""


def slow_clients(target: Target) -> Iterator[tuple[str, Reply | None, list[str]]]:
    """Hold many connections open, letter by letter, and see that others are served meanwhile."""
    with ExitStack() as stack:
        held = [_hold(stack, target, number) for number in range(SLOW_CLIENTS)]
        for number in range(CALLS):
            for connection in held[number::CALLS]:
                connection.sendall(b"x")
            reply = target.request("GET", "/v1/health")
            yield "a call beside slow ones", reply, [] if reply.status == 200 else ["not served"]
    reply = target.request("GET", "/v1/health")
    yield "a call after slow ones", reply, [] if reply.status == 200 else ["not served"]


def _hold(stack: ExitStack, target: Target, number: int) -> socket.socket:
    connection = stack.enter_context(target.connect())
    kinds = len(UNFINISHED) + 1
    if number % kinds < len(UNFINISHED):
        connection.sendall(UNFINISHED[number % kinds])
    else:
        # The body of a job that nobody ever sent whole must not become one.
        whole = well_formed(target, "POST", "/v1/jobs", b'{"handler": "echo", "id": "never-sent"}')
        connection.sendall(whole[:-20])
    return connection
