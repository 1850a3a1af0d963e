"""``hourhand console`` in a real browser: who gets in, how, and what is kept from the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from hourhand.client._authorisation import NoAuth
from hourhand.client._endpoint import find_endpoint
from hourhand.console.access import TOKEN_HEADER
from hourhand.console.proxy import RunningConsole, serve_upstream
from hourhand.console.upstream import Upstream
from tests.browser.harness import Cloud, Guard, guarded_page
from tests.browser.harness_seed import Seeds

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

APP = "#app > *"
REFUSED = "This tab has no access to the console"
ELSEWHERE = "http://elsewhere.example/"

Serve = Callable[..., RunningConsole]


@pytest.fixture
def serve(cloud: Cloud) -> Iterator[Serve]:
    """Serve a console for the cloud, as if that were far away."""
    running: list[RunningConsole] = []

    def start(*, read_only: bool = False) -> RunningConsole:
        there = Upstream(find_endpoint(cloud.url), NoAuth(), timeout_seconds=10)
        running.append(serve_upstream(there, port=0, read_only=read_only))
        return running[-1]

    yield start
    for console in running:
        console.close()


@pytest.fixture
def console(serve: Serve) -> RunningConsole:
    return serve()


@pytest.fixture
def visit(browser: Browser, console: RunningConsole) -> Iterator[tuple[Page, Guard]]:
    with guarded_page(browser, console.server.url) as page_and_guard:
        yield page_and_guard


def test_the_printed_address_opens_the_console(
    visit: tuple[Page, Guard], console: RunningConsole, seeds: Seeds
) -> None:
    page, _ = visit
    job_id = seeds.succeeded()
    page.goto(console.address)
    page.locator(APP).first.wait_for()
    page.wait_for_url(console.url)
    page.goto(f"/console/jobs/{job_id}")
    page.get_by_text(job_id).first.wait_for()


def test_the_token_stays_in_its_tab_and_its_origin(
    visit: tuple[Page, Guard], console: RunningConsole
) -> None:
    page, guard = visit
    page.goto(console.address)
    page.locator(APP).first.wait_for()
    assert page.url == console.url
    assert (page.context.cookies(), page.evaluate("document.cookie")) == ([], "")
    assert console.token not in page.evaluate("document.documentElement.outerHTML")
    assert console.token not in page.evaluate("JSON.stringify({...localStorage, ...history.state})")
    # Another program of this machine: another port, of the same site.
    other = f"http://127.0.0.1:{console.server.port + 1}/"
    sent: list[dict[str, str]] = []

    def answer(route: Route) -> None:
        sent.append(route.request.all_headers())
        body = f'<link rel="icon" href="data:,"><img src="{other}image">'
        route.fulfill(content_type="text/html", body=body)

    page.route(f"{other}**", answer)
    guard.allow("a request to elsewhere")
    page.goto(other)
    page.wait_for_load_state("load")
    assert len(sent) == 2
    assert console.token not in str(sent)
    assert page.evaluate("sessionStorage.length") == 0


def test_a_link_opened_in_a_new_tab_works_too(
    visit: tuple[Page, Guard], console: RunningConsole
) -> None:
    page, guard = visit
    page.goto(console.address)
    page.locator(APP).first.wait_for()
    guard.allow("status of 403")
    second = page.context.new_page()
    second.goto(f"{console.url}jobs")
    second.get_by_role("heading", name="Jobs").first.wait_for()


def test_a_new_address_pasted_into_an_old_tab_works(
    visit: tuple[Page, Guard], console: RunningConsole, serve: Serve
) -> None:
    page, guard = visit
    guard.allow("status of 403")
    page.goto(f"{console.url}#token=of-an-earlier-start")
    page.get_by_role("heading", name=REFUSED).wait_for()
    assert page.evaluate("sessionStorage.length") == 0
    page.goto(console.address)
    page.get_by_role("heading", name="Overview").first.wait_for()
    assert page.url == console.url


@pytest.mark.parametrize("target", ["/", "/console/jobs", "/console/#token=wrong"])
def test_without_the_address_the_page_says_what_to_do(
    visit: tuple[Page, Guard], target: str
) -> None:
    page, guard = visit
    guard.allow("status of 403")
    page.goto(target)
    page.get_by_role("heading", name=REFUSED).wait_for()
    page.get_by_text("Open the address that hourhand console printed.").wait_for()
    assert page.get_by_role("navigation").count() == 0


def link_from_elsewhere(page: Page, guard: Guard, address: str) -> None:
    """Follow a link that stands on another site's page."""
    guard.allow(f"a request to elsewhere: {ELSEWHERE}")
    body = f'<link rel="icon" href="data:,"><a href="{address}">to the console</a>'
    page.route(ELSEWHERE, lambda route: route.fulfill(content_type="text/html", body=body))
    page.goto(ELSEWHERE)
    page.get_by_role("link").click()


