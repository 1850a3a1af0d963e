"""The console's dead letters: their groups, their errors, and redriving and discarding them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.accessibility import violations
from tests.browser.contrast import poor_texts
from tests.browser.harness import Cloud, Guard
from tests.browser.harness_seed import HARMED, Seeds

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Route


RUNBOOK = Path(__file__).parents[2] / "docs" / "how-to" / "runbook.md"


def group_of(page: Page, pattern: str) -> Locator:
    """Return the group whose pattern this is."""
    return page.locator(".dead-group").filter(
        has=page.locator(".dead-group-message").get_by_text(pattern)
    )


def open_group(page: Page, pattern: str) -> Locator:
    """Open a group and return it."""
    group = group_of(page, pattern)
    group.locator(".dead-group-toggle").click()
    group.locator(".trace").wait_for()
    return group


def dialog(page: Page) -> Locator:
    """Return the question that is open."""
    return page.get_by_role("dialog")


def close(page: Page) -> None:
    """Close the dialog of an action that is done."""
    dialog(page).get_by_role("button", name="Close").last.click()
    dialog(page).wait_for(state="detached")


def kinds(cloud: Cloud, job_id: str) -> list[str]:
    """Return the kinds of a job's events."""
    return [event["kind"] for event in cloud.ask("GET", f"/jobs/{job_id}/events")["events"]]


def test_dead_jobs_are_grouped_by_handler_and_error(page: Page, seeds: Seeds) -> None:
    dead = seeds.dead_letters()
    page.goto("/console/dead-letters")
    declined = group_of(page, "Card <n> was declined.")
    declined.wait_for()
    assert declined.locator(".dead-group-count").inner_text().split()[0] == "3"
    assert "CardDeclined" in declined.inner_text()
    assert "charge-card" in declined.inner_text()
    assert group_of(page, "Cannot import stock.csv").count() == 1
    newest = declined.locator(".dead-group-newest")
    newest.get_by_role("link", name=dead["declined"][-1]).wait_for()
    newest.get_by_text("Card 7 was declined.").wait_for()
    assert newest.locator("time").count() == 2


def test_two_hundred_bytes_of_a_message_are_shown(page: Page, seeds: Seeds) -> None:
    message = f"Queue full. {'All of the queues of the warehouse are full. ' * 4}End of it."
    seeds.dead(message)
    page.goto("/console/dead-letters")
    newest = group_of(page, "Queue full.").locator(".dead-group-newest bdi")
    newest.wait_for()
    assert newest.inner_text()[:190] == message[:190]


def test_a_group_shows_its_jobs_and_a_traceback(page: Page, seeds: Seeds) -> None:
    job_id = seeds.dead("Shop 12 is closed.")
    page.goto("/console/dead-letters")
    group = open_group(page, "Shop <n> is closed.")
    assert "Traceback (most recent call last)" in group.locator(".trace").inner_text()
    assert "Shop 12 is closed." in group.locator(".trace").inner_text()
    assert "group=" in page.url
    page.reload()
    group.locator(".trace").wait_for()
    group.get_by_role("link", name=f"Change and resubmit {job_id}").click()
    page.wait_for_url(f"**/console/submit?from={job_id}")


def test_one_job_is_redriven(page: Page, seeds: Seeds, cloud: Cloud) -> None:
    one, other = seeds.dead("Row 1 is bad."), seeds.dead("Row 2 is bad.")
    page.goto("/console/dead-letters")
    group = open_group(page, "Row <n> is bad.")
    button = group.get_by_role("button", name=f"Redrive {one}")
    assert button.inner_text() == "Redrive …"
    button.click()
    dialog(page).get_by_role("heading", name="Redrive this job?").wait_for()
    for words in ("charge-card", one):
        dialog(page).get_by_text(words, exact=True).wait_for()
    dialog(page).get_by_role("button", name="Redrive").click()
    dialog(page).wait_for(state="detached")
    page.get_by_role("status").get_by_text("Job redriven.").wait_for()
    assert "REDRIVEN" in kinds(cloud, one)
    assert "REDRIVEN" not in kinds(cloud, other)
    page.get_by_role("link", name="View job").click()
    page.wait_for_url(f"**/console/jobs/{one}")


