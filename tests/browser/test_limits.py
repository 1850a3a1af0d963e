"""The console's limits: how full each is, which jobs wait, and what changes their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.harness import Cloud, Guard
from tests.browser.harness_seed import HARMED, HOSTILE

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

WORDS = "/console/static/views/limit_words.js"
WAIT = "/console/static/views/job_wait.js"
TWO_WAIT = 2


def waits(cloud: Cloud, job_id: str) -> dict[str, Any]:
    """Wait until a job waits for something, and return what."""

    def look() -> dict[str, Any] | None:
        found: dict[str, Any] | None = cloud.job(job_id)["waits_for"]
        return found

    return cloud.wait(look)


@pytest.fixture
def full(cloud: Cloud) -> Iterator[tuple[str, list[str]]]:
    """Yield the job that holds the one slot of ``exports``, and two that wait for it."""
    running = cloud.submit("export-data")
    cloud.reach(running, "RUNNING")
    waiting = [cloud.submit("export-data", {"seconds": 0}) for _ in range(TWO_WAIT)]
    places = {waits(cloud, job_id)["position"]: job_id for job_id in waiting}
    yield running, [places[place] for place in sorted(places)]
    cloud.ask("DELETE", "/limits/exports")
    for job_id in [running, *waiting]:
        if cloud.job(job_id)["status"] in {"RUNNING", "ENQUEUED", "PENDING"}:
            cloud.ask("POST", f"/jobs/{job_id}/cancel")
    cloud.reach(running, "CANCELLED", "SUCCEEDED")


@pytest.fixture
def restored(cloud: Cloud) -> Iterator[None]:
    """Leave the limits as they are in the code."""
    yield
    for limit in cloud.ask("GET", "/limits")["limits"]:
        cloud.ask("DELETE", f"/limits/{limit['name']}")


def row_of(page: Page, name: str) -> Locator:
    """Return the row of a limit in the list."""
    return page.locator("tbody tr").filter(has=page.get_by_role("link", name=name, exact=True))


def dialog(page: Page) -> Locator:
    return page.get_by_role("dialog")


def ask(page: Page, opener: str, confirm: str, **fields: str) -> None:
    """Open a question, fill its fields and confirm it."""
    page.get_by_role("button", name=opener).click()
    for label, text in fields.items():
        dialog(page).get_by_label(label.replace("_", " ")).fill(text)
    dialog(page).get_by_role("button", name=confirm, exact=True).click()
    dialog(page).wait_for(state="detached")


# --- the list -----------------------------------------------------------------------------------


def test_the_list_shows_how_full_each_limit_is_and_how_many_wait(
    page: Page, full: tuple[str, list[str]]
) -> None:
    page.goto("/console/")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Limits").click()
    row = row_of(page, "exports")
    row.get_by_text("1 of 1").wait_for()
    row.get_by_text("Full").wait_for()
    assert row.locator("td[data-title=Waiting]").inner_text() == str(TWO_WAIT)
    assert "at most 1 at a time" in row.inner_text()
    assert "export-data" in row.inner_text()
    assert row.locator(".fill-bar").evaluate("bar => bar.style.width") == "100%"
    assert "each value of payload.account" in row_of(page, "sync-account.1").inner_text()
    bank = row_of(page, "bank").inner_text()
    assert "1 start in 1 h" in bank
    assert "Pause" not in bank, "a rate cannot be 0"


def test_the_list_is_filtered_and_walked_by_keys(page: Page, full: tuple[str, list[str]]) -> None:
    page.goto("/console/jobs")
    page.locator("h1").wait_for()
    page.keyboard.press("g")
    page.keyboard.press("l")
    row_of(page, "bank").wait_for()
    page.get_by_label("State").select_option("full")
    row_of(page, "bank").wait_for(state="detached")
    page.get_by_text("1 of 4 limits").wait_for()
    page.get_by_label("State").select_option("")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("account")
    page.get_by_text("1 of 4 limits").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/limits/sync-account.1")


def test_without_a_limit_the_page_says_what_one_is_and_how_to_declare_it(page: Page) -> None:
    answer: dict[str, Any] = {"limits": [], "next_cursor": None}
    page.route("**/v1/limits?**", lambda route: route.fulfill(json=answer))
    page.goto("/console/limits")
    page.get_by_role("heading", name="No handler has a limit").wait_for()
    page.get_by_text("A limit bounds how many jobs run at a time").wait_for()
    page.get_by_text('Concurrency(1, key="payload.account")').wait_for()


def test_a_further_page_of_limits_is_asked_for_by_its_cursor(page: Page, cloud: Cloud) -> None:
    limit = cloud.ask("GET", "/limits")["limits"][0]

    def answer(route: Any) -> None:
        is_first = "cursor" not in route.request.url
        name = "first" if is_first else "second"
        limits = [{**limit, "name": f"{name}-{number}"} for number in range(50)]
        route.fulfill(json={"limits": limits, "next_cursor": "next" if is_first else None})

    page.route("**/v1/limits?**", answer)
    page.goto("/console/limits")
    row_of(page, "first-0").wait_for()
    page.get_by_text("50 limits on this page; there are more").wait_for()
    page.get_by_role("link", name="Next").click()
    row_of(page, "second-0").wait_for()


# --- one limit ----------------------------------------------------------------------------------


def test_a_limit_shows_its_holders_and_its_waiters_in_their_order(
    page: Page, full: tuple[str, list[str]]
) -> None:
    running, waiting = full
    page.goto("/console/limits/exports")
    holders = page.get_by_role("region", name="Jobs that hold a slot")
    holders.get_by_role("link", name=running).wait_for()
    waiters = page.get_by_role("region", name="Jobs that wait").locator("tbody tr")
    assert [row.get_by_role("link").inner_text() for row in waiters.all()] == waiting
    figures = page.get_by_role("region", name="Figures").inner_text()
    assert "1 of 1" in figures
    options = page.get_by_role("region", name="Numbers and options")
    options.get_by_role("link", name="export-data").wait_for()
    options.get_by_text("during an attempt").wait_for()


def test_a_limit_with_keys_shows_one_key_at_a_time(page: Page, cloud: Cloud) -> None:
    running = cloud.submit("sync-account", {"account": "acme ltd"})
    cloud.reach(running, "RUNNING")
    page.goto("/console/limits/sync-account.1")
    page.get_by_text("Each key is a limit of its own").wait_for()
    assert page.get_by_role("region", name="Jobs that hold a slot").count() == 0
    page.get_by_role("search").get_by_label("Key").fill("acme ltd")
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/limits/sync-account.1?key=acme*ltd")
    holders = page.get_by_role("region", name="Jobs that hold a slot")
    holders.get_by_role("link", name=running).wait_for()
    page.get_by_role("link", name="All keys").click()
    holders.wait_for(state="detached")
    cloud.ask("POST", f"/jobs/{running}/cancel")


def test_a_limit_that_does_not_exist_is_said_to_be_missing(page: Page, guard: Guard) -> None:
    guard.allow("status of 404")
    page.goto("/console/limits/none-such")
    page.get_by_text("There is no such limit").wait_for()


def test_a_key_of_a_limit_without_keys_is_refused_in_the_words_of_the_api(
    page: Page, guard: Guard
) -> None:
    guard.allow("status of 422")
    page.goto("/console/limits/import-nightly.1?key=acme")
    page.get_by_role("alert").get_by_text("has no keys").wait_for()
    page.get_by_role("link", name="Show the limit without a key").click()
    page.get_by_role("region", name="Figures").wait_for()


# --- changes ------------------------------------------------------------------------------------


def test_a_larger_number_says_how_many_jobs_start_and_starts_them(
    page: Page, cloud: Cloud, full: tuple[str, list[str]]
) -> None:
    page.goto("/console/limits/exports")
    page.get_by_role("button", name="Change number").click()
    number = dialog(page).get_by_label("Jobs at a time")
    number.fill("3")
    dialog(page).get_by_text("2 waiting jobs may start").wait_for()
    number.fill("0")
    dialog(page).get_by_text("No job that has the limit starts").wait_for()
    number.fill("3")
    dialog(page).get_by_role("button", name="Change", exact=True).click()
    page.get_by_text("exports: at most 3 at a time.").wait_for()
    for job_id in full[1]:
        cloud.reach(job_id, "SUCCEEDED")
    page.get_by_text("an operator").wait_for()
    assert cloud.ask("GET", "/limits/exports")["max"] == 3
    ask(page, "Restore …", "Restore")
    page.get_by_text("the code", exact=True).wait_for()
    assert cloud.ask("GET", "/limits/exports")["max"] == 1


@pytest.mark.parametrize("text", ["", "-1", "1.5", "1001", "many"])
def test_a_number_that_the_limit_cannot_have_is_marked_and_not_sent(
    page: Page, cloud: Cloud, text: str
) -> None:
    page.goto("/console/limits/exports")
    page.get_by_role("button", name="Change number").click()
    dialog(page).get_by_label("Jobs at a time").fill(text)
    dialog(page).locator(".field-error", has_text="from 0 to 1,000").wait_for()
    dialog(page).get_by_role("button", name="Change", exact=True).click()
    dialog(page).get_by_role("alert").wait_for()
    assert cloud.ask("GET", "/limits/exports")["max"] == 1


def test_a_limit_is_paused_and_resumed_and_marked_meanwhile(
    page: Page, cloud: Cloud, restored: None
) -> None:
    page.goto("/console/limits")
    row_of(page, "exports").wait_for()
    ask(page, "Pause exports", "Pause")
    page.get_by_text("Paused exports.").wait_for()
    row_of(page, "exports").locator(".badge", has_text="Paused").wait_for()
    assert cloud.ask("GET", "/limits/exports")["max"] == 0
    page.goto("/console/")
    findings = page.get_by_role("list", name="Needs attention")
    findings.get_by_text("The limit exports is paused").wait_for()
    page.get_by_role("link", name="Show limit").click()
    page.get_by_text("No job of this limit starts.").wait_for()
    ask(page, "Resume …", "Resume")
    page.get_by_text("Resumed exports.").wait_for()
    page.get_by_text("No job of this limit starts.").wait_for(state="detached")
    assert cloud.ask("GET", "/limits/exports")["max"] == 1


def test_one_key_gets_a_number_of_its_own_is_paused_and_loses_it(
    page: Page, cloud: Cloud, restored: None
) -> None:
    def overrides() -> Any:
        return cloud.ask("GET", "/limits/sync-account.1")["overrides"]

    page.goto("/console/limits/sync-account.1")
    ask(page, "Add …", "Set", Key="acme", Jobs_at_a_time="4")
    own = page.get_by_role("region", name="Keys with numbers of their own")
    own.get_by_text("at most 4 at a time").wait_for()
    assert overrides() == {"acme": 4}
    own.get_by_role("link", name="acme").click()
    page.get_by_text("an operator, for this key").wait_for()
    page.get_by_role("button", name="Pause …").click()
    dialog(page).get_by_text("A resume removes the number of this key (4).").wait_for()
    dialog(page).get_by_role("button", name="Pause", exact=True).click()
    page.get_by_text("No job of this key starts.").wait_for()
    assert overrides() == {"acme": 0}
    page.goto("/console/limits")
    row_of(page, "sync-account.1").get_by_text("1 key paused").wait_for()
    page.goto("/console/limits/sync-account.1")
    ask(page, "Remove the number of acme", "Remove")
    own.get_by_text("None: the number of the limit holds for each key.").wait_for()
    assert overrides() == {}


def test_a_key_must_be_named(page: Page, cloud: Cloud) -> None:
    page.goto("/console/limits/sync-account.1")
    page.get_by_role("button", name="Add …").click()
    dialog(page).get_by_role("button", name="Set", exact=True).click()
    dialog(page).get_by_role("alert").get_by_text("is required").wait_for()
    assert cloud.ask("GET", "/limits/sync-account.1")["overrides"] == {}


def test_the_slot_of_a_dead_job_is_freed(page: Page, cloud: Cloud) -> None:
    dead = cloud.submit("import-nightly", "fails")
    cloud.reach(dead, "DEAD")
    behind = cloud.submit("import-nightly")
    waits(cloud, behind)
    page.goto(f"/console/jobs/{dead}")
    page.locator(".notice").get_by_role("link", name="import-nightly.1").click()
    page.wait_for_url("**/console/limits/import-nightly.1")
    page.get_by_text("A dead job keeps its slot until it succeeds").wait_for()
    ask(page, f"Free the slot of {dead}", "Free slot")
    page.get_by_text("Slot freed.").wait_for()
    cloud.reach(behind, "SUCCEEDED")
    assert cloud.job(dead)["status"] == "DEAD"


def test_a_rate_is_changed_and_keeps_the_start_times_that_jobs_have(
    page: Page, cloud: Cloud, restored: None
) -> None:
    page.goto("/console/limits/bank")
    page.get_by_text("A rate cannot be 0").wait_for()
    page.get_by_role("button", name="Change number").click()
    number = dialog(page).get_by_label("Starts in its period")
    number.fill("0")
    dialog(page).locator(".field-error", has_text="from 1 to 1,000,000").wait_for()
    number.fill("60")
    dialog(page).get_by_text("Jobs that have a start time keep it, until").wait_for()
    dialog(page).get_by_role("button", name="Change", exact=True).click()
    page.get_by_text("60 starts in 1 h").first.wait_for()
    assert cloud.ask("GET", "/limits/bank")["max"] == 60
    page.get_by_role("button", name="Retime").click()
    dialog(page).get_by_text("the first in 30 seconds").wait_for()
    dialog(page).get_by_role("button", name="Retime", exact=True).click()
    page.get_by_text(" moved.").wait_for()


def test_nothing_can_be_changed_while_the_api_does_not_answer(
    page: Page, guard: Guard, full: tuple[str, list[str]]
) -> None:
    guard.allow("Failed to load resource: net::ERR_FAILED")
    page.goto("/console/limits/exports")
    page.get_by_role("region", name="Figures").wait_for()
    page.route("**/v1/**", lambda route: route.abort())
    page.get_by_role("button", name="Refresh now").click()
    page.get_by_text("The API cannot be reached.").wait_for()
    assert page.get_by_role("button", name="Pause …").is_disabled()
    assert page.get_by_role("button", name="Change number").is_disabled()
    assert "1 of 1" in page.get_by_role("region", name="Figures").inner_text()
    page.unroute("**/v1/**")
    page.locator(".offline").wait_for(state="detached")


# --- jobs that wait -----------------------------------------------------------------------------


def test_a_job_says_what_it_waits_for_since_when_and_at_which_position(
    page: Page, cloud: Cloud, full: tuple[str, list[str]]
) -> None:
    _, waiting = full
    page.goto("/console/jobs?handler=export-data")
    row = page.locator("tbody tr").filter(has=page.get_by_role("link", name=waiting[1]))
    row.locator(".badge", has_text="Waits").wait_for()
    row.get_by_role("link", name="exports").wait_for()
    row.get_by_role("link", name=waiting[1]).click()
    notice = page.locator(".notice", has_text="waits for a slot of the limit exports")
    notice.get_by_text("It is at position 2: 1 job is before it.").wait_for()
    assert "At most 1 job runs there at a time" in notice.inner_text()
    assert notice.locator("time").count() == 1
    notice.get_by_role("link", name="exports").click()
    page.wait_for_url("**/console/limits/exports")


def test_a_job_of_a_limit_with_keys_leads_to_its_key(page: Page, cloud: Cloud) -> None:
    running = cloud.submit("sync-account", {"account": 42})
    cloud.reach(running, "RUNNING")
    waiting = cloud.submit("sync-account", {"account": 42, "seconds": 0})
    waits(cloud, waiting)
    page.goto(f"/console/jobs/{waiting}")
    page.get_by_text("the next one").wait_for()
    page.get_by_role("link", name="sync-account.1").click()
    page.wait_for_url("**/console/limits/sync-account.1?key=42")
    waiters = page.get_by_role("region", name="Jobs that wait")
    waiters.get_by_role("link", name=waiting).wait_for()
    cloud.ask("POST", f"/jobs/{running}/cancel")
    cloud.reach(waiting, "SUCCEEDED")


def test_a_submission_may_choose_the_key_of_its_limit(page: Page, cloud: Cloud) -> None:
    running = cloud.submit("sync-account", {"account": "a"}, concurrency_key="shared")
    cloud.reach(running, "RUNNING")
    page.goto("/console/submit?handler=sync-account")
    page.get_by_text("More", exact=True).click()
    page.get_by_label("Concurrency key").fill("shared")
    page.get_by_role("button", name="Submit job").click()
    page.wait_for_url("**/console/jobs/*")
    page.locator(".notice", has_text="waits for a slot of the limit sync-account.1").wait_for()
    cloud.ask("POST", f"/jobs/{page.url.rsplit('/', 1)[1]}/cancel")
    cloud.ask("POST", f"/jobs/{running}/cancel")


def test_a_job_whose_rate_is_reached_shows_the_start_time_that_it_got(
    page: Page, cloud: Cloud
) -> None:
    first = cloud.submit("call-bank")
    cloud.reach(first, "SUCCEEDED")
    second = cloud.submit("call-bank")
    cloud.wait(lambda: cloud.job(second)["due_at"] > cloud.job(second)["run_at"] or None)
    page.goto("/console/jobs")
    row = page.locator("tbody tr", has=page.get_by_role("link", name=second))
    row.get_by_text("Waits", exact=True).wait_for()
    row.get_by_text("its rate, in").wait_for()
    page.goto(f"/console/jobs/{second}")
    page.locator("h1 .badge").get_by_text("Waits", exact=True).wait_for()
    notice = page.locator(".notice", has_text="The rate of bank is reached.")
    notice.get_by_text("The job starts").wait_for()
    cloud.ask("POST", f"/jobs/{second}/cancel")
    notice.wait_for(state="detached")


WAITS: dict[str, tuple[Any, ...]] = {
    "none": (None, None),
    "a pause": ({"kind": "slot", "limit": "greet.pause"}, "pause"),
    "a limit": ({"kind": "slot", "limit": "exports"}, "limit"),
    "the pause of another handler": ({"kind": "slot", "limit": "other.pause"}, "limit"),
    "a schedule": ({"kind": "slot", "limit": None}, "schedule"),
    "a signal": ({"kind": "signal", "limit": None}, "run"),
    "a newer kind": ({"kind": "of later", "limit": None}, "other"),
    "a start": (None, "rate", "2027-01-01T00:00:00.000Z"),
    "a limit, after a start": ({"kind": "slot", "limit": "exports"}, "limit", "2027-01-01"),
}


@pytest.mark.parametrize("name", WAITS)
def test_each_kind_of_wait_is_told_apart(page: Page, name: str) -> None:
    waits, kind, *starts = WAITS[name]
    page.goto("/console/limits")
    job = {"handler": "greet", "waits_for": waits, "reserved_start": next(iter(starts), None)}
    script = "async ([path, job]) => (await import(path)).waitOf(job)"
    assert page.evaluate(script, [WAIT, job]) == kind


# --- words --------------------------------------------------------------------------------------


def call(page: Page, name: str, *asked: Any) -> Any:
    """Return what a function of the words returns."""
    script = "async ([path, name, asked]) => (await import(path))[name](...asked)"
    return page.evaluate(script, [WORDS, name, list(asked)])


def concurrency(**fields: Any) -> dict[str, Any]:
    return {
        "kind": "concurrency",
        "key": "handler",
        "max": 2,
        "declared_max": 2,
        "running": 2,
        "waiting": 3,
        "overrides": {},
        "per_seconds": None,
        **fields,
    }


def test_the_words_of_a_limit_follow_from_its_numbers(page: Page) -> None:
    page.goto("/console/limits")
    rate = concurrency(kind="rate", per_seconds=60, running=None, waiting=None)
    cases: list[tuple[str, list[Any], Any]] = [
        ("stateOf", [concurrency()], "full"),
        ("stateOf", [concurrency(waiting=0)], ""),
        ("stateOf", [concurrency(running=1)], ""),
        ("stateOf", [concurrency(max=0)], "paused"),
        ("stateOf", [rate], ""),
        ("fillOf", [concurrency(running=None)], None),
        ("fillOf", [concurrency(running=1)], {"share": 0.5, "isFull": False, "isOver": False}),
        ("fillOf", [concurrency(running=5)], {"share": 1, "isFull": True, "isOver": True}),
        ("fillOf", [concurrency(running=0, max=0)], {"share": 0, "isFull": True, "isOver": False}),
        ("waitingWords", [10_000], "10,000+"),
        ("waitingWords", [None], "\N{EN DASH}"),
        ("pausedKeys", [concurrency(overrides={"a": 0, "b": 1})], ["a"]),
        ("isChanged", [concurrency()], False),
        ("isChanged", [concurrency(overrides={"a": 2})], True),
        ("hasKeys", [concurrency(key="tags.region")], True),
        ("hasKeys", [concurrency(key="stripe")], False),
        ("readNumber", [concurrency(), " 7 "], 7),
        ("readNumber", [concurrency(), "1001"], None),
        ("readNumber", [rate, "0"], None),
        ("readNumber", [rate, "1000000"], 1_000_000),
        ("isWholeKey", ["acme"], True),
        ("isWholeKey", ["é…"], True),
        ("isWholeKey", ["x" * 61 + "…"], False),
    ]
    for name, asked, wanted in cases:
        assert call(page, name, *asked) == wanted, (name, asked)


EFFECTS: dict[str, tuple[dict[str, Any], int, str | None, str]] = {
    "the same": (concurrency(), 2, "wait", "This is the number that holds now."),
    "fewer": (concurrency(), 1, "wait", "No further one starts before fewer than 1 run."),
    "fewer of more than 20": (
        concurrency(max=40, running=30),
        20,
        "wait",
        "Further ones may start before fewer than 20 run, but never more run than now.",
    ),
    "more": (concurrency(), 4, "wait", "2 waiting jobs may start"),
    "more than wait": (concurrency(), 40, "wait", "3 waiting jobs may start"),
    "more while none waits": (concurrency(waiting=0), 4, "wait", ""),
    "none": (concurrency(), 0, "wait", "Jobs are accepted and wait."),
    "none, where full jobs are skipped": (concurrency(), 0, "skip", "are cancelled"),
    "none, where new jobs stop others": (concurrency(), 0, "cancel_running", "the newest wait"),
    "none, where the option is not known": (concurrency(), 0, None, "its option on_full decides"),
    "fewer of an unknown key": (concurrency(running=None), 1, "wait", "Jobs that run go on."),
    "a rate": (concurrency(kind="rate"), 9, "wait", "Jobs that have a start time keep it, until"),
}


@pytest.mark.parametrize("name", EFFECTS)
def test_a_change_says_what_it_does_to_jobs(page: Page, name: str) -> None:
    limit, number, on_full, words = EFFECTS[name]
    page.goto("/console/limits")
    told = call(page, "effectWords", limit, number, on_full)
    assert words in told
    assert bool(told) == bool(words)


def test_hostile_names_and_keys_are_shown_as_they_are(page: Page, guard: Guard) -> None:
    # No handler has such a name.
    guard.allow("v1/handlers/")
    texts = [text[:100] for text in HOSTILE.values()]

    def answer(route: Any) -> None:
        found = route.fetch().json()
        overrides = dict.fromkeys(texts, 0)
        changes = {"overrides": overrides, "key": "payload.<b>", "handlers": texts}
        if "limits" in found:
            limits = [{**one, **changes} for one in found["limits"]]
            route.fulfill(json={**found, "limits": limits})
        else:
            route.fulfill(json={**found, **changes})

    page.route("**/v1/limits**", answer)
    page.route("**/v1/limits/**", answer)
    for path in ("/console/limits", "/console/limits/sync-account.1", "/console/"):
        page.goto(path)
        page.get_by_text("payload.<b>" if path != "/console/" else "is paused for").first.wait_for()
    assert page.evaluate(HARMED) is None
