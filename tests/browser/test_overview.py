"""The overview: what needs attention, from figures that are named, and what leads to its cause."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.harness import Cloud
from tests.browser.harness_seed import Seeds

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

VERDICT = "/console/static/views/overview_verdict.js"
SAMPLE = "/console/static/views/overview_sample.js"
NOW = datetime(2026, 11, 23, 10, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def job_ids(seeds: Seeds) -> dict[str, str]:
    return seeds.one_of_each()


def stats_with(page: Page, cloud: Cloud, **changes: Any) -> dict[str, Any]:
    """Let the page see the cloud's own figures, but for these."""
    stats: dict[str, Any] = cloud.ask("GET", "/stats")
    stats.update(changes)
    page.route("**/v1/stats", lambda route: route.fulfill(json=stats))
    return stats


def jobs_are(page: Page, *jobs: dict[str, Any]) -> None:
    """Let the page see these jobs, and no others."""
    answer = {"jobs": list(jobs), "next_cursor": None}
    page.route("**/v1/jobs?**", lambda route: route.fulfill(json=answer))


def verdict(page: Page) -> Locator:
    place = page.get_by_role("region", name="Verdict")
    place.wait_for()
    return place


def ago(seconds: float, now: datetime | None = None) -> str:
    at = (now or datetime.now(UTC)) - timedelta(seconds=seconds)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def job(cloud: Cloud, started: float, late_ms: int = 0, **fields: Any) -> dict[str, Any]:
    """Return a job as listings show it, which started so many seconds ago and succeeded."""
    known = cloud.job(cloud.submit("greet", None, delay_seconds=3600))
    outcome = fields.pop("outcome", "SUCCEEDED")
    end = {"number": 1, "outcome": outcome, "worker": "w", "error": fields.get("error")}
    times = {"started_at": ago(started), "finished_at": ago(started)}
    return {
        **known,
        "run_at": ago(started + late_ms / 1000),
        "lateness_ms": late_ms,
        "created_at": ago(started + 1),
        "status": "SUCCEEDED",
        "attempts": [{**end, **times}],
        **times,
        **fields,
    }


def test_a_verdict_is_given_on_lateness_failures_and_ticks_of_the_window(
    page: Page, cloud: Cloud
) -> None:
    stats_with(page, cloud, last_tick_at=ago(5))
    jobs_are(page, job(cloud, 30, 20), job(cloud, 40, 400))
    page.goto("/console/")
    told = verdict(page).inner_text()
    assert told.splitlines()[0] == "On time"
    assert "in the last hour" in told
    assert "99\N{NO-BREAK SPACE}% of 2 jobs started within 0.4 s of their due time" in told
    assert "All handlers: 0 of 2 attempts failed, no job is dead" in told
    assert verdict(page).get_by_role("list", name="Needs attention").count() == 0


def test_what_was_late_or_failed_before_the_window_is_forgotten(page: Page, cloud: Cloud) -> None:
    error = {"type": "CardDeclined", "message": "No.", "retryable": False}
    died = job(cloud, 600, 90_000, status="DEAD", outcome="FAILED", error=error)
    stats_with(page, cloud, last_tick_at=ago(5))
    jobs_are(page, died, job(cloud, 10))
    page.goto("/console/?window=15m")
    verdict(page).get_by_text("Late", exact=True).first.wait_for()
    verdict(page).get_by_text("greet: 1 job died").wait_for()
    page.get_by_role("link", name="5 min", exact=True).click()
    verdict(page).get_by_text("On time", exact=True).wait_for()
    assert verdict(page).get_by_text("1 job died").count() == 0


def test_a_job_that_was_discarded_needs_no_attention(page: Page, cloud: Cloud) -> None:
    error = {"type": "CardDeclined", "message": "No.", "retryable": False}
    died = job(cloud, 60, status="DEAD", outcome="FAILED", error=error)
    stats_with(page, cloud, last_tick_at=ago(5))
    jobs_are(page, {**died, "discarded_at": ago(1)})
    page.goto("/console/")
    verdict(page).get_by_text("On time", exact=True).wait_for()
    row = page.get_by_role("region", name="Handlers").get_by_role("row").filter(has_text="greet")
    assert row.get_by_role("cell").all_inner_texts()[3] == "0"


