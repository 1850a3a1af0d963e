"""The console's editor of schedules, as its tests use it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.browser.harness import Cloud

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

UNUSED_ID = "status of 404 .*/v1/schedules/"
"""What the browser logs when the editor asks whether an id is free."""

GROUPS = (
    "Bounds and exclusions",
    "When the clocks change",
    "Missed, overlapping and failed runs",
    "Job policies",
    "History",
)


def expression(page: Page) -> Locator:
    """Return the field of the expression."""
    return page.get_by_role("textbox", name="Expression")


def preview(page: Page) -> Locator:
    """Return the part of the page that shows the next times."""
    return page.get_by_role("region", name="Preview")


def save(page: Page) -> None:
    """Send what is written."""
    page.get_by_role("button", name="Save").click()


def told(cloud: Cloud, schedule_id: str) -> dict[str, Any]:
    """Return a schedule by the API."""
    found: dict[str, Any] = cloud.ask("GET", f"/schedules/{schedule_id}")
    return found
