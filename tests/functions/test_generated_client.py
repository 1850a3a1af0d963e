"""The OpenAPI document is good for strangers: a public generator makes a client of it that works.

The generator (openapi-python-client) and what it generates live in an environment of their own,
`make generator`. The API is the real one over the memory adapters, on loopback.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hourhand import Concurrency, Rate, RunContext
from hourhand.api.app import ROUTES
from hourhand.api.openapi import openapi_document
from hourhand.aws.clock import SystemClock
from hourhand.handlers import JobContext, NotRetryable, Registry
from hourhand.local.http_server import serve
from hourhand.memory import MemoryClock
from hourhand.testing.inline_runner import InlineRunner
from hourhand.testing.installation import Installation
from hourhand.testing.live_handlers import LiveHandlers
from tests.functions.documented import META_PATHS
from tests.functions.generated_client.calls import CALLS, PACKAGE

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / ".venv-generator" / "bin"
SCRIPT = Path(__file__).parent / "generated_client" / "calls.py"
IN_CI = "HOURHAND_CI"
A_REQUEST = timedelta(seconds=1)
"""What passes of the API's time before each request."""


@dataclass(frozen=True, slots=True)
class Called:
    """What came of the calls, and the routes that they came to."""

    done: subprocess.CompletedProcess[str]
    routes: set[tuple[str, str]]


def run(*command: object, folder: Path) -> subprocess.CompletedProcess[str]:
    # The generator calls the ruff that stands beside it.
    environment = {"PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder)}
    return subprocess.run(
        [str(one) for one in command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (PROGRAMS / "openapi-python-client").exists():
        missing = "openapi-python-client is not installed: `make generator`"
        if os.environ.get(IN_CI) == "1":
            pytest.fail(f"{missing}, and in CI this may not be skipped.")
        pytest.skip(f"{missing}.")
    return tmp_path_factory.mktemp("generated")


@pytest.fixture(scope="module")
def generated(folder: Path) -> subprocess.CompletedProcess[str]:
    """Generate the client, and return how that went."""
    document = folder / "openapi.json"
    document.write_text(json.dumps(openapi_document()), encoding="utf-8")
    options = ("--meta", "none", "--fail-on-warning", "--output-path", folder / PACKAGE)
    program = PROGRAMS / "openapi-python-client"
    return run(program, "generate", "--path", document, *options, folder=folder)


@pytest.fixture(scope="module")
def installation() -> Installation:
    handlers = Registry()
    handlers.add("greet", greet)
    handlers.add("break", break_down)
    handlers.add("keep", break_down, limits=(Concurrency(1, holds="success"),))
    handlers.add("order", order, run_timeout_seconds=3_600)
    handlers.add("charge", break_down, limits=(Rate(1, per=60, key="tenant", name="bank"),))
    live, clock = LiveHandlers(handlers), MemoryClock(SystemClock().now())
    runner = InlineRunner(live, clock)
    return Installation(clock, live, runner, after_each=lambda: None, logs=runner.logs)


def greet(context: JobContext, payload: Any) -> Any:
    context.logger.info("Greeted.")
    return {"greeted": payload["name"]} if payload else None


def order(context: RunContext) -> Any:
    first = context.callback("paid")
    context.step("charge", lambda: first.token)
    second = context.callback("shipped")
    context.step("send", lambda: second.token)
    return [context.wait_for("approved"), first.result(), second.result()]


def break_down(_context: JobContext) -> None:
    raise NotRetryable("it is broken")


@pytest.fixture(scope="module")
def called(
    generated: subprocess.CompletedProcess[str], installation: Installation, folder: Path
) -> Iterator[Called]:
    """Make the calls, and return how they went."""
    routes: set[tuple[str, str]] = set()

    def answer(event: Mapping[str, Any], context: object) -> dict[str, Any]:
        installation.run_until(installation.clock.now() + A_REQUEST)
        method, path = event["requestContext"]["http"]["method"], event["rawPath"]
        matching = (one for one in ROUTES if one.method == method and one.match(path) is not None)
        routes.update((one.method, one.path) for one in list(matching)[:1])
        return installation.app(event, context)

    server = serve(answer, port=0)
    try:
        done = run(PROGRAMS / "python", "-W", "error", SCRIPT, folder, server.url, folder=folder)
        yield Called(done, routes)
    finally:
        server.close()


def test_the_generator_has_nothing_to_complain_of(
    generated: subprocess.CompletedProcess[str],
) -> None:
    assert generated.returncode == 0, generated.stdout + generated.stderr
    assert "warning" not in (generated.stdout + generated.stderr).lower()


def test_calls_of_the_generated_client_do_what_the_document_says(called: Called) -> None:
    assert called.done.returncode == 0, called.done.stdout + called.done.stderr
    assert called.done.stdout.split() == [call.__name__ for call in CALLS]


def test_every_operation_of_the_document_was_called(called: Called) -> None:
    described = {(one.method, one.path) for one in ROUTES if one.path not in META_PATHS}
    assert called.routes == described
