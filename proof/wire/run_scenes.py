"""Scenes of durable runs that have children: handlers that submit them, graphs and batches."""

from __future__ import annotations

from proof.wire.stage import ITEM_BYTES, OBJECT_BYTES, Stage

CHILDREN = 3


def children(stage: Stage) -> None:
    """A run that waits for its children, and one that fails and cancels its child."""
    _submit_runs(stage)
    for _ in range(2):
        stage.world.deliver()
        stage.world.advance(20)


def children_in_batches(stage: Stage) -> None:
    """The same, where a worker puts the children of a call together."""
    _submit_runs(stage)
    for _ in range(2):
        stage.world.deliver(by=stage.world.batching("worker"))
        stage.world.advance(20)


def _submit_runs(stage: Stage) -> None:
    items = list(range(CHILDREN))
    succeeding = stage.submit("spreading", "SUCCEEDED", "wire-spread", payload=items)
    failing = stage.submit("leaving", "DEAD", "wire-leave", payload=4_000)
    stage.children[succeeding] = ["SUCCEEDED"] * CHILDREN
    stage.children[failing] = ["CANCELLED"]


def a_graph(stage: Stage) -> None:
    """A graph in which each kind of node ends, and a rerun: a new child replaces the failed one."""
    world, graph = stage.world, stage.name("graph")
    nodes = {
        "large": {"handler": "wire-answer-at-length", "payload": OBJECT_BYTES},
        "reader": {"handler": "wire-greet", "payload": {"$result": "large"}, "after": ["large"]},
        "map": {"map": {"over": list(range(CHILDREN)), "handler": "wire-greet"}},
        "dead": {"handler": "wire-give-up"},
        "skipped": {"handler": "wire-greet", "after": ["dead"]},
    }
    world.api("POST", "/v1/graphs", {"id": graph, "nodes": nodes})
    stage.ends[graph] = "DEAD"
    stage.children[graph] = [*["SUCCEEDED"] * (CHILDREN + 2), *["DEAD"] * 2]
    world.deliver()
    world.settle()
    world.api("GET", f"/v1/graphs/{graph}")
    world.api("POST", f"/v1/graphs/{graph}/rerun", {"from": ["dead"]})
    world.deliver()


def a_batch(stage: Stage) -> None:
    """A batch that is filled by two requests and then closed; its callback is its last child."""
    world, batch = stage.world, stage.name("batch")
    members = [{"handler": "wire-greet", "payload": "x" * size} for size in (10, ITEM_BYTES)]
    callbacks = {"on_complete": {"handler": "wire-greet"}}
    opened = {"id": batch, "open": True, "jobs": members, **callbacks}
    world.api("POST", "/v1/batches", opened)
    stage.ends[batch] = "SUCCEEDED"
    stage.children[batch] = ["SUCCEEDED"] * (2 * len(members) + len(callbacks))
    world.deliver()
    added = {"first_index": len(members), "jobs": members}
    world.api("POST", f"/v1/batches/{batch}/jobs", added)
    world.api("POST", f"/v1/batches/{batch}/close", {"total": 2 * len(members)})
    world.deliver()
    world.settle()
    world.api("GET", f"/v1/batches/{batch}")
    world.api("GET", f"/v1/jobs/{batch}/children?status=SUCCEEDED")
