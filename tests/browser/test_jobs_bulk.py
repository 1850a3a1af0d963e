"""Bulk actions: which jobs they mean, how many these are, and when they are not offered."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.harness import Cloud, Guard
from tests.browser.harness_seed import Seeds

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Route

A_BULK_CALL = {"matched": 0, "changed": 0, "failed": [], "count_is_bounded": False}
CHANGED = {
    "type": "urn:hourhand:count_changed",
    "title": "The count has changed",
    "status": 409,
    "detail": "You saw 4 jobs, and 9 match now.",
}


def row(page: Page, job_id: str) -> Locator:
    return page.get_by_role("row").filter(has_text=job_id)


def answers(page: Page, verb: str, *pages: dict[str, Any]) -> list[dict[str, Any]]:
    """Let the page see these answers of bulk calls, in this order; return the bodies it sends."""
    asked: list[dict[str, Any]] = []

    def answer(route: Route) -> None:
        asked.append(json.loads(route.request.post_data or ""))
        body = {**A_BULK_CALL, "next_cursor": None, **pages[len(asked) - 1]}
        route.fulfill(status=body.get("status", 200), json=body)

    page.route(f"**/v1/jobs/{verb}", answer)
    return asked


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
    page.get_by_text("All jobs with tag batch:all:").wait_for()
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


def test_all_dead_jobs_that_match_are_discarded_with_a_note(
    page: Page, seeds: Seeds, cloud: Cloud
) -> None:
    dead = [seeds.dead(tags={"batch": "done"}) for _ in range(2)]
    page.goto("/console/jobs?status=DEAD&tag=batch:done")
    row(page, dead[0]).wait_for()
    page.get_by_role("button", name="Discard …").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Note").fill("Paid by hand.")
    dialog.get_by_role("button", name="Discard 2 jobs").click()
    dialog.get_by_text("2 jobs discarded").wait_for()
    dialog.get_by_role("button", name="Close").last.click()
    row(page, dead[0]).get_by_text("Discarded").wait_for()
    for job_id in dead:
        assert cloud.job(job_id)["discard_note"] == "Paid by hand."
        assert cloud.job(job_id)["discarded_at"] is not None


def test_a_list_without_a_filter_offers_no_bulk_action(page: Page, cloud: Cloud) -> None:
    job_id = cloud.submit("greet", None, delay_seconds=3600)
    page.goto("/console/jobs")
    row(page, job_id).wait_for()
    page.get_by_text("filter the list or select jobs").wait_for()
    for name in ("Cancel …", "Redrive …", "Discard …"):
        assert page.get_by_role("button", name=name).count() == 0
    row(page, job_id).get_by_role("checkbox").check()
    page.get_by_role("button", name="Cancel 1").wait_for()


def test_the_filter_that_means_nearly_all_jobs_offers_no_bulk_action(
    page: Page, cloud: Cloud
) -> None:
    cloud.submit("greet", None, delay_seconds=3600)
    page.goto("/console/jobs?discarded=false")
    page.get_by_text("filter the list or select jobs").wait_for()
    assert page.locator(".bulk-bar button").count() == 0
    page.goto("/console/jobs?discarded=false&handler=greet")
    page.get_by_role("button", name="Cancel …", disabled=False).wait_for()


@pytest.mark.parametrize(
    ("status", "offered"),
    [
        ("PENDING", ["Cancel …"]),
        ("RUNNING", ["Cancel …"]),
        ("SUCCEEDED", []),
        ("DEAD", ["Redrive …", "Discard …"]),
        ("CANCELLED", ["Redrive …"]),
    ],
)
def test_only_what_a_status_allows_is_offered(
    page: Page, cloud: Cloud, status: str, offered: list[str]
) -> None:
    job = cloud.job(cloud.submit("greet", None, delay_seconds=3600))
    answer = {"jobs": [{**job, "status": status}], "next_cursor": None}
    page.route("**/v1/jobs?**", lambda route: route.fulfill(json=answer))
    page.goto(f"/console/jobs?status={status}")
    row(page, job["id"]).wait_for()
    assert page.locator(".bulk-bar button").all_inner_texts() == offered


def test_text_in_the_search_box_that_is_not_applied_stops_bulk_actions(
    page: Page, cloud: Cloud
) -> None:
    job_id = cloud.submit("greet", None, delay_seconds=3600, tags={"batch": "typed"})
    page.goto("/console/jobs?tag=batch:typed")
    row(page, job_id).wait_for()
    cancel = page.get_by_role("button", name="Cancel …")
    assert cancel.is_enabled()
    page.get_by_role("searchbox").fill("status:dead")
    page.get_by_text("contains text that is not applied").wait_for()
    assert cancel.is_disabled()
    page.get_by_role("searchbox").fill("")
    page.get_by_text("contains text that is not applied").wait_for(state="detached")
    assert cancel.is_enabled()


def test_a_list_that_cannot_be_read_stops_bulk_actions(
    page: Page, guard: Guard, cloud: Cloud
) -> None:
    guard.allow("status of 500")
    job_id = cloud.submit("greet", None, delay_seconds=3600, tags={"batch": "unread"})
    page.goto("/console/jobs?tag=batch:unread")
    row(page, job_id).wait_for()
    page.route("**/v1/jobs?**", lambda route: route.fulfill(status=500, json={"title": "Broken"}))
    page.get_by_role("button", name="Refresh now").click()
    page.get_by_text("The list could not be read").wait_for()
    assert page.get_by_role("button", name="Cancel …").is_disabled()


def test_an_api_that_cannot_be_reached_stops_bulk_actions(
    page: Page, guard: Guard, cloud: Cloud
) -> None:
    guard.allow("Failed to load resource: net::ERR_FAILED")
    job_id = cloud.submit("greet", None, delay_seconds=3600, tags={"batch": "offline"})
    page.goto("/console/jobs?tag=batch:offline")
    row(page, job_id).wait_for()
    page.route("**/v1/**", lambda route: route.abort())
    page.get_by_role("button", name="Refresh now").click()
    page.get_by_text("so nothing can be changed").wait_for()
    assert page.get_by_role("button", name="Cancel …").is_disabled()
    row(page, job_id).get_by_role("checkbox").check()
    assert page.get_by_role("button", name="Cancel 1").is_disabled()


def test_the_first_request_carries_the_count_that_was_confirmed(page: Page) -> None:
    problem = {"title": "The state does not allow this", "status": 409, "detail": "It has ended."}
    asked = answers(
        page,
        "cancel",
        {"matched": 2, "next_cursor": "b"},
        {"matched": 2},
        {"matched": 2, "changed": 2, "next_cursor": "b"},
        {"next_cursor": "c"},
        {"matched": 2, "changed": 1, "failed": [{"id": "job-4", "error": problem}]},
    )
    page.goto("/console/jobs?handler=greet")
    page.get_by_role("button", name="Cancel …").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Cancel 4 jobs").click()
    dialog.get_by_text("3 jobs cancelled").wait_for()
    dialog.get_by_text("1 job could not be changed").wait_for()
    dialog.get_by_role("link", name="job-4").wait_for()
    dialog.get_by_text("It has ended.").wait_for()
    assert asked == [
        {"handler": "greet", "dry_run": True},
        {"handler": "greet", "dry_run": True, "cursor": "b"},
        {"handler": "greet", "expected_count": 4},
        {"handler": "greet", "cursor": "b"},
        {"handler": "greet", "cursor": "c"},
    ]


def test_a_count_that_grew_is_shown_beside_the_old_one_and_asked_about_again(
    page: Page, guard: Guard
) -> None:
    guard.allow("status of 409")
    asked = answers(
        page, "cancel", {"matched": 4}, CHANGED, {"matched": 9}, {"matched": 9, "changed": 9}
    )
    page.goto("/console/jobs?handler=greet")
    page.get_by_role("button", name="Cancel …").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Cancel 4 jobs").click()
    alert = dialog.get_by_role("alert")
    alert.get_by_text("You confirmed 4 jobs, but now 9 jobs match").wait_for()
    assert len(asked) == 3, "It went on without a fresh confirmation."
    dialog.get_by_role("button", name="Cancel 9 jobs").click()
    dialog.get_by_text("9 jobs cancelled").wait_for()
    assert [body.get("expected_count") for body in asked] == [None, 4, None, 9]


def test_the_api_itself_refuses_a_count_that_grew(page: Page, guard: Guard, cloud: Cloud) -> None:
    guard.allow("status of 409")
    fields = {"tags": {"batch": "grew"}, "delay_seconds": 3600}
    made = [cloud.submit("greet", None, **fields) for _ in range(2)]
    page.goto("/console/jobs?tag=batch:grew")
    row(page, made[0]).wait_for()
    page.get_by_role("button", name="Cancel …").click()
    dialog = page.get_by_role("dialog")
    confirm = dialog.get_by_role("button", name="Cancel 2 jobs")
    confirm.wait_for()
    made += [cloud.submit("greet", None, **fields) for _ in range(2)]
    confirm.click()
    dialog.get_by_text("You confirmed 2 jobs, but now 4 jobs match").wait_for()
    assert {cloud.job(job_id)["status"] for job_id in made} == {"PENDING"}


def test_a_thousand_or_more_jobs_take_one_more_word(page: Page) -> None:
    bounded = {"matched": 1000, "count_is_bounded": True, "next_cursor": "more"}
    asked = answers(page, "cancel", bounded, {"matched": 1000, "changed": 1000})
    page.goto("/console/jobs?handler=greet")
    page.get_by_role("button", name="Cancel …").click()
    dialog = page.get_by_role("dialog")
    confirm = dialog.get_by_role("button", name="Cancel 1,000 or more jobs")
    confirm.wait_for()
    dialog.get_by_text("A narrower filter is safer").wait_for()
    assert confirm.is_disabled()
    field = dialog.get_by_label("To go on with all of them, type cancel")
    field.fill("canc")
    field.press("Enter")
    assert confirm.is_disabled()
    assert len(asked) == 1
    field.fill("cancel")
    confirm.click()
    dialog.get_by_text("1,000 jobs cancelled").wait_for()
    # It was no count, and the user agreed to all.
    assert asked[1] == {"handler": "greet"}


def test_a_bulk_operation_that_fails_says_how_far_it_came(page: Page, guard: Guard) -> None:
    guard.allow("status of 503")
    busy = {"title": "Temporarily unavailable", "detail": "Busy.", "status": 503}
    answers(
        page, "cancel", {"matched": 9}, {"matched": 4, "changed": 4, "next_cursor": "more"}, busy
    )
    page.goto("/console/jobs?handler=greet")
    page.get_by_role("button", name="Cancel …").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Cancel 9 jobs").click()
    dialog.get_by_text("Busy.").wait_for()
    dialog.get_by_text("4 jobs cancelled or asked to stop before it failed.").wait_for()


def test_a_filter_that_matches_nothing_that_can_change_says_so(page: Page) -> None:
    answers(page, "redrive", {"matched": 0})
    page.goto("/console/jobs?handler=greet")
    page.get_by_role("button", name="Redrive …").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("applies to none of these jobs").wait_for()
    assert dialog.get_by_role("button", name="Redrive").count() == 0
