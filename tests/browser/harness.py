"""A local cloud with its console, and a Chromium that tells of everything that went wrong in it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from urllib.parse import urlsplit

import httpx
import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, WebError

IN_CI = "HOURHAND_CI"
CHROMIUM = "HOURHAND_CHROMIUM"
WAIT_SECONDS = 15.0
LOOK_SECONDS = 0.05

_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    # Nothing that the browser does of its own may look like the page's doing.
    *("--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
    # Whatever a page asks of elsewhere goes nowhere. To intercept its requests would do so as
    # well, at the price of every request's way through the test and of the browser's cache.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
OWN_PROFILE: dict[str, Any] = {}
"""As `context_options`: for a test whose traces cannot be taken from a shared tab."""

_ROOT = Path(__file__).parents[2]
T = TypeVar("T")


def missing(what: str) -> NoReturn:
    """Skip a test for want of something, but never in CI."""
    if os.environ.get(IN_CI) == "1":
        pytest.fail(f"{what}, and in CI this may not be skipped.")
    pytest.skip(f"{what}.")


def find_chromium() -> str:
    """Return the path of Chromium: HOURHAND_CHROMIUM, or the first found on the path."""
    named = os.environ.get(CHROMIUM)
    found = named or next(filter(None, (shutil.which(name) for name in _NAMES)), None)
    if found is None:
        missing(f"Chromium is not installed (make browser, or {CHROMIUM}=path)")
    return found


@contextmanager
def running_chromium() -> Iterator[Browser]:
    """Yield a headless Chromium.

    Its driver keeps an event loop running in this thread until it ends: no test with a loop of its
    own can run meanwhile, so it lives no longer than the tests of this folder.
    """
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415 - not everywhere installed
    except ImportError:
        missing("playwright is not installed; it is in the extra `dev`")
    path = find_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


class Cloud:
    """A local cloud over memory in a process of its own, with the handlers beside this file."""

    def __init__(self) -> None:
        """Start it and wait until it answers."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.browser.serve_cloud"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=_ROOT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        if not self.url:
            self._end_process()
            raise AssertionError("The local cloud did not start: see its error above.")
        self.api = httpx.Client(base_url=f"{self.url}/v1", timeout=WAIT_SECONDS, trust_env=False)

    def wait(self, look: Callable[[], T | None]) -> T:
        """Wait until ``look`` finds something."""
        until = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < until:
            found = look()
            if found is not None:
                return found
            time.sleep(LOOK_SECONDS)
        raise AssertionError(f"It did not happen within {WAIT_SECONDS:g} s.")

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Return the JSON of an answer; ``path`` comes after ``/v1``. Anything but 2xx fails."""
        answer = self.api.request(method, path, **({} if body is None else {"json": body}))
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text[:2000]}"
        return answer.json() if answer.content else None

    def submit(self, handler: str, payload: Any = None, **fields: Any) -> str:
        """Submit a job and return its id."""
        body = {"handler": handler, "payload": payload, **fields}
        return str(self.ask("POST", "/jobs", body)["id"])

    def job(self, job_id: str) -> dict[str, Any]:
        """Return a job, whole."""
        job: dict[str, Any] = self.ask("GET", f"/jobs/{job_id}")
        return job

    def reach(self, job_id: str, *statuses: str) -> dict[str, Any]:
        """Wait until a job is in one of these states, and return it."""

        def look() -> dict[str, Any] | None:
            job = self.job(job_id)
            return job if job["status"] in statuses else None

        return self.wait(look)

    def stop(self) -> None:
        """End it. What its handlers still do ends with it."""
        self.api.close()
        self._end_process()

    def _end_process(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.kill()
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


class Guard:
    """Notes what must not happen in a page: errors, refused content, requests to elsewhere."""

    def __init__(self, context: BrowserContext, own_origin: str) -> None:
        """Watch every page of ``context``; its own origin alone may be asked."""
        self.faults: list[str] = []
        self._allowed: list[re.Pattern[str]] = []
        self._own_origin = own_origin
        # Where a page names no icon, the browser looks for one of its own accord.
        self._unasked = f"{own_origin}/favicon.ico"
        self._context = context
        context.on("console", self._hear)
        context.on("weberror", self._catch)
        context.on("request", self._see)

    def leave(self) -> None:
        """Watch no longer."""
        self._context.remove_listener("console", self._hear)
        self._context.remove_listener("weberror", self._catch)
        self._context.remove_listener("request", self._see)

    def allow(self, pattern: str) -> None:
        """Expect faults in which ``pattern`` is found, such as ``status of 409``."""
        self._allowed.append(re.compile(pattern))

    def check(self) -> None:
        """Fail if there was a fault that nobody expected."""
        unexpected = [
            fault
            for fault in self.faults
            if not any(pattern.search(fault) for pattern in self._allowed)
        ]
        assert not unexpected, "\n".join(["The browser told of:", *unexpected])

    def _hear(self, message: ConsoleMessage) -> None:
        # What the page logs at all is for somebody who looks for a fault, and so are warnings.
        url = message.location.get("url", "")
        if message.type in {"error", "warning", "assert"} and url != self._unasked:
            self._note(f"{message.type}: {message.text} ({url})")

    def _catch(self, error: WebError) -> None:
        self._note(f"uncaught: {error.error}")

    def _see(self, request: Request) -> None:
        if not self._is_own(request.url):
            self._note(f"a request to elsewhere: {request.url[:500]}")

    def _is_own(self, url: str) -> bool:
        parts = urlsplit(url)
        return parts.scheme in {"data", "blob", "about"} or (
            f"{parts.scheme}://{parts.netloc}" == self._own_origin
        )

    def _note(self, fault: str) -> None:
        self.faults.append(fault)


def new_profile(browser: Browser, url: str, **context_options: Any) -> BrowserContext:
    """Return a fresh profile, in which relative addresses begin at ``url``."""
    options: dict[str, Any] = {
        "base_url": url,
        "viewport": {"width": 1280, "height": 800},
        "locale": "en-GB",
        "timezone_id": "Europe/Berlin",
        **context_options,
    }
    context = browser.new_context(**options)
    context.set_default_timeout(WAIT_SECONDS * 1000)
    return context


@contextmanager
def guarded_page(
    browser: Browser, url: str, **context_options: Any
) -> Iterator[tuple[Page, Guard]]:
    """Yield a page in a fresh profile, whose relative addresses begin at ``url``, and its guard."""
    context = new_profile(browser, url, **context_options)
    guard = Guard(context, url)
    try:
        yield context.new_page(), guard
    finally:
        context.close()
    guard.check()
