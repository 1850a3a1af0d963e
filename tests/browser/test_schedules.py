"""The console's schedules: the list, one of them, its calendar and what can be done with it."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.contrast import poor_texts
from tests.browser.harness import Cloud, Guard
from tests.browser.harness_seed import HARMED, HOSTILE, Seeds

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Route

PHONE = {"viewport": {"width": 390, "height": 844}}
FAR_AWAY = {"timezone_id": "Pacific/Auckland"}
MAX_NOTE = 1000


def row_of(page: Page, schedule_id: str) -> Locator:
    """Return the row of a schedule in the list."""
    return page.locator("tbody tr").filter(has=page.get_by_role("link", name=schedule_id))


def dialog(page: Page) -> Locator:
    """Return the question that is open."""
    return page.get_by_role("dialog")


def open_schedule(page: Page, schedule_id: str, tab: str = "") -> None:
    """Go to a schedule's page and wait until it is told of."""
    page.goto(f"/console/schedules/{schedule_id}{tab and f'?tab={tab}'}")
    page.get_by_role("region", name="State").wait_for()


def test_the_list_tells_of_state_rule_next_time_and_policies(page: Page, seeds: Seeds) -> None:
    seeds.schedule(
        "listed",
        "0 6 * * MON-FRI",
        timezone="Asia/Tokyo",
        overlap="buffer_one",
        misfire={"policy": "all"},
        note="Ask Ada first",
    )
    page.goto("/console/schedules")
    row = row_of(page, "listed")
    row.wait_for()
    text = row.inner_text()
    for word in ("greet", "Ask Ada first", "Active", "0 6 * * MON-FRI", "Asia/Tokyo"):
        assert word in text
    assert "overlap: buffer_one" in text
    assert "missed: all" in text
    assert row.locator("time").first.get_attribute("title") is not None


def test_the_list_has_the_rule_in_words_and_the_next_time_in_its_own_zone(
    page: Page, seeds: Seeds
) -> None:
    seeds.schedule("in-words", "0 6 * * MON-FRI", timezone="Asia/Tokyo")
    page.goto("/console/schedules")
    row = row_of(page, "in-words")
    row.get_by_text("Weekdays at 06:00").wait_for()
    assert "06:00 GMT+9" in row.locator(".zoned").inner_text()
    row.get_by_text("not run yet").wait_for()
    assert "overlap" not in row.inner_text()


def test_the_list_has_the_last_outcome_and_bars_of_the_newest_runs_in_one_request(
    page: Page, seeds: Seeds, cloud: Cloud
) -> None:
    seeds.schedule("with-runs", "0 0 1 1 *")
    for handler, status in (
        ("greet", "SUCCEEDED"),
        ("greet", "SUCCEEDED"),
        ("charge-card", "DEAD"),
    ):
        seeds.schedule("with-runs", "0 0 1 1 *", handler=handler)
        job = cloud.ask("POST", "/schedules/with-runs/trigger")
        cloud.reach(job["id"], status)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/console/schedules")
    row = row_of(page, "with-runs")
    row.get_by_role("img", name="The newest 3 runs: 1 dead, 2 succeeded").wait_for()
    assert row.locator(".last-outcome").inner_text().startswith("Dead")
    assert row.locator("rect.run-bad").count() == 1
    assert row.locator("rect").count() == 20
    listed = [url for url in asked if "/v1/schedules" in url or "/v1/jobs/" in url]
    assert len(listed) == 1


def test_a_schedule_that_is_managed_elsewhere_says_so(page: Page, seeds: Seeds) -> None:
    seeds.schedule("declared")

    def answer(route: Route) -> None:
        answered = route.fetch()
        body = answered.json()
        for schedule in body.get("schedules", [body]):
            schedule["managed_by"] = "files:billing"
        route.fulfill(response=answered, json=body)

    page.route(re.compile("/v1/schedules(/declared)?([?]|$)"), answer)
    page.goto("/console/schedules")
    row_of(page, "declared").get_by_text("files: billing").wait_for()
    open_schedule(page, "declared")
    page.get_by_text("The next apply of these files replaces what is changed here.").wait_for()