def test_a_quiet_hour_is_called_quiet(page: Page, cloud: Cloud) -> None:
    stats_with(page, cloud, last_tick_at=ago(5))
    jobs_are(page, job(cloud, 7200))
    page.goto("/console/")
    told = verdict(page).inner_text()
    assert told.splitlines()[0] == "Quiet"
    assert "no job started in the last hour" in told


def test_a_finding_leads_to_its_cause(page: Page, job_ids: dict[str, str]) -> None:
    page.goto("/console/")
    findings = verdict(page).get_by_role("list", name="Needs attention")
    row = findings.get_by_role("listitem").filter(has_text="charge-card: 1 job died")
    row.get_by_text("CardDeclined").wait_for()
    row.get_by_role("link", name="Show dead letters").click()
    page.wait_for_url("**/dead-letters?handler=charge-card")
    page.get_by_role("link", name=job_ids["DEAD"]).first.wait_for()


def judged(page: Page, **changes: Any) -> dict[str, Any]:
    """Return the verdict on good figures, but for these."""
    queue = {"priority": "high", "oldest_due_seconds": changes.pop("oldest_due_seconds", None)}
    stats = {"last_tick_at": changes.pop("last_tick_at", ago(5, NOW)), "queues": [queue]}
    points = [{"tick": _ms(ago(at, NOW))} for at in changes.pop("ticks_ago", [])]
    retrying = changes.pop("retrying", 0)
    pauses, limits = changes.pop("pauses", {}), changes.pop("limits", [])
    handlers = [
        {
            "handler": name,
            "dead": dead,
            "failed": failed,
            "ended": ended,
            "retrying": retrying,
            "newestError": "E",
        }
        for name, dead, failed, ended in changes.pop("handlers", [])
    ]
    figures = {"since": _ms(ago(3600, NOW)), "started": 100, "lateP99": 20, **changes}
    for name, index in (("dead", "dead"), ("failed", "failed")):
        figures[name] = sum(row[index] for row in handlers)
    figures |= {"ended": sum(row["ended"] for row in handlers) or 100, "handlers": handlers}
    found: dict[str, Any] = page.evaluate(
        "async ([path, asked]) => (await import(path)).verdictOf(asked)",
        [
            VERDICT,
            {
                "stats": stats,
                "figures": figures,
                "points": points,
                "pauses": pauses,
                "limits": limits,
                "windowWords": "last hour",
                "now": _ms(NOW.isoformat()),
            },
        ],
    )
    return found


def _ms(at: str) -> float:
    return datetime.fromisoformat(at).timestamp() * 1000


def pause(**fields: Any) -> dict[str, Any]:
    """Return the pause of a handler, which began a minute ago."""
    return {"since": ago(60, NOW), "until": None, "note": None, **fields}


def limit(since: str | None = None, **fields: Any) -> dict[str, Any]:
    """Return a limit as listings show it, with a job that waits since ``since``."""
    waiting = 0 if since is None else 1
    numbers = {"max": 2, "declared_max": 2, "running": 2, "waiting": waiting, "overrides": {}}
    about = {"name": "exports", "kind": "concurrency", "key": "handler", "per_seconds": None}
    return {**about, **numbers, "oldest_waiting_at": since, "handlers": ["a"], **fields}


