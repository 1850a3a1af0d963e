"""The page of a graph: its nodes with their states, and reruns of a part of it with a preview."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.harness import Cloud
from tests.browser.harness_seed import HARMED

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

LAYOUT = "/console/static/views/graph_layout.js"
WORDS = "/console/static/views/graph_words.js"

AFTER: Mapping[str, list[str]] = {
    "extract-orders": [],
    "extract-customers": [],
    "extract-stock": [],
    "clean-orders": ["extract-orders"],
    "clean-customers": ["extract-customers"],
    "count-stock": ["extract-stock"],
    "join": ["clean-orders", "clean-customers"],
    "price": ["join", "count-stock"],
    "load": ["price"],
    "report": ["load"],
    "publish": ["report"],
    "cleanup": ["load", "extract-orders"],
}
"""The nodes of a graph of twelve, in the middle of which `join` fails."""

DOWNSTREAM = {"join", "price", "load", "report", "publish", "cleanup"}
UPSTREAM = set(AFTER) - DOWNSTREAM
LARGE = 160


def submit_tables(cloud: Cloud, needed: Path) -> str:
    """Submit the graph of twelve, and return its id once it is dead: `join` needs a file."""
    nodes: dict[str, Any] = {
        name: {"handler": "load-table", "after": after} for name, after in AFTER.items()
    }
    nodes["join"]["payload"] = {"needs": str(needed)}
    nodes["cleanup"]["when"] = "all_done"
    graph_id = str(cloud.ask("POST", "/graphs", {"nodes": nodes})["id"])
    cloud.reach(graph_id, "DEAD")
    return graph_id


def nodes_of(cloud: Cloud, graph_id: str) -> dict[str, dict[str, Any]]:
    nodes: dict[str, dict[str, Any]] = cloud.ask("GET", f"/graphs/{graph_id}")["nodes"]
    return nodes


def panel(page: Page) -> Locator:
    return page.get_by_role("region", name="Graph", exact=True)


def node(page: Page, name: str, state: str) -> Locator:
    return panel(page).get_by_role("button", name=f"{name} {state}")


def names_in(page: Page, title: str) -> set[str]:
    return set(page.get_by_role("region", name=title).get_by_role("listitem").all_inner_texts())


# --- the states of the nodes ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def needed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that no test of a dead graph creates."""
    return tmp_path_factory.mktemp("graphs") / "prices.csv"


@pytest.fixture(scope="module")
def dead(cloud: Cloud, needed: Path) -> str:
    return submit_tables(cloud, needed)


def test_the_graph_shows_the_state_of_each_node_in_words(page: Page, dead: str) -> None:
    page.goto(f"/console/graphs/{dead}")
    panel(page).get_by_text("12 nodes: 1 dead, 4 skipped, 7 succeeded").wait_for()
    node(page, "join", "Dead").wait_for()
    for name in ("price", "load", "report", "publish"):
        node(page, name, "Skipped").wait_for()
    for name in [*UPSTREAM, "cleanup"]:
        node(page, name, "Succeeded").wait_for()


def test_the_failed_node_is_chosen_first_and_another_on_a_click(
    page: Page, cloud: Cloud, dead: str
) -> None:
    page.goto(f"/console/jobs/{dead}")
    details = panel(page).get_by_role("region", name="Node join")
    details.get_by_text("There is no prices.csv.").wait_for()
    details.get_by_text("when all nodes before it succeeded").wait_for()
    job_id = nodes_of(cloud, dead)["join"]["job_id"]
    node(page, "price", "Skipped").click()
    details = panel(page).get_by_role("region", name="Node price")
    details.get_by_text("It was skipped, because a node before it failed.").wait_for()
    details.get_by_role("button", name="join", exact=True).click()
    panel(page).get_by_role("region", name="Node join").get_by_role("link", name=job_id).click()
    page.get_by_role("heading", name="load-table").wait_for()
    page.locator("dd").get_by_role("link", name=dead).click()
    panel(page).wait_for()


def test_the_address_holds_the_chosen_node_and_the_list(page: Page, dead: str) -> None:
    page.goto(f"/console/jobs/{dead}")
    node(page, "load", "Skipped").click()
    panel(page).get_by_role("button", name="List").click()
    page.wait_for_url(lambda url: "node=load" in url and "nodes=list" in url)
    page.reload()
    rows = panel(page).get_by_role("table", name="Nodes of the graph").locator("tbody tr")
    rows.nth(len(AFTER) - 1).wait_for()
    # What needs attention comes first.
    assert rows.first.inner_text().startswith("join")
    panel(page).get_by_role("region", name="Node load").wait_for()
    panel(page).get_by_role("button", name="Skipped 4").click()
    rows.nth(4).wait_for(state="detached")
    assert rows.count() == 4