def test_one_job_is_discarded_with_a_note_and_leaves_the_list(
    page: Page, seeds: Seeds, cloud: Cloud
) -> None:
    one, other = seeds.dead("Hook 1 is bent."), seeds.dead("Hook 2 is bent.")
    page.goto("/console/dead-letters")
    group = open_group(page, "Hook <n> is bent.")
    group.get_by_role("button", name=f"Discard {one}").click()
    dialog(page).get_by_label("Note").fill("The hook was replaced.")
    dialog(page).get_by_role("button", name="Discard").click()
    page.get_by_role("status").get_by_text("Job discarded.").wait_for()
    group.get_by_role("row").filter(has_text=one).wait_for(state="detached")
    group.get_by_role("row").filter(has_text=other).wait_for()
    assert cloud.job(one)["discard_note"] == "The hook was replaced."
    assert cloud.job(other)["discarded_at"] is None
    page.get_by_role("link", name="Show discarded jobs").click()
    page.wait_for_url("**/jobs?status=DEAD&discarded=true")
    row = page.get_by_role("row").filter(has_text=one)
    row.get_by_text("Discarded").wait_for()
    row.get_by_text("The hook was replaced.").wait_for()
    row.get_by_text("CardDeclined: Hook 1 is bent.").wait_for()
    assert page.get_by_role("link", name=other).count() == 0
    assert page.get_by_role("columnheader").all_inner_texts()[-1] == "Error"


def test_a_selection_and_then_all_of_a_group_are_redriven(
    page: Page, seeds: Seeds, cloud: Cloud
) -> None:
    ids = [seeds.dead(f"Page {number} is torn.") for number in (1, 22, 333)]
    page.goto("/console/dead-letters")
    group = open_group(page, "Page <n> is torn.")
    for job_id in ids[:2]:
        group.get_by_label(f"Select {job_id}").check()
    group.get_by_role("button", name="Redrive selected (2)").click()
    dialog(page).get_by_role("button", name="Redrive 2 jobs").click()
    dialog(page).get_by_text("2 jobs redriven").wait_for()
    close(page)
    for job_id in ids:
        cloud.reach(job_id, "DEAD")
    group.get_by_role("button", name="Redrive …").click()
    dialog(page).get_by_role("button", name="Redrive 3 jobs").click()
    dialog(page).get_by_text("3 jobs redriven").wait_for()
    assert [kinds(cloud, job_id).count("REDRIVEN") for job_id in ids] == [2, 2, 1]


def test_a_whole_group_is_discarded_and_the_others_stay(
    page: Page, seeds: Seeds, cloud: Cloud
) -> None:
    ids = [seeds.dead(f"Cup {number} is broken.") for number in (1, 2)]
    other = seeds.dead("The plate is broken.")
    page.goto("/console/dead-letters")
    group = group_of(page, "Cup <n> is broken.")
    group.get_by_role("button", name="Discard …").click()
    dialog(page).get_by_role("heading", name="Cup <n> is broken.").wait_for()
    dialog(page).get_by_role("button", name="Discard 2 jobs").click()
    dialog(page).get_by_text("2 jobs discarded").wait_for()
    close(page)
    group.wait_for(state="detached")
    group_of(page, "The plate is broken.").wait_for()
    assert all(cloud.job(job_id)["discarded_at"] for job_id in ids)
    assert cloud.job(other)["discarded_at"] is None


