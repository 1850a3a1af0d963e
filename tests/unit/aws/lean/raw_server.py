"""A server on loopback that answers byte by byte as a test says, and keeps what it was asked."""

from __future__ import annotations

import json
import socket
import socketserver
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

Behaviour = Callable[[socket.socket], bool]
"""Answers one request; returns whether the connection stays open."""


def whole(status: int = 200, body: Any = None, **headers: str) -> Behaviour:
    """Answer with ``body`` (JSON, or bytes as they are) and its length."""
    text = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {status} Said\r\nContent-Length: {len(text)}\r\n{lines}\r\n"

    def answer(connection: socket.socket) -> bool:
        connection.sendall(head.encode() + text)
        return True

    # The name of a test's case.
    answer.__name__ = f"{status}, {text[:60]!r}{', '.join(headers.values())}"
    return answer


def refusing(code: str, *, status: int = 400, **more: Any) -> Behaviour:
    """Answer with an error as DynamoDB tells it."""
    kind = f"com.amazonaws.dynamodb.v20120810#{code}"
    return whole(status, {"__type": kind, "message": f"{code} it is", **more})


def with_checksum(body: Any, *, off_by: int = 0) -> Behaviour:
    """Answer with the checksum that DynamoDB sends, or with another one."""
    text = json.dumps(body).encode()
    return whole(200, text, x_amz_crc32=str(zlib.crc32(text) + off_by))


def then_closed(behaviour: Behaviour) -> Behaviour:
    """Answer, then close without having said so."""

    def answer(connection: socket.socket) -> bool:
        behaviour(connection)
        return False

    return answer


def cut_off(connection: socket.socket) -> bool:
    """Promise more than is sent."""
    connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"Items": [')
    return False


def hung_up(_: socket.socket) -> bool:
    """Close without an answer."""
    return False


def reset(connection: socket.socket) -> bool:
    """Break the connection."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False


def gibberish(connection: socket.socket) -> bool:
    """Answer in no protocol."""
    connection.sendall(b"\x16\x03\x01 what?\r\n\r\n")
    return False


@dataclass(slots=True)
class RawServer:
    """What it shall answer, in turn or by what is asked, and what came in."""

    url: str = ""
    answers: list[Behaviour] = field(default_factory=list)
    answer_to: Callable[[bytes], Behaviour] | None = None
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    connections: int = 0
    released: threading.Event = field(default_factory=threading.Event)

    def answer_of(self, body: bytes) -> Behaviour:
        """Return what a request with ``body`` is answered."""
        if self.answer_to is not None:
            return self.answer_to(body)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def silent(self, _: socket.socket) -> bool:
        """Say nothing until the test is over."""
        self.released.wait(30)
        return False


@contextmanager
def raw_server() -> Iterator[RawServer]:
    """Serve while the block lasts; the last answer is given again and again."""
    told = RawServer()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            told.connections += 1
            while True:
                line = self.rfile.readline().decode()
                if not line.strip():
                    return
                headers = dict(iter(lambda: _header(self.rfile.readline()), ("", "")))
                body = self.rfile.read(int(headers.get("content-length", 0)))
                told.requests.append((line.strip(), headers, body))
                if not told.answer_of(body)(self.connection):
                    return

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = True
        request_queue_size = 128
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Say nothing of clients that hang up: tests let them."""

    with Server(("127.0.0.1", 0), Handler) as server:
        told.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield told
        finally:
            told.released.set()
            server.shutdown()
            thread.join()


def _header(line: bytes) -> tuple[str, str]:
    name, _, value = line.decode().strip().partition(":")
    return name.lower(), value.strip()
