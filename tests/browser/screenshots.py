"""The pictures of the docs, of a real console: ``python -m tests.browser.screenshots``.

It takes two minutes: plots over time want time.
"""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.browser.harness import Cloud, guarded_page, running_chromium
from tests.browser.harness_seed import Seeds

if TYPE_CHECKING:
    from playwright.sync_api import Page

FOLDER = Path(__file__).parents[2] / "docs" / "console"
MINUTES = 1.5
EVERY_SECONDS = 0.25
HANDLERS = ("greet", "greet", "greet", "greet", "greet", "greet", "settle-invoice", "charge-card")
SIZE = {"width": 1280, "height": 860}


def busy(cloud: Cloud) -> None:
    """Submit jobs of several kinds, some of which fail, for a while."""
    chance = random.Random(7)
    until = time.monotonic() + 60 * MINUTES
    while time.monotonic() < until:
        handler = chance.choice(HANDLERS) if chance.random() < 0.5 else "greet"
        payload = {"customer": chance.randrange(1000), "fails": chance.choice((0, 0, 1))}
        cloud.submit(
            handler,
            payload,
            priority=chance.choice(("high", "medium", "low")),
            delay_seconds=chance.random() * 5,
            tenant=chance.choice(("acme", "globex")),
        )
        time.sleep(EVERY_SECONDS)


def take(page: Page, path: str, name: str) -> None:
    """Take a picture of a view, or of the one that is open, once it shows its data."""
    if path:
        page.goto(path)
    page.locator("h1").wait_for()
    page.locator(".skeleton").wait_for(state="detached")
    # Where a traceback's files lie is this machine's own affair.
    for fold in page.locator("details[open]:has(pre) > summary").all():
        fold.click()
    page.wait_for_load_state("networkidle")
    page.screenshot(path=FOLDER / f"{name}.png")


def main() -> None:
    """Make them all."""
    FOLDER.mkdir(exist_ok=True)
    cloud = Cloud()
    try:
        seeds = Seeds(cloud)
        schedules(seeds)
        running = seeds.running(tenant="acme")
        fields = {"tenant": "globex", "tags": {"region": "eu", "customer": "42"}}
        payload = {"invoice": "2026-1107", "amount": {"cents": 4990, "currency": "EUR"}, "fails": 3}
        dead = cloud.submit("settle-invoice", payload, priority="high", **fields)
        busy(cloud)
        cloud.reach(dead, "DEAD")
        with (
            running_chromium() as browser,
            guarded_page(browser, cloud.url, viewport=SIZE) as (page, _),
        ):
            page.goto("/console/")
            page.wait_for_timeout(20_000)
            take(page, "", "overview")
            take(page, f"/console/jobs/{dead}", "job")
            calendar = "?tab=calendar&month=2027-03&day=2027-03-28"
            take(page, f"/console/schedules/nightly-report{calendar}", "schedules")
            take(page, f"/console/graphs/{graph(cloud)}", "graph")
            limits(cloud)
            take(page, "/console/limits", "limits")
        cloud.ask("POST", f"/jobs/{running}/cancel")
    finally:
        cloud.stop()


def graph(cloud: Cloud) -> str:
    """Return the id of a graph that failed in the middle."""
    after: dict[str, list[str]] = {
        "extract-orders": [],
        "extract-customers": [],
        "extract-images": [],
        "clean-orders": ["extract-orders"],
        "clean-customers": ["extract-customers"],
        "join": ["clean-orders", "clean-customers"],
        "load": ["join", "resize"],
        "cleanup": ["load", "extract-orders"],
        "report": ["load"],
    }
    nodes: dict[str, Any] = {
        name: {"handler": "load-table", "after": before} for name, before in after.items()
    }
    nodes["join"]["payload"] = {"needs": "prices.csv"}
    nodes["cleanup"]["when"] = "all_done"
    images = {"over": list(range(300)), "handler": "resize-image"}
    nodes["resize"] = {"map": images, "after": ["extract-images"]}
    graph_id = str(cloud.ask("POST", "/graphs", {"nodes": nodes})["id"])
    cloud.reach(graph_id, "DEAD")
    return graph_id


def limits(cloud: Cloud) -> None:
    """Let jobs run and wait at limits, of which an operator changed some."""
    # One of the four workers stays free: it parks the jobs that find their limit full.
    cloud.submit("sync-account", {"account": "acme"})
    exports = [cloud.submit("export-data") for _ in range(5)]
    cloud.wait(lambda: cloud.job(exports[-1])["waits_for"])
    cloud.ask("PUT", "/limits/bank", {"max": 60})
    cloud.ask("PUT", "/limits/sync-account.1", {"overrides": {"acme": 4, "globex": 0}})
    cloud.ask("PUT", "/limits/import-nightly.1", {"max": 0})


def schedules(seeds: Seeds) -> None:
    """Put schedules such as people have."""
    weekdays = "0 9 * * MON-FRI"
    zone = "Europe/Berlin"
    seeds.schedule(
        "invoices", weekdays, handler="settle-invoice", payload={"fails": 0}, timezone=zone
    )
    seeds.schedule("nightly-report", "30 2 * * *", timezone=zone, misfire={"policy": "latest"})
    seeds.schedule("stock-sync", "rate(20 seconds)", overlap="buffer_one")
    seeds.schedule("month-end", "0 18 L * *", timezone="America/New_York", overlap="allow")
    seeds.schedule("newsletter", "0 7 * * TUE", paused=True, note="until the new template is there")


if __name__ == "__main__":
    main()