def test_the_nodes_of_a_graph_change_while_the_page_is_open(page: Page, cloud: Cloud) -> None:
    nodes = {
        "first": {"handler": "build-report", "payload": {"seconds": 300}},
        "last": {"handler": "load-table", "after": ["first"], "when": "all_done"},
    }
    graph_id = cloud.ask("POST", "/graphs", {"nodes": nodes})["id"]
    page.goto(f"/console/jobs/{graph_id}")
    node(page, "first", "Running").wait_for()
    node(page, "last", "Waiting").wait_for()
    assert panel(page).get_by_role("button", name="Rerun").count() == 0
    cloud.ask("POST", f"/jobs/{nodes_of(cloud, graph_id)['first']['job_id']}/cancel")
    node(page, "first", "Succeeded").wait_for()
    node(page, "last", "Succeeded").wait_for()


def test_the_map_of_a_graph_shows_counts_and_its_jobs_those_that_failed_first(
    page: Page, cloud: Cloud
) -> None:
    over = [*range(24), "broken"]
    images = {"map": {"over": over, "handler": "resize-image", "tolerate": 1}}
    graph_id = cloud.ask("POST", "/graphs", {"nodes": {"images": images}})["id"]
    cloud.reach(graph_id, "SUCCEEDED")
    page.goto(f"/console/jobs/{graph_id}")
    node(page, "images", "Succeeded 24/25").click()
    details = panel(page).get_by_role("region", name="Node images")
    details.get_by_text("24 of 25 succeeded, 1 failed").wait_for()
    jobs = details.get_by_role("listitem")
    jobs.first.get_by_text("The header of the image is broken.").wait_for()
    assert jobs.count() == 20
    details.get_by_role("button", name="Show 20 more children").click()
    jobs.nth(len(over) - 1).wait_for()
    assert jobs.count() == len(over)


def test_a_graph_of_many_nodes_is_a_list(page: Page, cloud: Cloud) -> None:
    nodes = {f"n{number}": {"handler": "load-table"} for number in range(LARGE)}
    graph_id = cloud.ask("POST", "/graphs", {"nodes": nodes})["id"]
    cloud.reach(graph_id, "SUCCEEDED")
    page.goto(f"/console/jobs/{graph_id}")
    rows = panel(page).get_by_role("table", name="Nodes of the graph").locator("tbody tr")
    rows.first.wait_for()
    assert rows.count() == 100
    assert panel(page).get_by_role("button", name="Drawing").count() == 0
    panel(page).get_by_role("button", name="Show 60 more nodes").click()
    rows.nth(LARGE - 1).wait_for()


def test_a_hostile_error_of_a_node_is_text(page: Page, cloud: Cloud) -> None:
    error = {"error": "<img src=x onerror='window.harmed = 1'>"}
    nodes = {"one": {"handler": "charge-card", "payload": error}}
    graph_id = cloud.ask("POST", "/graphs", {"nodes": nodes})["id"]
    cloud.reach(graph_id, "DEAD")
    page.goto(f"/console/jobs/{graph_id}")
    panel(page).get_by_text(error["error"]).wait_for()
    assert page.evaluate(HARMED) is None


# --- rerun ----------------------------------------------------------------------------------------


def test_a_graph_is_repaired_in_one_click_and_only_the_nodes_downstream_run_again(
    page: Page, cloud: Cloud, tmp_path: Path
) -> None:
    graph_id = submit_tables(cloud, tmp_path / "prices.csv")
    before = nodes_of(cloud, graph_id)
    (tmp_path / "prices.csv").touch()
    page.goto(f"/console/jobs/{graph_id}")
    panel(page).get_by_role("button", name="Rerun the failed node …").click()
    dialog = page.get_by_role("dialog", name="Rerun the graph from join?")
    dialog.get_by_text("6 nodes will run again").wait_for()
    assert names_in(page, "6 nodes will run again") == DOWNSTREAM
    assert names_in(page, "6 nodes keep their results") == UPSTREAM
    dialog.get_by_role("button", name="Rerun 6 nodes").click()
    dialog.wait_for(state="detached")
    panel(page).get_by_text("12 nodes: 12 succeeded").wait_for()
    cloud.reach(graph_id, "SUCCEEDED")
    after = nodes_of(cloud, graph_id)
    same = {name for name in AFTER if after[name]["job_id"] == before[name]["job_id"]}
    assert same == UPSTREAM
    for name in UPSTREAM:
        assert after[name]["started_at"] == before[name]["started_at"]
    page.locator("h1", has_text="Succeeded").wait_for()


