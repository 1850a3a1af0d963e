"""A transport from a client to the API without a network: one function call."""

from __future__ import annotations

import httpx

from hourhand.api.app import App
from hourhand.testing.events import body_of, request_event


class InProcessTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """An httpx transport, sync and async, that answers by calling the API's function."""

    def __init__(self, app: App) -> None:
        """Send every request to ``app``, whatever its host is."""
        self._app = app

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request of a sync client."""
        return self._answer(request, request.read())

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request of an async client."""
        return self._answer(request, await request.aread())

    def _answer(self, request: httpx.Request, body: bytes) -> httpx.Response:
        url = request.url
        event = request_event(
            request.method, url.path, url.query.decode("ascii"), request.headers, body
        )
        answer = self._app(event, None)
        return httpx.Response(
            answer["statusCode"],
            headers=answer["headers"],
            content=body_of(answer),
            request=request,
        )
