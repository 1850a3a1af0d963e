"""A job's page: what it was, what happened to it, and what can be done about it."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.harness import Cloud, Guard, guarded_page
from tests.browser.harness_seed import HARMED, HOSTILE, Seeds

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

ACTIONS = {
    "PENDING": {"Run now …", "Change …", "Cancel job …", "Edit and resubmit"},
    "ENQUEUED": {"Run now …", "Change …", "Cancel job …", "Edit and resubmit"},
    "RETRYING": {"Run now …", "Change …", "Cancel job …", "Edit and resubmit"},
    "RUNNING": {"Cancel job …", "Edit and resubmit"},
    "SUCCEEDED": {"Edit and resubmit"},
    "DEAD": {"Redrive …", "Discard …", "Edit and resubmit"},
    "CANCELLED": {"Redrive …", "Edit and resubmit"},
    "EXPIRED": {"Redrive …", "Edit and resubmit"},
}


@pytest.fixture(scope="module")
def job_ids(seeds: Seeds) -> dict[str, str]:
    return seeds.one_of_each(tags={"customer": "42"}, tenant="acme")


def open_job(page: Page, job_id: str) -> None:
    page.goto(f"/console/jobs/{job_id}")
    page.get_by_role("group", name="Actions").wait_for()


def status_is(page: Page, words: str) -> None:
    page.locator("h1 .badge").get_by_text(words, exact=True).wait_for()


def press(page: Page, action: str, confirm: str) -> Locator:
    """Press an action's button and confirm it; return the dialog."""
    page.get_by_role("group", name="Actions").get_by_text(f"{action} …", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name=confirm, exact=True).click()
    return dialog


def holds(field: Locator, text: str) -> bool | None:
    """Whether a field has this value, for `Cloud.wait`."""
    return field.input_value() == text or None


@pytest.mark.parametrize("status", ACTIONS)
def test_a_job_offers_what_its_state_allows(
    page: Page, job_ids: dict[str, str], status: str
) -> None:
    open_job(page, job_ids[status])
    status_is(page, status.capitalize())
    actions = page.get_by_role("group", name="Actions").locator("a, button").all_inner_texts()
    assert {action.strip() for action in actions} == ACTIONS[status]


def test_a_dead_job_shows_why_first(page: Page, job_ids: dict[str, str]) -> None:
    open_job(page, job_ids["DEAD"])
    error = page.get_by_role("region", name="Error")
    error.get_by_text("CardDeclined", exact=True).wait_for()
    error.get_by_text("The card was declined.", exact=True).wait_for()
    trace = error.locator("pre").inner_text()
    assert trace.startswith("Traceback (most recent call last):")
    assert "in charge_card" in trace
    error.get_by_text("Traceback", exact=True).click()
    error.locator("pre").wait_for(state="hidden")


def test_attempts_history_and_timeline_tell_the_same_story(
    page: Page, job_ids: dict[str, str]
) -> None:
    open_job(page, job_ids["DEAD"])
    attempts = page.get_by_role("region", name="Attempts")
    attempts.get_by_text("#1", exact=True).wait_for()
    attempts.get_by_text("Failed", exact=True).wait_for()
    history = page.get_by_role("region", name="History").get_by_role("listitem")
    assert [text.split("\n")[-1] != "" for text in history.all_inner_texts()]
    for words in ("submitted", "started", "failed"):
        history.get_by_text(words, exact=True).wait_for()
    bars = page.get_by_role("region", name="Timeline").locator(".timeline-bar")
    assert bars.count() == 1
    assert "Failed" in (bars.get_attribute("title") or "")


def test_times_are_told_from_now_here_and_in_utc(
    page: Page, cloud: Cloud, job_ids: dict[str, str]
) -> None:
    created = cloud.job(job_ids["DEAD"])["created_at"]
    open_job(page, job_ids["DEAD"])
    time = page.locator(f"time[datetime='{created}']").first
    assert " ago" in time.inner_text() or "now" in time.inner_text()
    local, utc = (time.get_attribute("title") or "").split("\n")
    assert "CET" in local or "CEST" in local
    assert utc == created.replace("T", " ").replace("Z", " UTC")


def test_tags_and_tenant_lead_to_jobs_like_it(page: Page, job_ids: dict[str, str]) -> None:
    open_job(page, job_ids["DEAD"])
    page.get_by_role("link", name="customer: 42").click()
    page.wait_for_url("**/jobs?tag=customer%3A42")
    page.get_by_role("link", name=job_ids["DEAD"]).wait_for()


