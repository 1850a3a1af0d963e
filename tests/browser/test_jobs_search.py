"""The search for jobs: every term becomes a filter that is shown, or is refused with a reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.harness import Cloud, Guard
from tests.browser.harness_seed import Seeds

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

SEARCH = "/console/static/views/jobs_search.js"
NOW = "2026-11-23T10:00:00.000Z"


@pytest.fixture(scope="module")
def job_ids(seeds: Seeds) -> dict[str, str]:
    return seeds.one_of_each(tags={"customer": "42"}, tenant="acme")


def search(page: Page, text: str) -> None:
    page.get_by_role("searchbox").fill(text)
    page.keyboard.press("Enter")


def terms(page: Page) -> Locator:
    return page.get_by_role("list", name="Active filters")


def shown_ids(page: Page) -> set[str]:
    page.locator(".table-jobs tbody tr, .empty").first.wait_for()
    return set(page.locator(".job-id").all_text_contents())


def test_a_job_is_found_by_its_id(page: Page, job_ids: dict[str, str]) -> None:
    for typed in (job_ids["DEAD"], f"id:{job_ids['DEAD']}"):
        page.goto("/console/jobs")
        page.get_by_role("searchbox").wait_for()
        page.keyboard.press("/")
        page.keyboard.type(typed)
        page.keyboard.press("Enter")
        page.get_by_role("heading", level=1).get_by_text("charge-card").wait_for()
        assert page.url.endswith(job_ids["DEAD"])


def test_a_word_that_is_nothing_at_all_is_refused_and_not_searched(
    page: Page, guard: Guard, job_ids: dict[str, str]
) -> None:
    guard.allow("status of 404")
    page.goto("/console/jobs")
    search(page, "stock")
    alert = page.get_by_role("alert")
    alert.get_by_text("no status, no registered handler and no ID of a job").wait_for()
    alert.get_by_text("status:dead").wait_for()
    assert page.url.endswith("/console/jobs")
    alert.get_by_role("button", name="Use handler:sync-stock").click()
    page.keyboard.press("Enter")
    page.wait_for_url("**/jobs?handler=sync-stock")
    assert shown_ids(page) == {job_ids["RETRYING"]}


@pytest.mark.parametrize(
    ("typed", "status"),
    [
        ("status:dead tag:customer:42", "DEAD"),
        ("tenant:acme running", "RUNNING"),
        ("sync-stock tag:customer:42", "RETRYING"),
        ('handler:charge-card tag:"customer:42" after:1h', "DEAD"),
    ],
)
def test_terms_become_filters_of_the_address(
    page: Page, job_ids: dict[str, str], typed: str, status: str
) -> None:
    page.goto("/console/jobs")
    search(page, typed)
    page.wait_for_url("**/jobs?**")
    terms(page).wait_for()
    page.get_by_role("link", name=job_ids[status]).wait_for()
    assert shown_ids(page) == {job_ids[status]}


def test_jobs_are_found_by_the_type_of_their_error(page: Page, job_ids: dict[str, str]) -> None:
    page.goto("/console/jobs")
    search(page, "error:TimeoutError tag:customer:42")
    page.wait_for_url("**error_type=TimeoutError**")
    page.get_by_role("link", name=job_ids["RETRYING"]).wait_for()
    assert shown_ids(page) == {job_ids["RETRYING"]}


def test_a_job_is_found_by_its_key_within_its_tenant(page: Page, cloud: Cloud) -> None:
    key = {"idempotency_key": "order-7", "delay_seconds": 3600}
    mine = cloud.submit("greet", None, tenant="acme", **key)
    other = cloud.submit("greet", None, **key)
    page.goto("/console/jobs?status=DEAD")
    search(page, "key:order-7 tenant:acme")
    page.get_by_role("link", name=mine).wait_for()
    assert shown_ids(page) == {mine}
    # A key names one job: the status that was filtered by before would be refused beside it.
    assert "status" not in page.url
    page.get_by_role("button", name="Remove filter: tenant acme").click()
    page.get_by_role("link", name=other).wait_for()
    assert shown_ids(page) == {other}
    assert page.get_by_role("button", name="Cancel …").count() == 0
    search(page, "status:pending")
    page.wait_for_url("**/jobs?status=PENDING")


def test_each_term_is_shown_and_removed_on_its_own(page: Page, job_ids: dict[str, str]) -> None:
    page.goto("/console/jobs")
    search(page, "status:dead tag:customer:42 tenant:acme")
    terms(page).get_by_role("listitem").nth(3).wait_for()
    words = [text.replace("\n", " ") for text in terms(page).locator(".term").all_inner_texts()]
    assert [" ".join(word.split()) for word in words] == [
        *("status Dead", "tenant acme", "tag customer:42"),
    ]
    page.get_by_role("button", name="Remove filter: status Dead").click()
    page.wait_for_url("**/jobs?tag=customer%3A42&tenant=acme")
    page.get_by_role("link", name=job_ids["RUNNING"]).wait_for()
    page.get_by_role("link", name="Clear all").click()
    terms(page).wait_for(state="detached")
    assert page.url.endswith("/console/jobs")


def test_a_term_that_is_refused_applies_none_of_the_others(
    page: Page, job_ids: dict[str, str]
) -> None:
    page.goto("/console/jobs?tenant=acme")
    page.get_by_role("link", name=job_ids["DEAD"]).wait_for()
    search(page, "status:dead customer:42")
    alert = page.get_by_role("alert")
    alert.get_by_text("not a name that the search knows").wait_for()
    field = page.get_by_role("searchbox")
    assert field.input_value() == "status:dead customer:42"
    assert field.get_attribute("aria-invalid") == "true"
    assert page.url.endswith("?tenant=acme")
    alert.get_by_role("button", name="Use tag:customer:42").click()
    assert field.input_value() == "status:dead tag:customer:42"
    alert.wait_for(state="detached")
    page.keyboard.press("Enter")
    page.wait_for_url("**tag=customer**")
    assert shown_ids(page) == {job_ids["DEAD"]}


def test_a_filter_of_the_address_that_is_not_known_is_shown_and_stops_bulk_actions(
    page: Page, job_ids: dict[str, str]
) -> None:
    page.goto("/console/jobs?tenant=acme&statsu=DEAD")
    page.get_by_role("link", name=job_ids["RUNNING"]).wait_for()
    page.get_by_text("The address has a filter that the console does not know: statsu").wait_for()
    assert page.get_by_role("button", name="Cancel …").is_disabled()
    page.get_by_role("button", name="Remove filter: unknown filter statsu").click()
    page.wait_for_url("**/jobs?tenant=acme")
    page.get_by_role("button", name="Cancel …", disabled=False).wait_for()


@pytest.mark.parametrize(
    ("query", "why", "term", "then"),
    [
        ("handler=&tenant=acme", "a filter without a value: handler", "empty filter handler", ""),
        (
            "tenant=acme&status=RUNNING&status=DEAD",
            "a filter that is given twice: status",
            "repeated filter status",
            "",
        ),
        (
            "tenant=acme&status=RUNNING&status=DEAD",
            "a filter that is given twice: status",
            "tenant acme",
            "status=RUNNING",
        ),
    ],
)
def test_a_filter_of_the_address_without_one_value_is_shown_and_stops_bulk_actions(
    page: Page, job_ids: dict[str, str], query: str, why: str, term: str, then: str
) -> None:
    page.goto(f"/console/jobs?{query}")
    page.get_by_role("link", name=job_ids["RUNNING"]).wait_for()
    page.get_by_text(f"The address has {why}. Remove it first.").wait_for()
    assert page.get_by_role("button", name="Cancel …").is_disabled()
    page.get_by_role("button", name=f"Remove filter: {term}").click()
    page.wait_for_url(f"**/jobs?{then or 'tenant=acme'}")
    page.get_by_role("button", name="Cancel …", disabled=False).wait_for()


def test_a_search_that_the_api_cannot_answer_says_so(
    page: Page, guard: Guard, job_ids: dict[str, str]
) -> None:
    guard.allow("status of 503")
    problem = {"title": "Temporarily unavailable", "detail": "Busy.", "status": 503}
    page.route("**/v1/jobs/unsure", lambda route: route.fulfill(status=503, json=problem))
    page.goto("/console/jobs")
    search(page, "unsure")
    page.get_by_role("search").get_by_text("Busy.").wait_for()
    assert page.url.endswith("/console/jobs")


def read(page: Page, text: str) -> dict[str, Any]:
    """Return what the page reads in a text."""
    found: dict[str, Any] = page.evaluate(
        "async ([path, text, now]) => { const { readSearch } = await import(path);"
        " return readSearch(text, ['send-welcome', 'report'], Date.parse(now)); }",
        [SEARCH, text, NOW],
    )
    return found


READ: dict[str, dict[str, str]] = {
    "": {},
    "DEAD report": {"status": "DEAD", "handler": "report"},
    "Status:Dead": {"status": "DEAD"},
    'tag:"name:Ada Lovelace"': {"tag": "name:Ada Lovelace"},
    "tag:url:https://example.org": {"tag": "url:https://example.org"},
    "handler:gone": {"handler": "gone"},
    "schedule:nightly error:a.B": {"schedule_id": "nightly", "error_type": "a.B"},
    "key:k tenant:t": {"idempotency_key": "k", "tenant": "t"},
    "after:90m": {"created_after": "2026-11-23T08:30:00.000Z"},
    "before:2026-11-01T00:00Z": {"created_before": "2026-11-01T00:00:00.000Z"},
    # A date is a day of the browser's zone, here Berlin.
    "after:2026-11-01": {"created_after": "2026-10-31T23:00:00.000Z"},
}

REFUSED = {
    "status:failed": "a status is one of pending, enqueued",
    "status:dead status:running": "given twice",
    "dead running": "given twice",
    "customer:42": "not a name that the search knows",
    "__proto__:1": "not a name that the search knows",
    "tag:blue": "a tag needs a name and a value",
    "handler:": "a value is missing",
    "after:soon": "a time is an age",
    "before:2026-13-40": "a time is an age",
    '"open': "not closed",
    "one two": "no status, no registered handler",
    "key:k status:dead": "can be combined with a tenant only",
    "id:x dead": "cannot be combined",
    "discarded:maybe": "write discarded:true",
}


def test_terms_are_read_as_they_are_meant(page: Page, subtests: pytest.Subtests) -> None:
    page.goto("/console/jobs")
    for text, filters in READ.items():
        with subtests.test(text):
            assert read(page, text) == {"filters": filters, "jobId": None, "problems": []}


def test_terms_that_are_not_clear_are_refused(page: Page, subtests: pytest.Subtests) -> None:
    page.goto("/console/jobs")
    for text, why in REFUSED.items():
        with subtests.test(text):
            problems = read(page, text)["problems"]
            assert any(why in problem["why"] for problem in problems), problems