def test_the_page_has_the_exclusions_the_payload_and_the_tags(page: Page, seeds: Seeds) -> None:
    seeds.calendar("closing-days", "2027-01-06")
    seeds.schedule(
        "detailed",
        "0 6 * * *",
        exclude=["closing-days", "2027-12-25", {"from": "2027-12-28", "to": "2027-12-31"}],
        payload={"customer": 42},
        tags={"team": "billing"},
        timeout_seconds=30,
    )
    open_schedule(page, "detailed")
    exclusions = page.get_by_role("region", name="Exclusions")
    exclusions.get_by_text("2027-12-28 to 2027-12-31").wait_for()
    exclusions.get_by_text("2027-12-25").wait_for()
    assert page.get_by_role("region", name="Payload").get_by_text("42").is_visible()
    assert page.get_by_role("region", name="Tags").get_by_text("team: billing").is_visible()
    assert page.get_by_role("region", name="Policies of its jobs").get_by_text("30 s").is_visible()
    exclusions.get_by_role("link", name="closing-days").click()
    page.wait_for_url("**/console/calendars/closing-days")


def test_the_list_is_filtered_by_words_and_by_state(page: Page, seeds: Seeds) -> None:
    seeds.schedule("kept-going")
    seeds.schedule("held-back", paused=True)
    page.goto("/console/schedules")
    row_of(page, "held-back").wait_for()
    page.get_by_label("State").select_option("paused")
    row_of(page, "kept-going").wait_for(state="detached")
    assert row_of(page, "held-back").is_visible()
    page.get_by_label("Filter").fill("no such")
    page.get_by_text("No schedule matches").wait_for()
    assert "q=no+such" in page.url


def test_a_schedule_is_paused_with_a_note_and_resumed_from_the_list(
    page: Page, seeds: Seeds, cloud: Cloud
) -> None:
    seeds.schedule("to-pause", note="Owner: team A")
    page.goto("/console/schedules")
    page.get_by_role("button", name="Pause to-pause").click()
    dialog(page).get_by_label("Note").fill("The shop is closed")
    dialog(page).get_by_role("button", name="Pause").click()
    page.get_by_text("Paused to-pause.").wait_for()
    told = cloud.ask("GET", "/schedules/to-pause")
    assert (told["status"], told["note"]) == ("paused", "The shop is closed")
    page.get_by_role("button", name="Resume to-pause").click()
    assert dialog(page).get_by_label("Note").input_value() == ""
    dialog(page).get_by_role("button", name="Resume").click()
    page.get_by_text("Resumed to-pause.").wait_for()
    told = cloud.ask("GET", "/schedules/to-pause")
    assert (told["status"], told["note"]) == ("active", "Owner: team A")


def test_a_count_that_falls_is_not_shown_and_a_rate_has_no_zone(page: Page, seeds: Seeds) -> None:
    seeds.schedule("elapsing", "rate(20 seconds)")
    open_schedule(page, "elapsing")
    state = page.get_by_role("region", name="State")
    state.get_by_text("Every 20 seconds").wait_for()
    assert "UTC" not in state.locator(".rule").inner_text()
    # It counts jobs that wait, too, and falls when a pause cancels them.
    assert "created" not in state.inner_text()
    state.get_by_role("link", name="Show its jobs").wait_for()
    seeds.schedule("bounded", "0 0 1 1 *", max_occurrences=3)
    open_schedule(page, "bounded")
    state.get_by_text("0 created so far").wait_for()
    assert "UTC" in state.locator(".rule").inner_text()