def test_progress_of_a_running_job_is_live(
    page: Page, cloud: Cloud, job_ids: dict[str, str]
) -> None:
    open_job(page, job_ids["RUNNING"])
    bar = page.get_by_role("progressbar")
    first = int(bar.evaluate("bar => bar.value"))
    cloud.wait(lambda: bar.evaluate("bar => bar.value") > first or None)
    assert bar.evaluate("bar => bar.max") == 300


def test_a_waiting_job_is_cancelled(page: Page, seeds: Seeds, cloud: Cloud) -> None:
    job_id = seeds.pending()
    open_job(page, job_id)
    press(page, "Cancel job", "Cancel job")
    status_is(page, "Cancelled")
    page.get_by_role("status").get_by_text("Job cancelled.").wait_for()
    assert cloud.job(job_id)["status"] == "CANCELLED"


def test_going_back_from_the_question_changes_nothing(
    page: Page, seeds: Seeds, cloud: Cloud
) -> None:
    job_id = seeds.pending()
    open_job(page, job_id)
    dialog = press(page, "Cancel job", "Back")
    dialog.wait_for(state="detached")
    page.keyboard.press("c")
    dialog.wait_for()
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    assert cloud.job(job_id)["status"] == "PENDING"


def test_a_running_job_is_asked_to_stop(page: Page, seeds: Seeds, cloud: Cloud) -> None:
    job_id = seeds.running()
    open_job(page, job_id)
    press(page, "Cancel job", "Cancel job")
    page.get_by_text("Cancellation requested.").wait_for()
    page.get_by_text("Cancel requested").first.wait_for()
    assert cloud.job(job_id)["cancel_requested_at"] is not None


def test_a_job_of_later_is_run_now(page: Page, seeds: Seeds) -> None:
    open_job(page, seeds.pending())
    press(page, "Run now", "Run now")
    status_is(page, "Succeeded")


def test_a_dead_job_is_redriven(page: Page, seeds: Seeds, cloud: Cloud) -> None:
    job_id = seeds.dead()
    open_job(page, job_id)
    press(page, "Redrive", "Redrive")
    page.get_by_role("region", name="History").get_by_text("redriven").wait_for()
    events = cloud.ask("GET", f"/jobs/{job_id}/events")["events"]
    assert "REDRIVEN" in [event["kind"] for event in events]


def test_a_dead_job_is_discarded_with_a_note_and_can_still_be_redriven(
    page: Page, seeds: Seeds, cloud: Cloud
) -> None:
    job_id = seeds.dead()
    open_job(page, job_id)
    page.get_by_role("button", name="Discard …").click()
    dialog = page.get_by_role("dialog", name="Discard this job?")
    dialog.get_by_text("charge-card", exact=True).wait_for()
    dialog.get_by_text(job_id, exact=True).wait_for()
    dialog.get_by_label("Note").fill("Paid by hand.")
    dialog.get_by_role("button", name="Discard", exact=True).click()
    page.get_by_role("status").get_by_text("Job discarded.").wait_for()
    # The toast of this page's own job has no link to it.
    assert page.get_by_role("link", name="View job").count() == 0
    page.locator("h1 .badge").get_by_text("Discarded").wait_for()
    page.get_by_role("region", name="Discarded").get_by_text("Paid by hand.").wait_for()
    page.get_by_role("region", name="History").get_by_text("discarded", exact=True).wait_for()
    assert page.get_by_role("button", name="Discard …").count() == 0
    assert cloud.job(job_id)["discard_note"] == "Paid by hand."
    press(page, "Redrive", "Redrive")
    page.get_by_role("region", name="Discarded").wait_for(state="detached")


def test_a_lost_attempt_says_what_happened_in_full(
    page: Page, cloud: Cloud, job_ids: dict[str, str]
) -> None:
    why = "its worker died or lost contact (lease ended at 2026-11-23T10:00:45.000Z, exit code 137)"
    job_id = job_ids["DEAD"]
    events = cloud.ask("GET", f"/jobs/{job_id}/events")
    events["events"][-1].update(kind="LOST", reason=why, actor="tick")
    page.route(f"**/v1/jobs/{job_id}/events", lambda route: route.fulfill(json=events))
    open_job(page, job_id)
    history = page.get_by_role("region", name="History").get_by_role("listitem")
    history.get_by_text(why, exact=True).wait_for()
    history.get_by_text("lost", exact=True).wait_for()


