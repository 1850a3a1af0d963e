"""The pages about graphs, batches and children name the rules, limits and errors that exist."""

from __future__ import annotations

import json
import re
from typing import Any

import hourhand
from hourhand import RunContext
from hourhand.domain.graphs.definition import MAX_MAP_ITEMS, MAX_NODES
from hourhand.domain.graphs.parsing import parse_graph
from hourhand.domain.graphs.rules import OnFailure, TriggerRule
from hourhand.domain.runs.joins import MAX_CHILDREN
from hourhand.handlers import Registry
from hourhand.handlers._runs.child_calls import CHILD_OPTIONS, MAX_GATHERED
from hourhand.testing import FakeHourhand
from tests.docs.pages import code, names, read, rows, section

GRAPHS = read("how-to/graphs.md")
CHILDREN = read("reference/children.md")


def test_the_graph_in_json_is_the_one_in_python() -> None:
    [text] = re.findall(r"^```json\n(.*?)^```", GRAPHS, re.M | re.S)
    body = json.loads(text)
    definition = parse_graph({"nodes": body["nodes"]})
    python = re.findall(r'etl\.(?:job|map)\(\s*"(\w+)"', GRAPHS)
    assert sorted(python) == list(definition.names)
    assert definition.nodes["alarm"].when is TriggerRule.ONE_FAILED


def test_the_tables_have_every_rule_and_every_failure_mode() -> None:
    listed = names(section(GRAPHS, "Trigger rules"))
    assert listed[:12] == [*TriggerRule]
    assert set(listed[12:]) == {*OnFailure}


def test_each_graph_in_one_line_is_a_graph() -> None:
    helpers = {name: getattr(hourhand, name) for name in ("chain", "group", "chord", "starmap")}
    for row in rows(section(GRAPHS, "In one line")):
        [expression] = code(row[0])
        scope = {**helpers, "link_error": hourhand.link_error, "graph": hourhand.chain("read")}
        graph = eval(expression, scope)  # noqa: S307 - of this repository's own page
        assert graph.definition().names


def test_the_limits_are_those_of_the_code() -> None:
    limits = {row[0]: row[1] for row in rows(section(CHILDREN, "Limits"))}
    assert limits["children of a run"].startswith(f"{MAX_CHILDREN:,} in all")
    assert limits["children of `gather`"] == str(MAX_GATHERED)
    assert limits["items of a map in a graph"] == f"{MAX_MAP_ITEMS:,}"
    assert limits["nodes of a graph; its definition"] == f"{MAX_NODES:,}; 256 KB"
    assert limits["jobs of a batch; of one request"].startswith(f"{MAX_CHILDREN:,}; 500 ")


def test_the_options_of_a_child_are_listed() -> None:
    [line] = [line for line in CHILDREN.splitlines() if line.startswith("`options` are")]
    assert set(code(line)) == {"options", *CHILD_OPTIONS}


def test_the_example_of_a_race_runs() -> None:
    _, block = re.findall(r"^```python\n(.*?)^```", CHILDREN, re.M | re.S)
    registry = Registry()
    scope: dict[str, Any] = {"RunContext": RunContext}
    exec(block, scope)  # noqa: S102 - of this repository's own page
    registry.add("decide", scope["decide"], run_timeout_seconds=7 * 86_400)
    with FakeHourhand(handlers=registry) as double:
        late = double.client.submit("decide", {}).id
        double.advance(days=2)
        assert double.get(late).result == "too late"
        approved = double.client.submit("decide", {}).id
        double.client.runs.signal(approved, "approved", "yes")
        double.run_due()
        assert double.get(approved).result == "yes"


def test_the_example_of_children_runs() -> None:
    block, _ = re.findall(r"^```python\n(.*?)^```", CHILDREN, re.M | re.S)
    registry = Registry()
    scope: dict[str, Any] = {"registry": registry}
    # Registered where no other test finds it.
    block = block.replace("durable=True", "durable=True, registry=registry")
    exec(block, scope)  # noqa: S102 - of this repository's own page
    with FakeHourhand(handlers=registry) as double:
        for name in ("add-up-store", "write-report", "refresh-search"):
            double.stub(name, lambda _ctx, payload: payload)
        run_id = double.client.submit("close-month", "2026-11").id
        double.run_due()
        report = {"month": "2026-11", "totals": ["berlin", "osaka"]}
        assert double.get(run_id).result == {"report": report, "missing": []}