def test_a_question_that_is_refused_changes_nothing(page: Page, seeds: Seeds, cloud: Cloud) -> None:
    seeds.schedule("left-alone")
    page.goto("/console/schedules")
    page.get_by_role("button", name="Pause left-alone").click()
    page.keyboard.press("Escape")
    dialog(page).wait_for(state="detached")
    assert cloud.ask("GET", "/schedules/left-alone")["status"] == "active"


def test_run_now_makes_a_job_and_leads_to_it(page: Page, seeds: Seeds, cloud: Cloud) -> None:
    seeds.schedule("by-hand", payload={"user": 1})
    open_schedule(page, "by-hand")
    page.get_by_role("button", name="Run now").click()
    dialog(page).get_by_role("button", name="Run now").click()
    page.get_by_role("link", name="View job").click()
    page.wait_for_url("**/console/jobs/*")
    job_id = page.url.rsplit("/", 1)[1]
    assert cloud.job(job_id)["schedule_id"] == "by-hand"


def test_a_job_of_a_schedule_is_told_among_its_occurrences(
    page: Page, seeds: Seeds, cloud: Cloud
) -> None:
    seeds.schedule("with-history")
    job = cloud.ask("POST", "/schedules/with-history/trigger")
    cloud.reach(job["id"], "SUCCEEDED")
    open_schedule(page, "with-history")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name=job["id"]))
    row.wait_for()
    assert "by hand" in row.inner_text()
    assert "Succeeded" in row.inner_text()
    row.get_by_role("link", name=job["id"]).click()
    page.wait_for_url(f"**/console/jobs/{job['id']}")


def test_the_page_that_does_not_refresh_by_itself_does_when_asked(
    page: Page, seeds: Seeds, cloud: Cloud
) -> None:
    seeds.schedule("held-still")
    open_schedule(page, "held-still")
    page.get_by_text("No occurrences yet").wait_for()
    page.get_by_role("button", name="Live refresh").click()
    job = cloud.ask("POST", "/schedules/held-still/trigger")
    cloud.reach(job["id"], "SUCCEEDED")
    page.keyboard.press("r")
    page.get_by_role("link", name=job["id"]).wait_for()


def test_an_occurrence_without_a_job_has_its_reason(page: Page, seeds: Seeds, cloud: Cloud) -> None:
    seeds.schedule("half-excluded", "* * * * * *", exclude=["*/2 * * * * *"])
    cloud.wait(lambda: _skipped(cloud, "half-excluded"))
    cloud.ask("POST", "/schedules/half-excluded/pause")
    open_schedule(page, "half-excluded")
    page.get_by_text("skipped: excluded").first.wait_for()
    page.get_by_text("Excluded by a date, a range, an expression or a calendar").first.wait_for()
    page.get_by_text("None while the schedule is paused.").wait_for()


def _skipped(cloud: Cloud, schedule_id: str) -> Any:
    found = cloud.ask("GET", f"/schedules/{schedule_id}/occurrences")["occurrences"]
    return next((one for one in found if one["reason"] == "excluded"), None)


@pytest.mark.parametrize("context_options", [FAR_AWAY])
def test_times_are_told_in_the_zone_of_the_schedule(page: Page, seeds: Seeds) -> None:
    seeds.schedule("in-new-york", "30 6 * * *", timezone="America/New_York")
    open_schedule(page, "in-new-york")
    upcoming = page.locator(".upcoming li")
    upcoming.first.wait_for()
    assert upcoming.count() == 10
    assert all("06:30 " in text for text in upcoming.all_inner_texts())


