"""The scenarios of batches and graphs: callbacks, open batches, decisions, nodes run again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from hourhand.api.requests.jobs import JobSubmission
from hourhand.api.routing import Services
from hourhand.domain.errors import BatchClosed, HourhandError, MembersMissing, Unavailable
from hourhand.domain.graphs.parsing import parse_graph
from hourhand.domain.jobs.parents import ParentLink, child_id, join_key
from hourhand.domain.runs.built_in import BATCH, GRAPH
from hourhand.domain.runs.writes import report_success
from hourhand.domain.times import to_ms
from hourhand.handlers._runs.context import RunContext
from proof.explorer.family_scenarios import CHILD, families
from proof.explorer.operations import JOB
from proof.explorer.process import ScriptedProcess
from proof.explorer.rules_of_graphs import ON_COMPLETE, ON_SUCCESS
from proof.explorer.scenario import (
    CRASH,
    QUIET,
    REDELIVERED,
    Limits,
    Operation,
    Scenario,
    scenarios_among,
)
from tests.scenarios.steps import after
from tests.world.world import World

CALLBACKS = {
    "on_complete": {"handler": CHILD, "payload": ON_COMPLETE},
    "on_success": {"handler": CHILD, "payload": ON_SUCCESS},
}

_WORK: Mapping[str, Any] = {"handler": CHILD, "payload": 0}

DIAMOND: Mapping[str, Any] = {
    "a": _WORK,
    "b": {**_WORK, "after": ["a"]},
    "c": {**_WORK, "after": ["a"]},
    "d": {**_WORK, "after": ["b", "c"]},
}

SKIP: Mapping[str, Any] = {
    "b": {"handler": CHILD, "payload": 1},
    "d": {**_WORK, "after": ["b"]},
    "e": {**_WORK, "after": ["b"], "when": "one_failed"},
}
"""The node that fails in its first round decides two others."""


def _parent(ctx: RunContext) -> Any:
    """A member of a batch that has a child of its own."""
    return ctx.submit_and_wait(CHILD, 0)


HANDLERS = families(_parent)


def batch(members: int = 0, handler: str = CHILD, *, is_open: bool = False) -> Any:
    """Let a batch be submitted before it all begins."""
    jobs = [{"handler": handler, "payload": 0} for _ in range(members)]
    payload = {"jobs": jobs, **CALLBACKS, **({"open": True} if is_open else {})}
    request = JobSubmission.parse({"handler": BATCH, "id": JOB, "payload": payload})
    return lambda world: world.api.batches.submit(request, is_open=is_open, actor="caller")


def graph(nodes: Mapping[str, Any]) -> Callable[[World], object]:
    """Let a graph be submitted before it all begins."""
    definition = parse_graph({"nodes": nodes})
    body = {"handler": GRAPH, "id": JOB, "payload": definition.as_json()}
    request = JobSubmission.parse(body)
    return lambda world: world.api.graphs.submit(request, definition, actor="caller")


def delivered(times: int) -> Callable[[World], object]:
    """Let every message be worked off, so many times, before it all begins."""

    def arrange(world: World) -> None:
        for _ in range(times):
            world.deliver(HANDLERS["run"])

    return arrange


def _asks(name: str, request: Callable[[Services], object], *after: str) -> Operation:
    """Return a request of a caller, which may be refused."""

    def act(process: ScriptedProcess) -> object:
        try:
            return request(process.api)
        except Unavailable:
            raise
        except HourhandError:
            return None

    return Operation(name=name, act=act, after=after)


def _adds(first_index: int) -> Callable[[Services], object]:
    return lambda api: api.batches.add(JOB, first_index, [_WORK])


def _closes(total: int | None = None) -> Callable[[Services], object]:
    return lambda api: api.batches.close(JOB, total)


def _finish(*requests: Callable[[Services], object]) -> Callable[[Services], object]:
    """Return what callers repeat once all faults are over, until it is answered."""

    def act(api: Services) -> object:
        for request in requests:
            with suppress(BatchClosed, MembersMissing):
                request(api)
        return None

    return act


def _redrives_node(name: str) -> Operation:
    """Return a redrive of the job of a node, by a person and not by its graph."""

    def request(api: Services) -> object:
        run = api.batches.ports.jobs.get(JOB)
        assert run is not None
        key = join_key(name, 0, to_ms(run.created_at))
        return api.operations.redrive(child_id(JOB, 0, key, 0), actor="person")

    return _asks("person", request)


def _succeeds(name: str) -> Operation:
    """Return the report that a node has succeeded, after a person redrove its job."""

    def act(process: ScriptedProcess) -> object:
        run = process.adapters.jobs.get(JOB)
        assert run is not None
        key = join_key(name, 0, to_ms(run.created_at))
        link = ParentLink(run_id=JOB, segment=0, join_key=key, index=0, kept_until=run.created_at)
        return process.adapters.side_items.write_item(report_success(link, None))

    return Operation(name="child", act=act)


BATCH_EMPTY = Scenario(
    name="batch-empty",
    about="a batch without members, whose worker may die",
    arrange=batch(),
    deliveries=2,
    workers=1,
    handlers=HANDLERS,
    is_durable=True,
    others=(CHILD,),
    limits=CRASH,
)

BATCH_NESTED = replace(
    BATCH_EMPTY,
    name="batch-nested",
    about="a batch whose member has a child, both of which end",
    arrange=after(batch(1, "greet"), delivered(2)),
    deliveries=4,
    workers=2,
    limits=QUIET,
)

BATCH_OPEN = replace(
    BATCH_EMPTY,
    name="batch-open",
    about="an addition and a close of an open batch at once, beside its workers",
    arrange=after(batch(is_open=True), delivered(1)),
    operations=(_asks("adder", _adds(0)), _asks("closer", _closes())),
    deliveries=2,
    workers=1,
    repeats=_finish(_adds(0), _closes()),
    limits=QUIET,
)

BATCH_OPEN_CRASH = replace(
    BATCH_OPEN,
    name="batch-open-crash",
    about="an addition and a close of an open batch, either of which may die",
    deliveries=0,
    limits=CRASH,
)

BATCH_OPEN_TOTALS = replace(
    BATCH_OPEN,
    name="batch-open-totals",
    about="two additions and two closes of an open batch, with different totals",
    arrange=after(batch(is_open=True), delivered(1), lambda world: _adds(0)(world.api)),
    operations=(
        _asks("adder", _adds(1)),
        _asks("one", _closes(1)),
        _asks("two", _closes(2)),
    ),
    deliveries=0,
    repeats=_finish(_closes(1), _adds(1), _closes(2)),
)

GRAPH_DIAMOND = replace(
    BATCH_EMPTY,
    name="graph-diamond",
    about="the two sides of a diamond end at once",
    arrange=after(graph(DIAMOND), delivered(3)),
    deliveries=3,
    workers=2,
    limits=QUIET,
)

GRAPH_SKIP = replace(
    BATCH_EMPTY,
    name="graph-skip",
    about="two owners of a graph decide on the nodes after one that failed",
    arrange=after(graph(SKIP), delivered(2)),
    deliveries=2,
    workers=2,
    offsets=REDELIVERED,
    limits=Limits(crashes=0, expiries=1, only_leases=True),
)

GRAPH_SKIP_CRASH = replace(
    GRAPH_SKIP,
    name="graph-skip-crash",
    about="a graph decides on the nodes after one that failed, and its worker may die",
    workers=1,
    limits=CRASH,
)

GRAPH_REDRIVE_NODE = replace(
    GRAPH_SKIP,
    name="graph-redrive-node",
    about="a person redrives the job of the node that failed while its graph decides",
    operations=(_redrives_node("b"),),
    deliveries=3,
    workers=2,
    limits=QUIET,
)

GRAPH_LATE_SUCCESS = replace(
    GRAPH_SKIP,
    name="graph-late-success",
    about="the node that failed succeeds after all, between two owners that decide on it",
    operations=(_succeeds("b"),),
)

GRAPHS = scenarios_among(globals())
