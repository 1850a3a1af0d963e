"""Stands before an emulator on loopback and counts the calls that reach it, by operation.

So a call counts whichever client made it, and each try of it.
"""

from __future__ import annotations

import http.client
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

TIMEOUT_SECONDS = 30.0
NOT_PASSED_ON = {"connection", "content-length", "date", "server", "transfer-encoding"}


class Calls:
    """How often each operation was called, as ``PutItem``; safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counted: Counter[str] = Counter()

    def add(self, operation: str) -> None:
        """Count one."""
        with self._lock:
            self._counted[operation] += 1

    def take(self) -> Counter[str]:
        """Return what was counted since the last time."""
        with self._lock:
            counted, self._counted = self._counted, Counter()
            return counted


class PassingHandler(BaseHTTPRequestHandler):
    """Passes on one client's requests, one after the other, on a connection of its own."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    calls: Calls
    address: tuple[str, int]

    def setup(self) -> None:
        super().setup()
        self._onward = http.client.HTTPConnection(*self.address, timeout=TIMEOUT_SECONDS)

    def finish(self) -> None:
        self._onward.close()
        super().finish()

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        # Services with JSON name the operation in a header, S3 by method and path.
        target = self.headers.get("X-Amz-Target", "")
        operation = target.rpartition(".")[2] or f"S3 {self.command}"
        self.calls.add(operation)
        status, headers, content = self.answer(operation, body)
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in NOT_PASSED_ON:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def answer(self, operation: str, body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        """Return the status, the headers and the body of the answer to an operation."""
        del operation
        headers = {n: v for n, v in self.headers.items() if n.lower() != "content-length"}
        self._onward.request(self.command, self.path, body, headers)
        answer = self._onward.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _pass_on  # noqa: N815 - as the class has it

    def log_message(self, *_: Any) -> None:
        return


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


@contextmanager
def counting_proxy(endpoint: str) -> Iterator[tuple[str, Calls]]:
    """Yield an endpoint that leads to ``endpoint``, and what is called there."""
    calls = Calls()
    with serving(endpoint, PassingHandler, {"calls": calls}) as address:
        yield address, calls


@contextmanager
def serving(
    endpoint: str, handler: type[PassingHandler], fields: Mapping[str, Any]
) -> Iterator[str]:
    """Yield the address of a server whose requests ``handler`` answers, before ``endpoint``."""
    url = urlsplit(endpoint)
    assert url.hostname is not None
    assert url.port is not None
    onward = {**fields, "address": (url.hostname, url.port)}
    server = _Server(("127.0.0.1", 0), type("_Handler", (handler,), onward))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