def test_a_preview_changes_nothing(page: Page, cloud: Cloud, dead: str) -> None:
    before = nodes_of(cloud, dead)
    page.goto(f"/console/jobs/{dead}?node=load")
    panel(page).get_by_role("button", name="Rerun from here …").click()
    dialog = page.get_by_role("dialog", name="Rerun the graph from load?")
    dialog.get_by_text("6 nodes keep their results").wait_for()
    # What failed or was skipped before is redriven, as by any redrive.
    assert names_in(page, "2 nodes without a result are tried again") == {"join", "price"}
    assert names_in(page, "4 nodes will run again") == {"load", "report", "publish", "cleanup"}
    dialog.get_by_role("button", name="Back").click()
    dialog.wait_for(state="detached")
    assert nodes_of(cloud, dead) == before
    assert cloud.job(dead)["status"] == "DEAD"


def test_a_registered_graph_is_shown_as_one(page: Page, cloud: Cloud) -> None:
    graph_id = cloud.submit("nightly-tables")
    cloud.reach(graph_id, "DEAD")
    page.goto(f"/console/jobs/{graph_id}")
    node(page, "clean", "Dead").wait_for()
    node(page, "load", "Skipped").wait_for()


# --- the drawing, and the words -------------------------------------------------------------------


def layout(page: Page, after: Mapping[str, list[str]]) -> dict[str, Any]:
    page.goto("/console/nowhere")
    script = """async ([path, nodes]) => {
      const drawing = (await import(path)).layOut(nodes);
      return { ...drawing, places: Object.fromEntries(drawing.places) };
    }"""
    nodes = {name: {"after": before} for name, before in after.items()}
    drawn: dict[str, Any] = page.evaluate(script, [LAYOUT, nodes])
    return drawn


def test_each_node_is_drawn_right_of_all_nodes_before_it(page: Page) -> None:
    drawn = layout(page, AFTER)
    places = drawn["places"]
    for name, before in AFTER.items():
        assert all(places[other]["x"] < places[name]["x"] for other in before)
    edges = {(edge["from"], edge["to"]) for edge in drawn["edges"]}
    assert edges == {(other, name) for name, before in AFTER.items() for other in before}


def test_no_two_nodes_are_drawn_over_each_other_and_all_within_the_drawing(page: Page) -> None:
    wide = {f"{number}": ["0"] if number else [] for number in range(40)}
    for after in (AFTER, wide, {"only": []}):
        drawn = layout(page, after)
        boxes = [(place["x"], place["y"]) for place in drawn["places"].values()]
        assert len(boxes) == len(after)
        for x, y in boxes:
            assert x >= 0
            assert y >= 0
            assert x + 172 <= drawn["width"]
            assert y + 54 <= drawn["height"]
        columns: dict[float, list[float]] = {}
        for x, y in boxes:
            columns.setdefault(x, []).append(y)
        for heights in columns.values():
            ordered = sorted(heights)
            gaps = [b - a for a, b in zip(ordered, ordered[1:], strict=False)]
            assert all(gap >= 54 for gap in gaps)


def test_every_trigger_rule_and_failure_mode_has_words(page: Page) -> None:
    page.goto("/console/nowhere")
    script = """async ([path, rules, modes]) => {
      const at = await import(path);
      return [rules.map((when) => at.ruleWords({ when, after: ["a"] })),
        modes.map((mode) => at.failureWords({ on_failure: mode }))];
    }"""
    rules = [
        *("all_success", "all_failed", "all_done", "all_skipped", "one_success", "one_failed"),
        *("one_done", "none_failed", "none_failed_min_one_success", "none_skipped"),
        *("all_done_min_one_success", "always"),
    ]
    modes = ["fail", "ignore", "continue", "remove"]
    rule_words, mode_words = page.evaluate(script, [WORDS, rules, modes])
    assert len(set(rule_words)) == len(rules)
    assert not any(
        rule in words for rule, words in zip(rules, rule_words, strict=True) if rule != "always"
    )
    assert mode_words[0] == ""
    assert len(set(mode_words)) == len(modes)
