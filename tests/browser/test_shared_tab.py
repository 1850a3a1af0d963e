"""A tab that many tests share shows each of them nothing of the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.browser.harness import Cloud, Guard
from tests.browser.shared_tab import BLANK, SharedTab

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

APP = "#app > *"
TRACES = """() => [
  localStorage.length, sessionStorage.length, document.cookie, window.left ?? null,
  matchMedia("(prefers-reduced-motion: reduce)").matches,
]"""


@pytest.fixture
def lent(browser: Browser, cloud: Cloud) -> Iterator[SharedTab]:
    tab = SharedTab(browser, cloud.url)
    yield tab
    tab.close()


def test_what_a_test_leaves_behind_is_gone_for_the_next(lent: SharedTab) -> None:
    with lent.lend() as (page, _):
        page.route("**/console/about.json", lambda route: route.fulfill(json={"left": True}))
        page.goto("/console/")
        page.locator(APP).first.wait_for()
        page.emulate_media(reduced_motion="reduce")
        page.evaluate(
            "() => { localStorage.left = sessionStorage.left = window.left = 1;"
            " document.cookie = 'left=1'; }"
        )
        assert page.evaluate(TRACES) == [1, 1, "left=1", 1, True]
        page.context.new_page()
    with lent.lend() as (again, _):
        assert again is page
        assert again.url == BLANK
        assert again.context.pages == [again]
        again.goto("/console/")
        assert again.evaluate(TRACES) == [0, 0, "", None, False]
        about = again.evaluate("fetch('/console/about.json').then(answer => answer.json())")
        assert "left" not in about


def test_a_page_that_asks_whether_to_leave_it_is_left(lent: SharedTab) -> None:
    with lent.lend() as (page, _):
        page.goto("/console/new-schedule")
        page.get_by_label("Note").fill("not saved")
    assert page.url == BLANK


def find_fault(lent: SharedTab) -> None:
    with lent.lend() as (page, _):
        page.goto("/console/")
        page.evaluate("console.error('a fault of the first')")


def test_a_fault_fails_the_test_that_made_it_and_not_the_next(lent: SharedTab) -> None:
    with pytest.raises(AssertionError, match="a fault of the first"):
        find_fault(lent)
    with lent.lend() as (page, guard):
        page.goto("/console/")
        page.locator(APP).first.wait_for()
        assert guard.faults == []


def test_after_what_cannot_be_tidied_the_next_gets_another_tab(lent: SharedTab) -> None:
    with lent.lend() as (page, _):
        page.close()
    with lent.lend() as (again, _):
        assert again is not page
        again.goto("/console/")
        again.locator(APP).first.wait_for()


# By name and by number: the second is of a network for documentation (RFC 5737).
@pytest.mark.parametrize("elsewhere", ["http://example.com/", "http://192.0.2.1/"])
def test_nothing_elsewhere_can_be_reached(page: Page, guard: Guard, elsewhere: str) -> None:
    guard.allow("elsewhere")
    with pytest.raises(Exception, match="ERR_NAME_NOT_RESOLVED"):
        page.goto(elsewhere)
    assert guard.faults == [f"a request to elsewhere: {elsewhere}"]
