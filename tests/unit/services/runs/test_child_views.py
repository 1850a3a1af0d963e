"""The children of a run, as callers list them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hourhand.domain.errors import InvalidInput, NotDurable, NotFound, WrongState
from hourhand.domain.jobs.job import JobStatus
from hourhand.services.runs import child_views, journals
from hourhand.services.runs.child_views import ChildPage
from tests.scenarios.graphs import GraphWorld, put_batch


@pytest.fixture
def world() -> GraphWorld:
    world = GraphWorld({"m1": 9, "m3": 9})
    put_batch(world, 5)
    return world


def page(
    world: GraphWorld,
    status: JobStatus | None = None,
    *,
    path: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
) -> ChildPage:
    return world.api.child_views.page("batch", status=status, path=path, limit=limit, cursor=cursor)


def pages(world: GraphWorld, status: JobStatus | None, limit: int) -> Iterator[ChildPage]:
    cursor: str | None = None
    while True:
        found = page(world, status, limit=limit, cursor=cursor)
        yield found
        cursor = found.next_cursor
        if cursor is None:
            return


def places(found: ChildPage) -> list[tuple[str, int]]:
    return [(child.path, child.index) for child in found.children]


def test_a_run_that_has_not_begun_has_no_children(world: GraphWorld) -> None:
    found = page(world)
    assert (found.children, found.total, found.next_cursor) == ((), 0, None)


def test_children_are_listed_in_the_order_of_their_calls(world: GraphWorld) -> None:
    world.settle()
    found = page(world)
    assert places(found)[:5] == [("jobs", n) for n in range(5)]
    assert {path for path, _ in places(found)[5:]} == {"on_failure", "on_complete"}
    assert (found.total, found.succeeded, found.failed) == (7, 5, 2)
    assert found.next_cursor is None


def test_children_are_listed_by_their_call(world: GraphWorld) -> None:
    world.settle()
    assert places(page(world, path="on_failure")) == [("on_failure", 0)]
    assert places(page(world, JobStatus.DEAD, path="jobs")) == [("jobs", 1), ("jobs", 3)]
    assert not page(world, path="nothing").children


@pytest.mark.parametrize("limit", [1, 2, 7])
def test_pages_have_each_child_once(world: GraphWorld, limit: int) -> None:
    world.settle()
    listed = [place for found in pages(world, None, limit) for place in places(found)]
    assert len(listed) == len(set(listed)) == 7


def test_children_are_listed_by_their_states(world: GraphWorld) -> None:
    world.deliver()
    assert len(page(world, JobStatus.ENQUEUED).children) == 5
    assert not page(world, JobStatus.SUCCEEDED).children
    assert not page(world, JobStatus.DEAD).children
    world.settle()
    assert places(page(world, JobStatus.DEAD)) == [("jobs", 1), ("jobs", 3)]
    assert len(page(world, JobStatus.SUCCEEDED).children) == 5
    assert not page(world, JobStatus.ENQUEUED).children


def test_a_page_that_would_cost_too_many_reads_comes_back_short(
    world: GraphWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.settle()
    monkeypatch.setattr(child_views, "READ_TOGETHER", 1)
    monkeypatch.setattr(child_views, "MAX_READS", 2)
    sizes = [len(found.children) for found in pages(world, None, 5)]
    assert sizes == [2, 2, 2, 1]


def test_a_cursor_belongs_to_its_listing(world: GraphWorld) -> None:
    world.settle()
    cursor = page(world, limit=1).next_cursor
    with pytest.raises(InvalidInput):
        page(world, JobStatus.DEAD, cursor=cursor)


def test_only_a_run_has_children(world: GraphWorld) -> None:
    world.submit(id="greeting", handler="note", payload={"name": "x"})
    for job_id, error in (("nothing", NotFound), ("greeting", NotDurable)):
        with pytest.raises(error):
            world.api.child_views.page(job_id, status=None, path=None, limit=1, cursor=None)


def test_children_of_a_journal_that_is_too_long_are_not_listed(
    world: GraphWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.settle()
    monkeypatch.setattr(journals, "MAX_RECORDS", 1)
    with pytest.raises(WrongState):
        page(world)
