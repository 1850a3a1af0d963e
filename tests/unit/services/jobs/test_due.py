"""When a job is due: its place in the index, its message, and a writer that stalls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.history import HISTORY_BUDGET_BYTES, pack_event
from hourhand.domain.jobs.job import EventKind, Job, JobStatus, Outcome
from hourhand.domain.jobs.transitions import (
    Transition,
    cancel_waiting,
    change,
    hand_back,
    keep_payload,
    mark_dispatched_again,
    mark_enqueued,
    retry_later,
)
from hourhand.domain.ticks.buckets import bucket_of
from hourhand.memory import START
from hourhand.ports.job_store import Applied, Refused
from hourhand.services.jobs.due import AT_ONCE, MAX_REBUILDS, DueJobs, make_transition
from hourhand.services.jobs.known_pauses import KnownPauses
from hourhand.services.jobs.waiter_records import WaiterRecords
from tests.world.aspects import no_limits
from tests.world.factories import make_event, make_job
from tests.world.faults import Faults, When
from tests.world.world import World

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
CHANGE = partial(change, sets={})
RETRY = partial(retry_later, outcome=Outcome.FAILED, reason="no")


def due_jobs(world: World, faults: Faults) -> DueJobs:
    """Return the service over ports that may be faulty."""
    control, clock = faults.wrap(world.control, "control"), faults.wrap(world.clock, "clock")
    return DueJobs(
        jobs=faults.wrap(world.store, "jobs"),
        control=control,
        queues=faults.wrap(world.queues, "queues"),
        clock=clock,
        timings=world.timings,
        telemetry=world.telemetry,
        pauses=KnownPauses(control, world.clock, world.timings),
        waiters=WaiterRecords(faults.wrap(world.side_items, "side_items"), world.telemetry),
        limits=no_limits(),
    )


@pytest.fixture
def due(world: World) -> DueJobs:
    return due_jobs(world, Faults())


def a_new_job(job_id: str = "job-1", **fields: Any) -> Job:
    """Return a job as it is put: without a place in the index."""
    return make_job(id=job_id, due_at=None, shard=None, **fields)


def stored(world: World, **fields: Any) -> Job:
    job = make_job(**fields)
    world.store.put(job)
    return job


def applied(result: object) -> Job:
    assert isinstance(result, Applied)
    return result.job


# --- the place in the index ---------------------------------------------------------------------


def test_a_job_due_in_the_past_is_filed_now(due: DueJobs) -> None:
    assert applied(due.put(a_new_job(run_at=START - MINUTE), "caller")).due_at == START


@pytest.mark.parametrize(
    ("seconds", "status"), [(300, JobStatus.ENQUEUED), (301, JobStatus.PENDING)]
)
def test_a_job_is_sent_with_its_put_within_the_look_ahead_only(
    world: World, due: DueJobs, seconds: int, status: JobStatus
) -> None:
    is_sent = status is JobStatus.ENQUEUED
    job = applied(due.put(a_new_job(run_at=START + seconds * SECOND), "caller"))
    assert (job.status, job.history[0].status) == (status, status)
    assert job.enqueued_at == (START if is_sent else None)
    assert len(world.queues.messages()) == is_sent
    assert world.job(job) == job


@pytest.mark.parametrize(("seconds", "is_sent"), [(300, True), (301, False)])
def test_a_job_is_sent_with_its_move_within_the_look_ahead_only(
    world: World, due: DueJobs, seconds: int, *, is_sent: bool
) -> None:
    for due_at in (seconds * SECOND, START + seconds * SECOND):
        job = stored(world, id=f"job-{due_at}")
        moved = applied(due.move(job, due_at, CHANGE, "caller"))
        assert (moved.due_at, moved.is_sent) == (START + seconds * SECOND, is_sent)
    assert len(world.queues.messages()) == 2 * is_sent


@pytest.mark.parametrize(("seconds", "is_sent"), [(300, True), (301, False)])
def test_a_move_in_place_announces_the_job_anew_and_leaves_its_time(
    world: World, due: DueJobs, seconds: int, *, is_sent: bool
) -> None:
    job = stored(world, run_at=START + seconds * SECOND)
    moved = applied(due.move_in_place(job, CHANGE, "caller"))
    assert (moved.due_at, moved.shard, moved.is_sent) == (job.due_at, job.shard, is_sent)
    assert len(world.queues.messages()) == is_sent


def test_a_running_job_never_goes_to_an_older_bucket_than_its_own(
    world: World, due: DueJobs
) -> None:
    # A retry after a second, by a worker whose clock is far behind.
    for number, (delay, due_at) in enumerate(((SECOND, 5 * MINUTE), (6 * MINUTE, 6 * MINUTE))):
        job = stored(world, id=f"job-{number}", status=JobStatus.RUNNING, due_at=START + 5 * MINUTE)
        assert applied(due.move(job, delay, RETRY, "worker")).due_at == START + due_at


def test_a_waiting_job_may_go_to_an_older_bucket_than_its_own(world: World, due: DueJobs) -> None:
    job = stored(world, run_at=START + 60 * MINUTE)
    assert applied(due.move(job, AT_ONCE, CHANGE, "caller")).due_at == START


def test_the_shard_map_is_read_again_once_it_is_old(world: World) -> None:
    faults = Faults()
    due = due_jobs(world, faults)
    for number, seconds in enumerate((0, 30, 1, 29)):
        world.advance(seconds)
        due.put(a_new_job(f"job-{number}", run_at=world.clock.now()), "caller")
    assert [call.method for call in faults.calls].count("read_shard_map") == 2


# --- the order of the steps ---------------------------------------------------------------------


def _put(due: DueJobs, _: Job) -> object:
    return due.put(a_new_job("job-2"), "caller")


def _put_many(due: DueJobs, _: Job) -> object:
    return due.put_many([a_new_job("job-2")], "caller")


def _move(due: DueJobs, job: Job) -> object:
    return due.move(job, AT_ONCE, CHANGE, "caller")


def _move_in_place(due: DueJobs, job: Job) -> object:
    return due.move_in_place(job, CHANGE, "caller")


WRITES = {
    _put: "put",
    _put_many: "put_many",
    _move: "transition",
    _move_in_place: "transition",
}


@pytest.mark.parametrize(("write", "method"), WRITES.items())
def test_the_monotonic_clock_is_read_first_and_the_message_sent_last(
    world: World, write: Callable[[DueJobs, Job], object], method: str
) -> None:
    job = stored(world)
    faults = Faults()
    write(due_jobs(world, faults), job)
    calls = [call.method for call in faults.calls]
    assert calls[calls.index("now") - 1] == "monotonic"
    assert "monotonic" in calls[calls.index(method) :], "the guard follows the write"
    assert calls[-1] == "send"


@pytest.mark.parametrize(("write", "method"), WRITES.items())
@pytest.mark.parametrize("stalls_early", [True, False])
def test_a_writer_that_stalls_moves_the_entry_before_it_announces_it(
    world: World, write: Callable[[DueJobs, Job], object], method: str, *, stalls_early: bool
) -> None:
    job = stored(world)
    faults = Faults()
    faults.interrupt("now" if stalls_early else method, lambda: world.advance(600), when=When.AFTER)
    write(due_jobs(world, faults), job)
    (message,) = world.queues.messages()
    written = world.store.get(message.message.job_id)
    assert written is not None
    assert written.history[-1].kind is EventKind.REFILED
    assert message.message.due_at == written.due_at == world.clock.now() == START + 10 * MINUTE


def test_a_job_due_later_keeps_its_place_when_its_writer_stalled(world: World) -> None:
    faults = Faults().interrupt("put", lambda: world.advance(6))
    job = a_new_job(run_at=START + 600 * SECOND)
    assert applied(due_jobs(world, faults).put(job, "caller")).due_at == job.run_at


def test_a_writer_that_always_stalls_gives_up(world: World) -> None:
    faults = Faults()
    for nth in range(1, 9):
        faults.interrupt("transition", lambda: world.advance(6), nth=nth)
    job = stored(world)
    with pytest.raises(Unavailable, match="stalls"):
        due_jobs(world, faults).move(job, AT_ONCE, CHANGE, "caller")
    assert bucket_of(world.clock.now()) == bucket_of(world.job(job).due_at or START)
    assert not world.queues.messages()


def test_a_refused_move_sends_nothing(world: World, due: DueJobs) -> None:
    job = make_job(status=JobStatus.RUNNING)
    assert due.move(job, AT_ONCE, partial(hand_back, reason="x"), "worker") == Refused(None)
    assert not world.queues.messages()


# --- puts ---------------------------------------------------------------------------------------


def test_a_put_whose_id_is_taken_is_refused(world: World, due: DueJobs) -> None:
    other = stored(world, history=(make_event(reason="another"),))
    assert due.put(a_new_job(), "caller") == Refused(other)
    assert due.put_many([a_new_job()], "caller") == [Refused(other)]
    assert not world.queues.messages()


def test_a_put_whose_answer_was_lost_is_known_again(world: World, due: DueJobs) -> None:
    first = applied(due.put(a_new_job(), "caller"))
    assert applied(due.put(a_new_job(), "caller")) == first


def test_a_schedule_s_job_that_is_there_is_the_caller_s_to_judge(
    world: World, due: DueJobs
) -> None:
    job = a_new_job(schedule_id="nightly")
    first = applied(due.put(job, "tick"))
    assert due.put(job, "tick") == Refused(first)


def test_many_jobs_are_judged_alone_and_sent_together(world: World) -> None:
    stored(world, id="b", history=(make_event(reason="another"),))
    faults = Faults()
    results = due_jobs(world, faults).put_many([a_new_job(i) for i in "abc"], "caller")
    assert [type(result) for result in results] == [Applied, Refused, Applied]
    assert [call.method for call in faults.calls].count("send") == 1
    assert {message.message.job_id for message in world.queues.messages()} == {"a", "c"}


def test_one_of_many_that_finds_no_place_holds_up_no_other(world: World) -> None:
    faults = Faults().throttle("read_shard_map")
    results = due_jobs(world, faults).put_many([a_new_job(i) for i in "ab"], "caller")
    assert [type(result) for result in results] == [Unavailable, Applied]
    assert [message.message.job_id for message in world.queues.messages()] == ["b"]


def test_one_of_many_that_cannot_be_stored_holds_up_no_other(
    world: World, due: DueJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_many = world.store.put_many

    def put_many_but_one(jobs: Sequence[Job]) -> list[Any]:
        return [Unavailable(), *put_many(jobs[1:])]

    monkeypatch.setattr(world.store, "put_many", put_many_but_one)
    results = due.put_many([a_new_job(i) for i in "ab"], "caller")
    assert [type(result) for result in results] == [Unavailable, Applied]
    assert [message.message.job_id for message in world.queues.messages()] == ["b"]


def test_messages_of_several_writes_can_be_sent_together(world: World) -> None:
    faults = Faults()
    due, waiting = due_jobs(world, faults), stored(world, id="b")
    put = applied(due.put(a_new_job("a"), "tick", announces=False))
    moved = applied(due.move(waiting, AT_ONCE, CHANGE, "tick", announces=False))
    assert not world.queues.messages()
    due.announce([put, moved], "tick")
    assert [call.method for call in faults.calls].count("send") == 1
    assert {message.message.job_id for message in world.queues.messages()} == {"a", "b"}


# --- entries that the sweep may have passed -----------------------------------------------------


def test_a_job_is_behind_once_the_sweep_may_have_closed_its_bucket(due: DueJobs) -> None:
    job = make_job(due_at=START)
    closed = START + MINUTE + due.timings.trail
    assert not due.is_behind(job, closed - 2 * SECOND)
    # Clocks may differ by as much as is tolerated without a correction.
    assert due.is_behind(job, closed - SECOND)
    assert not due.is_behind(make_job(due_at=None), closed)
    assert not due.is_behind(make_job(status=JobStatus.DEAD, due_at=START), closed)


def test_a_job_that_is_behind_is_moved_to_now_and_keeps_its_time(
    world: World, due: DueJobs
) -> None:
    job = stored(world, run_at=START, status=JobStatus.ENQUEUED)
    world.advance(600)
    moved = due.refile(job, "caller")
    assert (moved.due_at, moved.run_at) == (world.clock.now(), START)
    assert moved.history[-1].kind is EventKind.REFILED
    assert world.job(job) == moved
    (message,) = world.queues.messages()
    assert message.message.due_at == moved.due_at


def test_a_writer_that_stalls_while_moving_a_job_moves_it_again(world: World) -> None:
    job = stored(world, run_at=START)
    faults = Faults().interrupt("transition", lambda: world.advance(600))
    moved = due_jobs(world, faults).refile(job, "caller")
    assert moved.due_at == world.clock.now() == START + 600 * SECOND


@pytest.mark.parametrize("status", [JobStatus.SUCCEEDED, JobStatus.DEAD])
def test_a_job_that_ended_is_not_moved(due: DueJobs, status: JobStatus) -> None:
    for due_at in (None, START):
        job = make_job(status=status, due_at=due_at)
        assert due.refile(job, "caller") == job


def test_a_writer_too_late_to_move_a_job_goes_on_with_what_became_of_it(
    world: World, due: DueJobs
) -> None:
    job = make_job(run_at=START)
    assert due.refile(job, "caller") == job, "it is gone: nothing to move"
    world.store.put(job)
    put_off = world.change(job, delay_seconds=60)
    assert due.refile(job, "caller") == put_off


# --- messages that are not accepted -------------------------------------------------------------


@pytest.fixture
def announced(world: World) -> Job:
    return stored(world, status=JobStatus.ENQUEUED)


def test_nothing_is_sent_of_jobs_that_were_not_announced_or_began_already(world: World) -> None:
    faults = Faults()
    jobs = [
        make_job(status=JobStatus.PENDING),
        make_job(status=JobStatus.RUNNING),
        make_job(status=JobStatus.SUCCEEDED, enqueued_at=START),
    ]
    due_jobs(world, faults).announce(jobs, "caller")
    assert not faults.calls


def test_a_message_that_is_not_accepted_is_taken_back(
    world: World, due: DueJobs, announced: Job
) -> None:
    world.queues.behaviour.refuses = lambda _: "InternalError"
    due.announce([announced], "caller")
    job = world.job(announced)
    assert (job.status, job.enqueued_at) == (JobStatus.PENDING, None)
    assert (job.history[-1].kind, job.history[-1].reason) == (
        EventKind.SEND_FAILED,
        "InternalError",
    )
    assert world.telemetry.total("send_failures") == 1


def test_a_retry_that_could_not_be_sent_stays_a_retry(world: World, due: DueJobs) -> None:
    job = stored(world, status=JobStatus.RETRYING, enqueued_at=START)
    world.queues.behaviour.refuses = lambda _: "InternalError"
    due.announce([job], "caller")
    assert (world.job(job).status, world.job(job).enqueued_at) == (JobStatus.RETRYING, None)


ERRORS = [Unavailable(), OSError("KMS.DisabledException"), KeyError("Successful")]


@pytest.mark.parametrize("error", ERRORS)
def test_a_queue_without_an_answer_takes_every_message_back(
    world: World, announced: Job, error: Exception
) -> None:
    due_jobs(world, Faults().fail("send", error)).announce([announced], "caller")
    assert not world.job(announced).is_sent


@pytest.mark.parametrize("error", ERRORS)
def test_where_nothing_answers_the_sweep_detects_that_the_message_is_missing(
    world: World, announced: Job, error: Exception
) -> None:
    faults = Faults().fail("send", error).fail("transition", error)
    due_jobs(world, faults).announce([announced], "caller")
    assert world.job(announced).is_sent
    assert [line.sentence for line in world.telemetry.warnings] == [
        "SQS did not accept a message. The next tick sends it.",
        "Could not record the failed send. The sweep will detect that the message is "
        "missing and send it again.",
    ]
    world.settle()
    assert world.job(announced).status is JobStatus.SUCCEEDED


# --- moves while others append to the history ---------------------------------------------------

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


def _cancel(job: Job) -> Transition:
    return cancel_waiting(job, now=START, actor="caller", reason=LONG)


def test_a_move_is_built_anew_when_nothing_but_the_history_grew(world: World) -> None:
    job = _full_history()
    world.store.put(job)
    faults = Faults().interrupt("transition", partial(_append, world, job))
    after = applied(make_transition(faults.wrap(world.store), job, _cancel))
    assert after.status is JobStatus.CANCELLED
    kinds = [event.kind for event in after.history]
    assert kinds[-2:] == [EventKind.DISPATCHED_AGAIN, EventKind.CANCELLED], (
        "the other's event is kept"
    )


def test_a_history_that_never_stands_still_ends_the_tries(world: World) -> None:
    job = _full_history()
    world.store.put(job)
    faults = Faults()
    for nth in range(1, 99):
        faults.interrupt("transition", partial(_append, world, job), nth=nth)
    result = make_transition(faults.wrap(world.store), job, _cancel)
    assert isinstance(result, Refused)
    assert len(faults.calls) == MAX_REBUILDS


def test_a_move_that_another_clause_forbids_is_refused_at_once(world: World) -> None:
    job = _full_history()
    world.store.put(job)
    world.store.transition(_cancel(job))
    faults = Faults()
    build = partial(mark_enqueued, now=START, actor="tick")
    result = make_transition(faults.wrap(world.store), job, build)
    assert isinstance(result, Refused)
    assert len(faults.calls) == 1


def test_a_move_of_a_job_that_is_gone_is_refused(world: World) -> None:
    assert make_transition(world.store, make_job(), _cancel) == Refused(None)


def test_a_move_without_events_is_never_built_anew(world: World) -> None:
    job = stored(world, status=JobStatus.SUCCEEDED)
    faults = Faults()
    build = partial(keep_payload, kept_until=START)
    assert make_transition(faults.wrap(world.store), job, build) == Refused(job)
    assert len(faults.calls) == 1


# --- what comes before ---


class Before:
    """Notes the jobs of each write that is to come, and how many jobs are stored then."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.seen: list[tuple[list[tuple[str, int]], int]] = []

    def prepare(self, jobs: Sequence[Job]) -> None:
        named = [(job.id, job.generation) for job in jobs]
        self.seen.append((named, len(self.world.store.jobs())))


def test_what_comes_before_a_write_sees_the_jobs_as_it_will_leave_them(
    world: World, due: DueJobs
) -> None:
    before = Before(world)
    due.before_due = (before,)
    due.put(make_job(id="one"), "me")
    due.put_many([make_job(id="two"), make_job(id="three")], "me")
    job = world.job("one")
    due.move(job, MINUTE, CHANGE, "me")
    moved = world.job("one")
    assert moved.generation > job.generation
    assert before.seen == [
        ([("one", job.generation)], 0),
        ([("two", job.generation), ("three", job.generation)], 1),
        ([("one", moved.generation)], 3),
    ]


def test_nothing_is_written_if_what_comes_before_is_not_done(world: World, due: DueJobs) -> None:
    class Silent:
        def prepare(self, jobs: Sequence[Job]) -> None:
            raise Unavailable("It does not answer.")

    due.before_due = (Silent(),)
    with pytest.raises(Unavailable):
        due.put(make_job(id="one"), "me")
    results = due.put_many([make_job(id="two"), make_job(id="three")], "me")
    assert [type(result) for result in results] == [Unavailable, Unavailable]
    assert not world.store.jobs()
