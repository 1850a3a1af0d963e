"""What the console's tests are given: a cloud a module, a guarded page a test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.harness import WAIT_SECONDS, Cloud, Guard, guarded_page, running_chromium
from tests.browser.harness_seed import Seeds

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_chromium() as chromium:
        from playwright.sync_api import expect  # noqa: PLC0415 - not everywhere installed

        expect.set_options(timeout=WAIT_SECONDS * 1000)
        yield chromium


# After the browser: where there is none, no cloud need start.
@pytest.fixture(scope="module")
def cloud(browser: Browser) -> Iterator[Cloud]:
    running = Cloud()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def seeds(cloud: Cloud) -> Seeds:
    return Seeds(cloud)


@pytest.fixture
def context_options() -> dict[str, Any]:
    """How the page's browser is: parametrize it for a phone, a dark screen, another zone."""
    return {}


@pytest.fixture
def guarded(
    browser: Browser, cloud: Cloud, context_options: dict[str, Any]
) -> Iterator[tuple[Page, Guard]]:
    with guarded_page(browser, cloud.url, **context_options) as page_and_guard:
        yield page_and_guard


@pytest.fixture
def page(guarded: tuple[Page, Guard]) -> Page:
    """A page whose test fails at any error in it, and at any request to elsewhere."""
    return guarded[0]


@pytest.fixture
def guard(guarded: tuple[Page, Guard]) -> Guard:
    """The page's guard, to be told which faults a test means to cause."""
    return guarded[1]
