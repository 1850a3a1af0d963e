"""The log on a job's page: its lines, their order, reading on, and following it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.browser.harness import Cloud, Guard
from tests.browser.harness_seed import HARMED, HOSTILE, Seeds

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Route


@pytest.fixture(scope="module")
def dead_id(seeds: Seeds) -> str:
    return seeds.dead("No such customer.")


def log_of(page: Page, job_id: str) -> Locator:
    """Open a job's page and return its log."""
    page.goto(f"/console/jobs/{job_id}")
    log = page.get_by_role("region", name="Log")
    log.wait_for()
    return log


def line(number: int, **fields: Any) -> dict[str, Any]:
    at = f"2026-11-23T10:00:{number % 60:02}.{number:03}Z"
    return {"at": at, "level": "INFO", "message": f"line {number}", "attempt": 1, **fields}


def answer_with(page: Page, *pages: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Answer with these pages, one after another by cursor; return what was asked."""
    asked: list[dict[str, str]] = []

    def answer(route: Route) -> None:
        query = {
            name: value[0] for name, value in parse_qs(urlsplit(route.request.url).query).items()
        }
        asked.append(query)
        at = int(query.get("cursor", 0))
        cursor = str(at + 1) if at + 1 < len(pages) else None
        route.fulfill(json={"lines": pages[at], "next_cursor": cursor})

    page.route("**/v1/jobs/*/logs?**", answer)
    return asked


def messages(log: Locator) -> list[str]:
    log.locator(".log-line").first.wait_for()
    return log.locator(".log-message .json-text").all_inner_texts()


def of_handler(log: Locator) -> list[str]:
    """Return the lines that the handler logged; the worker logs some about the job, too."""
    return [text for text in messages(log) if text.startswith("line")]


def test_what_a_handler_logged_is_shown_with_its_level_and_attempt(
    page: Page, cloud: Cloud
) -> None:
    job_id = cloud.submit("write-log", {"lines": 3})
    cloud.reach(job_id, "SUCCEEDED")
    log = log_of(page, job_id)
    shown = log.locator(".log-line").filter(has_text="line 2")
    shown.get_by_text("WARNING").wait_for()
    shown.get_by_text("#1").wait_for()
    shown.get_by_text("number=2").wait_for()
    assert of_handler(log) == ["line 2", "line 1", "line 0"]
    log.get_by_role("button", name="Oldest first").click()
    oldest_first = ["line 0", "line 1", "line 2"]
    cloud.wait(lambda: (of_handler(log) == oldest_first) or None)


def test_lines_of_a_running_job_appear_by_themselves(page: Page, cloud: Cloud) -> None:
    job_id = cloud.submit("write-log", {"lines": 600, "seconds": 0.1})
    cloud.reach(job_id, "RUNNING")
    log = log_of(page, job_id)
    log.get_by_role("button", name="Following").wait_for()
    first = messages(log)[0]
    cloud.wait(lambda: messages(log)[0] != first or None)
    cloud.ask("POST", f"/jobs/{job_id}/cancel")


def test_older_lines_are_read_when_they_are_asked_for(page: Page, dead_id: str) -> None:
    asked = answer_with(page, [line(9), line(8)], [], [line(7)], [line(6)])
    log = log_of(page, dead_id)
    assert messages(log) == ["line 9", "line 8"]
    log.get_by_text("2 lines shown", exact=True).wait_for()
    more = log.get_by_role("button", name="older lines")
    more.click()
    log.get_by_text("line 7").wait_for()
    more.click()
    log.get_by_text("4 lines shown; there are no more").wait_for()
    assert messages(log) == ["line 9", "line 8", "line 7", "line 6"]
    assert more.count() == 0
    assert {query["order"] for query in asked} == {"newest"}


def test_the_log_of_a_job_that_ended_is_read_once_until_it_is_followed(
    page: Page, dead_id: str
) -> None:
    asked = answer_with(page, [line(1)])
    log = log_of(page, dead_id)
    messages(log)
    follow = log.get_by_role("button", name="Follow", exact=True)
    page.wait_for_timeout(2500)
    assert len(asked) == 1
    follow.click()
    log.get_by_role("button", name="Following").wait_for()
    page.wait_for_timeout(4500)
    assert len(asked) >= 3


def test_no_lines_are_said_to_be_none(page: Page, dead_id: str) -> None:
    answer_with(page, [])
    log_of(page, dead_id).get_by_text("No lines are kept.").wait_for()


def test_a_log_that_cannot_be_read_leaves_the_page_usable(
    page: Page, guard: Guard, dead_id: str
) -> None:
    guard.allow("status of 503")
    problem = {"title": "Temporarily unavailable", "detail": "CloudWatch is busy.", "status": 503}
    page.route("**/v1/jobs/*/logs?**", lambda route: route.fulfill(status=503, json=problem))
    log = log_of(page, dead_id)
    log.get_by_text("CloudWatch is busy.").wait_for()
    page.get_by_role("region", name="History").get_by_text("failed", exact=True).wait_for()
    page.unroute("**/v1/jobs/*/logs?**")
    log.get_by_role("button", name="Try again").click()
    log.get_by_role("alert").wait_for(state="detached")


def test_hostile_lines_are_shown_as_text(page: Page, dead_id: str) -> None:
    hostile = [
        line(number, message=text[:10_000], fields={text[:50]: text[:100]})
        for number, text in enumerate(HOSTILE.values())
    ]
    answer_with(page, hostile)
    log = log_of(page, dead_id)
    log.get_by_text("<script>window.harmed").first.wait_for()
    assert page.evaluate(HARMED) is None
    assert log.locator("script, img").count() == 0
    assert "\u202e" not in log.inner_text()
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wide) <= 0
