"""What the console's tests are given: a browser for all, a cloud a module, a page a test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.harness import WAIT_SECONDS, Cloud, Guard, guarded_page, running_chromium
from tests.browser.harness_seed import Seeds
from tests.browser.shared_tab import SharedTab

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="package")
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


@pytest.fixture(scope="module")
def tab(browser: Browser, cloud: Cloud) -> Iterator[SharedTab]:
    shared = SharedTab(browser, cloud.url)
    yield shared
    shared.close()


@pytest.fixture
def context_options() -> dict[str, Any] | None:
    """How the page's browser is: parametrize it for a phone, a dark screen, another zone.

    A test that does so has a profile of its own, the others share a tab.
    """
    return None


@pytest.fixture
def guarded(
    browser: Browser, cloud: Cloud, tab: SharedTab, context_options: dict[str, Any] | None
) -> Iterator[tuple[Page, Guard]]:
    own_or_shared = (
        tab.lend()
        if context_options is None
        else guarded_page(browser, cloud.url, **context_options)
    )
    with own_or_shared as page_and_guard:
        yield page_and_guard


@pytest.fixture
def page(guarded: tuple[Page, Guard]) -> Page:
    """A page whose test fails at any error in it, and at any request to elsewhere."""
    return guarded[0]


@pytest.fixture
def guard(guarded: tuple[Page, Guard]) -> Guard:
    """The page's guard, to be told which faults a test means to cause."""
    return guarded[1]
