"""The grid of a schedule: its last runs by the nodes of their graph, and reruns from a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.harness import Cloud
from tests.browser.harness_seed import Seeds

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

RUNS = 3


@pytest.fixture(scope="module")
def runs(cloud: Cloud, seeds: Seeds) -> list[str]:
    """Return the ids of the runs of a schedule whose graph fails in the middle, oldest first."""
    seeds.schedule("tables", "rate(30 days)", handler="nightly-tables", overlap="allow")
    ids = []
    for _ in range(RUNS):
        ids.append(str(cloud.ask("POST", "/schedules/tables/trigger")["id"]))
        cloud.reach(ids[-1], "DEAD")
    cloud.wait(lambda: len(grid(cloud)) == RUNS or None)
    return ids


def grid(cloud: Cloud) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cloud.ask("GET", "/schedules/tables/grid")["runs"]
    return found


def table(page: Page) -> Locator:
    return page.get_by_role("table", name="The last 3 runs")


def cells(page: Page, name: str) -> Locator:
    """Return the cells of a node, oldest run first."""
    head = page.get_by_role("rowheader", name=name, exact=True)
    return table(page).get_by_role("row").filter(has=head).get_by_role("button")


def test_the_grid_shows_each_node_of_each_run_in_words(page: Page, runs: list[str]) -> None:
    page.goto("/console/schedules/tables")
    page.get_by_role("link", name="Grid").click()
    table(page).wait_for()
    # In the order of the graph, not of the alphabet.
    assert table(page).get_by_role("rowheader").all_inner_texts() == ["extract", "clean", "load"]
    for name, state in (("extract", "Succeeded"), ("clean", "Dead"), ("load", "Skipped")):
        labels = [cell.get_attribute("aria-label") or "" for cell in cells(page, name).all()]
        assert len(labels) == RUNS
        assert all(label.startswith(f"{name}, ") for label in labels)
        assert all(label.endswith(f": {state}") for label in labels)
    legend = page.get_by_role("list", name="Legend").get_by_role("listitem").all_inner_texts()
    assert [words.strip() for words in legend] == ["Dead", "Skipped", "Succeeded"]


def test_a_run_leads_to_its_graph(page: Page, runs: list[str]) -> None:
    page.goto("/console/schedules/tables?tab=grid")
    table(page).get_by_role("link").nth(1).click()
    page.wait_for_url(lambda url: url.endswith(f"/console/jobs/{runs[1]}"))
    page.get_by_role("region", name="Graph").wait_for()


def test_a_cell_leads_to_the_job_of_its_node(page: Page, cloud: Cloud, runs: list[str]) -> None:
    page.goto("/console/schedules/tables?tab=grid")
    cells(page, "clean").nth(0).click()
    page.wait_for_url(lambda url: f"run={runs[0]}" in url and "node=clean" in url)
    job_id = cloud.ask("GET", f"/graphs/{runs[0]}")["nodes"]["clean"]["job_id"]
    page.get_by_role("link", name=job_id).click()
    page.get_by_role("heading", name="charge-card").wait_for()


def test_the_graph_runs_again_from_a_cell(page: Page, cloud: Cloud, runs: list[str]) -> None:
    before = cloud.ask("GET", f"/graphs/{runs[2]}")["nodes"]
    page.goto("/console/schedules/tables?tab=grid")
    cells(page, "clean").nth(2).click()
    page.get_by_role("button", name="Rerun from here …").click()
    dialog = page.get_by_role("dialog", name="Rerun the graph from clean?")
    dialog.get_by_text("1 node keeps its result").wait_for()
    dialog.get_by_role("button", name="Rerun 2 nodes").click()
    dialog.wait_for(state="detached")

    def runs_again() -> bool | None:
        now = cloud.ask("GET", f"/graphs/{runs[2]}")["nodes"]
        is_new = now["clean"]["job_id"] not in {None, before["clean"]["job_id"]}
        return (is_new and now["extract"] == before["extract"]) or None

    cloud.wait(runs_again)


def test_the_number_of_runs_is_chosen(page: Page, runs: list[str]) -> None:
    with page.expect_request("**/grid?runs=25"):
        page.goto("/console/schedules/tables?tab=grid")
    with page.expect_request("**/grid?runs=10"):
        page.get_by_label("Number of runs").select_option("10")
    page.wait_for_url(lambda url: "runs=10" in url)


def test_a_schedule_whose_jobs_are_no_graphs_has_runs_without_nodes(
    page: Page, cloud: Cloud, seeds: Seeds
) -> None:
    seeds.schedule("plain", "rate(30 days)")
    job_id = cloud.ask("POST", "/schedules/plain/trigger")["id"]
    cloud.reach(job_id, "SUCCEEDED")
    page.goto("/console/schedules/plain?tab=grid")
    page.get_by_text("These runs are single jobs, not graphs").wait_for()
    seeds.schedule("unused", "rate(30 days)")
    page.goto("/console/schedules/unused?tab=grid")
    page.get_by_role("heading", name="No runs yet").wait_for()