def test_the_history_names_who_requested_an_event(page: Page, seeds: Seeds, cloud: Cloud) -> None:
    job_id = seeds.cancelled()
    events = cloud.ask("GET", f"/jobs/{job_id}/events")["events"]
    assert events[-1]["caller"] == "local"
    arn = "arn:aws:sts::123456789012:assumed-role/operators/ada"
    events[-1].update(actor="ada", caller=arn)
    answer = {"events": events, "dropped": 0}
    page.route(f"**/v1/jobs/{job_id}/events", lambda route: route.fulfill(json=answer))
    open_job(page, job_id)
    event = page.get_by_role("region", name="History").get_by_role("listitem").last
    event.get_by_text("by ada").wait_for()
    event.get_by_text(arn, exact=True).wait_for()


def test_a_wait_for_the_due_time_is_no_delay(page: Page, seeds: Seeds, cloud: Cloud) -> None:
    waiting = seeds.enqueued()
    told = cloud.ask("GET", f"/jobs/{waiting}/events")
    # This one was sent with its submission; a tick notes an event of its own.
    told["events"].append({**told["events"][0], "kind": "ENQUEUED"})
    page.route(f"**/v1/jobs/{waiting}/events**", lambda route: route.fulfill(json=told))
    open_job(page, waiting)
    history = page.get_by_role("region", name="History")
    history.get_by_text("ahead of time: due").wait_for()
    assert history.get_by_text("which holds it until it is due").count() == 2
    cloud.ask("POST", f"/jobs/{waiting}/cancel")
    done = seeds.succeeded()
    open_job(page, done)
    history.get_by_text("after its due time").wait_for()
    assert history.get_by_text("ahead of time").count() == 0
    assert "+" not in history.locator(".history-time").last.inner_text()


WAITS = {
    (1, "exponential", 1, 3600, "additive"): "not retried",
    (2, "exponential", 1, 3600, "additive"): "1 s, plus up to 0.5 s at random",
    (6, "exponential", 1, 3600, "none"): "1 s, then twice as long each time",
    (20, "exponential", 1, 3600, "full"): "1 s, then twice as long each time, at most 1 h,"
    " or less at random",
    (6, "fixed", 30, 3600, "none"): "30 s, each time",
    (6, "fixed", 30, 10, "none"): "10 s",
    (6, "linear", 2, 3600, "none"): "2 s, then 2 s longer each time",
    (3, "sidekiq", 1, 3600, "additive"): "16 s, then longer each time, as Sidekiq does",
}


def test_the_wait_before_a_retry_is_told_in_words(page: Page, subtests: pytest.Subtests) -> None:
    page.goto("/console/")
    for (most, backoff, base, longest, jitter), words in WAITS.items():
        retry = {"max_attempts": most, "backoff": backoff, "base_seconds": base}
        with subtests.test(words):
            told = page.evaluate(
                "async (retry) => (await import('/console/static/views/job_facts.js'))"
                ".waitWords(retry)",
                {**retry, "max_delay_seconds": longest, "jitter": jitter},
            )
            assert told == words


def test_times_have_a_zone_and_a_state_is_told_in_plain_words(
    page: Page, job_ids: dict[str, str]
) -> None:
    open_job(page, job_ids["DEAD"])
    times = page.get_by_role("region", name="Facts").locator("time").all_inner_texts()
    assert times
    assert all("CET" in text or "CEST" in text for text in times)
    told = "This job is dead. It started 1 of at most 6 attempts."
    page.get_by_role("status").get_by_text(told).wait_for()


PLACES = """() => {
  const middle = (place) => { const box = document.querySelector(place).getBoundingClientRect();
    return box.y + box.height / 2; };
  return [middle("h1 .badge"), middle(".live .button"), middle(".actions .button")];
}"""


@pytest.mark.parametrize("context_options", [{"viewport": {"width": 1400, "height": 900}}])
def test_title_switch_and_actions_are_in_one_line_on_a_job_and_on_a_schedule(
    page: Page, seeds: Seeds, job_ids: dict[str, str]
) -> None:
    paths = [f"/console/jobs/{job_ids['DEAD']}", f"/console/schedules/{seeds.schedule('aligned')}"]
    for path in paths:
        page.goto(path)
        page.get_by_role("group", name="Actions").wait_for()
        title, switch, actions = page.evaluate(PLACES)
        assert abs(title - switch) <= 1, path
        assert abs(switch - actions) <= 1, path
        right = "document.querySelector('{}').getBoundingClientRect().right"
        edges = [page.evaluate(right.format(place)) for place in (".page", ".page-actions")]
        assert edges[0] == edges[1], path


