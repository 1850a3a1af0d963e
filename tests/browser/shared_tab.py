"""One tab for many tests: a fresh one each would cost thrice as much as what is tested in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.browser.harness import Guard, new_profile

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

BLANK = "about:blank"


class SharedTab:
    """Lends a tab to one test after another, each time as if it were new.

    What a test leaves behind is taken away: what it routed, the page with all that runs in it,
    cookies and storage, and other tabs. Only the cache of files stays, and the tab's history.
    """

    def __init__(self, browser: Browser, url: str) -> None:
        """Open nothing yet; relative addresses begin at ``url``."""
        self._browser = browser
        self._url = url
        self._page: Page | None = None

    @contextmanager
    def lend(self) -> Iterator[tuple[Page, Guard]]:
        """Yield the tab and a guard of its own; fail at the end if that noted a fault."""
        page = self._page or new_profile(self._browser, self._url).new_page()
        self._page = None
        guard = Guard(page.context, self._url)
        try:
            yield page, guard
        finally:
            # While the guard still listens: what goes wrong at the very end is noted, too.
            if _tidied(page, self._url):
                self._page = page
            else:
                page.context.close()
            guard.leave()
        guard.check()

    def close(self) -> None:
        """Close the tab, and its profile."""
        if self._page is not None:
            self._page.context.close()
            self._page = None


def _tidied(page: Page, own_url: str) -> bool:
    """Whether all traces could be taken from a tab; else the next test needs another."""
    from playwright.sync_api import Error  # noqa: PLC0415 - not everywhere installed

    # Elsewhere, this site's storage is out of reach.
    if page.is_closed() or not page.url.startswith(own_url):
        return False
    try:
        _tidy(page)
    except Error:
        return False
    return True


def _tidy(page: Page) -> None:
    for other in page.context.pages:
        if other is not page:
            other.close()
    page.context.clear_cookies()
    page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
    # A page with unsaved text asks whether to leave it.
    page.on("dialog", _accept)
    page.goto(BLANK)
    page.remove_listener("dialog", _accept)
    # Only now: what a page still asks for must not reach the real API with a cursor of the test's.
    page.unroute_all(behavior="ignoreErrors")
    # What `poor_texts` asked for.
    page.emulate_media(reduced_motion="no-preference")


def _accept(dialog: Dialog) -> None:
    dialog.accept()