def test_a_backfill_is_counted_before_it_is_begun(page: Page, seeds: Seeds, cloud: Cloud) -> None:
    # Half an hour from now, so that none of its own comes due meanwhile.
    minute = (datetime.now(UTC) + timedelta(minutes=30)).minute
    seeds.schedule("to-backfill", f"{minute} * * * *")
    open_schedule(page, "to-backfill")
    page.get_by_role("button", name="Backfill").click()
    dialog(page).get_by_role("button", name="last day").click()
    dialog(page).get_by_label("Order").select_option("newest")
    dialog(page).get_by_role("button", name="Count first").click()
    run = dialog(page).get_by_role("button", name="Run 24 occurrences")
    run.wait_for()
    assert cloud.ask("GET", "/schedules/to-backfill")["occurrences_made"] == 0
    # Another question needs another count.
    dialog(page).get_by_label("Order").select_option("oldest")
    dialog(page).get_by_role("button", name="Count first").click()
    run.click()
    page.get_by_text("Started a backfill of to-backfill with 24 occurrences.").wait_for()
    cloud.wait(lambda: _succeeded(cloud, "to-backfill", 24))


def _succeeded(cloud: Cloud, schedule_id: str, wanted: int) -> Any:
    found = cloud.ask("GET", f"/schedules/{schedule_id}/occurrences")["occurrences"]
    jobs = [one["job"] for one in found if one["job"] and one["job"]["status"] == "SUCCEEDED"]
    return jobs if len(jobs) == wanted else None


def test_a_refused_backfill_says_so_at_the_field(page: Page, seeds: Seeds, guard: Guard) -> None:
    guard.allow("status of 422")
    seeds.schedule("not-ahead", "0 * * * *")
    open_schedule(page, "not-ahead")
    page.get_by_role("button", name="Backfill").click()
    dialog(page).get_by_label("To (your time)").fill("2199-01-01T00:00:00")
    dialog(page).get_by_label("Maximum at once").fill("many")
    dialog(page).get_by_role("button", name="Count first").click()
    active = dialog(page).get_by_label("Maximum at once")
    dialog(page).locator("[aria-invalid]").first.wait_for()
    assert active.get_attribute("aria-invalid") == "true"
    active.fill("2")
    dialog(page).get_by_role("button", name="Count first").click()
    dialog(page).locator(".field-error", has_text="must not be in the future").wait_for()


def test_the_calendar_shows_each_fire_and_what_the_clocks_do(page: Page, seeds: Seeds) -> None:
    seeds.schedule("nightly", "30 2 * * *", timezone="Europe/Berlin", exclude=["2027-03-10"])
    page.goto("/console/schedules/nightly?tab=calendar&month=2027-03")
    page.get_by_text("30 scheduled times to come by the present rule").wait_for()
    assert page.locator(".calendar button").count() == 31
    page.get_by_role("button", name="2027-03-10: excluded by the schedule").wait_for()
    page.get_by_role("button", name="2027-03-28: 1 scheduled time, the clocks change").click()
    told = page.get_by_role("region", name="Scheduled times of 2027-03-28")
    assert "Sun 2027-03-28 03:00 +02:00" in told.inner_text()
    assert "2027-03-28 01:00:00 UTC" in told.inner_text()
    assert "02:30 does not exist in Europe/Berlin" in told.inner_text()
    assert "day=2027-03-28" in page.url


def test_an_excluded_day_has_the_name_of_its_calendar(page: Page, seeds: Seeds) -> None:
    seeds.calendar("bank-holidays", "2027-03-26", "2027-03-29")
    seeds.schedule("on-bank-days", "0 6 * * *", exclude=["bank-holidays"])
    page.goto("/console/schedules/on-bank-days?tab=calendar&month=2027-03")
    day = page.get_by_role("button", name="2027-03-26: excluded by bank-holidays")
    day.wait_for()
    assert day.locator(".day-excluded").inner_text() == "bank-holidays"
    day.click()
    page.get_by_role("link", name="Show the calendar bank-holidays").click()
    page.wait_for_url("**/console/calendars/bank-holidays")


