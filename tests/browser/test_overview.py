"""The overview: on time or not, from figures that are named, and what leads to their cause."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.harness import Cloud
from tests.browser.harness_seed import Seeds

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture(scope="module")
def job_ids(seeds: Seeds) -> dict[str, str]:
    return seeds.one_of_each()


def stats_with(
    page: Page, cloud: Cloud, *, lateness: dict[str, Any] | None = None, **changes: Any
) -> dict[str, Any]:
    """Let the page see the cloud's own figures, but for these."""
    stats: dict[str, Any] = cloud.ask("GET", "/stats")
    stats.update(changes)
    stats["lateness"].update(lateness or {})
    page.route("**/v1/stats", lambda route: route.fulfill(json=stats))
    return stats


def verdict(page: Page) -> str:
    place = page.get_by_role("region", name="Verdict")
    place.wait_for()
    return place.inner_text()


def ago(seconds: float) -> str:
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat()


@pytest.mark.parametrize(
    ("p99_ms", "headline", "within"),
    [
        (400, "On time", "0.4 s"),
        (1000, "On time", "1 s"),
        (1001, "A little late", "1 s"),
        (60_001, "Late", "1 min"),
    ],
)
def test_one_sentence_says_whether_jobs_start_on_time(
    page: Page, cloud: Cloud, p99_ms: int, headline: str, within: str
) -> None:
    now = datetime.now(UTC).isoformat()
    figures = {"p50_ms": 20, "p99_ms": p99_ms, "sample": 150}
    stats_with(page, cloud, lateness=figures, last_tick_at=now)
    page.goto("/console/")
    told = verdict(page)
    assert told.splitlines()[0] == headline
    assert f"99 % of the newest 150 jobs started within {within} of" in told


def test_nothing_is_claimed_before_a_job_has_started(page: Page, cloud: Cloud) -> None:
    stats_with(page, cloud, lateness={"p50_ms": None, "p99_ms": None, "sample": 0})
    page.goto("/console/")
    assert "No job has started yet" in verdict(page)
    assert "99 %" not in verdict(page)


def test_a_scheduler_that_fell_silent_is_told_beside_good_figures(page: Page, cloud: Cloud) -> None:
    figures = {"p50_ms": 1, "p99_ms": 2, "sample": 9}
    stats_with(page, cloud, lateness=figures, last_tick_at=ago(600))
    page.goto("/console/")
    told = verdict(page)
    assert "On time so far" in told
    assert "last tick was 10 min ago" in told


def test_a_job_that_is_due_and_waits_is_told_beside_good_figures(page: Page, cloud: Cloud) -> None:
    queues = cloud.ask("GET", "/stats")["queues"]
    queues[0]["oldest_due_seconds"] = 185.0
    figures = {"p50_ms": 1, "p99_ms": 2, "sample": 9}
    stats_with(page, cloud, lateness=figures, queues=queues, last_tick_at=ago(1))
    page.goto("/console/")
    told = verdict(page)
    assert f"due job with priority {queues[0]['priority']} has waited 3 min 5 s" in told
    page.get_by_role("definition").get_by_text("3 min 5 s").wait_for()


def test_what_waits_and_runs_is_told_by_priority(page: Page, cloud: Cloud) -> None:
    queues = cloud.ask("GET", "/stats")["queues"]
    for number, queue in enumerate(queues, start=1):
        queue.update(waiting=1000 * number, running=10 * number, delayed=number)
    stats_with(page, cloud, queues=queues)
    page.goto("/console/")
    table = page.get_by_role("region", name="Queues")
    table.get_by_role("row").nth(3).wait_for()
    for number, queue in enumerate(queues, start=1):
        cells = table.get_by_role("row").filter(has_text=queue["priority"]).get_by_role("cell")
        assert cells.all_inner_texts()[1:4] == [f"{number},000", f"{10 * number}", f"{number}"]
    page.get_by_role("definition").get_by_text("6,000").wait_for()


def test_leader_epoch_and_watermark_are_those_of_the_api(page: Page, cloud: Cloud) -> None:
    stats_with(page, cloud, leader="scheduler-7", epoch=1234, watermark="2026-11-21T09:00:00.000Z")
    page.goto("/console/")
    scheduler = page.get_by_role("region", name="Scheduler")
    for words in ("scheduler-7", "1,234", "21 Nov 2026, 10:00:00"):
        scheduler.get_by_text(words).wait_for()


