"""What Celery, Sidekiq, BullMQ, Step Functions, Airflow and Temporal are valued for in flows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any

import pytest

from hourhand import (
    ChildFailed,
    Concurrency,
    Graph,
    MapFailed,
    NotRetryable,
    Retry,
    RunContext,
    chain,
    chord,
    group,
    link_error,
    result,
    starmap,
)
from hourhand.handlers import JobContext, Registry, job
from hourhand.memory import START
from hourhand.testing import FakeHourhand

DAY = timedelta(days=1)


class Rival:
    """The double with a handler that notes its calls, one that adds, and a durable one."""

    def __init__(self) -> None:
        self.registry = Registry()
        self.handles("note", self.noted)
        self.handles("add", self._add)
        self.handles("flow", self._run, durable=True)
        self.handler: Callable[[RunContext, Any], Any] = lambda _ctx, _payload: None
        self.calls: list[Any] = []
        self.failing: set[Any] = set()
        self.double = FakeHourhand(start=START, handlers=self.registry)
        self.client = self.double.client

    def handles(self, name: str, function: Callable[..., Any], **policies: Any) -> None:
        """Register a handler that is tried once."""
        job(name, registry=self.registry, retry=Retry(max_attempts=1), **policies)(function)

    def noted(self, _ctx: JobContext, payload: Any) -> Any:
        name = payload["name"] if isinstance(payload, dict) else payload
        self.calls.append(name)
        if name in self.failing:
            raise ValueError(f"{name} is broken")
        return payload

    def _add(self, _ctx: JobContext, payload: Any) -> int:
        numbers = payload if isinstance(payload, list) else [payload, 1]
        self.calls.append(numbers)
        return sum(numbers)

    def _run(self, ctx: RunContext, payload: Any) -> Any:
        return self.handler(ctx, payload)

    def start(self, handler: Callable[[RunContext, Any], Any], payload: Any = None) -> str:
        """Submit a durable run and let it go as far as it can."""
        self.handler = handler
        run_id = self.client.submit("flow", payload).id
        self.double.run_due()
        return run_id

    def graph(self, graph: Graph) -> str:
        """Submit a graph and let it go as far as it can."""
        graph_id = graph.submit().id
        self.double.run_due()
        return graph_id

    def batch(self, jobs: list[Any], **callbacks: Any) -> str:
        """Submit a batch of jobs that note these payloads."""
        named: Any = {name: note(payload) for name, payload in callbacks.items()}
        batch_id = self.client.batches.submit([note(one) for one in jobs], **named).id
        self.double.run_due()
        return batch_id

    def repaired(self, *names: Any) -> None:
        """Let jobs succeed from now on, and forget the calls so far."""
        self.failing -= set(names)
        self.calls.clear()

    def result(self, job_id: str) -> Any:
        """Return the result of a job, which must have succeeded."""
        job = self.double.get(job_id)
        assert job.status == "SUCCEEDED", job.error
        return job.result

    def nodes(self, graph_id: str) -> dict[str, str]:
        """Return the states of the nodes of a graph, a skipped one with its reason."""
        found = self.client.graphs.get(graph_id).nodes
        return {name: one.reason or one.status for name, one in found.items()}

    def waits_for(self, job_id: str | None) -> tuple[str, str | None]:
        """Return what a job waits for: the kind, and the limit if it is a slot."""
        assert job_id is not None
        waits_for = self.double.get(job_id).waits_for
        assert waits_for is not None
        return waits_for.kind, waits_for.limit

    def node_result(self, graph_id: str, name: str) -> Any:
        """Return the result of a node that is one job."""
        job_id = self.client.graphs.get(graph_id).nodes[name].job_id
        assert job_id is not None
        return self.result(job_id)


def note(payload: Any) -> dict[str, Any]:
    """Return a job that notes this payload."""
    return {"handler": "note", "payload": payload}


def counts(of: Any) -> tuple[int, int, int]:
    """Return how many jobs a map has, and how many of them succeeded and failed."""
    return of.total, of.succeeded, of.failed


@pytest.fixture
def rival() -> Iterator[Rival]:
    rival = Rival()
    with rival.double:
        yield rival


# --- Celery ---


def test_celery_chain_passes_each_result_to_the_next_task(rival: Rival) -> None:
    graph = rival.graph(chain(("add", [2, 2]), "add", "add"))
    assert rival.calls == [[2, 2], [4, 1], [5, 1]]
    assert rival.node_result(graph, "add-3") == 6


def test_celery_group_runs_its_tasks_side_by_side(rival: Rival) -> None:
    rival.failing.add("b")
    graph = rival.graph(group(("note", "a"), ("note", "b"), ("note", "c")))
    assert list(rival.nodes(graph).values()) == ["SUCCEEDED", "DEAD", "SUCCEEDED"]
    assert sorted(rival.calls) == ["a", "b", "c"]


def test_celery_chord_gives_all_results_to_its_callback_once(rival: Rival) -> None:
    graph = rival.graph(chord([("add", [n, n]) for n in range(1, 4)], {"handler": "add"}))
    assert rival.calls[3:] == [[2, 4, 6]]
    assert rival.node_result(graph, "add-4") == 12


def test_celery_chord_with_an_empty_header_runs_its_callback(rival: Rival) -> None:
    graph = rival.graph(chord([], ("add", None)))
    assert rival.nodes(graph) == {"add": "SUCCEEDED"}
    assert rival.calls == [[]]


def test_celery_chord_with_a_failing_header_ends_and_skips_its_callback(rival: Rival) -> None:
    rival.failing.add("b")
    graph = rival.graph(chord([("note", "a"), ("note", "b")], {"handler": "add", "name": "sum"}))
    assert rival.double.get(graph).status == "DEAD"
    assert rival.nodes(graph)["sum"] == "upstream_failed"


def test_celery_chord_with_a_failing_header_calls_back_where_it_says_so(rival: Rival) -> None:
    rival.failing.add("b")
    body = {"handler": "note", "name": "body", "payload": "body", "when": "all_done"}
    rival.graph(chord([("note", "a"), ("note", "b")], body))
    assert rival.calls == ["a", "b", "body"]


def test_celery_starmap_runs_a_task_for_each_row(rival: Rival) -> None:
    graph = rival.graph(starmap("add", [[n, 10] for n in range(3)]))
    assert sorted(rival.calls) == [[0, 10], [1, 10], [2, 10]]
    assert counts(rival.client.graphs.get(graph).nodes["add"].of) == (3, 3, 0)


def test_celery_link_error_runs_as_soon_as_a_task_fails(rival: Rival) -> None:
    rival.failing.add("b")
    tasks = chain(("note", "a"), {"handler": "note", "payload": "b", "name": "b"}, ("note", "c"))
    rival.graph(link_error(tasks, "note", "alarm"))
    assert rival.calls == ["a", "b", "alarm"]


def test_celery_link_error_does_not_run_without_a_failure(rival: Rival) -> None:
    graph = rival.graph(link_error(chain(("note", "a"), ("note", "b")), "note", "alarm"))
    assert rival.double.get(graph).status == "SUCCEEDED"
    assert rival.calls == ["a", "b"]


# --- Sidekiq ---


def test_sidekiq_batch_callback_runs_exactly_once(rival: Rival) -> None:
    batch = rival.batch(list(range(250)), on_success="success")
    rival.double.advance(hours=1)
    view = rival.client.batches.get(batch)
    assert (view.status, view.total, view.succeeded) == ("succeeded", 250, 250)
    assert rival.calls.count("success") == 1


def test_sidekiq_batch_of_no_jobs_calls_back(rival: Rival) -> None:
    rival.batch([], on_success="success", on_complete="complete")
    assert sorted(rival.calls) == ["complete", "success"]


def test_sidekiq_batch_success_complete_and_death_callbacks(rival: Rival) -> None:
    callbacks = {"on_success": "success", "on_complete": "complete", "on_failure": "death"}
    rival.batch([1, 2], **callbacks)
    assert sorted(map(str, rival.calls)) == ["1", "2", "complete", "success"]

    rival.repaired()
    rival.failing.add(2)
    batch = rival.batch([1, 2, 3], **callbacks)
    assert sorted(map(str, rival.calls)) == ["1", "2", "3", "complete", "death"]
    assert rival.client.batches.get(batch).status == "failed"


def test_sidekiq_bulk_retry_of_the_dead_set_lets_the_batch_succeed(rival: Rival) -> None:
    rival.failing |= {2, 5}
    batch = rival.batch(list(range(9)), on_success="success", on_complete="complete")
    rival.repaired(2, 5)

    rival.client.redrive_many(handler="note")
    rival.client.redrive(batch)
    rival.double.run_due()
    assert rival.client.batches.get(batch).status == "succeeded"
    assert sorted(map(str, rival.calls)) == ["2", "5", "success"]


def test_sidekiq_nested_batch_lets_its_parent_wait(rival: Rival) -> None:
    def flow(ctx: RunContext, _: Any) -> None:
        ctx.map("inner", ["x", "y"], "note", delay=3600)

    rival.handler = flow
    members = [note("a"), {"handler": "flow"}]
    batch = rival.client.batches.submit(members, on_success=note("success")).id
    rival.double.advance(minutes=59)
    assert (rival.calls, rival.client.batches.get(batch).status) == (["a"], "running")
    rival.double.advance(minutes=1)
    assert sorted(rival.calls[1:3]) == ["x", "y"]
    assert rival.calls[3:] == ["success"]


def test_sidekiq_jobs_are_added_to_a_batch_until_it_is_closed(rival: Rival) -> None:
    batches = rival.client.batches
    batch = batches.submit([note(0)], on_success=note("success"), open=True).id
    rival.double.run_due()
    for _repeated in range(2):
        batches.add(batch, [note(1), note(2)], first_index=1)
    rival.double.run_due()
    assert (sorted(rival.calls), batches.get(batch).status) == ([0, 1, 2], "open")
    batches.close(batch, total=3)
    rival.double.run_due()
    assert (rival.calls[3:], batches.get(batch).status) == (["success"], "succeeded")


# --- BullMQ ---


def test_bullmq_a_parent_waits_for_its_children_and_reads_their_results(rival: Rival) -> None:
    graph = Graph()
    leaves = [graph.job(f"leaf-{n}", "add", [n, n]) for n in range(3)]
    graph.job("parent", "add", [result(leaf) for leaf in leaves], after=leaves)
    assert rival.node_result(rival.graph(graph), "parent") == 6


@pytest.mark.parametrize(
    ("mode", "parent", "status"),
    [
        pytest.param("fail", "upstream_failed", "DEAD", id="failParentOnFailure"),
        pytest.param("ignore", "SUCCEEDED", "SUCCEEDED", id="ignoreDependencyOnFailure"),
        pytest.param("remove", "SUCCEEDED", "SUCCEEDED", id="removeDependencyOnFailure"),
        pytest.param("continue", "SUCCEEDED", "SUCCEEDED", id="continueParentOnFailure"),
    ],
)
def test_bullmq_failure_mode_of_a_child(rival: Rival, mode: Any, parent: str, status: str) -> None:
    rival.failing.add("bad")
    graph = Graph()
    bad = graph.job("bad", "note", "bad", on_failure=mode)
    good = graph.job("good", "note", "good")
    graph.job("parent", "note", "parent", after=[bad, good])
    graph_id = rival.graph(graph)
    assert rival.nodes(graph_id)["parent"] == parent
    assert rival.double.get(graph_id).status == status


def test_bullmq_continue_runs_the_parent_before_its_other_children_end(rival: Rival) -> None:
    rival.failing.add("bad")
    graph = Graph()
    bad = graph.job("bad", "note", "bad", on_failure="continue")
    graph.job("wait", "flow")
    graph.job("parent", "note", "parent", after=[bad, "wait"])
    rival.handler = lambda ctx, _: ctx.sleep("hour", 3600)
    graph_id = rival.graph(graph)
    assert rival.nodes(graph_id) == {"bad": "DEAD", "wait": "PENDING", "parent": "SUCCEEDED"}
    rival.double.advance(hours=1)
    rival.result(graph_id)


def test_bullmq_removed_children_are_not_among_the_results(rival: Rival) -> None:
    rival.failing.add("bad")
    graph = Graph()
    graph.job("bad", "note", "bad", on_failure="remove")
    graph.job("parent", "note", {"name": "parent", "bad": result("bad")}, after="bad")
    graph_id = rival.graph(graph)
    assert rival.node_result(graph_id, "parent") == {"name": "parent", "bad": None}


def test_bullmq_progress_of_children(rival: Rival) -> None:
    rival.failing.add(3)
    run_id = rival.start(lambda ctx, _: ctx.map("all", range(7), "note", tolerate=None))
    [step] = rival.client.runs.steps(run_id)
    assert (step.kind, counts(step.of)) == ("map", (7, 6, 1))
    failed = list(rival.client.children(run_id, status="DEAD"))
    assert [(one.path, one.index) for one in failed] == [("all", 3)]


# --- Step Functions ---


def test_step_functions_parallel_states_fail_as_one(rival: Rival) -> None:
    def flow(ctx: RunContext, _: Any) -> Any:
        left, right = ctx.submit("add", [1, 2], name="left"), ctx.submit("note", "right")
        try:
            return ctx.gather(left, right)
        except ChildFailed as error:
            return error.path

    assert rival.result(rival.start(flow)) == [3, "right"]
    rival.failing.add("right")
    assert rival.result(rival.start(flow)) == "note"


def test_step_functions_map_with_tolerated_failures(rival: Rival) -> None:
    rival.failing |= {4, 8}

    def flow(ctx: RunContext, tolerate: Any) -> Any:
        try:
            return ctx.map("items", range(20), "note", tolerate=tolerate).failed
        except MapFailed:
            return "failed"

    assert rival.result(rival.start(flow, 2)) == [4, 8]
    assert rival.result(rival.start(flow, 0.1)) == [4, 8]
    assert rival.result(rival.start(flow, 1)) == "failed"


def test_step_functions_map_with_max_concurrency(rival: Rival) -> None:
    work: Callable[[RunContext, Any], Any] = lambda ctx, _: ctx.sleep("work", 60)  # noqa: E731
    rival.handles("work", work, durable=True)
    most = 0
    run_id = rival.start(lambda ctx, _: len(ctx.map("all", range(20), "work", concurrency=4)))
    while not rival.double.get(run_id).is_final:
        most = max(most, sum(not one.is_final for one in rival.client.children(run_id)))
        rival.double.advance(seconds=30)
    assert most == 4
    assert rival.result(run_id) == 20


def test_step_functions_redrive_from_the_failed_state(rival: Rival) -> None:
    rival.failing.add("second")
    graph = Graph()
    graph.job("first", "note", "first")
    graph.job("second", "note", "second", after="first")
    graph.job("third", "note", "third", after="second")
    graph_id = rival.graph(graph)
    rival.repaired("second")
    rival.client.redrive(graph_id)
    rival.double.run_due()
    rival.result(graph_id)
    assert rival.calls == ["second", "third"]


def test_step_functions_redrive_of_a_map_runs_its_failed_items(rival: Rival) -> None:
    rival.failing |= {5, 300}
    run_id = rival.start(lambda ctx, _: len(ctx.map("items", range(350), "note")))
    assert rival.double.get(run_id).status == "DEAD"
    left = [one for one in range(350) if one not in rival.calls]
    rival.repaired(5, 300)
    rival.client.runs.redrive(run_id)
    rival.double.run_due()
    assert rival.result(run_id) == 350
    assert sorted(rival.calls) == sorted({5, 300, *left})


# --- Airflow ---

RULES: list[tuple[str, str, str]] = [
    ("all_success", "sss", "SUCCEEDED"),
    ("all_success", "sfs", "upstream_failed"),
    ("all_success", "ssk", "rule"),
    ("all_failed", "fff", "SUCCEEDED"),
    ("all_failed", "ffs", "rule"),
    ("all_done", "sfk", "SUCCEEDED"),
    ("all_skipped", "kkk", "SUCCEEDED"),
    ("all_skipped", "kks", "rule"),
    ("one_success", "ffs", "SUCCEEDED"),
    ("one_success", "fff", "upstream_failed"),
    ("one_success", "kkk", "rule"),
    ("one_failed", "ssf", "SUCCEEDED"),
    ("one_failed", "ssk", "rule"),
    ("one_done", "kks", "SUCCEEDED"),
    ("one_done", "kkk", "rule"),
    ("none_failed", "ssk", "SUCCEEDED"),
    ("none_failed", "sfk", "upstream_failed"),
    ("none_failed_min_one_success", "skk", "SUCCEEDED"),
    ("none_failed_min_one_success", "kkk", "rule"),
    ("none_failed_min_one_success", "skf", "upstream_failed"),
    ("none_skipped", "sff", "SUCCEEDED"),
    ("none_skipped", "sfk", "rule"),
    ("all_done_min_one_success", "sff", "SUCCEEDED"),
    ("all_done_min_one_success", "fff", "upstream_failed"),
    ("all_done_min_one_success", "ssk", "rule"),
    ("always", "fkf", "SUCCEEDED"),
]
"""A rule, the outcomes of three nodes (succeeded, failed, skipped), and the state of the node."""


@pytest.mark.parametrize(("rule", "outcomes", "state"), RULES, ids=lambda value: value)
def test_airflow_trigger_rule(rival: Rival, rule: Any, outcomes: str, state: str) -> None:
    rival.failing.add("f")
    graph = Graph()
    graph.job("start", "note", "start")
    for number, letter in enumerate(outcomes):
        # Skipped by its rule: the node before it succeeded.
        when: Any = "all_failed" if letter == "k" else "all_success"
        graph.job(f"n{number}", "note", letter, after="start", when=when)
    graph.job("node", "note", "node", after=["n0", "n1", "n2"], when=rule)
    assert rival.nodes(rival.graph(graph))["node"] == state


def test_airflow_clear_reruns_a_task_and_all_downstream(rival: Rival) -> None:
    graph = Graph()
    for name, after in {"a": "", "b": "a", "c": "b", "d": "a"}.items():
        graph.job(name, "note", name, after=after or ())
    graph_id = rival.graph(graph)
    rival.repaired()
    plan = rival.client.graphs.rerun(graph_id, ["b"], dry_run=True)
    assert (list(plan.reset), list(plan.kept), rival.calls) == (["b", "c"], ["a", "d"], [])
    rival.client.graphs.rerun(graph_id, ["b"])
    rival.double.run_due()
    rival.result(graph_id)
    assert rival.calls == ["b", "c"]


def test_airflow_mapped_tasks_follow_the_result_of_a_task(rival: Rival) -> None:
    graph = Graph()
    graph.job("list", "note", {"name": "list", "files": ["x", "y", "z"]})
    graph.job("files", "pick", result("list"), after="list")
    graph.map("load", result("files"), "note", after="files")
    graph.job("report", "note", {"name": "report", "loaded": result("load")}, after="load")
    rival.handles("pick", lambda _ctx, payload: payload["files"])
    graph_id = rival.graph(graph)
    assert counts(rival.client.graphs.get(graph_id).nodes["load"].of) == (3, 3, 0)
    assert rival.node_result(graph_id, "report")["loaded"] == ["x", "y", "z"]


def daily(rival: Rival, **policies: Any) -> None:
    """Register a graph of two nodes, and let a schedule run it every day."""
    graph = Graph("etl", registry=rival.registry)
    graph.job("extract", "note", "extract")
    graph.job("load", policies.pop("load", "note"), "load", after="extract")
    rival.client.schedules.put("daily", expression="0 6 * * *", handler="etl", **policies)


def grid(rival: Rival) -> list[dict[str, str]]:
    """Return the states of the nodes in each run of the schedule, the oldest first."""
    rows = rival.client.schedules.grid("daily").runs
    return [{n: one.status for n, one in row.nodes.items()} for row in reversed(rows)]


def test_airflow_grid_of_the_runs_of_a_schedule_by_their_tasks(rival: Rival) -> None:
    daily(rival)
    rival.double.advance(DAY)
    rival.failing.add("extract")
    rival.double.advance(DAY)
    assert grid(rival) == [
        {"extract": "SUCCEEDED", "load": "SUCCEEDED"},
        {"extract": "DEAD", "load": "SKIPPED"},
    ]


def test_airflow_a_task_depends_on_its_past(rival: Rival) -> None:
    limits = [Concurrency(1, holds="success")]
    rival.handles("load", rival.noted, limits=limits)
    daily(rival, load="load", overlap="allow")
    rival.failing.add("load")
    rival.double.advance(days=2)
    second, first = rival.client.schedules.grid("daily").runs
    assert [row["extract"] for row in grid(rival)] == ["SUCCEEDED", "SUCCEEDED"]
    assert rival.waits_for(second.nodes["load"].job_id) == ("slot", "load.1")

    rival.repaired("load")
    rival.client.redrive(first.job_id)
    rival.double.run_due()
    assert grid(rival) == [{"extract": "SUCCEEDED", "load": "SUCCEEDED"}] * 2
    assert rival.calls == ["load", "load"]


def test_airflow_a_whole_graph_depends_on_its_past(rival: Rival) -> None:
    daily(rival, overlap="buffer_all", pause_on_failure=True)
    rival.failing.add("load")
    rival.double.advance(days=3)
    assert grid(rival) == [{"extract": "SUCCEEDED", "load": "DEAD"}]
    assert rival.client.schedules.get("daily").paused


def test_airflow_backfill_of_a_graph(rival: Rival) -> None:
    daily(rival, paused=True)
    rival.client.schedules.backfill("daily", START - 4 * DAY, START, max_active=1)
    rival.double.advance(hours=1)
    jobs = list(rival.client.list(handler="etl"))
    assert {job.status for job in jobs} == {"SUCCEEDED"}
    assert rival.calls == ["extract", "load"] * 4
    assert len(jobs) == 4


# --- Temporal ---


def test_temporal_child_runs_have_steps_and_results_of_their_own(rival: Rival) -> None:
    def flow(ctx: RunContext, depth: Any) -> Any:
        own = ctx.step("work", lambda: depth)
        return [own] if depth == 0 else [own, *ctx.submit_and_wait("flow", depth - 1)]

    assert rival.result(rival.start(flow, 3)) == [3, 2, 1, 0]


def test_temporal_cancellation_propagates_to_child_runs(rival: Rival) -> None:
    def flow(ctx: RunContext, depth: Any) -> Any:
        return ctx.wait_for("never") if depth == 0 else ctx.submit_and_wait("flow", depth - 1)

    run_id = rival.start(flow, 2)
    rival.client.cancel(run_id)
    rival.double.advance(minutes=10)
    assert {job.status for job in tree(rival, run_id)} == {"CANCELLED"}
    assert len(tree(rival, run_id)) == 3


def test_temporal_a_child_that_is_abandoned_outlives_its_run(rival: Rival) -> None:
    def flow(ctx: RunContext, _: Any) -> Any:
        ctx.submit("note", "kept", delay=3600, on_parent_end="abandon")
        ctx.submit("note", "stopped", delay=3600, name="stopped")
        raise NotRetryable("broken")

    run_id = rival.start(flow)
    assert rival.double.get(run_id).status == "DEAD"
    rival.double.advance(hours=1)
    assert rival.calls == ["kept"]


def test_temporal_a_run_ends_after_its_children(rival: Rival) -> None:
    def flow(ctx: RunContext, _: Any) -> Any:
        ctx.submit("note", "late", delay=3600)
        return "returned"

    run_id = rival.start(flow)
    assert rival.double.get(run_id).status == "PENDING"
    assert rival.waits_for(run_id) == ("children", None)
    rival.double.advance(hours=1)
    assert (rival.result(run_id), rival.calls) == ("returned", ["late"])


def tree(rival: Rival, run_id: str) -> list[Any]:
    """Return a run and the runs below it."""
    run = rival.double.get(run_id)
    below: Mapping[str, Any] = {one.id: one for one in rival.client.children(run_id)}
    return [run, *(job for child_id in below for job in tree(rival, child_id))]