def test_the_past_of_the_calendar_has_outcomes_and_begins_with_the_schedule(
    page: Page, seeds: Seeds, cloud: Cloud
) -> None:
    seeds.schedule("looked-back-at", "0 0 1 1 *", timezone="Europe/Berlin")
    for handler, status in (("greet", "SUCCEEDED"), ("charge-card", "DEAD")):
        seeds.schedule("looked-back-at", "0 0 1 1 *", timezone="Europe/Berlin", handler=handler)
        job = cloud.ask("POST", "/schedules/looked-back-at/trigger")
        cloud.reach(job["id"], status)
    open_schedule(page, "looked-back-at", "calendar")
    today = page.get_by_role("button", name=re.compile("1 succeeded, 1 dead"))
    today.click()
    page.locator(".day-runs").get_by_role("link", name=job["id"]).wait_for()
    page.get_by_role("button", name="Previous month").click()
    page.get_by_text("The schedule did not exist in this month.").wait_for()
    assert page.locator(".calendar button").count() == 0


@pytest.mark.parametrize("context_options", [FAR_AWAY])
def test_the_days_of_the_calendar_are_those_of_the_schedules_zone(page: Page, seeds: Seeds) -> None:
    seeds.schedule("honolulu", "30 23 1 * *", timezone="Pacific/Honolulu")
    page.goto("/console/schedules/honolulu?tab=calendar&month=2027-02")
    page.get_by_role("button", name="2027-02-01: 1 scheduled time").wait_for()
    page.get_by_role("button", name="Next month").click()
    page.get_by_role("button", name="2027-03-01: 1 scheduled time").wait_for()
    assert page.locator(".calendar button").count() == 1
    assert "month=2027-03" in page.url


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("* * * * *", "1,440 scheduled times"),
        ("rate(20 seconds)", "4,320 scheduled times"),
        ("* * * * * *", "at least 5,000 scheduled times"),
    ],
)
def test_a_month_of_a_fast_rate_is_whole_and_costs_one_request(
    page: Page, seeds: Seeds, expression: str, words: str
) -> None:
    seeds.schedule("fast", expression, paused=True)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/console/schedules/fast?tab=calendar&month=2027-02")
    for day in ("01", "15", "28"):
        page.get_by_role("button", name=f"2027-02-{day}: {words}").wait_for()
    assert sum(url.endswith("/preview") for url in asked) == 1
    page.get_by_role("button", name="2027-02-28").click()
    page.get_by_text(re.compile("Only the first 100 of")).wait_for()


def test_a_month_before_the_start_has_no_fires(page: Page, seeds: Seeds) -> None:
    seeds.schedule("later", "0 0 * * *", start_at="2028-05-30T00:00:00Z")
    page.goto("/console/schedules/later?tab=calendar&month=2028-04")
    page.get_by_text("0 scheduled times to come by the present rule").wait_for()
    page.get_by_role("button", name="Next month").click()
    page.get_by_text("2 scheduled times to come by the present rule").wait_for()


def test_a_schedule_is_deleted_only_when_asked_twice(
    page: Page, seeds: Seeds, cloud: Cloud
) -> None:
    seeds.schedule("to-delete")
    open_schedule(page, "to-delete")
    page.get_by_role("button", name="Delete").click()
    dialog(page).get_by_role("button", name="Back").click()
    assert cloud.ask("GET", "/schedules/to-delete")["id"] == "to-delete"
    page.get_by_role("button", name="Delete").click()
    dialog(page).get_by_role("button", name="Delete schedule").click()
    page.wait_for_url("**/console/schedules")
    assert cloud.api.get("/schedules/to-delete").status_code == 404


def test_a_schedule_that_is_not_there_is_said_to_be_missing(page: Page, guard: Guard) -> None:
    guard.allow("status of 404")
    page.goto("/console/schedules/none-such")
    page.get_by_text("This schedule does not exist").wait_for()


