"""What axe-core finds in each view, and in the dialogs: nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.accessibility import violations
from tests.browser.harness_seed import Seeds

if TYPE_CHECKING:
    from playwright.sync_api import Page

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
WIDE_AND_NARROW = [
    {"color_scheme": "light"},
    {"color_scheme": "dark"},
    {**PHONE, "color_scheme": "light"},
]


@pytest.fixture(scope="module")
def job_ids(seeds: Seeds) -> dict[str, str]:
    return seeds.one_of_each(tags={"customer": "42"}, tenant="acme")


def shown(page: Page) -> None:
    page.locator("h1, .empty h2").first.wait_for()
    page.locator(".skeleton").wait_for(state="detached")


@pytest.mark.parametrize("context_options", WIDE_AND_NARROW)
def test_no_view_breaks_a_rule(page: Page, job_ids: dict[str, str]) -> None:
    jobs = [f"/console/jobs/{job_ids[status]}" for status in ("DEAD", "RUNNING", "PENDING")]
    others = ["/console/", "/console/jobs?tag=customer:42&statsu=x", "/console/dead-letters"]
    for path in [*others, *jobs, "/console/submit", "/console/nowhere"]:
        page.goto(path)
        shown(page)
        assert violations(page) == [], path


@pytest.mark.parametrize("context_options", WIDE_AND_NARROW)
def test_no_state_of_a_view_breaks_a_rule(page: Page, job_ids: dict[str, str]) -> None:
    page.goto("/console/jobs?tag=customer:42")
    shown(page)
    page.get_by_role("button", name="More filters").click()
    page.locator("tbody input[type=checkbox]").first.check()
    page.get_by_role("searchbox").fill("colour:red")
    page.keyboard.press("Enter")
    page.get_by_text("The search was not applied").wait_for()
    assert violations(page) == []
    page.goto("/console/dead-letters")
    page.locator(".dead-group-toggle").first.click()
    page.locator(".trace").wait_for()
    assert violations(page) == []
    page.get_by_role("button", name="Discard …").first.click()
    page.get_by_role("dialog").get_by_label("Note").wait_for()
    assert violations(page) == []


def test_a_page_that_breaks_a_rule_is_noticed(page: Page) -> None:
    page.goto("/console/jobs")
    shown(page)
    page.evaluate("document.querySelector('select').removeAttribute('aria-label')")
    assert any(found.startswith("select-name") for found in violations(page))
