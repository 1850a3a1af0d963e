"""``client.graphs``, ``client.batches``, ``client.children`` and ``client.schedules.grid``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from hourhand import Graph, result
from hourhand.client import Client, Conflict, Invalid, NotFound, Submission
from hourhand.testing import FakeHourhand
from tests.functions.graph_rig import CALLS, DIAMOND, FAILING, new_hourhand


@pytest.fixture
def hourhand() -> Iterator[FakeHourhand]:
    with new_hourhand() as double:
        yield double


def member(payload: Any) -> dict[str, Any]:
    return {"handler": "note", "payload": payload}


# --- graphs -----------------------------------------------------------------------------------


def built() -> Graph:
    graph = Graph()
    first = graph.job("first", "note", [1, 2])
    graph.job("second", "note", {"name": "x", "rows": result(first)}, after=[first])
    return graph


def test_a_graph_in_code_is_submitted_and_shown(hourhand: FakeHourhand) -> None:
    graph = hourhand.client.graphs.submit(built())
    assert (graph.status, set(graph.nodes)) == ("ENQUEUED", {"first", "second"})
    hourhand.run_due()
    shown = hourhand.client.graphs.get(graph.id)
    assert {name: node.status for name, node in shown.nodes.items()} == {
        "first": "SUCCEEDED",
        "second": "SUCCEEDED",
    }
    assert shown.nodes["second"].after == ("first",)
    assert CALLS[-1] == {"name": "x", "rows": [1, 2]}


def test_a_graph_submits_itself_by_the_default_client(hourhand: FakeHourhand) -> None:
    assert built().submit(id="mine").id == "mine"
    assert built().submit(id="mine").id == "mine"
    with pytest.raises(Conflict) as refused:
        hourhand.client.graphs.submit({"nodes": DIAMOND}, id="mine")
    assert refused.value.code == "idempotency_conflict"


def test_a_definition_and_a_mapping_are_submitted_alike(hourhand: FakeHourhand) -> None:
    by_definition = hourhand.client.graphs.submit(built().definition(), id="a")
    by_mapping = hourhand.client.graphs.submit(
        {**built().definition().as_json(), "id": "b", "tenant": "acme"}
    )
    assert by_definition.nodes == by_mapping.nodes
    assert (by_mapping.id, hourhand.get("b").tenant) == ("b", "acme")
    assert hourhand.client.graphs.submit({"nodes": DIAMOND, "id": "b"}, id="c").id == "c"


def test_a_wrong_graph_names_its_fields(hourhand: FakeHourhand) -> None:
    with pytest.raises(Invalid) as refused:
        hourhand.client.graphs.submit({"nodes": {"a": {"handler": "nobody"}}})
    assert [problem.field for problem in refused.value.errors] == ["nodes.a.handler"]
    with pytest.raises(NotFound):
        hourhand.client.graphs.get("nothing")


def test_a_rerun_is_planned_then_done(hourhand: FakeHourhand) -> None:
    FAILING.append("b")
    graph = hourhand.client.graphs.submit({"nodes": DIAMOND}).id
    hourhand.run_due()
    plan = hourhand.client.graphs.rerun(graph, ["b"], dry_run=True)
    assert (plan.reset, plan.kept, plan.graph) == (("b", "d"), ("a", "c"), None)
    FAILING.clear()
    rerun = hourhand.client.graphs.rerun(graph, ["b"])
    assert rerun.graph is not None
    assert rerun.graph.nodes["b"].status == "WAITING"
    hourhand.run_due()
    assert hourhand.client.graphs.get(graph).status == "SUCCEEDED"
    with pytest.raises(Invalid, match="must be a list of names"):
        hourhand.client.graphs.rerun(graph, "b")


# --- batches ----------------------------------------------------------------------------------


def test_a_batch_is_submitted_filled_closed_and_shown(hourhand: FakeHourhand) -> None:
    batches = hourhand.client.batches
    batch = batches.submit(
        [member(0), Submission(handler="note", payload=1, delay=60)],
        on_success=member("success"),
        open=True,
        id="b",
        tenant="acme",
    )
    assert (batch.id, batch.status, batch.total) == ("b", "open", 2)
    for _ in range(2):
        assert batches.add("b", (member(n) for n in (2, 3)), first_index=2).total == 4
    assert batches.close("b", 4).status == "running"
    hourhand.advance(minutes=2)
    shown = batches.get("b")
    assert (shown.status, shown.succeeded, shown.failed) == ("succeeded", 4, 0)
    assert shown.callbacks["on_failure"] is None
    success = shown.callbacks["on_success"]
    assert success is not None
    assert hourhand.get(success).payload == "success"
    assert hourhand.get(success).tenant == "acme"


def test_a_batch_that_cannot_be_closed_says_why(hourhand: FakeHourhand) -> None:
    batch = hourhand.client.batches.submit([], open=True).id
    hourhand.client.batches.add(batch, [member(1)], first_index=1)
    with pytest.raises(Conflict) as refused:
        hourhand.client.batches.close(batch)
    assert refused.value.code == "members_missing"
    hourhand.client.batches.add(batch, [member(0)], first_index=0)
    assert hourhand.client.batches.close(batch).total == 2
    with pytest.raises(Conflict) as refused:
        hourhand.client.batches.add(batch, [member(2)], first_index=2)
    assert refused.value.code == "batch_closed"


@pytest.mark.parametrize(
    ("jobs", "callback", "field"),
    [
        ([member(0), {"payload": 1}], None, "jobs[1].handler"),
        ([member(0), 7], None, "jobs[1].submission"),
        ([{"handler": "note", "payload": {1}}], None, "jobs[0].payload"),
        ([], {"handler": "note", "retires": 1}, "on_failure.retires"),
        ([{"handler": "nobody"}], None, "jobs[0].handler"),
    ],
)
def test_a_wrong_job_of_a_batch_is_named_by_its_place(
    hourhand: FakeHourhand, jobs: Any, callback: Any, field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        hourhand.client.batches.submit(jobs, on_failure=callback)
    assert [problem.field for problem in refused.value.errors] == [field]


@pytest.mark.parametrize("number", [-1, 1.5, True, 100_001])
def test_numbers_of_batches_are_checked_before_they_are_sent(
    hourhand: FakeHourhand, number: Any
) -> None:
    with pytest.raises(Invalid, match="first_index"):
        hourhand.client.batches.add("b", [member(1)], first_index=number)
    with pytest.raises(Invalid, match="total"):
        hourhand.client.batches.close("b", number)


# --- lost answers -----------------------------------------------------------------------------


def test_a_lost_answer_submits_nothing_twice(hourhand: FakeHourhand) -> None:
    sent: list[Any] = []

    def lose_first(request: httpx.Request) -> httpx.Response:
        answer = hourhand._transport.handle_request(request)
        sent.append((request.url.path, json.loads(request.content)["id"]))
        if len(sent) % 2:
            raise httpx.ReadError("the line is cut")
        return answer

    transport = httpx.MockTransport(lose_first)
    client = Client("http://api.test", auth="none", transport=transport, clock=hourhand._time)
    graph = client.graphs.submit({"nodes": DIAMOND})
    batch = client.batches.submit([member(1)])
    assert [one for _, one in sent] == [graph.id, graph.id, batch.id, batch.id]
    hourhand.run_due()
    assert (len(CALLS), CALLS.count(1)) == (5, 1)


# --- children and grids -----------------------------------------------------------------------


def test_children_are_iterated_over_all_pages(hourhand: FakeHourhand) -> None:
    FAILING.append(3)
    run = hourhand.client.submit("split", list(range(5))).id
    hourhand.run_due()
    found = list(hourhand.client.children(run, page_size=2))
    assert [(one.path, one.index) for one in found] == [
        ("head", 0),
        *(("parts", n) for n in range(5)),
    ]
    (failed,) = hourhand.client.children(run, "DEAD")
    assert (failed.index, failed.parent_id) == (3, run)
    assert len(list(hourhand.client.children(run, limit=3))) == 3
    assert [one.path for one in hourhand.client.children(run, path="head")] == ["head"]
    steps = {step.path: step for step in hourhand.client.runs.steps(run)}
    assert steps["parts"].of is not None
    assert (steps["parts"].of.total, steps["parts"].of.failed) == (5, 1)


def test_a_grid_has_the_last_runs_of_a_schedule(hourhand: FakeHourhand) -> None:
    schedules = hourhand.client.schedules
    schedules.put("s", expression="@hourly", handler="etl")
    hourhand.advance(hours=2, minutes=1)
    runs = schedules.grid("s", runs=5).runs
    assert [run.nodes["load"].status for run in runs] == ["SUCCEEDED"] * 2
    with pytest.raises(Invalid, match="runs"):
        schedules.grid("s", runs=101)


# --- in an event loop -------------------------------------------------------------------------


def test_the_async_client_has_the_same_methods(hourhand: FakeHourhand) -> None:
    client = hourhand.async_client

    async def work() -> None:
        graph = await client.graphs.submit({"nodes": {"a": {"handler": "note"}}})
        batch = await client.batches.submit([member(0)], open=True)
        await client.batches.add(batch.id, [member(1)], first_index=1)
        await client.batches.close(batch.id)
        hourhand.run_due()
        assert (await client.graphs.get(graph.id)).status == "SUCCEEDED"
        assert (await client.batches.get(batch.id)).status == "succeeded"
        assert (await client.graphs.rerun(graph.id, ["a"], dry_run=True)).reset == ("a",)
        assert [child.index async for child in client.children(batch.id)] == [0, 1]
        await client.schedules.put("s", expression="@hourly", handler="etl")
        assert (await client.schedules.grid("s")).runs == ()

    asyncio.run(work())
