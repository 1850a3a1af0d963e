"""What axe-core says of every view of the console, light and dark, and what a phone shows of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.accessibility import violations
from tests.browser.contrast import poor_texts
from tests.browser.harness import Cloud
from tests.browser.harness_seed import Seeds

if TYPE_CHECKING:
    from playwright.sync_api import Page

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
SCHEMES = [{"color_scheme": "light"}, {"color_scheme": "dark"}]

CUT = """() => [...document.querySelectorAll(".nav-link span, .table-cards td, label, dt, th")]
  .filter((label) => !label.matches(".sr-only"))
  .filter((label) => label.checkVisibility() && label.scrollWidth > label.clientWidth + 1
    && getComputedStyle(label).overflow !== "visible")
  .map((label) => label.textContent.trim())"""
"""The labels of which a part is cut off; words for screen readers alone are not drawn at all."""

UNLABELLED = """() => [...document.querySelectorAll(".table-cards td:not(.cell-check)")]
  .filter((cell) => cell.checkVisibility())
  .filter((cell) => !getComputedStyle(cell, "::before").content.includes(cell.dataset.title))
  .map((cell) => cell.dataset.title)"""
"""The titles of columns that do not stand beside their values."""


@pytest.fixture(scope="module")
def views(seeds: Seeds, cloud: Cloud) -> dict[str, str]:
    """Return the addresses of all views, each with something to show."""
    seeds.calendar("holidays", "2027-03-26")
    seeds.schedule(
        "seen", "0 6 * * MON-FRI", exclude=["holidays"], payload={"a": 1}, tags={"team": "a"}
    )
    job = cloud.ask("POST", "/schedules/seen/trigger")
    cloud.reach(job["id"], "SUCCEEDED")
    dead = seeds.dead(tags={"customer": "42"}, tenant="acme")
    seeds.retrying()
    running = cloud.submit("export-data")
    cloud.reach(running, "RUNNING")
    waiting = cloud.submit("export-data")
    cloud.wait(lambda: cloud.job(waiting)["waits_for"])
    cloud.ask("PUT", "/limits/sync-account.1", {"max": 0, "overrides": {"acme": 4, "globex": 0}})
    cloud.ask("POST", "/handlers/send-invoice/pause", {"note": "wrong totals"})
    held = cloud.submit("send-invoice", {"customer": "ada", "cents": 5})
    graph = seeds.dead_graph()
    run = cloud.submit("resize-all", {"images": [1, "broken"], "tolerate": 1})
    batch = cloud.ask("POST", "/batches", {"jobs": [{"handler": "greet"}, {"handler": "greet"}]})
    seeds.schedule("tables", "rate(30 days)", handler="nightly-tables")
    occurrence = cloud.ask("POST", "/schedules/tables/trigger")["id"]
    cloud.reach(occurrence, "DEAD")
    for ended in (run, batch["id"]):
        cloud.reach(ended, "SUCCEEDED")
    return {
        "graph": f"/console/graphs/{graph}",
        "nodes of a graph": f"/console/graphs/{graph}?nodes=list&node=load",
        "run with children": f"/console/jobs/{run}",
        "batch": f"/console/batches/{batch['id']}",
        "grid": f"/console/schedules/tables?tab=grid&run={occurrence}&node=clean",
        "overview": "/console/",
        "jobs": "/console/jobs",
        "job": f"/console/jobs/{dead}",
        "submit": "/console/submit?handler=greet",
        "schedules": "/console/schedules",
        "schedule": "/console/schedules/seen",
        "calendar of a schedule": "/console/schedules/seen?tab=calendar",
        "a day of it": "/console/schedules/seen?tab=calendar&month=2027-03&day=2027-03-26",
        "definition": "/console/schedules/seen?tab=definition",
        "editor": "/console/schedules/seen/edit",
        "new schedule": "/console/new-schedule",
        "handlers": "/console/handlers",
        "handler": "/console/handlers/greet",
        "paused handler": "/console/handlers/send-invoice",
        "job of a paused handler": f"/console/jobs/{held}",
        "submit to a paused handler": "/console/submit?handler=send-invoice",
        "limits": "/console/limits",
        "limit": "/console/limits/exports",
        "limit with keys": "/console/limits/sync-account.1",
        "key of a limit": "/console/limits/sync-account.1?key=globex",
        "rate": "/console/limits/bank",
        "job that waits": f"/console/jobs/{waiting}",
        "dead letters": "/console/dead-letters",
        "calendars": "/console/calendars",
        "calendar": "/console/calendars/holidays",
        "no such page": "/console/nowhere",
    }


def show(page: Page, path: str) -> None:
    page.goto(path)
    page.locator("h1, .empty h2").first.wait_for()
    page.locator(".skeleton").first.wait_for(state="detached")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("context_options", SCHEMES)
def test_axe_finds_nothing_on_any_view_and_every_text_stands_out(
    page: Page, views: dict[str, str]
) -> None:
    # One test, since each visit of all views takes many seconds.
    broken, poor = {}, {}
    for name, path in views.items():
        show(page, path)
        poor[name] = poor_texts(page)
        broken[name] = violations(page)
    nothing: dict[str, list[str]] = {name: [] for name in views}
    assert (broken, poor) == (nothing, nothing)


@pytest.mark.parametrize("context_options", [PHONE])
def test_a_phone_shows_every_view_with_all_labels_and_nothing_at_its_side(
    page: Page, views: dict[str, str]
) -> None:
    wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    found: dict[str, Any] = {}
    for name, path in views.items():
        show(page, path)
        found[name] = (page.evaluate(wider), page.evaluate(CUT), page.evaluate(UNLABELLED))
    assert {name: seen for name, seen in found.items() if seen != (0, [], [])} == {}
