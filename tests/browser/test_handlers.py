"""The console's handlers: the list, one of them, and its pause."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.harness import Cloud, Guard
from tests.browser.harness_seed import HARMED, HOSTILE, Seeds

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

SUBMIT = "/console/submit?handler=send-invoice"


def row_of(page: Page, name: str) -> Locator:
    """Return the row of a handler in the list."""
    return page.locator("tbody tr").filter(has=page.get_by_role("link", name=name, exact=True))


def test_the_list_has_each_handler_with_its_fields_and_the_figures_of_a_named_sample(
    page: Page, seeds: Seeds
) -> None:
    seeds.dead()
    seeds.succeeded()
    page.goto("/console/handlers")
    row = row_of(page, "send-invoice")
    row.get_by_text("customer, cents, currency?, send?").wait_for()
    row.get_by_text("Send an invoice to a customer.").wait_for()
    assert "100\N{NO-BREAK SPACE}%" in row_of(page, "charge-card").inner_text()
    assert "any JSON" in row_of(page, "greet").inner_text()
    page.get_by_text("Figures are of the newest").wait_for()
    row_of(page, "charge-card").get_by_role("link", name="1").click()
    page.wait_for_url("**/console/jobs?*handler=charge-card*")


def test_the_list_is_filtered_and_walked_by_keys(page: Page) -> None:
    page.goto("/console/handlers")
    row_of(page, "greet").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("invoice")
    row_of(page, "greet").wait_for(state="detached")
    page.get_by_text(re.compile(r"^2 of \d+ handlers$")).wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/handlers/send-invoice")


def test_the_page_has_schema_policies_figures_jobs_and_schedules(
    page: Page, seeds: Seeds, cloud: Cloud
) -> None:
    job_id = cloud.submit("send-invoice", {"customer": "ada", "cents": 5})
    cloud.reach(job_id, "SUCCEEDED")
    seeds.schedule(
        "monthly-invoice",
        "0 6 1 * *",
        handler="send-invoice",
        payload={"customer": "ada", "cents": 1},
    )
    page.goto("/console/handlers/send-invoice")
    fields = page.get_by_role("region", name="Payload").locator("tbody tr")
    fields.first.wait_for()
    told = fields.all_inner_texts()
    assert "required" in told[0]
    assert "whole number" in told[1]
    assert "one of EUR, USD" in told[2]
    assert '"EUR"' in told[2]
    assert "text or null" in told[4]
    assert "list of Line" in told[5]
    policies = page.get_by_role("region", name="Policies").inner_text()
    for words in ("1 min", "high", "at most 2"):
        assert words in policies
    figures = page.get_by_role("region", name="Figures")
    figures.get_by_text("From the newest 1 job of this handler, created since").wait_for()
    assert "0\N{NO-BREAK SPACE}%" in figures.inner_text()
    schedules = page.get_by_role("region", name="Schedules")
    schedules.get_by_role("link", name="monthly-invoice").wait_for()
    schedules.get_by_text("Day 1 of the month at 06:00").wait_for()
    page.get_by_role("region", name="Newest jobs").get_by_role("link", name=job_id).click()
    page.wait_for_url(f"**/console/jobs/{job_id}")


def test_a_handler_is_paused_with_a_note_and_resumed(page: Page, cloud: Cloud) -> None:
    page.goto("/console/handlers/send-invoice")
    page.get_by_role("button", name="Pause …").click()
    page.get_by_label("Note").fill("wrong totals")
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    page.get_by_text("Paused send-invoice.").wait_for()
    page.locator(".notice", has_text="wrong totals").wait_for()
    assert cloud.ask("GET", "/handlers/send-invoice")["paused"]["note"] == "wrong totals"
    job_id = cloud.submit("send-invoice", {"customer": "ada", "cents": 5})
    page.goto(f"/console/jobs/{job_id}")
    page.get_by_text("Handler paused").first.wait_for()
    page.get_by_role("link", name="send-invoice").first.click()
    page.wait_for_url("**/console/handlers/send-invoice")
    page.get_by_role("button", name="Resume …").click()
    page.get_by_role("dialog").get_by_role("button", name="Resume").click()
    page.get_by_text("Resumed send-invoice.").wait_for()
    cloud.reach(job_id, "SUCCEEDED")


@pytest.fixture
def paused(cloud: Cloud) -> Iterator[str]:
    """Yield the name of a handler that is paused, with a note."""
    name = "send-invoice"
    cloud.ask("POST", f"/handlers/{name}/pause", {"note": "wrong totals"})
    yield name
    cloud.ask("POST", f"/handlers/{name}/resume", {})


def test_a_pause_is_shown_wherever_the_handler_or_its_jobs_are(
    page: Page, cloud: Cloud, seeds: Seeds, paused: str
) -> None:
    payload = {"customer": "ada", "cents": 5}
    job_id = cloud.submit(paused, payload)
    later = cloud.submit(paused, payload, delay_seconds=3600)
    seeds.schedule("of-a-paused-handler", handler=paused, payload=payload)
    shown = {
        "/console/handlers": row_of(page, paused).locator(".badge", has_text="Paused"),
        f"/console/handlers/{paused}": page.locator(".notice", has_text="wrong totals"),
        "/console/jobs": page.locator("tbody tr", has_text=later).get_by_text("Handler paused"),
        f"/console/jobs?handler={paused}": page.locator(".notice", has_text="wrong totals"),
        f"/console/jobs/{job_id}": page.locator(".notice", has_text="does not start before"),
        f"/console/jobs/{later}": page.locator(".notice", has_text="does not start before"),
        "/console/schedules": page.locator("tbody tr", has_text="of-a-paused-handler").get_by_text(
            "Handler paused"
        ),
        "/console/schedules/of-a-paused-handler": page.locator(".notice", has_text="they wait"),
        SUBMIT: page.locator(".notice", has_text="The job is accepted, and waits."),
        "/console/": page.get_by_role("list", name="Needs attention").get_by_text(
            f"{paused} was paused"
        ),
    }
    for path, place in shown.items():
        page.goto(path)
        place.wait_for()
    handlers = page.get_by_role("navigation", name="Main").get_by_role("link", name="Handlers")
    assert handlers.inner_text().split() == ["Handlers", "1", "paused"]


def test_a_pause_gets_an_end_and_another_note(page: Page, cloud: Cloud, paused: str) -> None:
    page.goto(f"/console/handlers/{paused}")
    page.get_by_role("button", name="Change pause").click()
    dialog = page.get_by_role("dialog")
    assert dialog.get_by_label("Note").input_value() == "wrong totals"
    dialog.get_by_label("Note").fill("until the tax office answers")
    dialog.get_by_label("Until").fill("2199-01-02T09:00:00")
    dialog.get_by_role("button", name="Change", exact=True).click()
    page.get_by_text("Changed the pause of send-invoice.").wait_for()
    notice = page.locator(".notice", has_text="until the tax office answers")
    notice.get_by_text("2 Jan, 09:00:00 CET").wait_for()
    pause = cloud.ask("GET", f"/handlers/{paused}")["paused"]
    assert pause["note"] == "until the tax office answers"
    assert pause["until"] == "2199-01-02T08:00:00.000Z"


def test_an_end_in_the_past_is_refused_in_the_dialog(
    page: Page, cloud: Cloud, guard: Guard
) -> None:
    guard.allow("status of 422")
    page.goto("/console/handlers/greet")
    page.get_by_role("button", name="Pause …").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Until").fill("2020-01-02T09:00:00")
    dialog.get_by_role("button", name="Pause", exact=True).click()
    dialog.get_by_role("alert").get_by_text("until").wait_for()
    assert cloud.ask("GET", "/handlers/greet")["paused"] is None


def test_a_handler_shows_its_limits(page: Page) -> None:
    page.goto("/console/handlers/sync-account")
    limits = page.get_by_role("region", name="Limits")
    limits.get_by_text("at most 1 at a time, each value of payload.account").wait_for()
    limits.get_by_role("link", name="sync-account.1").click()
    page.wait_for_url("**/console/limits/sync-account.1")


def test_jobs_ahead_of_time_do_not_hide_how_the_last_runs_went(
    page: Page, cloud: Cloud, seeds: Seeds
) -> None:
    dead = seeds.dead()
    for _ in range(20):
        cloud.submit("charge-card", delay_seconds=3600)
    page.goto("/console/handlers/charge-card")
    first = page.get_by_role("region", name="Newest jobs").locator("tbody tr").first
    first.get_by_role("link", name=dead).wait_for()


KEYS = {
    "unique": (
        {"key": "payload.day", "until": "end", "on_conflict": "reject"},
        "one job of payload.day until its end; another submission is refused",
    ),
    "debounce": (
        {"key": "tenant", "wait_seconds": 10, "max_wait_seconds": 60, "mode": "first"},
        "one job of tenant, 10 s after the last submission, at most 1 min after the first; it has"
        " the first payload",
    ),
}


@pytest.mark.parametrize("name", KEYS)
def test_a_key_of_the_jobs_is_shown_among_the_policies(page: Page, name: str) -> None:
    stated, words = KEYS[name]

    def answer(route: Any) -> None:
        answered = route.fetch()
        route.fulfill(response=answered, json={**answered.json(), name: stated})

    page.route("**/v1/handlers/greet", answer)
    page.goto("/console/handlers/greet")
    page.get_by_role("region", name="Policies").get_by_text(words).wait_for()


def test_a_declared_schedule_is_shown_among_the_policies(page: Page) -> None:
    declared = {"expression": ["30 2 * * *", "@daily"], "timezone": "Europe/Berlin"}

    def answer(route: Any) -> None:
        answered = route.fetch()
        route.fulfill(response=answered, json={**answered.json(), "schedule": declared})

    page.route("**/v1/handlers/greet", answer)
    page.goto("/console/handlers/greet")
    policies = page.get_by_role("region", name="Policies")
    link = policies.get_by_role("link", name="30 2 * * *")
    link.wait_for()
    assert link.get_attribute("href") == "/console/schedules/greet"
    assert link.inner_text().split() == ["30", "2", "*", "*", "*", "@daily"]
    policies.get_by_text("Europe/Berlin").wait_for()


def test_a_handler_that_is_not_registered_is_said_to_be_missing(page: Page, guard: Guard) -> None:
    guard.allow("status of 404")
    page.goto("/console/handlers/none-such")
    page.get_by_text("This handler is not registered").wait_for()


def hostile_schema() -> dict[str, Any]:
    """Return a schema whose names and texts are meant to do harm."""
    texts = [text[:200] for text in HOSTILE.values()]
    properties = {text: {"type": "string", "description": text, "default": text} for text in texts}
    return {"type": "object", "properties": properties, "required": texts[:1]}


@pytest.mark.parametrize("path", ["/console/handlers/greet", "/console/submit?handler=greet"])
def test_hostile_texts_of_a_schema_are_shown_as_they_are(page: Page, path: str) -> None:
    schema = hostile_schema()

    def answer(route: Any) -> None:
        answered = route.fetch()
        route.fulfill(response=answered, json={**answered.json(), "payload_schema": schema})

    page.route("**/v1/handlers/greet", answer)
    page.goto(path)
    page.get_by_text("<script>window.harmed = 1</script>").first.wait_for()
    assert page.evaluate(HARMED) is None
