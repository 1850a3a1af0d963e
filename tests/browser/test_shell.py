"""What all views share: ways to move, colours, the keyboard, and what is said when things fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.contrast import poor_texts
from tests.browser.harness import (
    ARGUMENTS,
    OWN_PROFILE,
    Cloud,
    Guard,
    find_chromium,
    new_profile,
)
from tests.browser.harness_seed import Seeds

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

SECTIONS = {
    "g o": ("Overview", "/console/"),
    "g j": ("Jobs", "/console/jobs"),
    "g s": ("Schedules", "/console/schedules"),
    "g h": ("Handlers", "/console/handlers"),
    "g l": ("Limits", "/console/limits"),
    "g d": ("Dead letters", "/console/dead-letters"),
    "g c": ("Calendars", "/console/calendars"),
}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


@pytest.fixture(scope="module")
def job_ids(seeds: Seeds) -> dict[str, str]:
    return seeds.one_of_each(tags={"customer": "42"}, tenant="acme")


def views(job_ids: dict[str, str]) -> list[str]:
    jobs = [f"/console/jobs/{job_ids[status]}" for status in ("DEAD", "RUNNING", "RETRYING")]
    return ["/console/", "/console/jobs", "/console/submit", "/console/nowhere", *jobs]


def shown(page: Page) -> None:
    page.locator("h1, .empty h2").first.wait_for()
    page.locator(".skeleton").wait_for(state="detached")


@pytest.mark.parametrize("keys", SECTIONS)
def test_two_keys_lead_to_each_section(page: Page, cloud: Cloud, keys: str) -> None:
    title, path = SECTIONS[keys]
    page.goto("/console/submit")
    shown(page)
    for key in keys.split():
        page.keyboard.press(key)
    page.wait_for_url(lambda url: url.endswith(path))
    page.locator(f"nav a[aria-current=page]:has-text('{title}')").wait_for()
    cloud.wait(lambda: page.title() == f"{title} · Hourhand" or None)


def test_a_link_of_the_navigation_does_not_load_the_page_anew(page: Page) -> None:
    page.goto("/console/")
    shown(page)
    page.evaluate("window.stays = true")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Jobs").click()
    page.get_by_role("heading", name="Jobs", level=1).wait_for()
    assert page.evaluate("window.stays") is True


def test_a_new_view_is_where_a_screen_reader_goes_on(page: Page) -> None:
    page.goto("/console/")
    shown(page)
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Jobs").click()
    page.locator("h1:focus", has_text="Jobs").wait_for()


def test_the_first_tab_offers_to_skip_to_the_content(page: Page) -> None:
    page.goto("/console/jobs")
    shown(page)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("Enter")
    page.locator("main:focus").wait_for()
    assert page.get_by_role("main").count() == 1


def test_keys_are_letters_while_somebody_types(page: Page) -> None:
    page.goto("/console/jobs")
    shown(page)
    page.keyboard.press("/")
    page.keyboard.type("g o")
    search = page.get_by_role("searchbox")
    assert search.input_value() == "g o"
    assert page.url.endswith("/console/jobs")
    page.keyboard.press("Escape")
    page.locator("input:focus").wait_for(state="detached")


def test_a_question_mark_lists_the_keys_that_work_here(page: Page) -> None:
    page.goto("/console/jobs")
    shown(page)
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard")
    for words in ("go to dead letters", "submit a job", "refresh", "filter"):
        dialog.get_by_text(words, exact=True).wait_for()
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")


def test_an_address_that_leads_nowhere_says_so(page: Page) -> None:
    page.goto("/console/nowhere/at/all")
    page.get_by_text("This page does not exist").wait_for()
    page.get_by_role("link", name="Go to the overview").click()
    page.get_by_role("heading", name="Overview").wait_for()


@pytest.mark.parametrize("context_options", [{"color_scheme": "dark"}, {"color_scheme": "light"}])
def test_colours_follow_the_system_until_somebody_chooses(
    page: Page, context_options: dict[str, str]
) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    page.goto("/console/")
    shown(page)
    by_system = page.evaluate(ground)
    other = {"dark": "light", "light": "dark"}[context_options["color_scheme"]]
    button = page.get_by_role("button", name="Colours")
    for _ in range(3):
        if page.evaluate("document.documentElement.dataset.theme") == other:
            break
        button.click()
    assert page.evaluate(ground) != by_system
    page.reload()
    shown(page)
    assert page.evaluate(ground) != by_system
    assert page.evaluate("document.documentElement.dataset.theme") == other


@pytest.mark.parametrize("context_options", [{"color_scheme": "dark"}, {"color_scheme": "light"}])
def test_every_text_stands_out_from_its_ground(page: Page, job_ids: dict[str, str]) -> None:
    for path in views(job_ids):
        page.goto(path)
        shown(page)
        assert poor_texts(page) == [], path


def test_the_measure_of_contrast_notices_what_is_poor(page: Page) -> None:
    page.goto("/console/jobs")
    shown(page)
    page.evaluate("document.documentElement.style.setProperty('--muted', '#a5a5a5')")
    assert any(text.startswith("2.") for text in poor_texts(page))


@pytest.mark.parametrize("context_options", [{"color_scheme": "dark"}, {"color_scheme": "light"}])
def test_every_text_of_a_dialog_stands_out_too(page: Page, job_ids: dict[str, str]) -> None:
    page.goto(f"/console/jobs/{job_ids['PENDING']}")
    for name in ("Cancel job", "Change …"):
        page.get_by_role("button", name=name).click()
        page.get_by_role("dialog").wait_for()
        assert poor_texts(page) == [], name
        page.keyboard.press("Escape")
        page.get_by_role("dialog").wait_for(state="detached")


@pytest.mark.parametrize("context_options", [PHONE, {"viewport": {"width": 820, "height": 1180}}])
def test_no_view_is_wider_than_the_screen(page: Page, job_ids: dict[str, str]) -> None:
    for path in views(job_ids):
        page.goto(path)
        shown(page)
        wide = page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert wide <= 0, path


@pytest.mark.parametrize("context_options", [{"reduced_motion": "reduce"}])
def test_nothing_moves_for_whoever_asked_for_less_motion(page: Page) -> None:
    page.goto("/console/jobs")
    shown(page)
    assert page.evaluate("document.getAnimations().length") == 0


def test_every_control_has_a_name(page: Page, job_ids: dict[str, str]) -> None:
    nameless = """() => [...document.querySelectorAll("button, a[href], input, select, textarea")]
      .filter((control) => control.checkVisibility())
      .filter((control) => !(control.getAttribute("aria-label") || control.textContent.trim()
        || control.labels?.length > 0))
      .map((control) => control.outerHTML)"""
    for path in views(job_ids):
        page.goto(path)
        shown(page)
        assert page.evaluate(nameless) == [], path


def test_an_api_that_is_lost_is_told_of_and_what_was_shown_stays(
    page: Page, guard: Guard, job_ids: dict[str, str]
) -> None:
    guard.allow("Failed to load resource: net::ERR_FAILED")
    page.goto("/console/jobs")
    row = page.get_by_role("link", name=job_ids["DEAD"])
    row.wait_for()
    page.route("**/v1/**", lambda route: route.abort())
    page.get_by_role("button", name="Refresh now").click()
    alert = page.get_by_role("alert")
    alert.get_by_text("The API cannot be reached").wait_for()
    assert row.is_visible()
    page.unroute("**/v1/**")
    alert.get_by_role("button", name="Try again").click()
    alert.wait_for(state="detached")


def test_while_the_api_does_not_answer_the_console_says_so_and_changes_nothing(
    page: Page, guard: Guard, job_ids: dict[str, str]
) -> None:
    guard.allow("Failed to load resource: net::ERR_FAILED")
    page.goto("/console/jobs")
    page.get_by_role("link", name=job_ids["DEAD"]).wait_for()
    page.get_by_role("button", name="Live refresh: Live").wait_for()
    page.route("**/v1/**", lambda route: route.abort())
    # Noticed by the view itself, at its next refresh.
    page.get_by_role("button", name="Live refresh: Offline").wait_for()
    assert page.get_by_role("button", name="Live refresh: Live").count() == 0
    page.get_by_role("alert").get_by_text("The data on this page are from").wait_for()
    page.goto(f"/console/jobs/{job_ids['DEAD']}")
    page.get_by_role("alert").first.wait_for()
    page.keyboard.press("d")
    assert page.get_by_role("dialog").count() == 0
    page.unroute("**/v1/**")
    # Noticed without a click: the console asks again, and the view reads its data.
    page.get_by_role("alert").first.wait_for(state="detached")
    page.get_by_role("button", name="Live refresh: Live").wait_for()


def test_a_question_that_is_open_cannot_be_sent_while_the_api_does_not_answer(
    page: Page, guard: Guard, job_ids: dict[str, str]
) -> None:
    guard.allow("Failed to load resource: net::ERR_FAILED")
    page.goto(f"/console/jobs/{job_ids['PENDING']}")
    page.get_by_role("button", name="Cancel job").click()
    send = page.get_by_role("dialog").get_by_role("button", name="Cancel job")
    page.route("**/v1/**", lambda route: route.abort())
    page.locator("dialog button[type=submit]:disabled").wait_for()
    page.unroute("**/v1/**")
    page.locator("dialog button[type=submit]:not(:disabled)").wait_for()
    assert send.is_enabled()


def test_an_api_behind_the_console_that_does_not_answer_counts_as_offline(
    page: Page, guard: Guard, job_ids: dict[str, str]
) -> None:
    guard.allow("status of 502")
    page.goto("/console/jobs")
    page.get_by_role("link", name=job_ids["DEAD"]).wait_for()
    problem = {
        "type": "urn:hourhand:no_credentials",
        "title": "Bad Gateway",
        "status": 502,
        "detail": "The credentials have expired.",
    }
    page.route("**/v1/**", lambda route: route.fulfill(status=502, json=problem))
    page.get_by_role("button", name="Live refresh: Offline").wait_for()
    page.get_by_role("alert").get_by_text("The credentials have expired.").wait_for()


def test_a_dialog_covers_the_whole_page_and_moves_nothing(
    browser: Browser, cloud: Cloud, job_ids: dict[str, str]
) -> None:
    # By default, a headless browser has no scroll bars.
    with_bars = browser.browser_type.launch(
        executable_path=find_chromium(),
        args=list(ARGUMENTS),
        ignore_default_args=["--hide-scrollbars"],
    )
    try:
        page = new_profile(with_bars, cloud.url, viewport={"width": 1280, "height": 400}).new_page()
        page.goto(f"/console/jobs/{job_ids['DEAD']}")
        shown(page)
        bar_and_heading = """() => [
          innerWidth - document.documentElement.clientWidth,
          document.querySelector("h1").getBoundingClientRect().x,
        ]"""
        bar, heading = page.evaluate(bar_and_heading)
        assert bar > 0
        page.get_by_role("button", name="Redrive").click()
        page.get_by_role("dialog").wait_for()
        assert page.evaluate(bar_and_heading) == [0, heading]
    finally:
        with_bars.close()


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (403, '{"type": "urn:hourhand:console_token", "title": "No"}', "Open the address that"),
        (403, '{"message": "Forbidden"}', "do not allow this"),
        (429, '{"message": "Too Many Requests"}', "too many requests"),
        (413, '{"message": "Request Too Long"}', "Request Too Long"),
        (502, "<html>Bad Gateway</html>", "The API answered 502"),
        (503, "", "The API answered 503"),
        (500, "null", "The API answered 500"),
    ],
)
def test_what_a_gateway_answers_in_its_own_way_is_understood(
    page: Page, guard: Guard, status: int, body: str, words: str
) -> None:
    guard.allow(f"status of {status}")
    page.route("**/v1/jobs?**", lambda route: route.fulfill(status=status, body=body))
    page.goto("/console/jobs")
    page.get_by_role("alert").get_by_text(words).first.wait_for()


# A clock, once put into a profile, stays there.
@pytest.mark.parametrize("context_options", [OWN_PROFILE])
def test_a_view_is_not_refreshed_while_it_is_paused(page: Page, cloud: Cloud) -> None:
    page.clock.install()
    page.goto("/console/jobs")
    shown(page)
    page.get_by_role("button", name="Live refresh: Live").click()
    page.get_by_role("button", name="Live refresh: Paused").wait_for()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.fast_forward(60_000)
    assert asked == []
    job_id = cloud.submit("greet")
    page.get_by_role("button", name="Refresh now").click()
    page.get_by_role("link", name=job_id).wait_for()
    assert asked


def test_a_deployed_api_is_named_and_a_read_only_console_offers_no_changes(
    page: Page, job_ids: dict[str, str]
) -> None:
    about = {"endpoint": "https://jobs.example.org/prod", "read_only": True}
    page.route("**/console/about.json", lambda route: route.fulfill(json=about))
    page.goto(f"/console/jobs/{job_ids['DEAD']}")
    shown(page)
    page.get_by_text("jobs.example.org").wait_for()
    page.get_by_text("read-only").wait_for()
    assert not page.get_by_role("button", name="Redrive").is_visible()
    page.keyboard.press("d")
    page.get_by_role("status").get_by_text("This console is read-only").wait_for()
    page.goto("/console/jobs")
    shown(page)
    for name in ("Cancel …", "Redrive …"):
        assert not page.get_by_role("button", name=name).is_visible()
    assert not page.get_by_role("link", name="Submit job").is_visible()


PRODUCTION = {
    "status": "ok",
    "installation": "hourhand-shop",
    "stage": "prod",
    "region": "eu-central-1",
    "account": "123456789012",
}


def environment(page: Page) -> Locator:
    """Return the bar that says which installation the console shows."""
    return page.get_by_role("complementary", name="Environment")


def test_a_local_cloud_is_called_local(page: Page) -> None:
    page.goto("/console/")
    environment(page).get_by_text("Local").wait_for()
    assert page.locator(":root[data-production]").count() == 0
    assert page.title() == "Overview · Hourhand"


def test_production_is_unmistakable(page: Page, job_ids: dict[str, str]) -> None:
    page.route("**/v1/health", lambda route: route.fulfill(json=PRODUCTION))
    page.goto(f"/console/jobs/{job_ids['PENDING']}")
    shown(page)
    bar = environment(page)
    bar.get_by_text("Production").wait_for()
    for words in ("hourhand-shop", "eu-central-1", "1234-5678-9012"):
        assert bar.get_by_text(words).is_visible()
    red, green, blue = page.evaluate(
        "getComputedStyle(document.querySelector('.environment')).backgroundColor.match(/\\d+/g)"
    )[:3]
    assert int(red) > 2 * int(green)
    assert int(red) > 2 * int(blue)
    assert "hourhand-shop" in page.title()
    page.get_by_role("button", name="Cancel job").click()
    words = "This changes production: hourhand-shop."
    page.get_by_role("dialog").get_by_text(words).wait_for()
    assert poor_texts(page) == []


def test_an_installation_that_does_not_say_what_it_is_is_named_by_its_host(page: Page) -> None:
    about = {"endpoint": "https://jobs.example.org/prod", "read_only": False}
    page.route("**/console/about.json", lambda route: route.fulfill(json=about))
    page.route("**/v1/health", lambda route: route.fulfill(json={"status": "ok"}))
    page.goto("/console/jobs")
    environment(page).get_by_text("jobs.example.org").wait_for()
    environment(page).get_by_text("Deployed").wait_for()
