"""Making a move while others append to the history."""

from __future__ import annotations

from functools import partial

from hourhand.domain.history import HISTORY_BUDGET_BYTES, pack_event
from hourhand.domain.model import EventKind, Job, JobStatus
from hourhand.domain.moves import (
    Move,
    cancel_waiting,
    keep_payload,
    mark_dispatched_again,
    mark_enqueued,
)
from hourhand.ports import Applied, Refused
from hourhand.services.writing import MAX_REBUILDS, make_move
from hourhand.testing import START, Faults, make_event, make_job
from tests.world.world import World

LONG = "x" * 40


def _full_history() -> Job:
    """Return a job whose history must be compacted by the next event."""
    event = make_event(kind=EventKind.AGED, reason=LONG)
    fitting = HISTORY_BUDGET_BYTES // (len(pack_event(event)) + 1)
    return make_job(status=JobStatus.ENQUEUED, history=(event,) * fitting)


def _append(world: World, job: Job) -> None:
    """Let another writer append an event to the history, dropping one from its middle."""
    again = mark_dispatched_again(
        world.job(job), now=START, actor="tick", queue=job.queue, reason=LONG
    )
    assert isinstance(world.store.transition(again), Applied)


def _cancel(job: Job) -> Move:
    return cancel_waiting(job, now=START, actor="caller", reason=LONG)


def test_a_move_is_built_anew_when_nothing_but_the_history_grew(world: World) -> None:
    job = _full_history()
    world.store.put(job)
    faults = Faults()
    faults.interrupt("transition", partial(_append, world, job))
    result = make_move(faults.wrap(world.store), job, _cancel)
    assert isinstance(result, Applied)
    assert result.job.status is JobStatus.CANCELLED
    kinds = [event.kind for event in result.job.history]
    assert kinds[-2:] == [EventKind.DISPATCHED_AGAIN, EventKind.CANCELLED], (
        "the other's event is kept"
    )


def test_a_history_that_never_stands_still_ends_the_tries(world: World) -> None:
    job = _full_history()
    world.store.put(job)
    faults = Faults()
    for nth in range(1, 99):
        faults.interrupt("transition", partial(_append, world, job), nth=nth)
    result = make_move(faults.wrap(world.store), job, _cancel)
    assert isinstance(result, Refused)
    assert len(faults.calls) == MAX_REBUILDS


def test_a_move_that_another_clause_forbids_is_refused_at_once(world: World) -> None:
    job = _full_history()
    world.store.put(job)
    world.store.transition(_cancel(job))
    faults = Faults()
    build = partial(mark_enqueued, now=START, actor="tick")
    result = make_move(faults.wrap(world.store), job, build)
    assert isinstance(result, Refused)
    assert len(faults.calls) == 1


def test_a_move_of_a_job_that_is_gone_is_refused(world: World) -> None:
    assert make_move(world.store, make_job(), _cancel) == Refused(None)


def test_a_move_without_events_is_never_built_anew(world: World) -> None:
    job = make_job(status=JobStatus.SUCCEEDED)
    world.store.put(job)
    faults = Faults()
    build = partial(keep_payload, kept_until=START)
    assert make_move(faults.wrap(world.store), job, build) == Refused(job)
    assert len(faults.calls) == 1
