"""AWS in memory, whose DynamoDB refuses a share of its calls on request."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterable
from typing import Any

LOOPBACK = "127.0.0.1"
OF = 10
_REFUSAL = {
    "__type": "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",
    "message": "The level of configured provisioned throughput for the table was exceeded.",
}


class ThrottlingBackend:
    """A moto server on a free port of loopback; ``refuses`` of each `OF` calls are throttled."""

    def __init__(self) -> None:
        """Start it."""
        from moto.moto_server.werkzeug_app import (  # noqa: PLC0415 (half a second)
            DomainDispatcherApplication,
            MotoRequestHandler,
            create_backend_app,
        )
        from werkzeug.serving import make_server  # noqa: PLC0415

        class QuietHandler(MotoRequestHandler):
            timeout = 5

            def log(self, *_: Any) -> None:
                pass

        self.refuses = 0
        self.refused = 0
        self._calls = itertools.count()
        self._moto = DomainDispatcherApplication(create_backend_app)
        self._server = make_server(
            LOOPBACK, 0, self._answer, threaded=False, request_handler=QuietHandler
        )
        self.endpoint = f"http://{LOOPBACK}:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _answer(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        is_dynamodb = str(environ.get("HTTP_X_AMZ_TARGET", "")).startswith("DynamoDB_")
        if not is_dynamodb or next(self._calls) % OF >= self.refuses:
            answer: Iterable[bytes] = self._moto(environ, start)
            return answer
        self.refused += 1
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        body = json.dumps(_REFUSAL).encode()
        headers = [
            ("Content-Type", "application/x-amz-json-1.0"),
            ("Content-Length", str(len(body))),
        ]
        start("400 Bad Request", headers)
        return [body]
