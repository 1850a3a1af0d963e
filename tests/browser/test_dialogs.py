"""Where the focus is in each dialog, on no button that confirms, and after it: where it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.harness_seed import Seeds

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

FOCUSED = """() => {
  const focused = document.activeElement;
  return focused.labels?.[0]?.textContent ?? focused.textContent.trim();
}"""
NOTE = "the bank is closed"
"""It has spaces: each of them would press a button that has the focus."""

DIALOGS = {
    "pause": ("schedule", "Pause …", "Note"),
    "run a schedule": ("schedule", "Run now …", "Payload"),
    "backfill": ("schedule", "Backfill …", "From (your time)"),
    "delete a schedule": ("schedule", "Delete …", "Back"),
    "resume": ("paused schedule", "Resume …", "Note"),
    "pause in the list": ("schedules", "Pause to-ask-about", "Note"),
    "redrive": ("dead job", "Redrive …", "Back"),
    "discard": ("dead job", "Discard …", "Note"),
    "cancel": ("pending job", "Cancel job …", "Back"),
    "run a job": ("pending job", "Run now …", "Back"),
    "change": ("pending job", "Change …", "Run at"),
    "redrive many": ("dead jobs", "Redrive …", "Back"),
    "discard many": ("dead jobs", "Discard …", "Note"),
    "discard a group": ("dead letters", "Discard …", "Note"),
    "delete a calendar": ("calendar", "Delete …", "Back"),
    "pause a handler": ("handler", "Pause …", "Note"),
    "pause a limit": ("limit", "Pause …", "Back"),
    "change a limit": ("limit", "Change number …", "Jobs at a time"),
    "number of a key": ("limit with keys", "Add …", "Key"),
}


@pytest.fixture(scope="module")
def views(seeds: Seeds) -> dict[str, str]:
    """Return the addresses of the views that have dialogs."""
    dead = [seeds.dead(tags={"asked": "yes"}) for _ in range(2)]
    schedule = seeds.schedule("to-ask-about")
    paused = seeds.schedule("paused-to-ask-about", paused=True)
    return {
        "schedule": f"/console/schedules/{schedule}",
        "paused schedule": f"/console/schedules/{paused}",
        "schedules": "/console/schedules",
        "dead job": f"/console/jobs/{dead[0]}",
        "dead jobs": "/console/jobs?status=DEAD&tag=asked:yes",
        "pending job": f"/console/jobs/{seeds.pending()}",
        "dead letters": "/console/dead-letters",
        "handler": "/console/handlers/greet",
        "limit": "/console/limits/exports",
        "limit with keys": "/console/limits/sync-account.1",
        "calendar": f"/console/calendars/{seeds.calendar('to-ask-about')}",
    }


def dialog(page: Page) -> Locator:
    return page.get_by_role("dialog")


@pytest.mark.parametrize("name", DIALOGS)
def test_a_dialog_begins_where_nothing_is_confirmed(
    page: Page, views: dict[str, str], name: str
) -> None:
    view, opener, focused = DIALOGS[name]
    page.goto(views[view])
    page.get_by_role("button", name=opener).first.click()
    # A bulk action counts first, and asks only then.
    dialog(page).locator("form").wait_for()
    assert page.evaluate(FOCUSED) == focused
    if focused == "Note":
        page.keyboard.type(NOTE)
        assert dialog(page).get_by_label("Note").input_value() == NOTE
    page.keyboard.press("Escape")
    dialog(page).wait_for(state="detached")
    # Who works by keyboard goes on from there.
    button = page.get_by_role("button", name=opener).first
    assert button.evaluate("opener => opener === document.activeElement")


def test_enter_in_a_question_without_a_field_changes_nothing(
    page: Page, views: dict[str, str]
) -> None:
    page.goto(views["pending job"])
    page.get_by_role("button", name="Cancel job …").click()
    dialog(page).wait_for()
    page.keyboard.press("Enter")
    dialog(page).wait_for(state="detached")
    page.locator("h1 .badge").get_by_text("Pending", exact=True).wait_for()


def test_a_thousand_jobs_begin_at_the_word_to_type_and_end_at_the_button_that_closes(
    page: Page,
) -> None:
    bounded = {"matched": 1000, "changed": 1000, "failed": [], "count_is_bounded": True}
    page.route(
        "**/v1/jobs/redrive", lambda route: route.fulfill(json={**bounded, "next_cursor": None})
    )
    page.goto("/console/jobs?status=DEAD&handler=greet")
    page.route(
        "**/v1/jobs?**",
        lambda route: route.fulfill(json={"jobs": [], "next_cursor": "more"}),
    )
    page.reload()
    page.get_by_role("button", name="Redrive …").click()
    field = dialog(page).get_by_label("To go on with all of them, type redrive")
    field.wait_for()
    assert page.evaluate(FOCUSED) == "To go on with all of them, type redrive"
    page.keyboard.type("redrive")
    page.keyboard.press("Enter")
    dialog(page).get_by_text("1,000 jobs redriven").wait_for()
    assert page.evaluate(FOCUSED) == "Close"


def test_leaving_a_form_and_the_list_of_keys_confirm_nothing_either(
    page: Page, views: dict[str, str]
) -> None:
    page.goto(f"{views['schedule']}/edit")
    page.get_by_label("Handler").wait_for()
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("?")
    dialog(page).wait_for()
    assert page.evaluate(FOCUSED) == "Keyboard shortcuts"
    page.keyboard.press("Escape")
    dialog(page).wait_for(state="detached")
    page.get_by_label("Expression", exact=True).fill("0 7 * * *")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Jobs").click()
    dialog(page).get_by_text("Your changes are not saved.").wait_for()
    assert page.evaluate(FOCUSED) == "Back"
