"""The handlers of Hourhand by their names, batches whose members are lost, graphs of graphs."""

from __future__ import annotations

from typing import Any

import pytest

from hourhand import Graph, Retry, job, result
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.jobs.run_times import DEFAULT_RUN
from hourhand.domain.runs.built_in import BATCH, BUILT_IN, GRAPH
from hourhand.handlers import JobContext, Registry
from hourhand.handlers._built_in import built_in_handler
from hourhand.memory import START
from hourhand.services.jobs import execution
from hourhand.testing import FakeHourhand
from tests.scenarios.graphs import GraphWorld, close, fill, put_batch, put_graph

HANDLERS = Registry()


@job("work", registry=HANDLERS, retry=Retry(max_attempts=1))
def work(_ctx: JobContext, payload: Any) -> Any:
    return payload


INNER = Graph("inner", registry=HANDLERS)
INNER.job("a", work, 1)
OUTER = Graph("outer", registry=HANDLERS)
OUTER.job("first", INNER)
OUTER.job("last", work, {"counts": result("first")}, after=["first"])


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_every_built_in_handler_is_durable(name: str) -> None:
    handler = built_in_handler(name, HANDLERS.get)
    assert handler.run_timeout_seconds is not None
    if name in {BATCH, GRAPH}:
        assert handler.name == name
        assert handler.run_timeout_seconds == DEFAULT_RUN.total_seconds()


def test_a_graph_can_be_a_node_of_a_graph() -> None:
    jobs = FakeHourhand(start=START, handlers=HANDLERS)
    outer = jobs.client.submit("outer").id
    jobs.run_due()
    assert jobs.get(outer).status == "SUCCEEDED", jobs.get(outer).error


def test_a_member_whose_job_is_gone_is_not_submitted_by_the_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = GraphWorld()
    put_batch(world, is_open=True)
    world.minute()
    world.api.batches.add(
        "batch", 0, [{"handler": "note", "payload": {"name": "m0"}, "delay_seconds": 900}]
    )
    (member,) = world.jobs_named("m0")
    found = world.store.get_many
    monkeypatch.setattr(
        world.store, "get_many", lambda ids: found([one for one in ids if one != member.id])
    )
    close(world)
    world.minute()
    assert world.job("batch").status is JobStatus.DEAD
    assert (world.job("batch").last_failure or "").startswith("InvalidCall: The member 0 ")


def test_a_run_with_many_children_lets_ends_come_before_it_suspends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(execution, "LINGER_ABOVE", 2)
    slept: list[float] = []

    def played(nodes: int) -> GraphWorld:
        world = GraphWorld()
        sleep = world.clock.sleep
        slept.clear()

        def note(seconds: float) -> None:
            slept.append(seconds)
            sleep(seconds)

        monkeypatch.setattr(world.clock, "sleep", note)
        put_graph(world, {f"n{n}": {} for n in range(nodes)})
        world.deliver()
        return world

    played(2)
    assert execution.LINGER_SECONDS not in slept
    world = played(3)
    assert execution.LINGER_SECONDS in slept
    world.settle()
    assert world.job("graph").status is JobStatus.SUCCEEDED


def test_what_ends_while_a_run_lingers_is_read_in_the_same_invocation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(execution, "LINGER_ABOVE", 0)
    world = GraphWorld()
    put_graph(world, {"a": {}, "b": {"after": ["a"]}})
    sleep = world.clock.sleep

    def sleep_while_others_work(seconds: float) -> None:
        sleep(seconds)
        if seconds == execution.LINGER_SECONDS:
            world.deliver()

    monkeypatch.setattr(world.clock, "sleep", sleep_while_others_work)
    world.deliver()
    assert world.job("graph").status is JobStatus.SUCCEEDED
    assert world.job("graph").token == 1


def test_an_open_batch_does_not_linger_for_its_members(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "LINGER_ABOVE", 0)
    world = GraphWorld()
    put_batch(world, is_open=True)
    fill(world, 0, 1)
    slept: list[float] = []
    monkeypatch.setattr(world.clock, "sleep", slept.append)
    world.deliver()
    assert execution.LINGER_SECONDS not in slept
