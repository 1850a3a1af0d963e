"""Stands before an emulator on loopback and counts the calls that reach it, by operation.

So a call counts whichever client made it, and each try of it.
"""

from __future__ import annotations

import http.client
import threading
from collections import Counter
from collections.abc import Iterator
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


class _Handler(BaseHTTPRequestHandler):
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
        self.calls.add(target.rpartition(".")[2] or f"S3 {self.command}")
        self._onward.request(self.command, self.path, body, dict(self.headers.items()))
        answer = self._onward.getresponse()
        content = answer.read()
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in NOT_PASSED_ON:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _pass_on  # noqa: N815 - as the class has it

    def log_message(self, *_: Any) -> None:
        return


@contextmanager
def counting_proxy(endpoint: str) -> Iterator[tuple[str, Calls]]:
    """Yield an endpoint that leads to ``endpoint``, and what is called there."""
    url = urlsplit(endpoint)
    assert url.hostname is not None
    assert url.port is not None
    calls = Calls()
    onward = {"calls": calls, "address": (url.hostname, url.port)}
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("_CountingHandler", (_Handler,), onward))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", calls
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