def test_what_could_not_be_redriven_is_named(page: Page, seeds: Seeds, guard: Guard) -> None:
    guard.allow("status of 404")
    job_id, other = seeds.dead("Too late for 1."), seeds.dead("Too late for 2.")
    page.goto("/console/dead-letters")
    group = open_group(page, "Too late for <n>.")
    # As if its retention had ended between the listing and the click.
    page.route(f"**/v1/jobs/{job_id}/redrive", _not_found)
    group.get_by_role("button", name=f"Redrive {job_id}").click()
    dialog(page).get_by_role("button", name="Redrive").click()
    dialog(page).get_by_role("alert").get_by_text("It is gone.").wait_for()
    dialog(page).get_by_role("button", name="Back").click()
    for selected in (job_id, other):
        group.get_by_label(f"Select {selected}").check()
    group.get_by_role("button", name="Redrive selected (2)").click()
    dialog(page).get_by_role("button", name="Redrive 2 jobs").click()
    dialog(page).get_by_text("1 job could not be changed").wait_for()
    assert job_id in dialog(page).inner_text()
    assert "It is gone." in dialog(page).inner_text()


def _not_found(route: Route) -> None:
    problem = {"type": "urn:hourhand:not_found", "title": "Gone", "detail": "It is gone."}
    route.fulfill(status=404, json={**problem, "status": 404})


def test_groups_are_filtered_by_handler_by_error_and_by_words(page: Page, seeds: Seeds) -> None:
    seeds.dead("Ink is out.")
    seeds.dead("paper.csv", handler="import-file")
    page.goto("/console/dead-letters")
    group_of(page, "Ink is out.").wait_for()
    page.get_by_label("Handler", exact=True).select_option("import-file")
    group_of(page, "Ink is out.").wait_for(state="detached")
    group_of(page, "paper.csv").wait_for()
    page.get_by_label("Handler", exact=True).select_option("")
    page.get_by_label("Error", exact=True).select_option("CardDeclined")
    group_of(page, "paper.csv").wait_for(state="detached")
    group_of(page, "Ink is out.").wait_for()
    assert "error_type=CardDeclined" in page.url
    page.get_by_label("Filter the groups").fill("no such thing")
    page.get_by_text("No group matches").wait_for()
    page.get_by_role("link", name="Show all groups").click()
    group_of(page, "Ink is out.").wait_for()


def test_all_dead_jobs_of_a_handler_are_redriven_but_not_under_a_filter_of_the_page(
    page: Page, seeds: Seeds, cloud: Cloud
) -> None:
    ids = [seeds.dead(f"file{number}.csv", handler="import-file") for number in range(2)]
    page.goto("/console/dead-letters?handler=import-file")
    scope = page.get_by_text("All dead jobs that are not discarded, with handler import-file:")
    scope.wait_for()
    redrive = page.locator(".bulk-bar").get_by_role("button", name="Redrive …")
    page.get_by_label("Filter the groups").fill("file0")
    page.get_by_text("filters the groups on this page only").wait_for()
    assert redrive.is_disabled()
    page.get_by_label("Filter the groups").fill("")
    redrive.click()
    dialog(page).get_by_role("button", name="Redrive").click()
    dialog(page).get_by_role("status").filter(has_text="redriven").wait_for()
    assert all("REDRIVEN" in kinds(cloud, job_id) for job_id in ids)


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("error_type=", "without a value: error_type"),
        ("handler=report", "that is given twice: handler"),
        ("tenant=acme", "that the console does not know: tenant"),
    ],
)
def test_a_filter_of_the_address_that_is_not_clear_stops_bulk_actions(
    page: Page, seeds: Seeds, query: str, why: str
) -> None:
    seeds.dead("file.csv", handler="import-file")
    page.goto(f"/console/dead-letters?handler=import-file&{query}")
    page.get_by_text(f"The address has a filter {why}.").wait_for()
    assert page.locator(".bulk-bar").get_by_role("button", name="Redrive …").is_disabled()


