"""The grid of a schedule: its last runs, and the nodes of those that are graphs."""

from __future__ import annotations

from typing import Any

import pytest

from hourhand import Graph, Retry, job
from hourhand.api.routing import Services
from hourhand.domain.errors import NotFound
from hourhand.handlers import JobContext, Registry
from hourhand.memory import START
from hourhand.testing import FakeHourhand

HANDLERS = Registry()


@job("work", registry=HANDLERS, retry=Retry(max_attempts=1))
def work(_ctx: JobContext, payload: Any) -> Any:
    return payload


FLOW = Graph("flow", registry=HANDLERS)
FLOW.job("a", work)
FLOW.job("b", work, after=["a"])


@pytest.fixture
def jobs() -> FakeHourhand:
    return FakeHourhand(start=START, handlers=HANDLERS)


def services(jobs: FakeHourhand) -> Services:
    found: Services = jobs._time.installation.app.__closure__[0].cell_contents  # type: ignore[index]
    return found


def test_the_grid_has_the_last_runs_of_a_graph_with_their_nodes(jobs: FakeHourhand) -> None:
    jobs.client.schedules.put("daily", expression="0 12 * * *", handler="flow")
    jobs.advance(days=3)
    rows = services(jobs).grid.rows("daily", 2)
    assert len(rows) == 2
    assert rows[0].job.created_at > rows[1].job.created_at
    for row in rows:
        assert row.graph is not None
        assert {name: node.status for name, node in row.graph.nodes.items()} == {
            "a": "SUCCEEDED",
            "b": "SUCCEEDED",
        }


def test_a_run_that_is_no_graph_or_has_not_begun_has_no_nodes(jobs: FakeHourhand) -> None:
    jobs.client.schedules.put("plain", expression="0 12 * * *", handler="work")
    jobs.advance(days=1)
    (row,) = services(jobs).grid.rows("plain", 5)
    assert (row.job.handler, row.graph) == ("work", None)


def test_an_unknown_schedule_has_no_grid(jobs: FakeHourhand) -> None:
    with pytest.raises(NotFound):
        services(jobs).grid.rows("nothing", 5)