def test_a_trace_of_a_deployment_is_opened_in_xray(
    page: Page, cloud: Cloud, job_ids: dict[str, str]
) -> None:
    trace = cloud.job(job_ids["DEAD"])["trace_id"]
    open_job(page, job_ids["DEAD"])
    page.get_by_role("region", name="Facts").get_by_text(trace).wait_for()
    assert page.get_by_role("link", name="Open in X-Ray").count() == 0
    deployed = {"status": "ok", "installation": "shop", "stage": "dev", "region": "eu-central-1"}
    page.route("**/v1/health", lambda route: route.fulfill(json=deployed))
    page.reload()
    link = page.get_by_role("link", name="Open in X-Ray").get_attribute("href") or ""
    assert link.startswith("https://eu-central-1.console.aws.amazon.com/cloudwatch/home?")
    assert link.endswith(f"#xray:traces/1-{trace[:8]}-{trace[8:]}")


def test_a_waiting_job_is_changed_in_what_was_touched_alone(
    page: Page, seeds: Seeds, cloud: Cloud
) -> None:
    job_id = seeds.pending()
    before = cloud.job(job_id)
    open_job(page, job_id)
    page.get_by_text("Change …", exact=True).click()
    dialog = page.get_by_role("dialog")
    save = dialog.get_by_role("button", name="Save changes")
    assert save.is_disabled()
    dialog.get_by_label("Priority").select_option("high")
    dialog.get_by_label("Payload").fill('{"exact": [12345678901234567890, 1.0]}')
    save.click()
    page.get_by_text("Job changed.").wait_for()
    after = cloud.job(job_id)
    assert after["priority"] == "high"
    assert json.dumps(after["payload"]) == '{"exact": [12345678901234567890, 1.0]}'
    assert after["run_at"] == before["run_at"]
    assert after["expires_at"] is None


