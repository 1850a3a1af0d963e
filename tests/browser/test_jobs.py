"""The list of jobs: filters, pages, live refresh, and what is done to many at once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.harness import Cloud, Guard
from tests.browser.harness_seed import HARMED, Seeds

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Route

STATUSES = (
    *("PENDING", "ENQUEUED", "RUNNING", "RETRYING"),
    *("SUCCEEDED", "DEAD", "CANCELLED", "EXPIRED"),
)


@pytest.fixture(scope="module")
def job_ids(seeds: Seeds) -> dict[str, str]:
    return seeds.one_of_each(tags={"customer": "42"}, tenant="acme")


def row(page: Page, job_id: str) -> Locator:
    return page.get_by_role("row").filter(has_text=job_id)


def shown_ids(page: Page) -> set[str]:
    page.locator(".table-jobs tbody tr, .empty").first.wait_for()
    return set(page.locator(".job-id").all_text_contents())


@pytest.mark.parametrize("status", STATUSES)
def test_the_address_shows_one_status_alone(
    page: Page, job_ids: dict[str, str], status: str
) -> None:
    page.goto(f"/console/jobs?status={status}&tag=customer:42")
    row(page, job_ids[status]).wait_for()
    badges = page.locator("tbody .badge").all_inner_texts()
    assert set(badges) == {status.capitalize()}
    chip = page.get_by_role("navigation", name="Status").locator("[aria-current]")
    assert chip.inner_text() == status.capitalize()


def test_filters_are_set_by_hand_and_undone_by_the_back_button(
    page: Page, job_ids: dict[str, str]
) -> None:
    page.goto("/console/jobs")
    row(page, job_ids["EXPIRED"]).wait_for()
    page.get_by_label("Handler", exact=True).select_option("charge-card")
    row(page, job_ids["EXPIRED"]).wait_for(state="detached")
    page.get_by_role("button", name="More filters").click()
    page.get_by_label("Tenant").fill("acme")
    page.keyboard.press("Enter")
    page.wait_for_url("**/jobs?handler=charge-card&tenant=acme")
    row(page, job_ids["DEAD"]).wait_for()
    page.get_by_role("link", name="Dead", exact=True).click()
    page.wait_for_url("**status=DEAD**")
    page.go_back()
    page.go_back()
    page.wait_for_url("**/jobs?handler=charge-card")
    assert page.get_by_label("Tenant").input_value() == ""
    page.go_back()
    row(page, job_ids["EXPIRED"]).wait_for()
    assert page.get_by_label("Handler", exact=True).input_value() == ""


def test_jobs_of_a_time_are_shown_for_what_was_picked(page: Page, job_ids: dict[str, str]) -> None:
    page.goto("/console/jobs")
    page.get_by_role("button", name="More filters").click()
    page.get_by_role("button", name="15 min").click()
    page.wait_for_url("**created_after=**")
    row(page, job_ids["DEAD"]).wait_for()
    page.get_by_label("Created before").fill("2020-01-01T00:00:00")
    page.keyboard.press("Enter")
    page.get_by_text("No job matches").wait_for()
    assert page.get_by_text("All matching jobs:").count() == 0
    page.get_by_role("link", name="Clear").click()
    row(page, job_ids["DEAD"]).wait_for()
    assert page.url.endswith("/console/jobs")


def test_the_search_box_finds_a_job_by_its_id(page: Page, job_ids: dict[str, str]) -> None:
    page.goto("/console/jobs")
    page.get_by_role("searchbox").wait_for()
    page.keyboard.press("/")
    page.keyboard.type(job_ids["DEAD"])
    page.keyboard.press("Enter")
    page.get_by_role("heading", level=1).get_by_text("charge-card").wait_for()
    assert page.url.endswith(job_ids["DEAD"])


@pytest.mark.parametrize(
    ("typed", "status"),
    [
        ("status:dead tag:customer:42", "DEAD"),
        ("tenant:acme running", "RUNNING"),
        ("sync-stock customer:42", "RETRYING"),
    ],
)
def test_the_search_box_takes_filters(
    page: Page, job_ids: dict[str, str], typed: str, status: str
) -> None:
    page.goto("/console/jobs")
    # It knows the handlers only once they are read.
    page.get_by_role("option", name="sync-stock").wait_for(state="attached")
    page.get_by_role("searchbox").fill(typed)
    page.keyboard.press("Enter")
    page.wait_for_url("**/jobs?**")
    row(page, job_ids[status]).wait_for()
    assert shown_ids(page) == {job_ids[status]}


def test_a_filter_that_is_not_taken_is_told_by_its_name(page: Page, guard: Guard) -> None:
    guard.allow("status of 422")
    page.goto("/console/jobs?status=SLEEPING")
    page.get_by_role("alert").get_by_text("status", exact=True).wait_for()


def test_pages_lead_to_older_jobs_and_back(page: Page, cloud: Cloud) -> None:
    tag = {"tags": {"page": "yes"}, "delay_seconds": 3600}
    made = [cloud.submit("greet", number, **tag) for number in range(60)]
    page.goto("/console/jobs?tag=page:yes")
    row(page, made[-1]).wait_for()
    first = shown_ids(page)
    page.get_by_role("link", name="Older").click()
    row(page, made[0]).wait_for()
    assert "cursor=" in page.url
    assert first | shown_ids(page) == set(made)
    page.reload()
    row(page, made[0]).wait_for()
    page.go_back()
    row(page, made[-1]).wait_for()
    assert shown_ids(page) == first


def test_a_short_page_is_read_on_until_there_is_something(
    page: Page, job_ids: dict[str, str]
) -> None:
    def answer(route: Route) -> None:
        if "cursor" in route.request.url:
            route.continue_(url=route.request.url.split("&cursor")[0])
        else:
            route.fulfill(json={"jobs": [], "next_cursor": "more"})

    page.route("**/v1/jobs?**", answer)
    page.goto("/console/jobs?status=DEAD")
    row(page, job_ids["DEAD"]).wait_for()


def test_many_empty_pages_are_no_end(page: Page) -> None:
    page.route(
        "**/v1/jobs?**", lambda route: route.fulfill(json={"jobs": [], "next_cursor": "more"})
    )
    page.goto("/console/jobs?status=DEAD")
    page.get_by_text("No match among the newest jobs").wait_for()
    assert "cursor=more" in (page.get_by_role("link", name="Older").get_attribute("href") or "")


def test_no_job_at_all_leads_to_the_first(page: Page) -> None:
    page.route("**/v1/jobs?**", lambda route: route.fulfill(json={"jobs": [], "next_cursor": None}))
    page.goto("/console/jobs")
    page.get_by_role("link", name="Submit a job").click()
    page.get_by_role("heading", name="Submit a job").wait_for()


def test_a_new_job_appears_by_itself(page: Page, cloud: Cloud, job_ids: dict[str, str]) -> None:
    page.goto("/console/jobs?status=SUCCEEDED")
    row(page, job_ids["SUCCEEDED"]).wait_for()
    row(page, cloud.submit("greet", "new")).wait_for()


def test_rows_are_walked_selected_and_opened_by_keys(page: Page, job_ids: dict[str, str]) -> None:
    page.goto("/console/jobs?tag=customer:42")
    row(page, job_ids["DEAD"]).wait_for()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("x")
    page.get_by_text("1 selected").wait_for()
    first = page.locator(".job-id").first.inner_text()
    assert row(page, first).get_by_role("checkbox").is_checked()
    page.keyboard.press("Escape")
    page.get_by_text("1 selected").wait_for(state="detached")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/jobs/{first}")


def test_selected_jobs_are_cancelled_and_the_others_are_not(page: Page, cloud: Cloud) -> None:
    fields = {"tags": {"batch": "picked"}, "delay_seconds": 3600}
    keep, *cancel = [cloud.submit("greet", None, **fields) for _ in range(4)]
    page.goto("/console/jobs?tag=batch:picked")
    for job_id in cancel:
        row(page, job_id).get_by_role("checkbox").check()
    page.get_by_role("button", name="Live refresh: On hold").wait_for()
    page.get_by_role("button", name="Cancel 3").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Cancel 3 jobs").click()
    dialog.get_by_text("3 jobs cancelled").wait_for()
    dialog.get_by_role("button", name="Close").last.click()
    row(page, cancel[0]).get_by_text("Cancelled").wait_for()
    assert [cloud.job(job_id)["status"] for job_id in cancel] == ["CANCELLED"] * 3
    assert cloud.job(keep)["status"] == "PENDING"


def test_all_that_match_are_counted_first_and_cancelled_when_confirmed(
    page: Page, cloud: Cloud
) -> None:
    fields = {"tags": {"batch": "all"}, "delay_seconds": 3600}
    made = [cloud.submit("greet", None, **fields) for _ in range(7)]
    page.goto("/console/jobs?tag=batch:all")
    row(page, made[0]).wait_for()
    page.get_by_role("button", name="Cancel …").click()
    dialog = page.get_by_role("dialog", name="Cancel jobs with tag batch:all")
    dialog.get_by_text("7 jobs").first.wait_for()
    assert {cloud.job(job_id)["status"] for job_id in made} == {"PENDING"}
    dialog.get_by_role("button", name="Back").click()
    dialog.wait_for(state="detached")
    assert {cloud.job(job_id)["status"] for job_id in made} == {"PENDING"}
    page.get_by_role("button", name="Cancel …").click()
    dialog.get_by_role("button", name="Cancel 7 jobs").click()
    dialog.get_by_text("7 jobs cancelled").wait_for()
    assert {cloud.job(job_id)["status"] for job_id in made} == {"CANCELLED"}


def test_all_dead_jobs_that_match_are_redriven(page: Page, seeds: Seeds, cloud: Cloud) -> None:
    dead = [seeds.dead(tags={"batch": "dead"}) for _ in range(3)]
    page.goto("/console/jobs?status=DEAD&tag=batch:dead")
    row(page, dead[0]).wait_for()
    page.get_by_role("button", name="Redrive …").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Redrive 3 jobs").click()
    dialog.get_by_text("3 jobs redriven").wait_for()
    kinds = [cloud.ask("GET", f"/jobs/{job_id}/events")["events"] for job_id in dead]
    assert all("REDRIVEN" in [event["kind"] for event in events] for events in kinds)


def test_a_bulk_operation_goes_on_to_the_end_and_tells_what_failed(page: Page) -> None:
    asked: list[dict[str, Any]] = []
    problem = {"title": "The state does not allow this", "status": 409, "detail": "It has ended."}
    pages = {
        None: {"matched": 2, "changed": 2, "failed": [], "next_cursor": "b"},
        "b": {"matched": 0, "changed": 0, "failed": [], "next_cursor": "c"},
        "c": {
            "matched": 2,
            "changed": 1,
            "next_cursor": None,
            "failed": [{"id": "job-4", "error": problem}],
        },
    }

    def answer(route: Route) -> None:
        body = json.loads(route.request.post_data or "")
        asked.append(body)
        route.fulfill(json=pages[body.get("cursor")])

    page.route("**/v1/jobs/cancel", answer)
    page.goto("/console/jobs?handler=greet")
    page.get_by_role("button", name="Cancel …").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Cancel 4 jobs").click()
    dialog.get_by_text("3 jobs cancelled").wait_for()
    dialog.get_by_text("1 job could not be changed").wait_for()
    dialog.get_by_role("link", name="job-4").wait_for()
    dialog.get_by_text("It has ended.").wait_for()
    assert [(body["dry_run"], body.get("cursor")) for body in asked] == [
        *[(True, None), (True, "b"), (True, "c")],
        *[(False, None), (False, "b"), (False, "c")],
    ]
    assert all(body["handler"] == "greet" and "all" not in body for body in asked)


def test_every_job_there_is_takes_one_more_word(page: Page) -> None:
    asked: list[dict[str, Any]] = []

    def answer(route: Route) -> None:
        asked.append(json.loads(route.request.post_data or ""))
        route.fulfill(json={"matched": 5, "changed": 5, "failed": [], "next_cursor": None})

    page.route("**/v1/jobs/cancel", answer)
    page.goto("/console/jobs")
    page.get_by_role("button", name="Cancel …").click()
    dialog = page.get_by_role("dialog", name="Cancel every job")
    confirm = dialog.get_by_role("button", name="Cancel 5 jobs")
    confirm.wait_for()
    assert confirm.is_disabled()
    dialog.get_by_role("checkbox").check()
    confirm.click()
    dialog.get_by_text("5 jobs cancelled").wait_for()
    assert [(body["all"], body["dry_run"]) for body in asked] == [(True, True), (True, False)]


def test_a_bulk_operation_that_fails_says_how_far_it_came(page: Page, guard: Guard) -> None:
    guard.allow("status of 503")

    def answer(route: Route) -> None:
        body = json.loads(route.request.post_data or "")
        if body["dry_run"]:
            route.fulfill(json={"matched": 9, "changed": 0, "failed": [], "next_cursor": None})
        elif "cursor" in body:
            route.fulfill(status=503, json={"title": "Temporarily unavailable", "detail": "Busy."})
        else:
            route.fulfill(json={"matched": 4, "changed": 4, "failed": [], "next_cursor": "more"})

    page.route("**/v1/jobs/cancel", answer)
    page.goto("/console/jobs?handler=greet")
    page.get_by_role("button", name="Cancel …").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Cancel 9 jobs").click()
    dialog.get_by_text("Busy.").wait_for()
    dialog.get_by_text("4 jobs cancelled or asked to stop before it failed.").wait_for()


def test_hostile_errors_are_shown_as_text(page: Page, seeds: Seeds) -> None:
    made = seeds.hostile_dead()
    page.goto("/console/jobs?status=DEAD")
    for job_id in made.values():
        row(page, job_id).wait_for()
    page.get_by_text("<script>window.harmed").first.wait_for()
    assert page.evaluate(HARMED) is None
    assert page.locator("main script, main img, main a[href^='javascript']").count() == 0
    assert "\u202e" not in page.locator("main").inner_text()


def test_hostile_filters_are_shown_as_text(page: Page) -> None:
    page.goto("/console/jobs?handler=%3Cimg%20src%3Dx%20onerror%3D%22window.harmed%3D1%22%3E")
    page.get_by_text("No job matches").wait_for()
    assert page.evaluate(HARMED) is None


def test_a_newcomer_submits_a_job_sees_it_fail_finds_it_again_and_redrives_it(
    page: Page, cloud: Cloud
) -> None:
    page.goto("/console/")
    page.get_by_role("link", name="Submit job").click()
    page.get_by_label("Handler").select_option("charge-card")
    page.get_by_role("button", name="Submit job").click()
    page.locator("h1 .badge").get_by_text("Dead", exact=True).wait_for()
    job_id = page.url.rsplit("/", 1)[1]
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Jobs").click()
    page.get_by_role("navigation", name="Status").get_by_role("link", name="Dead").click()
    page.get_by_role("link", name=job_id).click()
    page.get_by_role("button", name="Redrive").click()
    page.get_by_role("dialog").get_by_role("button", name="Redrive").click()
    page.get_by_role("region", name="History").get_by_text("redriven").wait_for()
    cloud.reach(job_id, "DEAD")
    page.locator(".attempt-line").nth(1).wait_for()