VERDICTS: dict[str, tuple[dict[str, Any], str, str]] = {
    "good figures": ({}, "good", "On time"),
    "a second late": ({"lateP99": 1000}, "good", "On time"),
    "over a second late": ({"lateP99": 1001}, "warning", "A little late"),
    "over a minute late": ({"lateP99": 60_001}, "bad", "Late"),
    "no tick yet": ({"last_tick_at": None}, "warning", "No tick yet"),
    "silent for three minutes": ({"last_tick_at": ago(180, NOW)}, "bad", "No ticks"),
    "a gap of ticks": ({"ticks_ago": [900, 300, 60, 5]}, "warning", "Ticks were missing"),
    "a gap before the window": ({"ticks_ago": [9000, 4000, 60, 5]}, "good", "On time"),
    "a due job waits": ({"oldest_due_seconds": 61}, "warning", "Jobs wait"),
    "a due job waits long": ({"oldest_due_seconds": 601}, "bad", "Jobs wait"),
    "a few failures": ({"handlers": [("a", 0, 2, 4)]}, "good", "On time"),
    "some failures": ({"handlers": [("a", 0, 3, 40)]}, "warning", "Some failures"),
    "many failures": ({"handlers": [("a", 0, 10, 40)]}, "bad", "Failing"),
    "a dead job": ({"handlers": [("a", 1, 1, 400)]}, "warning", "Some failures"),
    "nothing started": ({"started": 0}, "neutral", "Quiet"),
    "nothing started, and silent": (
        {"started": 0, "last_tick_at": ago(999, NOW)},
        *("bad", "No ticks"),
    ),
    "a paused handler": ({"pauses": {"a": pause()}}, "warning", "Paused"),
    "a paused limit": ({"limits": [limit(max=0)]}, "warning", "Paused"),
    "a paused key": ({"limits": [limit(overrides={"acme": 0})]}, "warning", "Paused"),
    "a short wait for a slot": ({"limits": [limit(since=ago(3599, NOW))]}, "good", "On time"),
    "a long wait for a slot": ({"limits": [limit(since=ago(3600, NOW))]}, "warning", "Jobs wait"),
    "a rate": ({"limits": [limit(kind="rate", running=None)]}, "good", "On time"),
}


def test_the_worst_of_all_figures_gives_the_verdict(page: Page, subtests: pytest.Subtests) -> None:
    page.goto("/console/jobs")
    for name, (figures, tone, headline) in VERDICTS.items():
        with subtests.test(name):
            found = judged(page, **figures)
            assert (found["tone"], found["headline"]) == (tone, headline)
            assert [check["name"] for check in found["checks"]] == ["Ticks", "Lateness", "Failures"]


def test_one_failing_handler_among_many_good_ones_is_named(page: Page) -> None:
    page.goto("/console/jobs")
    found = judged(page, handlers=[("bad", 0, 9, 10), ("good", 0, 0, 1000)])
    assert (found["tone"], found["headline"]) == ("warning", "Some failures")
    (finding,) = found["findings"]
    assert finding["text"] == "bad: 9 of its 10 attempts failed (90\N{NO-BREAK SPACE}%): E"
    assert (finding["to"], finding["label"]) == ("/console/handlers/bad", "Show handler")
    (finding,) = judged(page, handlers=[("bad", 0, 9, 10)], retrying=2)["findings"]
    assert finding["to"] == "/console/jobs?handler=bad&status=RETRYING"


def test_what_holds_jobs_back_is_named_with_its_reason_and_its_page(page: Page) -> None:
    page.goto("/console/jobs")
    found = judged(
        page,
        pauses={
            "mail": pause(until="2026-11-23T12:00:00.000Z", note="the provider is down"),
            "bill": pause(),
        },
        limits=[limit(since=ago(7200, NOW)), limit(overrides={"acme": 0, "globex": 0})],
    )
    assert [finding["text"] for finding in found["findings"]] == [
        "mail was paused 1 min ago, until 23 Nov, 13:00: the provider is down",
        "bill was paused 1 min ago, until it is resumed",
        "A job has waited 2 h for a slot of the limit exports: 2 of 2 run, 1 job waits.",
        "The limit exports is paused for 2 keys.",
    ]
    assert [finding["to"] for finding in found["findings"]] == [
        *("/console/handlers/mail", "/console/handlers/bill"),
        *["/console/limits/exports"] * 2,
    ]