def test_the_address_works_as_a_link_from_elsewhere_too(
    visit: tuple[Page, Guard], console: RunningConsole
) -> None:
    page, guard = visit
    link_from_elsewhere(page, guard, console.address)
    page.locator(APP).first.wait_for()
    page.wait_for_url(console.url)


def test_a_tab_with_the_token_follows_a_link_from_elsewhere(
    visit: tuple[Page, Guard], console: RunningConsole
) -> None:
    page, guard = visit
    page.goto(console.address)
    page.locator(APP).first.wait_for()
    link_from_elsewhere(page, guard, f"{console.url}jobs")
    page.get_by_role("heading", name="Jobs").first.wait_for()


def fetch_from_elsewhere(
    page: Page, guard: Guard, console: RunningConsole, target: str, options: str
) -> str:
    """Ask the console from a page of another port, and return what its script gets to know."""
    page.goto(console.address)
    page.wait_for_url(console.url)
    page.locator(APP).first.wait_for()
    # Another origin, of the same site: a browser sends to it whatever belongs to a host alone.
    other = f"http://127.0.0.1:{console.server.port + 1}/"
    page.route(other, lambda route: route.fulfill(content_type="text/html", body="<p>other"))
    guard.allow("")
    page.goto(other)
    said: str = page.evaluate(
        f"url => fetch(url, {{credentials: 'include', mode: 'no-cors', {options}}})"
        ".then(answer => answer.type, error => error.name)",
        f"{console.server.url}{target}",
    )
    return said


@pytest.mark.parametrize("target", ["/v1/jobs", "/console/", "/console/about.json"])
def test_another_origins_script_does_not_even_get_a_closed_answer(
    visit: tuple[Page, Guard], console: RunningConsole, target: str
) -> None:
    page, guard = visit
    assert fetch_from_elsewhere(page, guard, console, target, "") == "TypeError"


def test_another_origins_script_changes_nothing(
    visit: tuple[Page, Guard], console: RunningConsole, cloud: Cloud, seeds: Seeds
) -> None:
    page, guard = visit
    job_id = seeds.pending()
    options = "method: 'POST', body: '{\"all\": true}'"
    fetch_from_elsewhere(page, guard, console, "/v1/jobs/cancel", options)
    assert cloud.job(job_id)["status"] == "PENDING"


def test_a_console_for_reading_says_so_to_the_page(
    browser: Browser, serve: Serve, cloud: Cloud
) -> None:
    console = serve(read_only=True)
    with guarded_page(browser, console.server.url) as (page, guard):
        guard.allow("status of 403")
        page.goto(console.address)
        page.locator(APP).first.wait_for()
        token = f"{{'{TOKEN_HEADER}': '{console.token}'}}"
        about = page.evaluate(
            f"fetch('/console/about.json', {{headers: {token}}}).then(answer => answer.json())"
        )
        assert about == {"endpoint": cloud.url, "read_only": True, "is_production": False}
        refused = page.evaluate(
            "fetch('/v1/jobs/cancel', {method: 'POST', body: '{\"all\": true}',"
            f" headers: {{'content-type': 'application/json', ...{token}}}}})"
            ".then(answer => answer.json())"
        )
        assert refused["type"] == "urn:hourhand:read_only"