def test_handlers_show_their_share_of_failures_and_lead_to_their_jobs(
    page: Page, job_ids: dict[str, str]
) -> None:
    page.goto("/console/")
    handlers = page.get_by_role("region", name="Handlers")
    row = handlers.get_by_role("row").filter(has_text="charge-card")
    row.wait_for()
    assert row.get_by_role("cell").all_inner_texts()[1:4] == ["1", "100 %", "1"]
    row.get_by_role("link", name="1", exact=True).click()
    page.wait_for_url("**/jobs?handler=charge-card&status=DEAD")
    page.get_by_role("link", name=job_ids["DEAD"]).wait_for()


def test_the_newest_failures_lead_to_their_jobs(page: Page, job_ids: dict[str, str]) -> None:
    page.goto("/console/")
    failures = page.get_by_role("region", name="Newest failures")
    failures.get_by_text("CardDeclined: The card was declined.").wait_for()
    failures.get_by_role("link", name="charge-card").click()
    page.wait_for_url(f"**/jobs/{job_ids['DEAD']}")


def test_plots_tell_their_newest_values_in_words(page: Page, job_ids: dict[str, str]) -> None:
    page.goto("/console/")
    for name in ("Lateness over time", "Attempts that ended", "Waiting and running jobs"):
        plot = page.get_by_role("img", name=name)
        plot.wait_for()
        assert "Latest:" in (plot.get_attribute("aria-label") or "")
        assert plot.locator("canvas").count() == 1
    page.get_by_role("link", name="5 min", exact=True).click()
    page.wait_for_url("**window=5m")
    page.get_by_role("img", name="Lateness over time").wait_for()


def test_the_page_says_from_which_jobs_its_plots_are(
    page: Page, cloud: Cloud, job_ids: dict[str, str]
) -> None:
    page.goto("/console/")
    number = len(cloud.ask("GET", "/jobs")["jobs"])
    page.get_by_text(f"cover the newest {number} jobs").wait_for()
    page.get_by_text("These are all jobs").wait_for()


def test_a_sample_that_is_not_all_says_so(page: Page, cloud: Cloud) -> None:
    job = cloud.ask("GET", "/jobs")["jobs"][0]
    answer = {"jobs": [job], "next_cursor": "more"}
    page.route("**/v1/jobs?**", lambda route: route.fulfill(json=answer))
    page.goto("/console/")
    page.get_by_text("Older jobs are not counted").wait_for()


def test_an_empty_installation_has_an_overview_too(page: Page, cloud: Cloud) -> None:
    empty = {"p50_ms": None, "p99_ms": None, "sample": 0, "since": None}
    stats_with(page, cloud, lateness=empty, leader=None, last_tick_at=None, watermark=None)
    page.route("**/v1/jobs?**", lambda route: route.fulfill(json={"jobs": [], "next_cursor": None}))
    page.goto("/console/")
    page.get_by_text("No jobs yet.").wait_for()
    page.get_by_text("The scheduler has not ticked yet").wait_for()


SERIES = """async () => {
  const at = await import("/console/static/views/overview_sample.js");
  const second = (number) => new Date(Date.UTC(2026, 10, 21, 9, 0, number)).toISOString();
  const attempt = (outcome) => ({ outcome, started_at: second(10), finished_at: second(11) });
  const job = (id, late, ends) => ({
    id, lateness_ms: late, created_at: second(0), run_at: second(0), attempts: ends.map(attempt),
  });
  const now = Date.parse(second(59));
  const bins = (since) => at.binsOf(now, 60_000, since);
  const tried = job("b", 30_000, ["FAILED", "SUCCEEDED"]);
  const jobs = [job("a", 10, ["SUCCEEDED"]), tried, job("c", null, [])];
  const late = at.latenessSeries(jobs, bins(0));
  const ends = at.endsSeries(jobs, bins(0));
  const partly = at.endsSeries(jobs, bins(Date.parse(second(30))));
  return {
    bins: bins(0).count, late: late.p99.filter((value) => value !== null),
    good: ends.good.reduce((a, b) => a + b), bad: ends.bad.reduce((a, b) => a + b),
    unknown: partly.good.filter((value) => value === null).length,
    covered: at.coveredMilliseconds(bins(Date.parse(second(30)))),
  };
}"""


def test_series_are_binned_by_when_jobs_started_and_attempts_ended(page: Page) -> None:
    page.goto("/console/")
    assert page.evaluate(SERIES) == {
        "bins": 30,
        "late": [10, 30_000],
        "good": 2,
        "bad": 1,
        # What is older than the sample is unknown, which is not nought.
        "unknown": 14,
        "covered": 29_000,
    }
