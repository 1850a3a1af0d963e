"""Ports in another process: what a caller does cannot keep the others from theirs."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from multiprocessing import AuthenticationError

import pytest

from hourhand.local.remote_ports import PortServer, RemotePorts

KEY = b"key"


class Echo:
    def say(self, word: str) -> str:
        return word


@pytest.fixture
def server() -> Iterator[PortServer]:
    with contextlib.closing(PortServer({"echo": Echo()}, KEY)) as server:
        yield server


def test_a_caller_that_stops_while_it_connects_keeps_no_other_out(server: PortServer) -> None:
    with socket.socket(socket.AF_UNIX) as stopped:
        # Connected, and silent: as a process that got SIGSTOP.
        stopped.connect(server.address)
        assert RemotePorts(server.address, KEY).echo.say("hello") == "hello"


def test_a_caller_without_the_key_is_refused(server: PortServer) -> None:
    with pytest.raises(AuthenticationError):
        RemotePorts(server.address, b"another").echo.say("hello")
    assert RemotePorts(server.address, KEY).echo.say("hello") == "hello"