def test_hostile_notes_payloads_and_tags_are_shown_as_they_are(page: Page, seeds: Seeds) -> None:
    notes = [text[:MAX_NOTE] for text in HOSTILE.values()]
    tags = {f"text {number}": text[:200] for number, text in enumerate(HOSTILE.values())}
    for number, note in enumerate(notes):
        seeds.schedule(f"hostile-{number}", note=note, payload=HOSTILE, tags=tags)
    page.goto("/console/schedules?q=hostile-")
    row_of(page, f"hostile-{len(notes) - 1}").wait_for()
    page.get_by_text("<script>window.harmed = 1</script>").wait_for()
    for tab in ("", "definition"):
        open_schedule(page, "hostile-1", tab)
    page.get_by_text("onerror=").first.wait_for()
    page.goto("/console/schedules/hostile-1/edit")
    assert notes[1] == page.get_by_label("Note").input_value()
    assert page.evaluate(HARMED) is None


@pytest.mark.parametrize("context_options", [PHONE])
@pytest.mark.parametrize("tab", ["", "calendar", "definition"])
def test_a_phone_shows_a_schedule_without_scrolling_sideways(
    page: Page, seeds: Seeds, tab: str
) -> None:
    seeds.schedule("on-a-phone", "0 6,7,8,9,10,11,12,13,14,15 * * MON-FRI", note="x" * 300)
    is_wider = "document.documentElement.scrollWidth > window.innerWidth"
    page.goto("/console/schedules")
    row_of(page, "on-a-phone").wait_for()
    assert page.evaluate(is_wider) is False
    open_schedule(page, "on-a-phone", tab)
    page.wait_for_load_state("networkidle")
    assert page.evaluate(is_wider) is False


def test_rows_are_walked_and_opened_by_keys(page: Page, seeds: Seeds) -> None:
    seeds.schedule("a-first-by-name")
    page.goto("/console/schedules")
    row_of(page, "a-first-by-name").wait_for()
    page.keyboard.press("j")
    page.locator("tr.row-at").wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/schedules/a-first-by-name")
    page.get_by_role("region", name="State").wait_for()
    page.keyboard.press("e")
    page.wait_for_url("**/console/schedules/a-first-by-name/edit")


@pytest.mark.parametrize("context_options", [{"color_scheme": "dark"}, {"color_scheme": "light"}])
def test_every_text_stands_out_from_its_ground(page: Page, seeds: Seeds, cloud: Cloud) -> None:
    seeds.schedule("in-colours", "*/20 * * * *", timezone="Europe/Berlin", note="A note")
    seeds.schedule("each-hour", "0 * * * *", timezone="Europe/Berlin", paused=True)
    page.goto("/console/schedules")
    row_of(page, "in-colours").wait_for()
    assert poor_texts(page) == []
    for schedule_id in ("in-colours", "each-hour"):
        open_schedule(page, schedule_id, "calendar&month=2027-03&day=2027-03-28")
        page.locator(".day-list .fires li").first.wait_for()
        assert poor_texts(page) == []
    page.get_by_role("button", name="Backfill").click()
    dialog(page).get_by_role("button", name="Count first").click()
    dialog(page).locator(".backfill-count").wait_for()
    assert poor_texts(page) == []


def test_a_console_for_reading_shows_nothing_that_changes(page: Page, seeds: Seeds) -> None:
    seeds.schedule("only-read")
    about = {"endpoint": None, "read_only": True}
    page.route("**/console/about.json", lambda route: route.fulfill(json=about))
    page.goto("/console/schedules")
    row_of(page, "only-read").wait_for()
    page.locator(":root[data-read-only]").wait_for()
    for name in ("New schedule", "Pause only-read", "Run only-read now"):
        assert page.get_by_text(name).or_(page.get_by_label(name)).is_hidden()
    open_schedule(page, "only-read")
    page.locator(":root[data-read-only]").wait_for()
    assert page.get_by_role("group", name="Actions").count() == 0
    page.keyboard.press("e")
    assert page.url.endswith("/only-read")