def shown_rows(group: Locator) -> list[str]:
    """Return the ids in the rows of an open group, from the top, once it has them."""
    rows = group.locator("tbody a.id")
    rows.first.wait_for()
    return rows.all_inner_texts()


def test_the_rows_of_a_group_begin_with_the_newest_death(
    page: Page, seeds: Seeds, cloud: Cloud
) -> None:
    first, second = seeds.dead("Lamp 1 is off."), seeds.dead("Lamp 22 is off.")
    # It was created first and dies last.
    cloud.ask("POST", f"/jobs/{first}/redrive")
    cloud.wait(lambda: kinds(cloud, first).count("FAILED") == 2 or None)
    page.goto("/console/dead-letters")
    group = open_group(page, "Lamp <n> is off.")
    assert shown_rows(group) == [first, second]
    assert "Message" in group.get_by_role("columnheader").all_inner_texts()
    row = group.get_by_role("row").filter(has_text=second)
    row.get_by_text("Lamp 22 is off.").wait_for()


def test_a_message_that_all_rows_share_is_shown_once(page: Page, seeds: Seeds) -> None:
    for _ in range(2):
        seeds.dead("The till is empty.")
    page.goto("/console/dead-letters")
    group = open_group(page, "The till is empty.")
    assert len(shown_rows(group)) == 2
    assert "Message" not in group.get_by_role("columnheader").all_inner_texts()
    assert group.get_by_text("The till is empty.", exact=True).count() == 1


def test_only_handlers_and_errors_of_dead_jobs_are_offered(page: Page, seeds: Seeds) -> None:
    seeds.dead("A seal is broken.")
    seeds.dead("seal.csv", handler="import-file")
    page.goto("/console/dead-letters")
    group_of(page, "A seal is broken.").wait_for()
    handlers = page.get_by_label("Handler", exact=True).locator("option")
    assert handlers.all_inner_texts() == ["any", "charge-card", "import-file"]
    page.get_by_label("Handler", exact=True).select_option("import-file")
    group_of(page, "A seal is broken.").wait_for(state="detached")
    group_of(page, "seal.csv").wait_for()
    # A filter leaves other groups out of the page, but not out of the choices.
    assert handlers.all_inner_texts() == ["any", "charge-card", "import-file"]


def test_the_count_in_the_navigation_is_that_of_the_page(page: Page) -> None:
    # As if other jobs had died since the page was read.
    jobs: dict[str, Any] = {"jobs": [{}] * 13, "next_cursor": None}
    page.route("**/v1/jobs?*discarded=false*", lambda route: route.fulfill(json=jobs))
    groups = {"groups": [_group(jobs=12)], "read": 12, "next_cursor": None}
    page.route("**/v1/dead-letters/groups?*", lambda route: route.fulfill(json=groups))
    page.goto("/console/calendars")
    badge = page.get_by_role("navigation", name="Main").locator(".nav-count-bad")
    badge.get_by_text("13").wait_for()
    page.get_by_role("link", name="Dead letters").click()
    page.get_by_text("1 group of 12 dead jobs").wait_for()
    badge.get_by_text("12").wait_for()
    assert page.locator(".dead-group-count").inner_text() == "12 jobs"
    page.get_by_text("as of").wait_for()
    page.get_by_role("link", name="Calendars").click()
    badge.get_by_text("13").wait_for()


def test_the_page_says_what_ends_the_alarm(page: Page, seeds: Seeds) -> None:
    seeds.dead("The bell is mute.")
    page.goto("/console/dead-letters")
    page.get_by_text("ends one tick after the last dead job was redriven or discarded").wait_for()
    page.get_by_text("With monitoring=basic, purge the dead-letter queue, too").click()
    command = page.get_by_text("aws sqs purge-queue").inner_text()
    command = command.replace("INSTALLATION", "hourhand-prod")
    assert command in RUNBOOK.read_text(), "The runbook has another command."


