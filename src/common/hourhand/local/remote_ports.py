"""Ports whose adapters live in another process of this machine.

A call is one pickled tuple there and one back, over a socket that only this cloud's processes
have the key of. A thread of the caller has a connection of its own, and so has a thread here.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Mapping
from multiprocessing import AuthenticationError
from multiprocessing.connection import (
    Client,
    Connection,
    Listener,
    answer_challenge,
    deliver_challenge,
)
from typing import Any

from hourhand.domain.errors import Unavailable


class PortServer:
    """Answers calls of ``ports``, by name, until it is closed. They must be safe for threads."""

    def __init__(self, ports: Mapping[str, object], key: bytes) -> None:
        """Listen at an address of the system's choice."""
        self._ports, self._key = ports, key
        self._is_closed = False
        # The backlog: every thread of every process may connect at the same moment.
        self._listener = Listener(backlog=64)
        self._thread = threading.Thread(target=self._accept, name="ports", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """Where it listens."""
        return str(self._listener.address)

    def close(self) -> None:
        """Accept no more. Connections end with the processes that opened them."""
        self._is_closed = True
        # Closing alone does not wake a thread that waits in accept().
        with contextlib.suppress(OSError, EOFError):
            Client(self._listener.address).close()
        self._thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while not self._is_closed:
            # A caller that died before it was accepted is no reason to end.
            with contextlib.suppress(Exception):
                connection = self._listener.accept()
                threading.Thread(
                    target=self._serve, args=(connection,), name="port-calls", daemon=True
                ).start()

    def _serve(self, connection: Connection) -> None:
        with connection:
            # In the caller's own thread: one that stops here must not keep the others out.
            try:
                deliver_challenge(connection, self._key)
                answer_challenge(connection, self._key)
            except (AuthenticationError, EOFError, OSError):
                return
            while True:
                try:
                    port, method, arguments, named = connection.recv()
                except (EOFError, OSError):
                    return
                answer: tuple[bool, Any]
                try:
                    answer = True, getattr(self._ports[port], method)(*arguments, **named)
                except Exception as error:  # noqa: BLE001 (raised where the call was made)
                    answer = False, error
                with contextlib.suppress(OSError):
                    connection.send(answer)


class RemotePorts:
    """The ports at an address. Each attribute is one, to be used as if it were here."""

    def __init__(self, address: str, key: bytes) -> None:
        """Connect only when a port is called."""
        self._address, self._key = address, key
        self._local = threading.local()

    def __getattr__(self, port: str) -> Any:
        return _RemotePort(functools.partial(self._call, port))

    def _call(self, port: str, method: str, *arguments: Any, **named: Any) -> Any:
        try:
            connection = self._connection()
            connection.send((port, method, arguments, named))
            is_result, answer = connection.recv()
        except (OSError, EOFError) as error:
            self._local.connection = None
            raise Unavailable(f"The local cloud's memory does not answer: {error}") from error
        if not is_result:
            raise answer
        return answer

    def _connection(self) -> Connection:
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is None or self._local.pid != os.getpid():
            connection = self._local.connection = Client(self._address, authkey=self._key)
            self._local.pid = os.getpid()
        return connection


class _RemotePort:
    def __init__(self, call: Any) -> None:
        self._call = call

    def __getattr__(self, method: str) -> Any:
        return functools.partial(self._call, method)