def test_a_change_that_is_refused_is_told_at_its_field(
    page: Page, guard: Guard, seeds: Seeds
) -> None:
    guard.allow("status of 422")
    open_job(page, seeds.pending())
    page.get_by_text("Change …", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Expires at").fill("2020-01-01T00:00:00")
    dialog.get_by_role("button", name="Save changes").click()
    field = dialog.get_by_label("Expires at")
    dialog.get_by_role("alert").get_by_text("expires_at").first.wait_for()
    assert field.get_attribute("aria-invalid") == "true"


def test_what_the_job_allows_no_more_is_told_in_the_question(
    page: Page, guard: Guard, seeds: Seeds, cloud: Cloud
) -> None:
    guard.allow("status of 409")
    job_id = seeds.pending()
    open_job(page, job_id)
    page.get_by_role("button", name="Live refresh: Live").click()
    page.get_by_role("button", name="Live refresh: Paused").wait_for()
    cloud.ask("POST", f"/jobs/{job_id}/run-now")
    cloud.reach(job_id, "SUCCEEDED")
    dialog = press(page, "Run now", "Run now")
    dialog.get_by_role("alert").get_by_text("is SUCCEEDED").wait_for()
    dialog.get_by_role("button", name="Back").click()
    page.get_by_role("button", name="Refresh now").click()
    status_is(page, "Succeeded")


def test_a_job_that_does_not_exist_says_so(page: Page, guard: Guard) -> None:
    guard.allow("status of 404")
    page.goto("/console/jobs/no-such-job")
    page.get_by_text("This job does not exist").wait_for()


def test_a_new_job_is_submitted_by_hand(page: Page, cloud: Cloud) -> None:
    page.goto("/console/submit")
    page.get_by_label("Handler").select_option("greet")
    page.get_by_text("Succeed, with the payload as the result.").wait_for()
    page.get_by_label("Payload (JSON)").fill('{"name": "Ada"}')
    page.get_by_label("after a delay").check()
    page.get_by_label("Delay in seconds").fill("3600.5")
    page.get_by_label("Priority").select_option("low")
    page.get_by_label("Idempotency key").fill("ada-1")
    page.get_by_text("More", exact=True).click()
    page.get_by_label("Tags").fill("customer: 42\nurl: https://example.org")
    page.get_by_label("Maximum attempts").fill("3")
    page.get_by_role("button", name="Submit job").click()
    status_is(page, "Pending")
    job = cloud.job(page.url.rsplit("/", 1)[1])
    assert (job["payload"], job["priority"]) == ({"name": "Ada"}, "low")
    assert job["tags"] == {"customer": "42", "url": "https://example.org"}
    assert job["retry"]["max_attempts"] == 3
    assert job["idempotency_key"] == "ada-1"


def test_a_mistake_in_the_payload_is_told_by_its_line(page: Page) -> None:
    page.goto("/console/submit?handler=greet")
    payload = page.get_by_label("Payload (JSON)")
    payload.fill('{\n  "a": 1,\n  "b": oops\n}')
    page.get_by_text("Line 3, column 8: Expected a value").wait_for()
    assert page.get_by_role("button", name="Submit job").is_disabled()
    page.get_by_role("button", name="Go to the error").click()
    assert payload.evaluate("area => area.value[area.selectionStart]") == "o"
    payload.fill('{"a": [1')
    page.get_by_text("The JSON ends too early").wait_for()
    payload.fill("")
    page.get_by_text("Write null for no value").wait_for()


def test_a_submission_that_is_refused_is_told_at_its_field(page: Page, guard: Guard) -> None:
    guard.allow("status of 422")
    page.goto("/console/submit?handler=greet")
    page.get_by_label("at a time").check()
    page.get_by_label("Time, in your time zone").fill("2020-01-01T00:00:00")
    page.get_by_role("button", name="Submit job").click()
    page.get_by_role("alert").wait_for()
    time = page.get_by_label("Time, in your time zone")
    assert time.get_attribute("aria-invalid") == "true"


def test_a_job_is_edited_and_resubmitted_without_loss(page: Page, cloud: Cloud) -> None:
    text = '{"big": 12345678901234567890, "whole": 1.0, "small": 1e-7, "text": "é"}'
    answer = cloud.api.post(
        "/jobs",
        content=f'{{"handler": "greet", "tenant": "acme", "payload": {text}}}'.encode(),
        headers={"content-type": "application/json"},
    )
    first = cloud.reach(answer.json()["id"], "SUCCEEDED")
    open_job(page, first["id"])
    page.get_by_text("12345678901234567890").first.wait_for()
    page.get_by_role("link", name="Edit and resubmit").click()
    page.get_by_role("heading", name="Edit and resubmit").wait_for()
    page.get_by_role("button", name="Submit job").click()
    status_is(page, "Succeeded")
    second = cloud.job(page.url.rsplit("/", 1)[1])
    assert second["id"] != first["id"]
    assert json.dumps(second["payload"]) == json.dumps(first["payload"])
    assert second["tenant"] == "acme"


def test_json_opens_and_closes_and_shows_long_things_when_asked(page: Page, seeds: Seeds) -> None:
    payload = {"deep": {"er": {"est": "here"}}, "long": "y" * 3000, "many": list(range(250))}
    open_job(page, seeds.succeeded(payload))
    card = page.get_by_role("region", name="Payload")
    assert card.get_by_text('"here"').count() == 0
    card.get_by_role("button", name="er, 1 entry").click()
    card.get_by_text('"here"').wait_for()
    card.get_by_role("button", name="show all (3,000 characters)").click()
    card.get_by_text("y" * 3000).wait_for()
    card.get_by_role("button", name="many, 250 entries").click()
    card.get_by_role("button", name="show more (150 left)").click()
    card.get_by_text("249", exact=True).wait_for()
    card.get_by_role("button", name="Text", exact=True).click()
    assert json.loads(card.locator(".json-text").inner_text()) == payload


def test_payloads_and_ids_are_copied_whole(browser: Browser, cloud: Cloud, seeds: Seeds) -> None:
    payload = {"long": "z" * 5000, "controls": "\u0007"}
    job_id = seeds.succeeded(payload)
    copied = {"payload": json.dumps(payload, indent=2, sort_keys=True), "id": job_id}
    with guarded_page(browser, cloud.url, permissions=["clipboard-write"]) as (page, _):
        for what, text in copied.items():
            open_job(page, job_id)
            page.get_by_role("button", name=f"Copy the {what}").click()
            page.get_by_role("button", name="Copied").wait_for()
            page.keyboard.press("n")
            field = page.get_by_label("Payload (JSON)")
            field.press("Control+a")
            field.press("Control+v")
            cloud.wait(partial(holds, field, text))


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_payloads_and_errors_are_shown_as_text(page: Page, seeds: Seeds, what: str) -> None:
    text = HOSTILE[what]
    tags = {"tag": text[:200]}
    payload: dict[str, Any] = {what: text, text[:200]: 1}
    for job_id in (seeds.succeeded(payload, tags=tags, tenant=text[:100]), seeds.dead(text)):
        open_job(page, job_id)
        page.get_by_role("region", name="History").wait_for()
        assert page.evaluate(HARMED) is None
        assert page.locator("main script, main img, main svg[onload]").count() == 0
        assert page.locator("a[href^='javascript' i], a[href^='data' i]").count() == 0
        assert "\u202e" not in page.locator("body").inner_text()
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(wide) <= 0
    if len(text) < 200 and text.isprintable():
        page.get_by_text(text).first.wait_for()


A_FAULT = re.compile(r"Line \d+, column \d+:")
FAULTS = {
    '{"a": 1,}': (1, 9, "Expected a name in double quotes."),
    '{"a" 1}': (1, 6, "Expected a colon."),
    "{'a': 1}": (1, 2, "Expected a name in double quotes, or }."),
    "[1 2]": (1, 4, "Expected a comma or ]."),
    "[01]": (1, 2, "Expected a value"),
    '{"a": {"b": [1]}': (1, 17, "The JSON ends too early"),
    '{"a": "open}': (1, 7, "This string is not closed"),
    '["tab\there"]': (1, 2, "This string is not closed, or contains a line break, a tab"),
    "null\n\n x": (3, 2, "Expected the end of the JSON."),
    "[]]": (1, 3, "Expected the end of the JSON."),
    "[1,\n\tNaN]": (2, 2, "Expected a value"),
}


def test_what_is_no_json_is_told_by_place_and_by_what_was_expected(
    page: Page, subtests: pytest.Subtests
) -> None:
    page.goto("/console/submit?handler=greet")
    payload = page.get_by_label("Payload (JSON)")
    for text, (line, column, message) in FAULTS.items():
        with subtests.test(text):
            payload.fill("null")
            page.get_by_text(A_FAULT).wait_for(state="detached")
            payload.fill(text)
            page.get_by_text(f"Line {line}, column {column}: {message}").wait_for()


WORDS = """async () => {
  const at = await import("/console/static/lib/format.js");
  const of = (milliseconds) => at.duration(milliseconds);
  return {
    durations: [0, 20, 250, 1400, 59_600, 185_000, 3_600_000, 187_200_000, null].map(of),
    relative: [-3000, 500, 300_000].map((ms) => at.relative(new Date(ms).toISOString(), 0)),
    axes: [9, 1300, 640].map((all) => [0, all / 2, all].map((ms) => at.offset(ms, all))),
    percent: [0, 0.0001, 0.5, 0.9999, 1].map(at.percent),
    visible: at.visible("a\\u202eb\\u0007c\\nd"),
    zone: at.instantOf(at.inputTime("2026-07-01T10:00:00.000Z")),
    sizes: [999, 4200, 2_500_000].map(at.bytes),
  };
}"""


def test_figures_are_written_as_people_say_them(page: Page) -> None:
    page.goto("/console/")
    assert page.evaluate(WORDS) == {
        "durations": [
            *("0 ms", "20 ms", "0.25 s", "1.4 s", "1 min"),
            *("3 min 5 s", "1 h", "2 d 4 h", "\N{EN DASH}"),
        ],
        "relative": ["3 s ago", "now", "in 5 min"],
        # One axis has one unit, and the same digits at each mark.
        "axes": [
            ["+0 ms", "+5 ms", "+9 ms"],
            ["+0.0 s", "+0.7 s", "+1.3 s"],
            ["+0.00 s", "+0.32 s", "+0.64 s"],
        ],
        # Never all for less than all, nor none for more than none.
        "percent": [f"{share}\N{NO-BREAK SPACE}%" for share in ("0", "0.1", "50", "99.9", "100")],
        "visible": "a\\u202eb\\u0007c\nd",
        "zone": "2026-07-01T10:00:00.000Z",
        "sizes": ["999 B", "4.2 KB", "2.5 MB"],
    }
