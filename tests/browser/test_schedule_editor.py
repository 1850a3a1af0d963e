"""The console's editor of schedules: the live preview, what is refused, what is not lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.contrast import poor_texts
from tests.browser.editor_page import GROUPS, UNUSED_ID, expression, preview, save, told
from tests.browser.harness import Cloud, Guard
from tests.browser.harness_seed import Seeds

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_a_newcomer_makes_a_schedule_from_an_example(
    page: Page, cloud: Cloud, guard: Guard
) -> None:
    guard.allow(UNUSED_ID)
    page.goto("/console/schedules")
    page.get_by_role("link", name="New schedule").click()
    page.get_by_label("ID").fill("from-an-example")
    page.get_by_role("button", name="weekdays at 06:00").click()
    page.get_by_label("Handler").fill("greet")
    preview(page).get_by_text("06:00").first.wait_for()
    save(page)
    page.get_by_text("Saved from-an-example.").wait_for()
    page.wait_for_url("**/console/schedules/from-an-example")
    made = told(cloud, "from-an-example")
    assert (made["expression"], made["timezone"]) == ("0 6 * * MON-FRI", "Europe/Berlin")
    assert made["payload"] is None


def test_the_preview_tells_both_zones_and_what_the_clocks_do(page: Page) -> None:
    page.goto("/console/new-schedule")
    page.get_by_label("Time zone").fill("Europe/Berlin")
    expression(page).fill("30 2 * * *")
    preview(page).get_by_label("After (your time)").fill("2027-03-27T12:00:00")
    first = preview(page).locator("li").first
    first.get_by_text("2027-03-28 03:00 +02:00").wait_for()
    assert "2027-03-28 01:00:00 UTC" in first.inner_text()
    assert "02:30 does not exist in Europe/Berlin" in first.inner_text()
    # Another policy, another answer.
    page.get_by_text("When the clocks change").click()
    page.get_by_label("If the local time is skipped").select_option("skip")
    first.get_by_text("2027-03-29 02:30 +02:00").wait_for()
    preview(page).get_by_role("button", name="Show 50").click()
    preview(page).locator("li").nth(49).wait_for()


def test_the_preview_warns_of_calendars_that_are_not_there(page: Page) -> None:
    page.goto("/console/new-schedule")
    expression(page).fill("@daily")
    page.get_by_text("Bounds and exclusions").click()
    page.get_by_label("Excluded times").fill("no-such-calendar")
    preview(page).get_by_text("There is no calendar no-such-calendar").wait_for()


def test_a_wrong_field_is_marked_while_it_is_written(page: Page, guard: Guard) -> None:
    guard.allow("status of 422")
    page.goto("/console/new-schedule")
    expression(page).fill("0 6 * * MON-FRI\n61 * * * *")
    page.locator(".field-error", has_text="Line 2:").wait_for()
    assert expression(page).get_attribute("aria-invalid") == "true"
    note = expression(page).get_attribute("aria-describedby") or ""
    ids = " ".join(f"#{one}" for one in note.split()).split()
    assert any("Line 2:" in page.locator(one).inner_text() for one in ids)
    expression(page).fill("0 6 * * MON-FRI")
    preview(page).locator("li").first.wait_for()
    assert expression(page).get_attribute("aria-invalid") is None


def test_a_fault_in_a_closed_part_opens_it(page: Page, guard: Guard) -> None:
    guard.allow("status of 422")
    page.goto("/console/new-schedule")
    expression(page).fill("@daily")
    attempts = page.get_by_label("Attempts")
    assert attempts.is_hidden()
    page.get_by_role("button", name="JSON").click()
    area = page.get_by_label("Definition")
    area.fill('{"expression": "@daily", "retry": {"max_attempts": "lots"}}')
    page.get_by_text("retry.max_attempts").wait_for()
    page.get_by_role("button", name="Form", exact=True).click()
    page.locator(".field-error", has_text="must be a whole number").wait_for()
    assert attempts.input_value() == "lots"


def test_what_the_server_refuses_is_not_sent_off(page: Page, cloud: Cloud, guard: Guard) -> None:
    guard.allow("status of (404|422)")
    page.goto("/console/new-schedule")
    page.get_by_label("ID").fill("no-handler")
    expression(page).fill("@daily")
    page.get_by_label("Handler").fill("none-such")
    save(page)
    page.locator(".field-error", has_text="is not registered").wait_for()
    page.locator(":focus[aria-invalid='true']").wait_for()
    assert cloud.api.get("/schedules/no-handler").status_code == 404
    page.get_by_label("Handler").fill("greet")
    save(page)
    page.get_by_text("Saved no-handler.").wait_for()


def test_broken_json_is_not_sent(page: Page, seeds: Seeds, cloud: Cloud) -> None:
    seeds.schedule("with-payload", payload={"a": 1})
    page.goto("/console/schedules/with-payload/edit")
    page.get_by_label("Payload").fill('{"a": }')
    page.locator(".field-error", has_text="Line 1").wait_for()
    save(page)
    page.get_by_text("Not saved: correct the marked fields.").wait_for()
    assert told(cloud, "with-payload")["payload"] == {"a": 1}


def test_a_schedule_is_copied(page: Page, seeds: Seeds, cloud: Cloud, guard: Guard) -> None:
    guard.allow(UNUSED_ID)
    seeds.schedule("original", "15 4 * * *", timezone="Asia/Tokyo", tags={"team": "stock"})
    page.goto("/console/schedules/original?tab=definition")
    page.get_by_role("link", name="Duplicate").click()
    page.get_by_label("ID").fill("copy")
    save(page)
    page.get_by_text("Saved copy.").wait_for()
    copy = told(cloud, "copy")
    assert (copy["expression"], copy["timezone"], copy["tags"]) == (
        "15 4 * * *",
        "Asia/Tokyo",
        {"team": "stock"},
    )


def test_a_new_schedule_does_not_replace_another(page: Page, seeds: Seeds, cloud: Cloud) -> None:
    seeds.schedule("taken", "@hourly")
    page.goto("/console/new-schedule")
    page.get_by_label("ID").fill("taken")
    expression(page).fill("@daily")
    page.get_by_label("Handler").fill("greet")
    save(page)
    page.locator(".field-error", has_text="is taken by another schedule").wait_for()
    assert told(cloud, "taken")["expression"] == "@hourly"


def test_what_others_changed_meanwhile_is_replaced_only_when_asked(
    page: Page, seeds: Seeds, cloud: Cloud
) -> None:
    seeds.schedule("shared", "@hourly")
    page.goto("/console/schedules/shared/edit")
    expression(page).fill("@daily")
    seeds.schedule("shared", "@weekly")
    save(page)
    question = page.get_by_role("dialog")
    question.get_by_text("changed since you opened it").wait_for()
    question.get_by_role("button", name="Back").click()
    assert told(cloud, "shared")["expression"] == "@weekly"
    save(page)
    question.get_by_role("button", name="Save my definition").click()
    page.wait_for_url("**/console/schedules/shared")
    assert told(cloud, "shared")["expression"] == "@daily"


def test_what_is_not_saved_is_not_left_unasked(page: Page, seeds: Seeds, cloud: Cloud) -> None:
    seeds.schedule("half-written", "@hourly")
    page.goto("/console/schedules/half-written/edit")
    expression(page).fill("@daily")
    page.get_by_role("link", name="Jobs").click()
    question = page.get_by_role("dialog")
    question.get_by_role("button", name="Back").click()
    assert expression(page).input_value() == "@daily"
    page.get_by_role("link", name="Jobs").click()
    question.get_by_role("button", name="Leave").click()
    page.wait_for_url("**/console/jobs")
    assert told(cloud, "half-written")["expression"] == "@hourly"


def test_a_paused_schedule_stays_paused_when_it_is_edited(
    page: Page, seeds: Seeds, cloud: Cloud
) -> None:
    seeds.schedule("still-paused", "@hourly", paused=True, note="why")
    page.goto("/console/schedules/still-paused/edit")
    expression(page).fill("@daily")
    page.get_by_label("Note").fill("")
    save(page)
    page.get_by_text("Saved still-paused.").wait_for()
    made = told(cloud, "still-paused")
    assert (made["status"], made["expression"], made["note"]) == ("paused", "@daily", None)


@pytest.mark.parametrize("written", [None, "INC-43"])
def test_an_edit_of_a_paused_schedule_leaves_its_own_note_alone(
    page: Page, seeds: Seeds, cloud: Cloud, written: str | None
) -> None:
    name = f"noted-{written}"
    seeds.schedule(name, "@hourly", note="Owner: team A")
    cloud.ask("POST", f"/schedules/{name}/pause", {"note": "INC-42"})
    page.goto(f"/console/schedules/{name}/edit")
    expression(page).fill("@daily")
    if written is not None:
        page.get_by_label("Note").fill(written)
    save(page)
    page.get_by_text(f"Saved {name}.").wait_for()
    made = told(cloud, name)
    assert (made["status"], made["note"]) == ("paused", written or "INC-42")
    resumed = cloud.ask("POST", f"/schedules/{name}/resume", {})
    assert (resumed["expression"], resumed["note"]) == ("@daily", "Owner: team A")


@pytest.mark.parametrize(
    "context_options", [{"viewport": {"width": 390, "height": 844}}, {"color_scheme": "dark"}]
)
def test_the_editor_fits_its_screen(page: Page, seeds: Seeds) -> None:
    seeds.schedule("on-a-phone", "0 6 * * MON-FRI", timezone="Asia/Tokyo")
    page.goto("/console/schedules/on-a-phone/edit")
    for group in GROUPS:
        page.get_by_text(group, exact=True).click()
    preview(page).locator("li").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("context_options", [{"color_scheme": "dark"}, {"color_scheme": "light"}])
def test_every_text_of_the_editor_stands_out(page: Page, seeds: Seeds, guard: Guard) -> None:
    guard.allow("status of 422")
    seeds.schedule("in-colours", "30 2 * * *", timezone="Europe/Berlin")
    page.goto("/console/schedules/in-colours/edit")
    preview(page).get_by_label("After (your time)").fill("2027-03-27T12:00:00")
    preview(page).locator(".notice").wait_for()
    assert poor_texts(page) == []
    expression(page).fill("61 * * * *")
    page.locator(".field-error").wait_for()
    assert poor_texts(page) == []
