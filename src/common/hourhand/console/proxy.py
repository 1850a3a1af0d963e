"""``hourhand console``: the console on loopback, for an API that is deployed.

A browser cannot sign requests with AWS credentials, and must not hold them. This process does: it
serves the page to this machine alone, and forwards the page's requests, signed.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from http import HTTPStatus

from hourhand.client._endpoint import Auth, find_authorisation, find_endpoint
from hourhand.console.access import TOKEN_FIELD, Access
from hourhand.console.headers import as_data
from hourhand.console.pages import DOCS, HOME, READING, About, Pages
from hourhand.console.upstream import Upstream
from hourhand.loopback import Reply, Request, RunningServer, problem_reply, serve_loopback

DEFAULT_PORT = 8788
TIMEOUT_SECONDS = 30.0
"""An HTTP API of API Gateway answers within 30 s, or says that it cannot."""

TOKEN_BYTES = 32
READ_ONLY = "read_only"

_ASKED_BY_POST = frozenset({"/v1/schedules/preview"})
"""Changes nothing, though it has a body."""


@dataclass(frozen=True, slots=True)
class RunningConsole:
    """A console that is served until it is closed."""

    server: RunningServer
    upstream: Upstream
    token: str

    @property
    def url(self) -> str:
        """Where it is. It works only in a browser tab that has the token."""
        return f"{self.server.url}{HOME}"

    @property
    def endpoint(self) -> str:
        """The API that it stands for."""
        return self.upstream.endpoint

    @property
    def address(self) -> str:
        """The address with the token: a secret, which acts with the user's credentials."""
        return f"{self.url}#{TOKEN_FIELD}={self.token}"

    def close(self) -> None:
        """Stop serving, and close the connections."""
        self.server.close()
        self.upstream.close()


def serve_console(  # noqa: PLR0913 - those of `hourhand.Client`, and those of the page
    endpoint: str | None = None,
    *,
    token: str | None = None,
    auth: Auth | None = None,
    region: str | None = None,
    profile: str | None = None,
    port: int = DEFAULT_PORT,
    read_only: bool = False,
    is_production: bool = False,
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> RunningConsole:
    """Serve the console for a deployed API; the arguments are those of `hourhand.Client`.

    ``port`` 0 takes a free one; ``read_only`` refuses whatever changes something; the page shows
    ``is_production``. Raises
    `hourhand.client.NotConfigured` for an endpoint or credentials that cannot be used, and
    `InvalidInput` for a port that cannot be had.
    """
    found = find_endpoint(endpoint)
    authorise = find_authorisation(found, auth=auth, token=token, region=region, profile=profile)
    upstream = Upstream(found, authorise, timeout_seconds=timeout_seconds)
    return serve_upstream(upstream, port=port, read_only=read_only, is_production=is_production)


def serve_upstream(
    upstream: Upstream,
    *,
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    read_only: bool = False,
    is_production: bool = False,
) -> RunningConsole:
    """Serve the console for the API behind ``upstream``, which is closed with it.

    Raises `InvalidInput` for a host that is not loopback, and for a port that cannot be had.
    """
    token = secrets.token_urlsafe(TOKEN_BYTES)
    access = Access(token)
    about = About(upstream.endpoint, read_only=read_only, is_production=is_production)
    pages = Pages(about)

    def respond(request: Request) -> Reply:
        return (
            access.check(request)
            or pages.find(request)
            or (_refused_change(request) if read_only else None)
            or _own_docs(request)
            or upstream.forward(request)
        )

    try:
        server = serve_loopback(respond, host, port)
    except BaseException:
        upstream.close()
        raise
    return RunningConsole(server, upstream, token)


def _refused_change(request: Request) -> Reply | None:
    if request.method in READING or request.path in _ASKED_BY_POST:
        return None
    detail = "This console was started with --read-only, so it refuses changes."
    return as_data(problem_reply(HTTPStatus.FORBIDDEN, detail, code=READ_ONLY))


def _own_docs(request: Request) -> Reply | None:
    """Return the page of the API's document as this version knows it."""
    if request.path != DOCS or request.method not in READING:
        return None
    # Slow to import, and seldom read.
    from hourhand.api.docs_page import docs_page  # noqa: PLC0415
    from hourhand.api.openapi import openapi_document  # noqa: PLC0415

    # A page of its own, without the console's token: it could send no request that is answered.
    page = docs_page(openapi_document(), can_send=False)
    return as_data(Reply(page.status, page.headers, page.body.encode()))