def test_of_many_that_hold_jobs_back_the_first_are_named_and_the_others_counted(
    page: Page,
) -> None:
    page.goto("/console/jobs")
    found = judged(page, pauses={f"handler-{n}": pause() for n in range(9)})
    assert len(found["findings"]) == 7
    assert found["findings"][-1]["text"] == "3 more handlers or limits hold jobs back."


def test_what_waits_and_runs_is_told_by_priority(
    page: Page, cloud: Cloud, job_ids: dict[str, str]
) -> None:
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


def test_leader_epoch_and_watermark_are_those_of_the_api(
    page: Page, cloud: Cloud, job_ids: dict[str, str]
) -> None:
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
    assert row.get_by_role("cell").all_inner_texts()[1:4] == ["1", "100\N{NO-BREAK SPACE}%", "1"]
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


def test_a_legend_shows_the_newest_bucket_that_is_not_empty(page: Page, cloud: Cloud) -> None:
    stats_with(page, cloud)
    one = job(cloud, 1500, 250)
    jobs_are(page, one, {**one, "id": "another"})
    page.goto("/console/")
    attempts = page.get_by_role("region", name="Attempts", exact=True).locator(".chart-legend")
    attempts.get_by_text("latest, ").wait_for()
    assert attempts.locator("strong").all_inner_texts()[0] == "2"
    lateness = page.get_by_role("region", name="Lateness", exact=True).locator(".chart-legend")
    assert lateness.locator("strong").all_inner_texts() == ["0.25 s", "0.25 s"]


def test_the_heat_strip_says_in_words_what_the_last_hour_was(page: Page, cloud: Cloud) -> None:
    error = {"type": "E", "message": "No.", "retryable": True}
    late = job(cloud, 600, 5000)
    failed = job(cloud, 1200, status="RETRYING", outcome="FAILED", error=error)
    stats_with(page, cloud)
    jobs_are(page, late, failed, job(cloud, 1800))
    page.goto("/console/")
    strip = page.get_by_role("region", name="The last hour")
    words = strip.get_by_role("img").get_attribute("aria-label") or ""
    assert "3 jobs started; 1 minute with jobs over 1 s late, 1 minute with failures." in words
    assert strip.locator(".heat-lane").first.locator(".heat-cell").count() == 60
    assert strip.locator(".heat-lane .heat-late").count() == 1
    assert strip.locator(".heat-lane .heat-very-late").count() == 1
    assert strip.locator(".heat-lane .heat-unknown").count() == 0
    title = strip.locator(".heat-lane .heat-late").get_attribute("title") or ""
    assert title.endswith("1 job started, p99 5 s late; 0 of 1 attempt failed")


def test_minutes_that_the_sample_does_not_cover_are_not_drawn_as_quiet(
    page: Page, cloud: Cloud
) -> None:
    stats_with(page, cloud)
    answer = {"jobs": [job(cloud, 900)], "next_cursor": "more"}
    page.route("**/v1/jobs?**", lambda route: route.fulfill(json=answer))
    page.goto("/console/")
    unknown = page.locator(".heat-lane").last.locator(".heat-unknown")
    unknown.first.wait_for()
    assert 43 <= unknown.count() <= 46
    verdict(page).get_by_text("of which the jobs since").wait_for()
    page.get_by_text("Older jobs are not counted").wait_for()


def test_the_page_says_from_which_jobs_its_plots_are(
    page: Page, cloud: Cloud, job_ids: dict[str, str]
) -> None:
    page.goto("/console/")
    number = len(cloud.ask("GET", "/jobs?limit=200")["jobs"])
    page.get_by_text(f"come from the newest {number} jobs").wait_for()
    page.get_by_text("These are all jobs").wait_for()


