"""The console's dead letters: their groups, what they died of, and sending them round again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.contrast import poor_texts
from tests.browser.harness import Cloud, Guard
from tests.browser.harness_seed import HARMED, Seeds

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Route

GROUPS = "/console/static/views/dead_letters_groups.js"
A_READ = 1000


def group_of(page: Page, message: str) -> Locator:
    """Return the group whose message this is."""
    return page.locator(".dead-group").filter(has_text=message)


def open_group(page: Page, message: str) -> Locator:
    """Open a group and return it."""
    group = group_of(page, message)
    group.locator(".dead-group-toggle").click()
    group.locator(".trace").wait_for()
    return group


def dialog(page: Page) -> Locator:
    """Return the question that is open."""
    return page.get_by_role("dialog")


def dead_ids(cloud: Cloud) -> set[str]:
    """Return the ids of all dead jobs."""
    return {job["id"] for job in cloud.ask("GET", "/jobs?status=DEAD&limit=200")["jobs"]}


def test_dead_jobs_are_grouped_by_handler_and_error(page: Page, seeds: Seeds) -> None:
    seeds.dead_letters()
    page.goto("/console/dead-letters")
    declined = group_of(page, "Card <n> was declined.")
    declined.wait_for()
    assert declined.locator(".dead-group-count").inner_text() == "3"
    assert "CardDeclined" in declined.inner_text()
    assert "charge-card" in declined.inner_text()
    assert group_of(page, "Cannot import stock.csv").count() == 1
    assert declined.locator("time").count() == 2


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
    group.get_by_role("button", name=f"Redrive {one}").click()
    dialog(page).get_by_role("button", name="Redrive 1 job").click()
    dialog(page).get_by_text("1 job redriven").wait_for()
    dialog(page).get_by_role("button", name="Close").last.click()
    kinds = [event["kind"] for event in cloud.ask("GET", f"/jobs/{one}/events")["events"]]
    assert "REDRIVEN" in kinds
    assert all(
        event["kind"] != "REDRIVEN" for event in cloud.ask("GET", f"/jobs/{other}/events")["events"]
    )


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
    dialog(page).get_by_role("button", name="Close").last.click()
    cloud.wait(lambda: set(ids) <= dead_ids(cloud) or None)
    page.get_by_role("button", name="Refresh now").click()
    group.get_by_role("button", name="Redrive all 3").click()
    dialog(page).get_by_role("button", name="Redrive 3 jobs").click()
    dialog(page).get_by_text("3 jobs redriven").wait_for()
    rounds = [_redrives(cloud, job_id) for job_id in ids]
    assert rounds == [2, 2, 1]


def _redrives(cloud: Cloud, job_id: str) -> int:
    events = cloud.ask("GET", f"/jobs/{job_id}/events")["events"]
    return sum(event["kind"] == "REDRIVEN" for event in events)


def test_what_could_not_be_redriven_is_named(
    page: Page, seeds: Seeds, cloud: Cloud, guard: Guard
) -> None:
    guard.allow("status of 404")
    job_id = seeds.dead("Too late for 1.")
    page.goto("/console/dead-letters")
    group = group_of(page, "Too late for <n>.")
    group.wait_for()
    # As if its retention had ended between the listing and the click.
    page.route(f"**/v1/jobs/{job_id}/redrive", _not_found)
    group.get_by_role("button", name="Redrive").click()
    dialog(page).get_by_role("button", name="Redrive 1 job").click()
    dialog(page).get_by_text("could not be changed").wait_for()
    assert job_id in dialog(page).inner_text()
    assert "It is gone." in dialog(page).inner_text()


def _not_found(route: Route) -> None:
    problem = {"type": "urn:hourhand:not_found", "title": "Gone", "detail": "It is gone."}
    route.fulfill(status=404, json={**problem, "status": 404})


def test_groups_are_filtered_by_handler_and_by_words(page: Page, seeds: Seeds) -> None:
    seeds.dead("Ink is out.")
    seeds.dead("paper.csv", handler="import-file")
    page.goto("/console/dead-letters")
    group_of(page, "Ink is out.").wait_for()
    page.get_by_label("Handler").select_option("import-file")
    group_of(page, "Ink is out.").wait_for(state="detached")
    group_of(page, "paper.csv").wait_for()
    page.get_by_label("Filter").fill("no such thing")
    page.get_by_text("No group matches").wait_for()
    page.get_by_role("link", name="Show all").click()
    group_of(page, "Ink is out.").wait_for()


def _listing(route: Route) -> None:
    """Answer as an installation does that has 1,250 dead jobs: pages of 200, some of them short."""
    query = dict(part.split("=") for part in route.request.url.partition("?")[2].split("&"))
    start = int(query.get("cursor") or 0)
    end = min(start + (150 if start == 0 else int(query["limit"])), 1250)
    jobs = [_dead_job(number) for number in range(start, end)]
    route.fulfill(json={"jobs": jobs, "next_cursor": str(end) if end < 1250 else None})


def _dead_job(number: int) -> dict[str, Any]:
    error = {"type": "ValueError", "message": f"bad row {number}", "retryable": False}
    at = f"2026-11-21T00:{number // 60 % 60:02}:{number % 60:02}.000Z"
    job = {"id": f"j{number}", "handler": "greet", "status": "DEAD", "attempt": 1}
    return {**job, "error": error, "created_at": at, "finished_at": at}


def test_only_the_newest_thousand_are_read_until_more_are_asked_for(page: Page) -> None:
    page.route("**/v1/jobs?*", _listing)
    page.goto("/console/dead-letters")
    page.get_by_text("1 group of the newest 1,000 dead jobs").wait_for()
    assert page.locator(".dead-group-count").inner_text() == "1,000+"
    page.get_by_text("Only the newest 1,000 jobs are shown").wait_for()
    page.get_by_role("button", name="Read 1,000 more").click()
    page.get_by_text("1 group of 1,250 dead jobs").wait_for()
    assert page.locator(".dead-group-count").inner_text() == "1,250"
    assert page.get_by_text("There are more").count() == 0


def test_nothing_dead_is_said_to_be_so(page: Page) -> None:
    page.route("**/v1/jobs?*", lambda route: route.fulfill(json={"jobs": [], "next_cursor": None}))
    page.goto("/console/dead-letters")
    page.get_by_text("No dead letters").wait_for()


def folded(page: Page, messages: list[str]) -> list[str]:
    """Return messages as groups show them."""
    found: list[str] = page.evaluate(
        "async ([path, messages]) => { const groups = await import(path);"
        " return messages.map(groups.foldMessage); }",
        [GROUPS, messages],
    )
    return found


def test_numbers_times_and_ids_do_not_part_groups(page: Page) -> None:
    page.goto("/console/dead-letters")
    assert folded(page, list(FOLDED)) == list(FOLDED.values())


FOLDED = {
    "user 42 has 1,234.5 points": "user <n> has <n> points",
    "late since 2026-11-21T22:41:48.123Z": "late since <time>",
    "id 3fa85f64-5717-4562-b3fc-2c963f66afa6": "id <id>",
    "<object at 0x7f8a2c>": "<object at <id>>",
    "commit deadbeef1 is bad": "commit <id> is bad",
    "job o.01jd3k9zp0abcd failed": "job o.<id> failed",
    "the warehouse did not answer": "the warehouse did not answer",
}


def test_errors_that_the_listing_cut_are_grouped_by_what_is_left(page: Page) -> None:
    messages = ("Timeout after 13.5 s ta...", "Timeout after 3.5 s tal...", "Loading...")
    jobs = [
        {"id": f"j{n}", "handler": "h", "created_at": f"2026-11-21T00:00:0{n}.000Z"}
        | {"finished_at": None, "error": {"type": "CardDeclined", "message": message}}
        for n, message in enumerate(messages)
    ]
    page.goto("/console/dead-letters")
    groups = page.evaluate(
        "async ([path, jobs]) => { const { groupDeadLetters } = await import(path);"
        " return groupDeadLetters(jobs).map(({ message, jobs }) => [message, jobs.length]); }",
        [GROUPS, jobs],
    )
    assert sorted(groups) == [["Loading...", 1], ["Timeout after <n> s …", 2]]


def test_hostile_errors_are_shown_as_they_are(page: Page, seeds: Seeds) -> None:
    dead = seeds.hostile_dead()
    page.goto("/console/dead-letters")
    page.get_by_text("<script>window").first.wait_for()
    shown: set[str] = set()
    toggles = page.locator(".dead-group-toggle")
    for index in range(toggles.count()):
        toggles.nth(index).click()
        page.locator(".trace").wait_for()
        shown |= set(page.locator("tbody a.mono").all_inner_texts())
        toggles.nth(index).click()
        page.locator(".trace").wait_for(state="detached")
    assert set(dead.values()) <= shown
    assert page.evaluate(HARMED) is None


@pytest.mark.parametrize("context_options", [{"viewport": {"width": 390, "height": 844}}])
def test_a_phone_shows_a_group_without_scrolling_sideways(page: Page, seeds: Seeds) -> None:
    seeds.dead("A long error " * 20)
    page.goto("/console/dead-letters")
    open_group(page, "A long …")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("context_options", [{"color_scheme": "dark"}, {"color_scheme": "light"}])
def test_every_text_stands_out_from_its_ground(page: Page, seeds: Seeds) -> None:
    job_id = seeds.dead("Grey on grey 1.")
    page.goto("/console/dead-letters")
    group = open_group(page, "Grey on grey <n>.")
    group.get_by_label(f"Select {job_id}").check()
    assert poor_texts(page) == []
