"""DynamoDB, SQS and S3 in memory: moto, served on loopback, its state behind one thread.

moto's state is not safe under concurrent writers, so one thread answers one request after the
other. Nothing may therefore wait inside a request: no long polls.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

LOOPBACK = "127.0.0.1"
STALLED_CLIENT_SECONDS = 5
"""A client that was stopped in the middle of a request must not stop all the others."""

_SENDS = ("AmazonSQS.SendMessage", "AmazonSQS.SendMessageBatch")

Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class MotoServer:
    """A moto server on a free port of loopback. ``on_send`` is called after each send to SQS."""

    def __init__(self, on_send: Callable[[], None]) -> None:
        """Bind the port; `start` begins to answer."""
        # The import takes half a second, which `hourhand --help` must not pay.
        from moto.moto_server.werkzeug_app import (
            DomainDispatcherApplication,
            MotoRequestHandler,
            create_backend_app,
        )
        from werkzeug.serving import make_server

        class QuietHandler(MotoRequestHandler):
            timeout = STALLED_CLIENT_SECONDS
            # Head and body of an answer go out together.
            wbufsize = -1

            def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 (its name)
                """Log nothing: there are a thousand requests a minute."""

        application = DomainDispatcherApplication(create_backend_app)
        self._server = make_server(
            LOOPBACK,
            0,
            _telling(application, on_send),
            threaded=False,
            request_handler=QuietHandler,
        )
        self._thread = threading.Thread(target=self._server.serve_forever, name="moto", daemon=True)

    @property
    def endpoint(self) -> str:
        """The URL to give to AWS clients."""
        return f"http://{LOOPBACK}:{self._server.server_port}"

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Answer no more. What it held is gone."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _telling(application: Wsgi, on_send: Callable[[], None]) -> Wsgi:
    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        body = application(environ, start_response)
        if environ.get("HTTP_X_AMZ_TARGET") in _SENDS:
            on_send()
        return body

    return answer
