"""AWS in memory, whose DynamoDB refuses a share of its calls on request."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable
from typing import Any

from hourhand.local.moto_server import MotoServer

OF = 10
_REFUSAL = {
    "__type": "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",
    "message": "The level of configured provisioned throughput for the table was exceeded.",
}


class ThrottlingBackend(MotoServer):
    """A moto server; ``refuses`` of each `OF` calls of DynamoDB are throttled."""

    def __init__(self) -> None:
        """Refuse nothing yet; `start` begins to answer."""
        super().__init__(lambda: None)
        self.refuses = 0
        self.refused = 0
        self._calls = itertools.count()
        self._moto: Any = self._server.app
        self._server.app = self._answer

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
