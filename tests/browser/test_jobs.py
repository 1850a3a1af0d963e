"""The list of jobs: filters, pages, live refresh, and what is done to many at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    pill = page.get_by_role("navigation", name="Status").locator("[aria-current]")
    pill.get_by_text(f"{status.capitalize()} 1", exact=True).wait_for()


def test_filters_are_set_by_hand_and_undone_by_the_back_button(
    page: Page, job_ids: dict[str, str]
) -> None:
    page.goto("/console/jobs")
    row(page, job_ids["EXPIRED"]).wait_for()
    page.get_by_label("Handler", exact=True).select_option("charge-card")
    row(page, job_ids["EXPIRED"]).wait_for(state="detached")
    page.get_by_role("button", name="More filters").click()
    page.get_by_label("Tenant", exact=True).fill("acme")
    page.keyboard.press("Enter")
    page.wait_for_url("**/jobs?handler=charge-card&tenant=acme")
    row(page, job_ids["DEAD"]).wait_for()
    page.get_by_role("navigation", name="Status").get_by_role("link", name="Dead").click()
    page.wait_for_url("**status=DEAD**")
    page.go_back()
    page.go_back()
    page.wait_for_url("**/jobs?handler=charge-card")
    assert page.get_by_label("Tenant", exact=True).input_value() == ""
    page.go_back()
    row(page, job_ids["EXPIRED"]).wait_for()
    assert page.get_by_label("Handler", exact=True).input_value() == ""


def test_jobs_of_a_time_are_shown_for_what_was_picked(page: Page, job_ids: dict[str, str]) -> None:
    page.goto("/console/jobs")
    page.get_by_role("button", name="More filters").click()
    page.get_by_role("button", name="15 min").click()
    page.wait_for_url("**created_after=**")
    row(page, job_ids["DEAD"]).wait_for()
    page.get_by_label("Created before", exact=True).fill("2020-01-01T00:00:00")
    page.keyboard.press("Enter")
    page.get_by_text("No job matches").wait_for()
    assert page.get_by_role("button", name="Cancel …").count() == 0
    page.get_by_role("link", name="Clear all").click()
    row(page, job_ids["DEAD"]).wait_for()
    assert page.url.endswith("/console/jobs")


def test_a_filter_that_is_not_taken_is_told_by_its_name(page: Page, guard: Guard) -> None:
    guard.allow("status of 422")
    page.goto("/console/jobs?status=SLEEPING")
    page.get_by_role("alert").get_by_text("status", exact=True).wait_for()


def test_pages_lead_to_older_jobs_and_back(page: Page, cloud: Cloud) -> None:
    made = [cloud.submit("greet", number, tags={"page": "yes"}) for number in range(60)]
    for job_id in made:
        cloud.reach(job_id, "SUCCEEDED")
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


def test_a_new_job_appears_by_itself(page: Page, seeds: Seeds) -> None:
    fields = {"tags": {"appears": "yes"}}
    first = seeds.succeeded(**fields)
    page.goto("/console/jobs?status=SUCCEEDED&tag=appears:yes")
    row(page, first).wait_for()
    row(page, seeds.succeeded(**fields)).wait_for()


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


def test_an_id_is_in_one_line_and_whole_when_it_is_pointed_at(page: Page, cloud: Cloud) -> None:
    job_id = cloud.submit("greet", None, idempotency_key="one-line", tags={"long": "id"})
    assert len(job_id) > 30
    page.goto("/console/jobs?tag=long:id")
    shown = page.locator(".job-id")
    shown.wait_for()
    height, line = page.evaluate(
        "() => { const id = document.querySelector('.job-id');"
        " return [id.clientHeight, parseFloat(getComputedStyle(id).lineHeight)]; }"
    )
    assert height < 2 * line
    assert shown.evaluate("id => id.scrollWidth > id.clientWidth")
    assert page.locator(".job-link").get_attribute("title") == job_id
    # What is copied is the text, which is whole.
    assert shown.inner_text() == job_id


PHRASES = {
    "": "every job",
    "status=DEAD": "dead jobs",
    "status=DEAD&discarded=true": "discarded jobs",
    "discarded=true&handler=report": "discarded jobs with handler report",
    "status=DEAD&discarded=false": "dead jobs that are not discarded",
    "discarded=false&tag=a:b": "jobs that are not discarded, with tag a:b",
    "status=RETRYING&handler=report": "retrying jobs with handler report",
    "status=NONE&tenant=acme": "jobs with status NONE, tenant acme",
}


def test_filters_are_told_in_words(page: Page, subtests: pytest.Subtests) -> None:
    page.goto("/console/jobs")
    for query, words in PHRASES.items():
        with subtests.test(query):
            told = page.evaluate(
                "async (query) => { const { filtersOf, inWords } ="
                " await import('/console/static/views/jobs_query.js');"
                " return inWords(filtersOf(new URLSearchParams(query))); }",
                query,
            )
            assert told == words


def test_a_filter_of_discarded_jobs_is_called_by_its_name(page: Page, seeds: Seeds) -> None:
    job_id = seeds.dead(tags={"given": "up"})
    page.goto("/console/jobs?status=DEAD&discarded=false&tag=given:up")
    row(page, job_id).wait_for()
    page.get_by_role("button", name="Remove filter: Not discarded").click()
    page.wait_for_url("**/jobs?status=DEAD&tag=given%3Aup")
    page.goto("/console/jobs?discarded=true")
    term = page.get_by_role("list", name="Active filters").get_by_role("listitem").first
    term.wait_for()
    assert term.inner_text().strip() == "Discarded"


@pytest.mark.parametrize("context_options", [{"viewport": {"width": 1400, "height": 900}}])
def test_the_search_row_ends_where_the_table_ends(page: Page, job_ids: dict[str, str]) -> None:
    page.goto("/console/jobs?status=DEAD")
    row(page, job_ids["DEAD"]).wait_for()
    right = "document.querySelector('{}').getBoundingClientRect().right"
    last = page.evaluate(right.format(".jobs-filter-row > :last-child"))
    assert abs(last - page.evaluate(right.format(".table-frame"))) <= 1


def test_jobs_that_wait_for_their_time_are_shown_apart_the_next_one_first(
    page: Page, cloud: Cloud
) -> None:
    fields = {"tags": {"apart": "yes"}}
    later = [cloud.submit("greet", None, delay_seconds=7200 - n, **fields) for n in range(7)]
    done = cloud.submit("greet", None, **fields)
    cloud.reach(done, "SUCCEEDED")
    page.goto("/console/jobs?tag=apart:yes")
    row(page, done).wait_for()
    sections = page.locator(".table-jobs tbody")
    assert sections.count() == 2
    upcoming, recent = sections.nth(0), sections.nth(1)
    assert upcoming.locator(".job-id").all_inner_texts() == later[:1:-1]
    assert recent.locator(".job-id").all_inner_texts() == [done]
    assert upcoming.get_by_role("rowheader").inner_text().startswith("Upcoming 7 jobs")
    upcoming.get_by_role("button", name="Show all 7").click()
    page.locator(".job-id").get_by_text(later[0]).wait_for()
    assert upcoming.locator(".job-id").all_inner_texts() == later[::-1]
    page.goto("/console/jobs?tag=apart:yes&status=PENDING")
    row(page, later[0]).wait_for()
    assert sections.count() == 1


def test_pills_count_the_jobs_of_each_status_under_the_other_filters(
    page: Page, seeds: Seeds
) -> None:
    for _ in range(2):
        seeds.succeeded(tags={"counted": "yes"})
    seeds.dead(tags={"counted": "yes"})
    page.goto("/console/jobs?tag=counted:yes&status=DEAD")
    pills = page.get_by_role("navigation", name="Status")
    pills.get_by_role("link", name="All 3", exact=True).wait_for()
    pills.get_by_role("link", name="Succeeded 2", exact=True).wait_for()
    pills.get_by_role("link", name="Dead 1", exact=True).wait_for()
    pills.get_by_role("link", name="Running 0", exact=True).wait_for()


def test_counting_ends_at_a_thousand_and_says_so(
    page: Page, cloud: Cloud, job_ids: dict[str, str]
) -> None:
    jobs = {status: cloud.job(job_ids[status]) for status in ("SUCCEEDED", "RUNNING", "DEAD")}

    def answer(route: Route) -> None:
        number = 200 if "limit=200" in route.request.url else 50
        page_of_jobs = [{**jobs["SUCCEEDED"], "id": f"j{n}"} for n in range(number - 2)]
        page_of_jobs += [jobs["RUNNING"], jobs["RUNNING"]]
        dead = {"jobs": [jobs["DEAD"]] * 7, "next_cursor": None}
        more = {"jobs": page_of_jobs, "next_cursor": "more"}
        route.fulfill(json=dead if "status=DEAD" in route.request.url else more)

    page.route("**/v1/jobs?**", answer)
    page.goto("/console/jobs")
    pills = page.get_by_role("navigation", name="Status")
    pills.get_by_role("link", name="All 1,000+", exact=True).wait_for()
    assert pills.get_by_role("link", name="All").get_attribute("title") == "1,000 or more"
    pills.get_by_role("link", name="Running 10+", exact=True).wait_for()
    # They have an index of their own, which is read to its end.
    pills.get_by_role("link", name="Dead 7+", exact=True).wait_for()
    # None among the newest thousand does not mean none at all.
    pills.get_by_role("link", name="Expired", exact=True).wait_for()