def test_a_dialog_does_not_change_the_switch_of_live_refresh(page: Page, seeds: Seeds) -> None:
    for number in (1, 2):
        seeds.dead(f"Belt {number} is loose.")
    page.goto("/console/dead-letters")
    group_of(page, "Belt <n> is loose.").get_by_role("button", name="Discard …").click()
    dialog(page).get_by_role("button", name="Discard 2 jobs").wait_for()
    live = page.locator(".live .button").inner_text()
    assert live == "Live"


def _group(**changes: Any) -> dict[str, Any]:
    at = "2026-11-21T00:00:00.000Z"
    newest = {"id": "j1", "at": at, "message": "bad row 1"}
    known = {"id": "abcdefghijkl", "handler": "greet", "error_type": "ValueError", "jobs": 1000}
    return {**known, "pattern": "bad row <n>", "first_at": at, "last_at": at, "newest": newest} | (
        changes
    )


def _groups(route: Route) -> None:
    """Answer as an installation with 1,250 dead jobs does."""
    if "cursor=" in route.request.url:
        later = _group(jobs=250, first_at="2026-11-20T00:00:00.000Z")
        route.fulfill(json={"groups": [later], "read": 250, "next_cursor": None})
    else:
        route.fulfill(json={"groups": [_group()], "read": 1000, "next_cursor": "more"})


def test_only_the_newest_thousand_are_read_until_more_are_asked_for(page: Page) -> None:
    page.route("**/v1/dead-letters/groups?*", _groups)
    page.goto("/console/dead-letters")
    page.get_by_text("1 group of the newest 1,000 dead jobs").wait_for()
    assert page.locator(".dead-group-count").inner_text().split()[0] == "1,000+"
    page.get_by_text("Only the newest 1,000 jobs are counted").wait_for()
    page.get_by_role("button", name="Read 1,000 more").click()
    page.get_by_text("1 group of 1,250 dead jobs").wait_for()
    assert page.locator(".dead-group-count").inner_text().split()[0] == "1,250"
    assert page.get_by_text("There are more").count() == 0


def test_nothing_dead_is_said_to_be_so(page: Page) -> None:
    nothing = {"groups": [], "read": 0, "next_cursor": None}
    page.route("**/v1/dead-letters/groups?*", lambda route: route.fulfill(json=nothing))
    page.goto("/console/dead-letters")
    page.get_by_text("No dead letters").wait_for()


def test_hostile_errors_are_shown_as_they_are(page: Page, seeds: Seeds) -> None:
    dead = seeds.hostile_dead()
    page.goto("/console/dead-letters")
    page.get_by_text("<script>window").first.wait_for()
    shown: set[str] = set()
    toggles = page.locator(".dead-group-toggle")
    for index in range(toggles.count()):
        toggles.nth(index).click()
        page.locator(".trace").wait_for()
        page.locator("tbody a.id").first.wait_for()
        shown |= set(page.locator("tbody a.id").all_inner_texts())
        toggles.nth(index).click()
        page.locator(".trace").wait_for(state="detached")
    assert set(dead.values()) <= shown
    assert page.evaluate(HARMED) is None


@pytest.mark.parametrize("context_options", [{"viewport": {"width": 390, "height": 844}}])
def test_a_phone_shows_a_group_without_scrolling_sideways(page: Page, seeds: Seeds) -> None:
    seeds.dead("A long error " * 20)
    page.goto("/console/dead-letters")
    open_group(page, "A long error")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("context_options", [{"color_scheme": "dark"}, {"color_scheme": "light"}])
def test_every_text_stands_out_from_its_ground(page: Page, seeds: Seeds) -> None:
    job_id = seeds.dead("Grey on grey 1.")
    page.goto("/console/dead-letters")
    group = open_group(page, "Grey on grey <n>.")
    group.get_by_label(f"Select {job_id}").check()
    assert poor_texts(page) == []
    assert violations(page) == []
