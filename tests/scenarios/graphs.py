"""What components do with graphs and batches: begin, decide, add, close, end, run again."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from hourhand.api.requests.jobs import JobSubmission
from hourhand.domain.errors import BatchClosed, MembersMissing, Unavailable, WrongState
from hourhand.domain.graphs.parsing import parse_graph
from hourhand.domain.graphs.rules import Decision
from hourhand.domain.jobs.job import ErrorInfo, Job, JobStatus, Outcome
from hourhand.domain.jobs.parents import child_id, join_key
from hourhand.domain.runs.built_in import BATCH, BUILT_IN, CALLBACKS, GRAPH, BatchStatus
from hourhand.domain.runs.records import record_of
from hourhand.domain.side_items import SideItemKind, SideItemUpdate
from hourhand.domain.times import to_ms
from hourhand.memory import MemoryClock, MemorySideItemStore
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.queues import Delivery
from hourhand.ports.side_item_store import SideItemWrite
from hourhand.services.jobs.execution import Disposition
from hourhand.services.runs.graphs import SKIPPED
from hourhand.wiring.adapters import Adapters
from hourhand.wiring.functions import WorkerServices
from tests.scenarios.steps import after
from tests.scenarios.work import Act, Work
from tests.world.durable import durable
from tests.world.runs import Behaviour, succeed
from tests.world.world import FUNCTION_SECONDS, Process, World

SUCCEEDED, DEAD, CANCELLED = JobStatus.SUCCEEDED, JobStatus.DEAD, JobStatus.CANCELLED

MAX_REPEATS = 10
"""How often a caller repeats a request that was not answered, or was refused for a member."""

DIAMOND: Mapping[str, Any] = {
    "a": {},
    "b": {"after": ["a"]},
    "c": {"after": ["a"], "on_failure": "ignore"},
    "d": {"after": ["b", "c"], "payload": {"b": {"$result": "b"}}},
    "e": {"after": ["b"], "when": "one_failed"},
}
"""A diamond, and a node that runs if one of its sides fails."""


class GraphWorld(World):
    """A world with graphs and batches, whose jobs are of the handler ``note``.

    ``failing``: in how many rounds the job of a name fails. ``results``: what the job of a name
    returns; its name by default. ``decisions``: the letters that each
    node had, by graph, segment, round and node. ``asked``: the additions that callers made.
    ``acknowledged``: the members whose addition was acknowledged.
    """

    def __init__(self, failing: Mapping[str, int] | None = None) -> None:
        self.failing = failing or {}
        self.results: dict[str, Any] = {}
        self.decisions: dict[tuple[Any, ...], set[int]] = defaultdict(set)
        self.acknowledged: set[int] = set()
        self.asked: set[tuple[int, int]] = set()
        super().__init__(handlers=("note",))

    def adapters(self, clock: MemoryClock) -> Adapters:
        watched: Any = _Watched(self.side_items, self._watch)
        return replace(super().adapters(clock), side_items=watched)

    def handle(
        self,
        delivery: Delivery,
        behaviour: Behaviour = succeed,
        by: WorkerServices | None = None,
        *,
        seconds_left: float = FUNCTION_SECONDS,
    ) -> Disposition:
        del behaviour
        return super().handle(delivery, self.behave, by, seconds_left=seconds_left)

    def behave(self, job: Job, pulse: Pulse) -> Finished:
        """Run a graph, a batch, or the job of one."""
        if job.handler in BUILT_IN:
            run = durable(_no_handler, self.clock, payload_of=self.payload_of)
            return run(job, pulse)
        name = json.loads(self.payload_of(job))["name"]
        if job.round <= self.failing.get(name, 0):
            error = ErrorInfo(type="Broken", message=name, retryable=False)
            return Finished(outcome=Outcome.FAILED, error=error)
        value = self.results.get(name, name)
        return Finished(outcome=Outcome.SUCCEEDED, result_text=json.dumps(value))

    def payload_of(self, job: Job) -> str:
        return self.api.batches.contents.read(job.id, job.payload) or "null"

    def settle(self, behaviour: Behaviour = succeed, *, minutes: int = 30) -> int:
        """Let callers repeat what they are owed, then time pass until all is at rest."""
        batch = self.store.get("batch")
        if self.asked and batch is not None and not batch.status.is_final:
            for first, count in sorted(self.asked):
                repeat(partial(fill, self, first, count))
            repeat(lambda: close(self, max(self.acknowledged, default=-1) + 1))
        return super().settle(behaviour, minutes=minutes)

    def jobs_named(self, name: str) -> list[Job]:
        """Return the jobs of a node, a member or a callback."""
        notes = [job for job in self.store.jobs().values() if job.handler == "note"]
        return [job for job in notes if json.loads(self.payload_of(job))["name"] == name]

    def payloads_of(self, name: str) -> list[Any]:
        """Return what the jobs of a name were given, with all results in it."""
        given = [json.loads(run.payload_text) for run in self.runs if run.job.handler == "note"]
        return [payload for payload in given if payload["name"] == name]

    def _watch(self, update: SideItemUpdate) -> None:
        item = self.side_items.read_item(update.key)
        if item is None or update.key.kind is not SideItemKind.DECISIONS:
            return
        for number, code in record_of(item).decisions.items():
            round_, letter = divmod(code, 3)
            self.decisions[update.key, round_, number].add(letter)


class _Watched:
    """A store of side items whose writes are watched."""

    def __init__(self, store: MemorySideItemStore, watch: Callable[[SideItemUpdate], None]) -> None:
        self._store, self._watch = store, watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def write_item(self, update: SideItemUpdate) -> SideItemWrite:
        written = self._store.write_item(update)
        self._watch(update)
        return written


def _no_handler(_ctx: Any) -> None:
    raise AssertionError("only handlers of Hourhand are durable here")


# --- what must be true --------------------------------------------------------------------------


def check_graphs(world: World) -> None:
    """Check all graphs and batches of a world that came to rest."""
    assert isinstance(world, GraphWorld)
    for place, letters in world.decisions.items():
        assert len(letters) == 1, f"the decision {place} changed: {letters}"
    for job in world.store.jobs().values():
        if job.handler == BATCH:
            check_batch(world, job)
        if job.handler == GRAPH:
            check_graph(world, job)


def check_batch(world: GraphWorld, batch: Job) -> None:
    """Each callback exists once, and the batch ended after all of its members."""
    view = world.api.batches.show(batch.id)
    for name in CALLBACKS:
        assert len(world.jobs_named(name)) <= 1, f"the callback {name} exists twice"
        if view.callbacks[name] is not None and batch.status is not CANCELLED:
            assert world.jobs_named(name), f"the callback {name} was not put"
    if batch.status is CANCELLED:
        return
    members = [job for n in range(view.total) for job in world.jobs_named(f"m{n}")]
    assert len(members) == view.total == view.succeeded + view.failed
    assert all(n < view.total for n in world.acknowledged), "an acknowledged member is lost"
    for n in range(view.total, view.total + 5):
        assert not world.jobs_named(f"m{n}"), f"the job of m{n} is outside of the batch"
    end = finished(batch)
    if batch.status is SUCCEEDED:
        assert all(finished(job) <= end for job in members), "the batch ended before a member"
    has_failed = view.failed > 0
    assert batch.status is (DEAD if has_failed else SUCCEEDED)
    assert world.jobs_named("on_complete")
    assert bool(world.jobs_named("on_success")) is not has_failed
    assert world.jobs_named("on_failure") or not has_failed
    assert view.status is (BatchStatus.FAILED if has_failed else BatchStatus.SUCCEEDED)


def check_graph(world: GraphWorld, graph: Job) -> None:
    """Each node that ran has one job, and the graph ended after all of them."""
    view = world.api.graphs.view(graph)
    if graph.status is CANCELLED:
        return
    for name, node in view.nodes.items():
        if node.status == SKIPPED:
            # Of a graph that was never rerun: a job of its node has this id.
            key = join_key(name, 0, to_ms(graph.created_at))
            job = world.store.get(child_id(graph.id, 0, key, 0))
            assert graph.reset is not None or job is None, f"{name} was skipped and has a job"
            continue
        assert node.job is not None, f"the node {name} has no job"
        assert node.job.status.is_final
        if graph.status is SUCCEEDED:
            assert finished(node.job) <= finished(graph), f"the graph ended before {name}"
    assert graph.status in {SUCCEEDED, DEAD}


def finished(job: Job) -> datetime:
    assert job.finished_at is not None
    return job.finished_at


def letters_of(world: GraphWorld, graph: str) -> dict[str, str]:
    """Return whether each node ran (R) or why it was skipped."""
    reasons = {"rule": Decision.SKIP, "upstream_failed": Decision.UPSTREAM_FAILED, None: "R"}
    nodes = world.api.graphs.show(graph).nodes
    return {name: str(reasons[node.reason]) for name, node in nodes.items()}


# --- what callers do ----------------------------------------------------------------------------


def note(name: str) -> dict[str, Any]:
    return {"handler": "note", "payload": {"name": name}}


def put_batch(
    world: World,
    members: int = 0,
    *,
    is_open: bool = False,
    by: Process | None = None,
    **fields: Any,
) -> Job:
    """Submit a batch with all callbacks; of an open one the members come later."""
    payload = {
        "open": is_open,
        "jobs": [note(f"m{n}") for n in range(members)],
        **{name: note(name) for name in CALLBACKS},
    }
    request = JobSubmission.parse({"handler": BATCH, "id": "batch", "payload": payload, **fields})
    batches = (by or world).api.batches
    return batches.submit(request, is_open=is_open, actor="caller").job


def put_graph(world: World, nodes: Mapping[str, Any] = DIAMOND, **fields: Any) -> Job:
    """Submit a graph of jobs of the handler ``note``."""
    whole = {}
    for name, node in nodes.items():
        work = {**note(name), **{key: node[key] for key in node.keys() & {"handler"}}}
        work["payload"] |= node.get("payload", {})
        if "map" in node:
            work = {"map": {**work, **node["map"]}}
        whole[name] = {
            **{key: node[key] for key in node.keys() - {"handler", "payload", "map"}},
            **work,
        }
    definition = parse_graph({"nodes": whole})
    body = {"handler": GRAPH, "id": "graph", "payload": definition.as_json(), **fields}
    request = JobSubmission.parse(body)
    return world.api.graphs.submit(request, definition, actor="caller").job


def fill(world: GraphWorld, first: int, count: int, process: Process | None = None) -> None:
    """Add members to the batch."""
    world.asked.add((first, count))
    batches = (process or world).api.batches
    batches.add("batch", first, [note(f"m{n}") for n in range(first, first + count)])
    world.acknowledged |= set(range(first, first + count))


def close(world: World, total: int | None = None, process: Process | None = None) -> None:
    (process or world).api.batches.close("batch", total)


def repeat(request: Callable[[], None]) -> None:
    """Repeat a request until it is answered; a batch may have been closed by another caller."""
    for _ in range(MAX_REPEATS):
        with suppress(Unavailable, MembersMissing):
            with suppress(BatchClosed):
                request()
            return
    raise AssertionError("a request is refused again and again")


# --- the work -----------------------------------------------------------------------------------


def delivers(world: World, process: Process) -> None:
    world.deliver(by=process.worker)


def delivered_often(times: int) -> Callable[[World], object]:
    def arrange(world: World) -> None:
        for _ in range(times):
            world.deliver()

    return arrange


def batch_of(members: int) -> Callable[[World], object]:
    return lambda world: put_batch(world, members)


def open_batch(*additions: tuple[int, int]) -> Callable[[World], object]:
    """Arrange an open batch that waits, with members."""

    def arrange(world: World) -> None:
        assert isinstance(world, GraphWorld)
        put_batch(world, is_open=True)
        world.deliver()
        for first, count in additions:
            fill(world, first, count)

    return arrange


def closed(world: World) -> None:
    close(world)


def graph_of(nodes: Mapping[str, Any] = DIAMOND) -> Callable[[World], object]:
    return lambda world: put_graph(world, nodes)


def settled(world: World) -> None:
    world.settle(minutes=30)


def adds(first: int, count: int) -> Act:
    def act(world: World, process: Process) -> None:
        assert isinstance(world, GraphWorld)
        with suppress(BatchClosed):
            fill(world, first, count, process)

    return act


def closes(total: int | None = None) -> Act:
    def act(world: World, process: Process) -> None:
        with suppress(MembersMissing, BatchClosed):
            close(world, total, process)

    return act


def redriven(job_id: str) -> Callable[[World], object]:
    return lambda world: world.api.operations.redrive(job_id, actor="caller")


def reruns(*names: str) -> Act:
    def act(_world: World, process: Process) -> None:
        with suppress(WrongState):
            process.api.graphs.rerun("graph", names, actor="caller")

    return act


def rerun(*names: str) -> Callable[[World], object]:
    return lambda world: world.api.graphs.rerun("graph", names, actor="caller")


def _work(name: str, failing: Mapping[str, int] | None = None, **options: Any) -> Work:
    return Work(name=name, make=lambda: GraphWorld(failing), **options)


BATCHES: tuple[Work, ...] = (
    _work("a batch that begins", arrange=batch_of(2), act=delivers),
    _work("an empty batch", arrange=batch_of(0), act=delivers),
    _work(
        "a batch whose members end",
        arrange=after(batch_of(2), delivered_often(1)),
        act=delivers,
    ),
    _work(
        "a batch whose members have ended",
        arrange=after(batch_of(2), delivered_often(2)),
        act=delivers,
    ),
    _work(
        "a batch whose member failed",
        {"m1": 1},
        arrange=after(batch_of(2), delivered_often(2)),
        act=delivers,
        ends=(DEAD, SUCCEEDED),
    ),
    _work(
        "a redriven batch",
        {"m1": 1},
        arrange=after(batch_of(2), settled, redriven("batch")),
        act=delivers,
        ends=(SUCCEEDED, DEAD),
    ),
    _work("an addition to an open batch", arrange=open_batch(), act=adds(0, 2)),
    _work("another addition to an open batch", arrange=open_batch((0, 2)), act=adds(2, 2)),
    _work("a close of an open batch", arrange=open_batch((0, 2)), act=closes()),
    _work("a close that states the total", arrange=open_batch((0, 2)), act=closes(2)),
    _work(
        "a close after all members ended",
        arrange=after(open_batch((0, 2)), delivered_often(2)),
        act=closes(),
    ),
    _work(
        "the end of an open batch",
        arrange=after(open_batch((0, 2)), closed, delivered_often(1)),
        act=delivers,
    ),
)

GRAPHS: tuple[Work, ...] = (
    _work("a graph that begins", arrange=graph_of(), act=delivers),
    _work("a node that ends", arrange=after(graph_of(), delivered_often(1)), act=delivers),
    _work(
        "a graph that submits the next nodes",
        arrange=after(graph_of(), delivered_often(2)),
        act=delivers,
    ),
    _work(
        "a graph that decides on a failure",
        {"b": 1},
        arrange=after(graph_of(), delivered_often(4)),
        act=delivers,
        ends=(DEAD, SUCCEEDED),
    ),
    _work(
        "a graph that ends",
        arrange=after(graph_of(), delivered_often(6)),
        act=delivers,
    ),
    _work(
        "a rerun of a graph",
        {"b": 1},
        arrange=after(graph_of(), settled),
        act=reruns("b"),
        ends=(DEAD, SUCCEEDED),
    ),
    _work(
        "a graph that runs again",
        {"b": 1},
        arrange=after(graph_of(), settled, rerun("b")),
        act=delivers,
        ends=(DEAD, SUCCEEDED),
    ),
    _work(
        "a graph that is redriven",
        {"b": 1},
        arrange=after(graph_of(), settled, redriven("graph")),
        act=delivers,
        ends=(SUCCEEDED, DEAD),
    ),
)
