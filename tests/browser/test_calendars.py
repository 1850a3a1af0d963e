"""The console's calendars: listed, shown with their users, made, changed and deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.harness import Cloud, Guard
from tests.browser.harness_seed import HARMED, HOSTILE, Seeds

if TYPE_CHECKING:
    from playwright.sync_api import Page

EXCLUDED = ["2027-12-25", {"from": "2027-12-28", "to": "2027-12-31"}, "* * 24 12 *"]


def test_calendars_are_listed_with_what_they_exclude(page: Page, seeds: Seeds) -> None:
    seeds.calendar("holidays", *EXCLUDED, "2028-01-01")
    page.goto("/console/calendars")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="holidays"))
    row.wait_for()
    assert "2027-12-28 to 2027-12-31" in row.inner_text()
    assert "and 1 more" in row.inner_text()


def test_a_calendar_tells_who_uses_it(page: Page, seeds: Seeds) -> None:
    seeds.calendar("shared", *EXCLUDED)
    seeds.schedule("user-of-it", "@daily", exclude=["shared"])
    seeds.schedule("stranger", "@daily")
    page.goto("/console/calendars/shared")
    page.get_by_text("* * 24 12 *").wait_for()
    page.get_by_role("link", name="user-of-it").wait_for()
    assert page.get_by_role("link", name="stranger").count() == 0


def test_a_calendar_is_made(page: Page, cloud: Cloud, guard: Guard) -> None:
    guard.allow("status of 404")
    page.goto("/console/calendars")
    page.get_by_role("link", name="New calendar").click()
    page.get_by_label("Name").fill("made-here")
    page.get_by_label("Excluded").fill("2027-12-25\n\n 2027-12-28..2027-12-31 \n* * 24 12 *")
    page.get_by_label("Note").fill("From the works council")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Saved made-here.").wait_for()
    page.wait_for_url("**/console/calendars/made-here")
    made = cloud.ask("GET", "/calendars/made-here")
    assert (made["exclude"], made["note"]) == (EXCLUDED, "From the works council")


def test_a_wrong_line_is_named(page: Page, seeds: Seeds, cloud: Cloud, guard: Guard) -> None:
    guard.allow("status of 422")
    seeds.calendar("to-change", *EXCLUDED)
    page.goto("/console/calendars/to-change/edit")
    page.get_by_label("Excluded").fill("2027-12-25\n2027-02-30")
    page.get_by_role("button", name="Save").click()
    page.locator(".field-error", has_text="Line 2: must be a date that exists").wait_for()
    assert cloud.ask("GET", "/calendars/to-change")["exclude"] == EXCLUDED
    page.get_by_label("Excluded").fill("2027-12-25")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Saved to-change.").wait_for()
    assert cloud.ask("GET", "/calendars/to-change")["exclude"] == ["2027-12-25"]


def test_a_new_calendar_does_not_replace_another(page: Page, seeds: Seeds, cloud: Cloud) -> None:
    seeds.calendar("taken", *EXCLUDED)
    page.goto("/console/new-calendar")
    page.get_by_label("Name").fill("taken")
    page.get_by_role("button", name="Save").click()
    page.locator(".field-error", has_text="is taken by another calendar").wait_for()
    assert cloud.ask("GET", "/calendars/taken")["exclude"] == EXCLUDED


def test_a_calendar_in_use_is_not_deleted(
    page: Page, seeds: Seeds, cloud: Cloud, guard: Guard
) -> None:
    guard.allow("status of 409")
    seeds.calendar("in-use", *EXCLUDED)
    seeds.schedule("needs-it", "@daily", exclude=["in-use"])
    page.goto("/console/calendars/in-use")
    page.get_by_role("button", name="Delete").click()
    question = page.get_by_role("dialog")
    question.get_by_role("button", name="Delete calendar").click()
    question.get_by_text("Calendar in-use is used by schedule needs-it.").wait_for()
    cloud.ask("DELETE", "/schedules/needs-it")
    question.get_by_role("button", name="Delete calendar").click()
    page.wait_for_url("**/console/calendars")
    assert cloud.api.get("/calendars/in-use").status_code == 404


def test_a_calendar_that_is_not_there_is_said_to_be_missing(page: Page, guard: Guard) -> None:
    guard.allow("status of 404")
    page.goto("/console/calendars/none-such")
    page.get_by_text("This calendar does not exist").wait_for()


def test_hostile_notes_are_shown_as_they_are(page: Page, cloud: Cloud) -> None:
    for number, text in enumerate(HOSTILE.values()):
        body = {"exclude": ["2027-01-01"], "note": text[:1000]}
        cloud.ask("PUT", f"/calendars/hostile-{number}", body)
    page.goto("/console/calendars")
    page.get_by_text("<script>window.harmed = 1</script>").wait_for()
    for number in range(2):
        page.goto(f"/console/calendars/hostile-{number}")
        page.locator(".schedule-note").wait_for()
    assert page.evaluate(HARMED) is None


@pytest.mark.parametrize("context_options", [{"viewport": {"width": 390, "height": 844}}])
def test_a_phone_shows_calendars_without_scrolling_sideways(page: Page, seeds: Seeds) -> None:
    seeds.calendar("on-a-phone", *EXCLUDED, "0 0 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17 * *")
    for path in ("calendars", "calendars/on-a-phone", "calendars/on-a-phone/edit"):
        page.goto(f"/console/{path}")
        page.locator("main").get_by_text("Excluded").or_(
            page.get_by_text("2027-12-25")
        ).first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
