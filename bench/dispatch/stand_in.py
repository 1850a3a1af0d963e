"""A stand-in for DynamoDB and SQS on loopback: honest answers, a stated latency, faults on demand.

It keeps the jobs' items, judges every condition on them, and answers in AWS's protocol with the
headers that AWS sends. It knows the calls of a dispatch, and refuses any other. So that it is not
what limits a run, it answers from memory and parses each expression once.

    python -m bench.dispatch.stand_in JOBS SHARDS NOW_MS [--latency-ms 6] [--throttled 0.01] ...
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import resource
import sys
import zlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import orjson

from bench.dispatch.answers import Refusal, Tables

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_TARGET = re.compile(rb"x-amz-target: *[^.]+\.(\w+)", re.IGNORECASE)
_STATISTICS = b"GET /statistics"
_HEAD = (
    b"HTTP/1.1 %d %s\r\nServer: Server\r\nDate: Sat, 21 Nov 2026 12:00:00 GMT\r\n"
    b"Content-Type: application/x-amz-json-1.0\r\nContent-Length: %d\r\n"
    b"Connection: keep-alive\r\n"
    b"x-amzn-RequestId: 0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789ABCDEF\r\n"
    b"x-amz-crc32: %d\r\n\r\n"
)
_OK = 200
_BAD = 400


class Service:
    """Answers requests; ``throttled`` and ``partial`` are shares of calls and of their parts."""

    def __init__(self, tables: Tables, throttled: float, seed: int) -> None:
        self.calls: Counter[str] = Counter()
        self._tables = tables
        self._throttled = throttled
        self._chance = random.Random(seed)
        self._operations: dict[str, Callable[[Any], Any]] = {
            "Query": tables.query,
            "BatchGetItem": tables.batch_get,
            "UpdateItem": tables.update,
            "BatchExecuteStatement": tables.batch_execute,
            "SendMessageBatch": tables.send_batch,
            "SendMessage": tables.send,
        }

    def answer(self, head: bytes, body: bytes) -> tuple[int, bytes]:
        """Return the status and the body of the answer."""
        if head.startswith(_STATISTICS):
            return _OK, orjson.dumps(self._statistics())
        found = _TARGET.search(head)
        name = found.group(1).decode() if found else ""
        self.calls[name] += 1
        if name not in self._operations:
            return _BAD, b'{"__type":"UnknownOperationException","message":"not a dispatch\'s"}'
        if self._throttled and self._chance.random() < self._throttled:
            self.calls["throttled"] += 1
            return _BAD, b'{"__type":"aws#ThrottlingException","message":"Rate exceeded"}'
        try:
            answer = self._operations[name](orjson.loads(body))
        except Refusal as refusal:
            return _BAD, orjson.dumps(refusal.body)
        return _OK, answer if isinstance(answer, bytes) else orjson.dumps(answer)

    def _statistics(self) -> dict[str, Any]:
        used = resource.getrusage(resource.RUSAGE_SELF)
        return {
            "calls": dict(self.calls),
            "cpu_seconds": used.ru_utime + used.ru_stime,
            **self._tables.statistics(),
        }


class Connection(asyncio.Protocol):
    """One client's connection: requests come one after the other."""

    def __init__(self, service: Service, latency_seconds: float) -> None:
        self._service = service
        self._latency = latency_seconds
        self._received = b""
        self._transport: Any = None

    def connection_made(self, transport: Any) -> None:
        """Remember where to answer."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer once a request has arrived whole."""
        self._received += data
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self._received[:end]
        length = _LENGTH.search(head)
        whole = end + 4 + (int(length.group(1)) if length else 0)
        if len(self._received) < whole:
            return
        body, self._received = self._received[end + 4 : whole], self._received[whole:]
        status, answer = self._service.answer(head, body)
        reason = b"OK" if status == _OK else b"Bad Request"
        told = _HEAD % (status, reason, len(answer), zlib.crc32(answer)) + answer
        asyncio.get_running_loop().call_later(self._latency, self._transport.write, told)


async def serve(service: Service, latency_seconds: float) -> None:
    """Serve until the standard input closes, having printed the port."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Connection(service, latency_seconds), "127.0.0.1", 0, backlog=256
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


def main() -> None:
    """Build the jobs and serve them."""
    parser = argparse.ArgumentParser(prog="python -m bench.dispatch.stand_in")
    parser.add_argument("jobs", type=int)
    parser.add_argument("shards", type=int)
    parser.add_argument("now_ms", type=int)
    parser.add_argument("--latency-ms", type=float, default=6.0)
    parser.add_argument("--throttled", type=float, default=0.0, help="share of calls")
    parser.add_argument("--partial", type=float, default=0.0, help="share of a batch's parts")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    tables = Tables.of(
        options.jobs, options.shards, options.now_ms, options.partial, random.Random(options.seed)
    )
    service = Service(tables, options.throttled, options.seed)
    asyncio.run(serve(service, options.latency_ms / 1000))


if __name__ == "__main__":
    main()
