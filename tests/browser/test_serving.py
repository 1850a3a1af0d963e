"""The console in a real browser: what it may load, and what nothing in it may do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.harness import Cloud, Guard, guarded_page
from tests.browser.harness_seed import Seeds

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

APP = "#app > *"


def test_the_page_starts_without_a_fault(page: Page) -> None:
    page.goto("/")
    page.locator(APP).first.wait_for()
    assert page.url.endswith("/console/")


def test_a_deep_link_is_answered_with_the_page(page: Page, seeds: Seeds) -> None:
    answer = page.goto(f"/console/jobs/{seeds.succeeded()}")
    assert answer is not None
    assert answer.status == 200
    page.locator(APP).first.wait_for()


def test_text_cannot_become_markup(page: Page, guard: Guard) -> None:
    guard.allow("TrustedHTML")
    page.goto("/console/")
    refused = page.evaluate(
        "() => { try { document.body.innerHTML = '<b>bold</b>'; } catch (error) {"
        " return error.name; } }"
    )
    assert refused == "TypeError"


STYLE = "Object.assign(document.createElement('style'), {textContent: '* {color: red}'})"
IMAGE = "Object.assign(new Image(), {src: 'https://example.com/x.png'})"


@pytest.mark.parametrize(
    "harm",
    [
        f"document.body.append({STYLE})",
        f"document.body.append({IMAGE})",
        "fetch('https://example.com/').catch(() => 0)",
        "setTimeout(() => eval('1'), 0)",
        "setTimeout(() => { throw new Error('nobody caught it'); }, 0)",
        "console.error('a fault that the page tells of')",
    ],
)
def test_a_fault_in_the_page_fails_the_test(browser: Browser, cloud: Cloud, harm: str) -> None:
    with guarded_page(browser, cloud.url) as (page, guard):
        page.goto("/console/")
        page.locator(APP).first.wait_for()
        guard.check()
        with page.context.expect_event("console" if "throw" not in harm else "weberror"):
            page.evaluate(f"() => {{ {harm}; }}")
        with pytest.raises(AssertionError, match="The browser told of"):
            guard.check()
        guard.allow("")
