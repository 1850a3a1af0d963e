"""A proxy on loopback that passes every call on to the emulator and counts it by its operation.

It has a port for each role (who calls), so that what submits, works and idles is told apart. It
changes nothing: requests and answers pass byte by byte, and a client that goes away in the
middle of a call takes its connection to the emulator with it. A `ReceiveMessage` that brought
nothing is counted apart: that is polling, which no job asked for.

It runs as a process of its own, ``python -m bench.peers.counting_proxy PORT``, and is asked by
lines of JSON: ``{"open": role}`` and ``{"counts": true}``. It ends when its input does.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import parse_qs

HOST = "127.0.0.1"
LIMIT_BYTES = 4 * 1024 * 1024
RECEIVE = "ReceiveMessage"
EMPTY = " (empty)"
"""Behind the name of a receive that brought no message."""

_RECEIPTS = (b'"ReceiptHandle"', b"<ReceiptHandle>")
_REST = {("POST", "schedules"): "CreateSchedule", ("GET", "schedules"): "GetSchedule"}
"""Operations of the one service that names them by method and path."""


class Gone(Exception):
    """One side closed its connection."""


@dataclass(frozen=True, slots=True)
class Head:
    """The first line and the headers of a message, and the bytes that they came in."""

    raw: bytes
    first: str
    headers: dict[str, str]

    @classmethod
    def parse(cls, raw: bytes) -> Head:
        """Read ``raw``, up to and with the empty line."""
        first, *lines = raw.decode("latin-1").rstrip("\r\n").split("\r\n")
        pairs = (line.partition(":") for line in lines)
        return cls(raw, first, {name.strip().lower(): value.strip() for name, _, value in pairs})


def operation_of(head: Head, body: bytes) -> str:
    """Return the name of the AWS operation that a request asks for."""
    target = head.headers.get("x-amz-target")
    if target:
        return target.rpartition(".")[2]
    method, path, _ = head.first.split(" ", 2)
    path, _, query = path.partition("?")
    named = parse_qs(body.decode("latin-1")).get("Action") or parse_qs(query).get("Action")
    if named:
        return named[0]
    place = path.strip("/").partition("/")[0]
    return _REST.get((method, place), f"{method} /{place}")


def label_of(operation: str, answer: bytes) -> str:
    """Return what the call is counted as."""
    if operation == RECEIVE and not any(receipt in answer for receipt in _RECEIPTS):
        return operation + EMPTY
    return operation


async def _read_head(reader: asyncio.StreamReader, prefix: bytes = b"") -> Head:
    try:
        return Head.parse(prefix + await reader.readuntil(b"\r\n\r\n"))
    except (asyncio.IncompleteReadError, ConnectionError) as error:
        raise Gone from error


async def _read_body(reader: asyncio.StreamReader, head: Head, *, to_end: bool) -> bytes:
    """Read what follows ``head``; ``to_end``: without a length it lasts until the other closes."""
    try:
        if "chunked" in head.headers.get("transfer-encoding", "").lower():
            return await _read_chunks(reader)
        length = head.headers.get("content-length")
        if length is not None:
            return await reader.readexactly(int(length))
        return await reader.read() if to_end else b""
    except (asyncio.IncompleteReadError, ConnectionError) as error:
        raise Gone from error


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    read = bytearray()
    while True:
        line = await reader.readuntil(b"\r\n")
        size = int(line.split(b";")[0], 16)
        read += line + await reader.readexactly(size + 2)
        if size == 0:
            return bytes(read)


async def _read_answer(reader: asyncio.StreamReader, method: str) -> tuple[Head, bytes]:
    head = await _read_head(reader)
    while (status := int(head.first.split(" ")[1])) < 200:
        # "Continue" was said to the client already.
        head = await _read_head(reader)
    if method == "HEAD" or status in (204, 304):
        return head, b""
    return head, await _read_body(reader, head, to_end=True)


@dataclass(slots=True)
class CountingProxy:
    """Counts by role and operation what passes to ``upstream``, a port on loopback."""

    upstream: int
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    _servers: list[asyncio.Server] = field(default_factory=list)

    async def open(self, role: str) -> int:
        """Open a port for ``role`` and return it."""
        self.counts.setdefault(role, Counter())

        async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._pass_on(role, reader, writer)

        server = await asyncio.start_server(pass_on, HOST, 0, limit=LIMIT_BYTES)
        self._servers.append(server)
        port: int = server.sockets[0].getsockname()[1]
        return port

    async def _pass_on(
        self, role: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Pass on the calls of one connection, one after another, until a side closes it."""
        there, back = await asyncio.open_connection(HOST, self.upstream, limit=LIMIT_BYTES)
        prefix = b""
        try:
            while True:
                request = await _read_head(reader, prefix)
                if "expect" in request.headers:
                    writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                body = await _read_body(reader, request, to_end=False)
                back.write(request.raw + body)
                method = request.first.split(" ", 1)[0]
                answer, answer_body, prefix = await _answer_or_gone(there, reader, method)
                self.counts[role][label_of(operation_of(request, body), answer_body)] += 1
                writer.write(answer.raw + answer_body)
                await writer.drain()
                if answer.headers.get("connection", "").lower() == "close":
                    return
        except (Gone, ConnectionError):
            return
        finally:
            back.close()
            writer.close()


async def _answer_or_gone(
    there: asyncio.StreamReader, client: asyncio.StreamReader, method: str
) -> tuple[Head, bytes, bytes]:
    """Return the answer, and what the client sent meanwhile; raise `Gone` if it went away."""
    answer = asyncio.create_task(_read_answer(there, method))
    more = asyncio.create_task(client.read(1))
    try:
        await asyncio.wait({answer, more}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done() and not more.result():
            raise Gone
        head, body = await answer
        return head, body, more.result() if more.done() else b""
    finally:
        for task in (answer, more):
            task.cancel()
        await asyncio.gather(answer, more, return_exceptions=True)


async def _serve(upstream: int) -> None:
    proxy = CountingProxy(upstream)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        asked = json.loads(line)
        if "open" in asked:
            answer: object = {"port": await proxy.open(asked["open"])}
        else:
            answer = {"counts": proxy.counts}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))
