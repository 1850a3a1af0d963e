"""The graph of twelve nodes fails in the middle, and a rerun repairs it."""

from __future__ import annotations

import pytest

from examples import etl_graph
from hourhand.testing import FakeHourhand

AFTER_CONVERT = {"convert", "total", "compare", "load", "publish", "alarm", "clean-up"}


def states(double: FakeHourhand, graph_id: str) -> dict[str, str]:
    graph = double.client.graphs.get(graph_id)
    return {name: node.status for name, node in graph.nodes.items()}


def test_a_currency_is_missing_and_what_follows_is_skipped(hourhand_jobs: FakeHourhand) -> None:
    graph_id = hourhand_jobs.client.submit("sales-etl").id
    hourhand_jobs.run_due()
    found = states(hourhand_jobs, graph_id)
    assert len(found) == 12
    assert hourhand_jobs.get(graph_id).status == "DEAD"
    assert {name for name, status in found.items() if status == "DEAD"} == {"convert"}
    skipped = {name for name, status in found.items() if status == "SKIPPED"}
    assert skipped == {"total", "compare", "load", "publish"}
    assert (found["archive"], found["alarm"], found["clean-up"]) == ("SUCCEEDED",) * 3


def test_a_rerun_runs_the_failed_node_and_those_after_it(
    hourhand_jobs: FakeHourhand, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph_id = hourhand_jobs.client.submit("sales-etl").id
    hourhand_jobs.run_due()
    monkeypatch.setitem(etl_graph.CURRENCIES, "malmo", "SEK")
    plan = hourhand_jobs.client.graphs.rerun(graph_id, ["convert"], dry_run=True)
    assert set(plan.reset) == AFTER_CONVERT
    before = len(hourhand_jobs.runs)

    hourhand_jobs.client.graphs.rerun(graph_id, ["convert"])
    hourhand_jobs.run_due()
    found = states(hourhand_jobs, graph_id)
    assert hourhand_jobs.get(graph_id).status == "SUCCEEDED"
    assert found["alarm"] == "SKIPPED"
    again = [run.handler for run in hourhand_jobs.runs[before:]]
    assert {"list-stores", "read-store", "read-table"}.isdisjoint(again)
    assert (again.count("convert-sales"), again.count("write-sales")) == (1, 3)
