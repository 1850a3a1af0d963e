"""An upstream that answers as a test says, and a console before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from hourhand.client._authorisation import NoAuth
from hourhand.client._endpoint import find_endpoint
from hourhand.console.proxy import RunningConsole, serve_upstream
from hourhand.console.upstream import Upstream
from tests.unit.aws.lean.raw_server import RawServer, raw_server

Serve = Callable[..., RunningConsole]


@pytest.fixture
def api() -> Iterator[RawServer]:
    with raw_server() as told:
        yield told


@pytest.fixture
def serve(api: RawServer) -> Iterator[Serve]:
    """Serve a console: for ``api`` and by anybody, but for what is told."""
    running: list[RunningConsole] = []

    def start(upstream: Upstream | None = None, *, read_only: bool = False) -> RunningConsole:
        there = upstream or Upstream(find_endpoint(api.url), NoAuth(), timeout_seconds=10)
        running.append(serve_upstream(there, port=0, read_only=read_only))
        return running[-1]

    yield start
    for console in running:
        console.close()


@pytest.fixture
def console(serve: Serve) -> RunningConsole:
    return serve()
