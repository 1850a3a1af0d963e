"""Open batches: requests that add members and close, alone and beside one another."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hourhand.domain.errors import (
    BatchClosed,
    InvalidInput,
    MembersMissing,
    NotFound,
    Unavailable,
)
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.runs import joins
from hourhand.domain.runs.built_in import BatchStatus
from hourhand.domain.side_items import SideItemKind, SideItemUpdate
from hourhand.testing import Crash
from tests.scenarios.graphs import GraphWorld, close, fill, note, put_batch
from tests.world.faults import Faults, When
from tests.world.world import Process


@pytest.fixture
def world() -> GraphWorld:
    world = GraphWorld()
    put_batch(world, is_open=True)
    world.minute()
    return world


def status(world: GraphWorld) -> BatchStatus:
    return world.api.batches.show("batch").status


def racing(
    world: GraphWorld,
    step: Callable[[], object],
    *,
    nth: int,
    method: str = "side_items.write_item",
    when: When = When.BEFORE,
) -> Process:
    """Return a process beside whose call of that number another request is served."""
    faults = Faults()
    faults.interrupt(method, step, nth=nth, when=when)
    return world.process(faults)


def _die() -> None:
    raise Crash("the process died")


# --- additions ---


def test_members_of_several_records_are_added_once(world: GraphWorld) -> None:
    for _ in range(2):
        fill(world, 0, 150)
    fill(world, 120, 60)
    view = world.api.batches.show("batch")
    assert (view.status, view.total) == (BatchStatus.OPEN, 180)
    close(world, 180)
    world.settle()
    view = world.api.batches.show("batch")
    assert (view.status, view.total, view.succeeded) == (BatchStatus.SUCCEEDED, 180, 180)
    assert len(world.runs) == 180 + len(["on_success", "on_complete"]) + _runs_of_batch(world)


def _runs_of_batch(world: GraphWorld) -> int:
    return sum(run.job.id == "batch" for run in world.runs)


def test_a_refused_member_takes_no_place(world: GraphWorld) -> None:
    with pytest.raises(InvalidInput, match=r"jobs\[1\].handler") as refused:
        world.api.batches.add("batch", 0, [note("m0"), {"handler": "nobody"}])
    assert refused.value.errors[0].field == "jobs[1].handler"
    close(world, 0)
    world.settle()
    assert status(world) is BatchStatus.SUCCEEDED


def test_a_batch_has_at_most_so_many_members(world: GraphWorld) -> None:
    with pytest.raises(InvalidInput, match="100,001 members"):
        fill(world, joins.MAX_CHILDREN, 1)


@pytest.mark.parametrize("batch_id", ["nothing", "greeting"])
def test_only_a_batch_takes_members(world: GraphWorld, batch_id: str) -> None:
    world.submit(id="greeting", handler="note", payload={"name": "x"})
    with pytest.raises(NotFound):
        world.api.batches.add(batch_id, 0, [note("m0")])
    with pytest.raises(NotFound):
        world.api.batches.close(batch_id, None)


def test_a_batch_that_never_was_open_takes_no_members() -> None:
    world = GraphWorld()
    put_batch(world, 2)
    for _ in range(2):
        with pytest.raises(BatchClosed):
            fill(world, 2, 1)
        world.settle()
    close(world)
    close(world, 2)
    with pytest.raises(BatchClosed):
        close(world, 3)
    assert status(world) is BatchStatus.SUCCEEDED


@pytest.mark.parametrize("index", [2, 99, 100, 500])
def test_a_member_that_comes_after_the_close_is_refused_and_holds_nothing_up(
    world: GraphWorld, index: int
) -> None:
    fill(world, 0, 2)
    close(world)
    with pytest.raises(BatchClosed):
        fill(world, index, 1)
    world.settle()
    assert status(world) is BatchStatus.SUCCEEDED
    assert not world.jobs_named(f"m{index}")


def test_the_same_addition_is_answered_after_the_close_and_after_the_end(
    world: GraphWorld,
) -> None:
    fill(world, 0, 2)
    close(world)
    fill(world, 0, 2)
    world.settle()
    fill(world, 0, 2)
    assert len(world.jobs_named("m0")) == 1


def test_a_batch_that_was_cancelled_takes_no_member_and_no_close(world: GraphWorld) -> None:
    fill(world, 0, 1)
    world.api.operations.cancel("batch", actor="caller")
    with pytest.raises(BatchClosed, match="is CANCELLED"):
        fill(world, 1, 1)
    with pytest.raises(BatchClosed, match="is CANCELLED"):
        close(world)


def test_a_close_is_repeated_after_the_batch_was_closed_and_cancelled(world: GraphWorld) -> None:
    fill(world, 0, 1)
    close(world)
    world.api.operations.cancel("batch", actor="caller")
    close(world)
    with pytest.raises(BatchClosed, match="is CANCELLED"):
        close(world, total=7)


def test_a_batch_that_is_deleted_meanwhile_does_not_acknowledge_a_member(
    world: GraphWorld,
) -> None:
    def delete() -> None:
        for key in list(world.side_items.items()):
            if key.kind is SideItemKind.JOIN:
                world.side_items.write_item(SideItemUpdate(key=key, deletes=True))

    process = racing(world, delete, nth=2)
    with pytest.raises(NotFound, match="any more"):
        fill(world, 0, 1, process)


# --- closes ---


def test_a_close_with_too_small_a_total_is_corrected_by_a_larger_one(world: GraphWorld) -> None:
    fill(world, 0, 2)
    with pytest.raises(MembersMissing, match="beyond the total of 1"):
        close(world, 1)
    with pytest.raises(MembersMissing, match="member 2 "):
        close(world, 3)
    fill(world, 2, 1)
    close(world, 3)
    world.settle()
    assert status(world) is BatchStatus.SUCCEEDED


def test_a_close_names_what_is_missing_and_can_be_repeated(world: GraphWorld) -> None:
    fill(world, 0, 2)
    with pytest.raises(MembersMissing, match="member 2 "):
        close(world, 3)
    # The total was stated: no member beyond it is taken.
    with pytest.raises(BatchClosed, match="stated a total of 3, so it takes no member 3"):
        fill(world, 3, 1)
    fill(world, 2, 1)
    close(world, 3)
    close(world, 3)
    with pytest.raises(BatchClosed):
        close(world, 4)
    world.settle()
    assert status(world) is BatchStatus.SUCCEEDED


def test_a_close_without_a_total_keeps_the_one_that_was_stated(world: GraphWorld) -> None:
    fill(world, 0, 2)
    with pytest.raises(MembersMissing):
        close(world, 3)
    with pytest.raises(MembersMissing):
        close(world)
    close(world, 2)
    world.settle()
    assert world.api.batches.show("batch").total == 2


def test_a_close_names_a_member_beyond_the_total(world: GraphWorld) -> None:
    fill(world, 0, 3)
    with pytest.raises(MembersMissing, match="member 2, beyond the total of 2"):
        close(world, 2)
    close(world, 3)
    world.settle()
    assert world.api.batches.show("batch").succeeded == 3


def test_a_large_batch_wakes_its_run_by_the_root(world: GraphWorld) -> None:
    fill(world, 0, 100)
    world.minute()
    fill(world, 100, 1)
    close(world)
    assert world.job("batch").status is not JobStatus.SUCCEEDED
    world.settle()
    assert status(world) is BatchStatus.SUCCEEDED


def test_a_failure_in_a_closed_batch_calls_back_before_the_others_end(world: GraphWorld) -> None:
    world.failing = {"m0": 1}
    fill(world, 0, 1)
    world.api.batches.add("batch", 1, [{**note("m1"), "delay_seconds": 3_600}])
    close(world)
    for _ in range(3):
        world.minute()
    assert [job.status for job in world.jobs_named("on_failure")] == [JobStatus.SUCCEEDED]
    assert not world.jobs_named("on_complete")


# --- races ---


def test_an_addition_and_a_close_at_once_lose_no_member(world: GraphWorld) -> None:
    fill(world, 0, 1)
    # The close reads the places, then states the total: by then another member is there.
    process = racing(world, lambda: fill(world, 1, 1), nth=1)
    close(world, process=process)
    world.settle()
    assert world.api.batches.show("batch").succeeded == 2


@pytest.mark.parametrize("index", [1, 100])
def test_an_addition_that_reserved_before_the_statement_is_in_the_batch(
    world: GraphWorld, index: int
) -> None:
    fill(world, 0, index)

    def closes() -> None:
        with pytest.raises(MembersMissing):
            close(world)

    # After the place was reserved, before the root is read again.
    process = racing(world, closes, nth=1, when=When.AFTER)
    fill(world, index, 1, process)
    close(world)
    world.settle()
    assert world.api.batches.show("batch").succeeded == index + 1


@pytest.mark.parametrize("index", [1, 100])
def test_a_member_whose_place_is_reserved_after_the_lock_is_refused(
    world: GraphWorld, index: int
) -> None:
    fill(world, 0, index)
    process = racing(world, lambda: close(world), nth=1)
    with pytest.raises(BatchClosed):
        fill(world, index, 1, process)
    world.settle()
    assert status(world) is BatchStatus.SUCCEEDED
    assert not world.jobs_named(f"m{index}")


def test_places_that_were_reserved_behind_a_lock_hold_no_close_up(world: GraphWorld) -> None:
    fill(world, 0, 100)
    faults = Faults()
    faults.throttle("side_items.write_item", nth=3)
    dying_close = world.process(faults)

    def closes() -> None:
        with pytest.raises(Unavailable):
            close(world, process=dying_close)

    with pytest.raises(BatchClosed):
        fill(world, 100, 1, racing(world, closes, nth=1))
    assert status(world) is BatchStatus.OPEN
    close(world)
    world.settle()
    view = world.api.batches.show("batch")
    assert (view.status, view.total) == (BatchStatus.SUCCEEDED, 100)


def test_two_closes_with_different_totals_agree_on_one(world: GraphWorld) -> None:
    fill(world, 0, 1)

    def closes() -> None:
        with pytest.raises(MembersMissing):
            close(world, 2)
        fill(world, 1, 1)

    process = racing(world, closes, nth=2)
    with pytest.raises(MembersMissing, match="beyond"):
        close(world, 1, process)
    close(world, 2)
    world.settle()
    assert world.api.batches.show("batch").succeeded == 2


def test_requests_give_up_on_a_batch_that_changes_all_the_time(world: GraphWorld) -> None:
    fill(world, 0, 1)
    faults = Faults()
    totals = iter(range(2, 60))

    def state_another() -> None:
        with pytest.raises(MembersMissing):
            close(world, next(totals))

    for nth in range(1, 60):
        faults.interrupt("side_items.write_item", state_another, nth=nth)
    process = world.process(faults)
    with pytest.raises(Unavailable, match="changed too often"):
        close(world, 1, process)


def test_an_addition_gives_up_where_totals_are_stated_all_the_time(world: GraphWorld) -> None:
    fill(world, 0, 1)
    with pytest.raises(MembersMissing):
        close(world, 2)
    faults = Faults()
    totals = iter(range(3, 60))

    def state_another() -> None:
        with pytest.raises(MembersMissing):
            close(world, next(totals))

    for nth in range(1, 60):
        faults.interrupt("side_items.write_item", state_another, nth=nth)
    process = world.process(faults)
    with pytest.raises(Unavailable, match="changed too often"):
        fill(world, 1, 1, process)


# --- deaths ---


@pytest.mark.parametrize("nth", range(1, 7))
def test_a_close_that_died_is_completed_by_the_next_one(world: GraphWorld, nth: int) -> None:
    fill(world, 0, 101)
    world.minute()
    # It states the total, locks, seals two records and reports them to the root.
    with pytest.raises(Crash):
        close(world, process=racing(world, _die, nth=nth, when=When.AFTER))
    close(world)
    world.settle()
    assert status(world) is BatchStatus.SUCCEEDED


def test_a_close_that_died_before_the_wake_up_wakes_when_it_is_repeated(
    world: GraphWorld,
) -> None:
    fill(world, 0, 1)
    world.minute()
    faults = Faults()
    faults.throttle("jobs.transition")
    with pytest.raises(Unavailable):
        close(world, process=world.process(faults))
    world.minute()
    assert status(world) is BatchStatus.RUNNING
    close(world)
    world.settle()
    assert status(world) is BatchStatus.SUCCEEDED


def test_a_batch_whose_submission_died_before_its_root_is_open() -> None:
    world = GraphWorld()
    faults = Faults()
    faults.throttle("side_items.write_item")
    with pytest.raises(Unavailable):
        put_batch(world, is_open=True, by=world.process(faults))
    world.minute()
    fill(world, 0, 1)
    close(world)
    world.settle()
    assert status(world) is BatchStatus.SUCCEEDED


# --- rounds ---


def test_an_open_batch_that_runs_afresh_takes_members_again(world: GraphWorld) -> None:
    fill(world, 0, 1)
    close(world)
    world.settle()
    world.api.run_redrives.redrive_fresh("batch", actor="caller")
    world.minute()
    assert world.api.batches.show("batch").total == 0
    fill(world, 0, 2)
    close(world)
    world.settle()
    view = world.api.batches.show("batch")
    assert (view.status, view.succeeded) == (BatchStatus.SUCCEEDED, 2)