def test_an_empty_installation_offers_its_first_job(page: Page, cloud: Cloud) -> None:
    stats_with(page, cloud, leader=None, last_tick_at=None, watermark=None)
    jobs_are(page)
    page.goto("/console/")
    first = page.get_by_role("region", name="The first job")
    first.get_by_text("No jobs yet").wait_for()
    first.get_by_text("hourhand jobs submit approve-order '{}' --watch").wait_for()
    first.get_by_label("Handler", exact=True).select_option("greet")
    first.get_by_label("Payload (JSON)").fill('{"name": "Ada O\'Neill"}')
    quoted = """hourhand jobs submit greet '{"name": "Ada O'\\''Neill"}' --watch"""
    first.get_by_text(quoted).wait_for()
    page.unroute("**/v1/jobs?**")
    first.get_by_role("button", name="Submit job").click()
    page.locator("h1 .badge").get_by_text("Succeeded").wait_for()
    assert cloud.job(page.url.rsplit("/", 1)[1])["payload"] == {"name": "Ada O'Neill"}


@pytest.mark.parametrize(
    ("number", "cursor", "shown", "title"),
    [(0, None, None, None), (3, None, "3", "3 dead"), (100, "more", "99+", "at least 100 dead")],
)
def test_the_navigation_shows_how_many_jobs_are_dead(
    page: Page, cloud: Cloud, number: int, cursor: str | None, shown: str | None, title: str | None
) -> None:
    known = job(cloud, 60, status="DEAD")
    dead = {"jobs": [{**known, "id": f"j{n}"} for n in range(number)], "next_cursor": cursor}
    page.route("**/v1/jobs?status=DEAD&**", lambda route: route.fulfill(json=dead))
    page.goto("/console/schedules")
    page.get_by_role("heading", name="Schedules", level=1).wait_for()
    link = page.get_by_role("navigation", name="Main").get_by_role("link", name="Dead letters")
    count = link.locator(".nav-count")
    if shown is None:
        page.wait_for_load_state("networkidle")
        assert count.count() == 0
        return
    count.wait_for()
    assert count.inner_text().split()[0] == shown
    assert count.get_attribute("title") == title


def test_the_navigation_shows_how_many_jobs_are_failing(
    page: Page, job_ids: dict[str, str]
) -> None:
    page.goto("/console/schedules")
    link = page.get_by_role("navigation", name="Main").get_by_role("link", name="Jobs")
    link.get_by_title("1 failing").wait_for()


SERIES = """async (path) => {
  const at = await import(path);
  const second = (number) => new Date(Date.UTC(2026, 10, 21, 9, 0, number)).toISOString();
  const attempt = (outcome) => ({ outcome, started_at: second(10), finished_at: second(11) });
  const job = (id, late, ends) => ({
    id, handler: "h", lateness_ms: late, created_at: second(0), run_at: second(0),
    status: "SUCCEEDED", attempts: ends.map(attempt),
  });
  const now = Date.parse(second(59));
  const bins = (since) => at.binsOf(now, 60_000, since);
  const tried = job("b", 30_000, ["FAILED", "SUCCEEDED"]);
  const jobs = [job("a", 10, ["SUCCEEDED"]), tried, job("c", null, [])];
  const late = at.latenessSeries(jobs, bins(0));
  const ends = at.endsSeries(jobs, bins(0));
  const partly = at.endsSeries(jobs, bins(Date.parse(second(30))));
  const figures = at.figuresOf(jobs, Date.parse(second(5)));
  return {
    bins: bins(0).count, late: late.p99.filter((value) => value !== null),
    good: ends.good.reduce((a, b) => a + b), bad: ends.bad.reduce((a, b) => a + b),
    unknown: partly.good.filter((value) => value === null).length,
    covered: at.coveredMilliseconds(bins(Date.parse(second(30)))),
    figures: [figures.started, figures.lateP99, figures.ended, figures.failed],
    before: at.figuresOf(jobs, Date.parse(second(40))).ended,
  };
}"""


def test_series_are_binned_by_when_jobs_started_and_attempts_ended(page: Page) -> None:
    page.goto("/console/jobs")
    assert page.evaluate(SERIES, SAMPLE) == {
        "bins": 30,
        "late": [10, 30_000],
        "good": 2,
        "bad": 1,
        # What is older than the sample is unknown, which is not nought.
        "unknown": 14,
        "covered": 29_000,
        # The job that started before the window is not in the figures.
        "figures": [1, 30_000, 3, 1],
        "before": 0,
    }
