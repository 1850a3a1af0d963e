"""The console's editor of schedules: every field of the API can be written, and none is lost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.browser.editor_page import GROUPS, UNUSED_ID, expression, preview, save, told
from tests.browser.harness import Cloud, Guard
from tests.browser.harness_seed import Seeds

if TYPE_CHECKING:
    from playwright.sync_api import Page

EVERYTHING: dict[str, Any] = {
    "expression": ["0 6 * * MON-FRI", "rate(90 minutes)"],
    "timezone": "Europe/Berlin",
    "handler": "greet",
    "payload": {"user": 1, "nested": [None, 1.5, "ü"]},
    "note": "All of it",
    "start_at": "2027-01-01T00:00:00.000Z",
    "end_at": "2028-01-01T00:00:00.000Z",
    "anchor": "2027-01-01T00:30:00.000Z",
    "max_occurrences": 500,
    "expires_after_seconds": 900,
    "exclude": ["2027-12-25", {"from": "2027-12-28", "to": "2027-12-31"}, "* * 24 12 *", "off"],
    "jitter_seconds": 2.5,
    "dst_gap": "shift",
    "dst_fold": "both",
    "misfire": {"policy": "all", "window_seconds": 7200},
    "overlap": "allow",
    "max_running": 1,
    "buffer_limit": 7,
    "pause_on_failure": True,
    "priority": "high",
    "timeout_seconds": 30,
    "retry": {
        "max_attempts": 4,
        "backoff": "linear",
        "base_seconds": 0.5,
        "max_delay_seconds": 60,
        "jitter": "none",
    },
    "retention_seconds": 3600,
    "on_lost": "dead",
    "tenant": "shop",
    "tags": {"team": "stock", "__proto__": "a: b"},
    "keep": {"succeeded": 3, "failed": 4},
}


def test_a_save_without_a_change_changes_nothing(page: Page, seeds: Seeds, cloud: Cloud) -> None:
    seeds.calendar("off")
    cloud.ask("PUT", "/schedules/everything", EVERYTHING)
    before = told(cloud, "everything")
    page.goto("/console/schedules/everything/edit")
    expression(page).wait_for()
    save(page)
    page.get_by_text("Saved everything.").wait_for()
    page.goto("/console/schedules/everything/edit")
    page.get_by_role("button", name="JSON").click()
    page.get_by_role("button", name="Form", exact=True).click()
    save(page)
    page.get_by_text("Saved everything.").wait_for()
    # `revision` is no sign: a new calendar has its schedules computed anew, which counts as one.
    changing = {"revision", "updated_at", "next_at"}
    after = told(cloud, "everything")
    assert {k: v for k, v in after.items() if k not in changing} == {
        k: v for k, v in before.items() if k not in changing
    }


def test_every_field_can_be_filled_in_by_the_form(
    page: Page, seeds: Seeds, cloud: Cloud, guard: Guard
) -> None:
    guard.allow(UNUSED_ID)
    seeds.calendar("off")
    page.goto("/console/new-schedule")
    page.get_by_label("ID").fill("filled-in")
    for group in GROUPS:
        page.get_by_text(group, exact=True).click()
    for label, text in TEXTS.items():
        page.get_by_label(label, exact=True).fill(text)
    for label, choice in CHOICES.items():
        page.get_by_label(label, exact=True).select_option(choice)
    page.get_by_label("Pause the schedule when one of its jobs dies").check()
    save(page)
    page.get_by_text("Saved filled-in.").wait_for()
    made = told(cloud, "filled-in")
    assert {name: made[name] for name in EVERYTHING} == EVERYTHING


TEXTS = {
    "Expression": "0 6 * * MON-FRI\nrate(90 minutes)",
    "Time zone": "Europe/Berlin",
    "Handler": "greet",
    "Payload": json.dumps(EVERYTHING["payload"]),
    "Note": "All of it",
    # In the browser's zone, which is Berlin's.
    "Starts at (your time)": "2027-01-01T01:00:00",
    "Ends at (your time)": "2028-01-01T01:00:00",
    "Anchor (your time)": "2027-01-01T01:30:00",
    "Maximum occurrences": "500",
    "Start within (s)": "900",
    "Excluded times": "2027-12-25\n2027-12-28 .. 2027-12-31\n\n* * 24 12 *\noff\n",
    "Jitter (s)": "2.5",
    "Misfire window (s)": "7200",
    "Maximum running at once": "1",
    "Maximum waiting": "7",
    "Time limit (s)": "30",
    "Attempts": "4",
    "Backoff base (s)": "0.5",
    "Maximum backoff (s)": "60",
    "Retention after its end (s)": "3600",
    "Tenant": "shop",
    "Tags": "team: stock\n__proto__: a: b",
    "Succeeded jobs listed": "3",
    "Failed jobs listed": "4",
}
CHOICES = {
    "If the local time is skipped": "shift",
    "If the local time occurs twice": "both",
    "Runs missed in an outage or pause": "all",
    "If the previous run is still active": "allow",
    "Priority": "high",
    "Backoff": "linear",
    "Backoff jitter": "none",
    "If its worker is lost": "dead",
}


def test_the_same_definition_is_edited_as_json(page: Page, seeds: Seeds, cloud: Cloud) -> None:
    seeds.schedule("as-json", "@hourly")
    page.goto("/console/schedules/as-json/edit")
    expression(page).fill("@daily")
    page.get_by_role("button", name="JSON").click()
    area = page.get_by_label("Definition")
    definition = json.loads(area.input_value())
    assert (definition["expression"], definition["handler"]) == ("@daily", "greet")
    area.fill(json.dumps({**definition, "overlap": "buffer_all", "tags": {"by": "hand"}}))
    preview(page).locator("li").first.wait_for()
    save(page)
    page.get_by_text("Saved as-json.").wait_for()
    made = told(cloud, "as-json")
    assert (made["overlap"], made["tags"], made["expression"]) == (
        "buffer_all",
        {"by": "hand"},
        "@daily",
    )


def test_an_unknown_field_in_the_json_is_named(page: Page, seeds: Seeds, guard: Guard) -> None:
    guard.allow("status of 422")
    seeds.schedule("unknown-field")
    page.goto("/console/schedules/unknown-field/edit")
    page.get_by_role("button", name="JSON").click()
    page.get_by_label("Definition").fill('{"expression": "@daily", "handler": "greet", "cron": 1}')
    page.get_by_text("is not a known field").wait_for()
    # As it is, the form cannot say it away; what it does not know it keeps.
    page.get_by_role("button", name="Form", exact=True).click()
    page.get_by_text("is not a known field").wait_for()


def test_large_numbers_of_a_payload_stay_as_they_are(page: Page, cloud: Cloud) -> None:
    body = '{"expression": "@daily", "handler": "greet", "payload": {"id": 12345678901234567890}}'
    answer = cloud.api.put(
        "/schedules/large-number", content=body, headers={"content-type": "application/json"}
    )
    assert answer.is_success
    page.goto("/console/schedules/large-number/edit")
    page.get_by_label("Note").fill("edited")
    save(page)
    page.get_by_text("Saved large-number.").wait_for()
    assert told(cloud, "large-number")["payload"] == {"id": 12345678901234567890}
