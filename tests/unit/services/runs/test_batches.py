"""Batches: their callbacks and ends over rounds, cancellations and large numbers of members."""

from __future__ import annotations

import json

import pytest

from hourhand.api.requests.jobs import JobSubmission
from hourhand.domain.errors import InvalidInput, NotFound
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.runs import joins
from hourhand.domain.runs.built_in import BATCH, CALLBACKS, MEMBERS, BatchStatus
from hourhand.services.runs.batches import BatchView
from hourhand.testing import Crash
from tests.scenarios.graphs import GraphWorld, check_graphs, fill, note, put_batch
from tests.world.faults import Faults


@pytest.fixture
def world() -> GraphWorld:
    return GraphWorld()


def shown(world: GraphWorld) -> BatchView:
    return world.api.batches.show("batch")


def called_back(world: GraphWorld) -> set[str]:
    """Return the callbacks that exist; none of them exists twice."""
    counts = {name: len(world.jobs_named(name)) for name in CALLBACKS}
    assert set(counts.values()) <= {0, 1}
    ids = shown(world).callbacks
    assert all((ids[name] is not None) is bool(counts[name]) for name in CALLBACKS)
    return {name for name in CALLBACKS if counts[name]}


def test_a_batch_calls_back_after_all_of_its_members(world: GraphWorld) -> None:
    put_batch(world, 3)
    assert (shown(world).status, shown(world).total) == (BatchStatus.RUNNING, 3)
    world.deliver()
    assert called_back(world) == set()
    world.settle()
    check_graphs(world)
    assert called_back(world) == {"on_success", "on_complete"}
    view = shown(world)
    assert (view.status, view.total, view.succeeded, view.failed) == ("succeeded", 3, 3, 0)
    result = json.loads(world.api.queries.job("batch").result_text or "")
    assert result == {"total": 3, "succeeded": 3, "failed": 0}


def test_a_batch_without_members_and_callbacks_succeeds(world: GraphWorld) -> None:
    request = JobSubmission.parse({"handler": BATCH, "id": "batch", "payload": {"jobs": []}})
    world.api.batches.submit(request, is_open=False, actor="caller")
    world.settle()
    assert shown(world).status is BatchStatus.SUCCEEDED
    assert called_back(world) == set()


def test_each_callback_exists_once_over_all_rounds(world: GraphWorld) -> None:
    world.failing = {"m1": 2}
    put_batch(world, 3)
    world.settle()
    assert called_back(world) == {"on_failure", "on_complete"}
    assert shown(world).status is BatchStatus.FAILED
    for end in (BatchStatus.FAILED, BatchStatus.SUCCEEDED):
        world.api.operations.redrive("batch", actor="caller")
        world.settle()
        assert shown(world).status is end
        check_graphs(world)
    assert called_back(world) == set(CALLBACKS)
    assert len(world.jobs_named("m0")) == 1
    assert (world.job("batch").last_failure or "") == ""


def test_a_callback_that_failed_neither_fails_the_batch_nor_runs_again(world: GraphWorld) -> None:
    world.failing = {"m0": 1, "on_complete": 9}
    put_batch(world, 1)
    world.settle()
    assert (world.job("batch").last_failure or "").endswith("1 of 1 jobs of the batch failed.")
    world.api.operations.redrive("batch", actor="caller")
    world.settle()
    assert shown(world).status is BatchStatus.SUCCEEDED
    (callback,) = world.jobs_named("on_complete")
    assert (callback.status, callback.round) == (JobStatus.DEAD, 1)


def test_a_member_that_is_redriven_by_itself_counts_in_the_next_round(world: GraphWorld) -> None:
    world.failing = {"m0": 1}
    put_batch(world, 2)
    world.settle()
    (member,) = world.jobs_named("m0")
    world.api.operations.redrive(member.id, actor="caller")
    world.settle()
    assert shown(world).status is BatchStatus.FAILED
    assert (shown(world).succeeded, shown(world).failed) == (2, 0)
    world.api.operations.redrive("batch", actor="caller")
    world.settle()
    assert shown(world).status is BatchStatus.SUCCEEDED
    assert world.job(member.id).round == 2


def die() -> None:
    raise Crash("the process died")


def test_members_are_submitted_though_one_failed_before(
    world: GraphWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joins, "GROUP", 100)
    world.failing = {"m0": 1}
    put_batch(world, 350)
    faults = Faults()
    faults.interrupt("jobs.put_many", die, nth=2)
    with pytest.raises(Crash):
        world.deliver(by=world.process(faults).worker)
    assert len(world.store.jobs()) == 101
    world.deliver()
    assert world.jobs_named("m0")[0].status is JobStatus.DEAD
    world.settle()
    assert (shown(world).total, shown(world).failed) == (350, 1)


def test_a_cancelled_batch_cancels_its_members_and_calls_nothing_back(world: GraphWorld) -> None:
    put_batch(world, 3)
    world.deliver()
    world.api.operations.cancel("batch", actor="caller")
    world.settle()
    assert shown(world).status is BatchStatus.CANCELLED
    assert {world.jobs_named(f"m{n}")[0].status for n in range(3)} == {JobStatus.CANCELLED}
    assert called_back(world) == set()


def test_members_that_were_reset_run_again_and_count_once(world: GraphWorld) -> None:
    put_batch(world, 3)
    world.settle()
    world.api.run_redrives.redrive_from("batch", [MEMBERS, "on_complete"], actor="caller")
    assert shown(world).callbacks["on_complete"] is None
    world.settle()
    view = shown(world)
    assert (view.status, view.total, view.succeeded) == (BatchStatus.SUCCEEDED, 3, 3)
    assert len(world.jobs_named("m0")) == 2
    assert [len(world.jobs_named(name)) for name in CALLBACKS] == [1, 2, 0]


def test_an_open_batch_takes_its_first_members_with_its_submission(world: GraphWorld) -> None:
    payload = {"open": True, "jobs": []}
    request = JobSubmission.parse({"handler": BATCH, "id": "batch", "payload": payload})
    for _ in range(2):
        world.api.batches.submit(
            request, is_open=True, first=[note("m0"), note("m1")], actor="caller"
        )
    assert (shown(world).status, shown(world).total) == (BatchStatus.OPEN, 2)
    fill(world, 2, 1)
    world.api.batches.close("batch", 3)
    world.settle()
    assert shown(world).succeeded == 3
    # A repeated submission of a batch that ended adds nothing.
    world.api.batches.submit(request, is_open=True, first=[note("m0")], actor="caller")
    assert len(world.jobs_named("m0")) == 1


def test_a_batch_with_an_invalid_callback_is_refused(world: GraphWorld) -> None:
    payload = {"jobs": [note("m0")], "on_success": {"handler": "nobody"}}
    request = JobSubmission.parse({"handler": BATCH, "id": "batch", "payload": payload})
    with pytest.raises(InvalidInput, match=r"on_success\.handler is not registered"):
        world.api.batches.submit(request, is_open=False, actor="caller")
    with pytest.raises(NotFound):
        shown(world)


def test_a_repeated_submission_is_answered_though_a_handler_is_gone(
    world: GraphWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = put_batch(world, 1)
    monkeypatch.setattr(world.handlers, "find", lambda _name: None)
    assert put_batch(world, 1).id == first.id
