"""The gate: schedules' jobs that may start, wait for room, or are told why they may not."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from hourhand.domain.jobs.job import EventKind, Job, JobStatus, OnLost
from hourhand.domain.jobs.transitions import Transition
from hourhand.domain.schedules.schedule import MISFIRE_GRACE, JournalEntry, SkipReason
from hourhand.domain.times import rfc3339
from hourhand.memory import START
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.job_store import Applied
from hourhand.ports.schedule_store import JournalPage
from hourhand.services.jobs.due import outgoing_of
from hourhand.services.jobs.execution import Disposition
from hourhand.services.limits.slot_admission import MAX_STOPS
from tests.world.factories import make_delivery, make_job, make_message
from tests.world.faults import Faults, When
from tests.world.occurrences import (
    SCHEDULE,
    drop_holder,
    end_run,
    held_in,
    job_id_of,
    let_failures_pause,
    nominal,
    put_occurrence,
    put_running,
    put_schedule,
    put_seated,
    put_unseated,
    reason_of,
    waiting_in,
)
from tests.world.runs import Behaviour, fail, fail_for_good, stop_if_told, succeed
from tests.world.world import World

SECOND = timedelta(seconds=1)


@pytest.fixture(autouse=True)
def schedule(world: World) -> None:
    put_schedule(world)


def _while_running(world: World, *steps: Any, then: Behaviour = succeed) -> Behaviour:
    """Return a handler during whose first run the steps are taken."""
    left = list(steps)

    def behave(job: Job, pulse: Pulse) -> Finished:
        while left:
            left.pop(0)()
        return then(job, pulse)

    return behave


def _hidden_for(world: World) -> timedelta:
    (message,) = world.queues.messages()
    return message.visible_at - world.clock.now()


# --- whom the gate lets pass --------------------------------------------------------------------


def test_a_job_of_no_schedule_is_not_judged(world: World) -> None:
    faults = Faults()
    world.submit()
    world.deliver(by=world.process(faults).worker)
    assert len(world.runs) == 1
    assert not {call.port for call in faults.calls} & {"schedules", "side_items"}


def test_a_message_that_says_so_of_a_job_of_no_schedule_is_worked_off_as_any_other(
    world: World,
) -> None:
    job = make_job(status=JobStatus.ENQUEUED)
    world.store.put(job)
    delivery = make_delivery(job, message=make_message(job, needs_admission=True))
    assert world.handle(delivery) is Disposition.DONE
    assert len(world.runs) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"status": JobStatus.SUCCEEDED},
        {"generation": 2},
        {"status": JobStatus.RUNNING},
    ],
    ids=["over", "changed", "running"],
)
def test_a_message_whose_job_moved_on_is_left_to_the_claim(
    world: World, change: dict[str, Any]
) -> None:
    job = make_job(id=job_id_of(0), schedule_id=SCHEDULE, occurrence=START, **change)
    world.store.put(job)
    faults = Faults()
    old = make_message(make_job(id=job_id_of(0), schedule_id=SCHEDULE))
    world.handle(make_delivery(job, message=old), by=world.process(faults).worker)
    assert not world.runs
    assert "schedules" not in {call.port for call in faults.calls}


def test_without_limits_nothing_is_written_but_the_claim(world: World) -> None:
    put_occurrence(world, 0, None)
    put_occurrence(world, 1, None)
    world.deliver(_while_running(world, world.deliver))
    assert len(world.runs) == 2
    assert not world.side_items.items()


def test_an_occurrence_takes_a_place_and_then_is_claimed(world: World) -> None:
    job = put_occurrence(world, 0)
    faults = Faults()
    world.deliver(by=world.process(faults).worker)
    assert world.job(job).status is JobStatus.SUCCEEDED
    assert held_in(world) == {job.id: 1}
    first = [call.method for call in faults.calls if call.method in {"write_item", "transition"}]
    assert first == ["write_item", "transition", "transition"], "its end writes nothing of a slot"


def test_a_job_keeps_its_slot_between_attempts_and_renews_it(world: World) -> None:
    job = put_occurrence(world, 0)
    world.deliver(fail)
    assert held_in(world) == {job.id: 1}
    world.advance(3)
    world.deliver()
    assert world.job(job).status is JobStatus.SUCCEEDED
    assert held_in(world) == {job.id: 2}


# --- what a schedule wants no more --------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"revision": 2}, "replaced"),
        ({"revision": 2, "paused_at": START}, "paused"),
        ({"revision": 2, "deleted_at": START}, "deleted"),
    ],
)
def test_what_a_schedule_wants_no_more_is_cancelled_with_the_reason(
    world: World, fields: dict[str, Any], reason: str
) -> None:
    job = put_occurrence(world, 0)
    put_schedule(world, **fields)
    assert world.deliver() == [Disposition.DONE]
    after = world.job(job)
    assert (after.status, reason_of(after), after.due_at) == (JobStatus.CANCELLED, reason, None)
    assert after.history[-1].actor == world.worker.execution.worker
    assert world.telemetry.total("occurrences_withdrawn") == 1
    assert not world.runs


def test_what_the_new_revision_may_still_adopt_waits_longer_with_each_look(world: World) -> None:
    job = put_occurrence(world, 0)
    put_schedule(world, revision=2, cursor=START - SECOND, next_at=START - SECOND)
    waits = []
    for _ in range(14):
        assert world.deliver() == [Disposition.KEEP]
        waits.append(_hidden_for(world))
        world.advance(waits[-1].total_seconds())
    assert waits[:3] == [5 * SECOND, 10 * SECOND, 15 * SECOND]
    assert waits[-2:] == [60 * SECOND, 60 * SECOND]
    put_schedule(world, cursor=START)
    world.deliver()
    assert reason_of(world.job(job)) == "replaced"


def test_a_late_job_waits_until_its_time_is_on_record_and_is_cancelled_if_it_was_skipped(
    world: World,
) -> None:
    """Another visit may have counted it as missed, and be about to note that."""
    job = put_occurrence(world, 0)
    put_schedule(world, cursor=START - SECOND, next_at=START - SECOND)
    world.advance_to(START + MISFIRE_GRACE - world.worker.execution.tools.timings.clock_margin)
    assert world.deliver() == [Disposition.KEEP]
    missed = JournalEntry(first=nominal(0), last=nominal(0), reason=SkipReason.MISFIRE)
    put_schedule(world, cursor=START, journal=(missed,))
    world.advance(_hidden_for(world).total_seconds())
    assert world.deliver() == [Disposition.DONE]
    assert reason_of(world.job(job)) == "misfire"
    assert not world.runs


@pytest.mark.parametrize("is_late", [False, True])
def test_only_a_late_job_is_looked_up_in_the_pages_of_the_journal(
    world: World, is_late: bool
) -> None:
    job = put_occurrence(world, 0)
    missed = JournalEntry(first=nominal(0), last=nominal(0), reason=SkipReason.MISFIRE)
    world.schedules.put_journal_page(SCHEDULE, JournalPage(entries=(missed,)))
    if is_late:
        world.advance_to(START + MISFIRE_GRACE)
    faults = Faults()
    world.deliver(by=world.process(faults).worker)
    assert ("read_journal" in {call.method for call in faults.calls}) is is_late
    after = world.job(job)
    assert after.status is (JobStatus.CANCELLED if is_late else JobStatus.SUCCEEDED)


@pytest.mark.parametrize("tag", ["", "backfill"])
def test_a_job_from_before_a_change_runs_if_a_page_of_the_journal_has_it(
    world: World, tag: str
) -> None:
    job = put_occurrence(world, 0)
    oldest = JournalEntry(first=nominal(-9), last=nominal(-9))
    entry = JournalEntry(first=nominal(0), last=nominal(0))
    world.schedules.put_journal_page(SCHEDULE, JournalPage(entries=(oldest,)))
    world.schedules.put_journal_page(SCHEDULE, JournalPage(entries=(entry,), tag=tag))
    put_schedule(world, revision=2, effective_from=START + SECOND)
    assert world.deliver() == [Disposition.DONE]
    after = world.job(job)
    assert after.status is (JobStatus.CANCELLED if tag else JobStatus.SUCCEEDED)


@pytest.mark.parametrize(
    ("is_replaced", "reason", "metric", "disposition"),
    [
        (True, "replaced", "occurrences_withdrawn", Disposition.KEEP),
        (False, "overlap", "occurrences_skipped", Disposition.DONE),
    ],
)
def test_a_job_that_is_changed_as_it_is_cancelled_is_looked_at_again(
    world: World, is_replaced: bool, reason: str, metric: str, disposition: Disposition
) -> None:
    put_running(world, 0, lease_until=START + 45 * SECOND)
    job = put_occurrence(world, 1)
    if is_replaced:
        put_schedule(world, revision=2)
    faults = Faults().interrupt("jobs.transition", lambda: world.change(job, priority="high"))
    (delivery,) = world.receive()
    assert world.handle(delivery, by=world.process(faults).worker) is disposition
    assert world.telemetry.total(metric) == 0
    world.deliver()
    assert reason_of(world.job(job)) == reason
    assert world.telemetry.total(metric) == 1


# --- overlap ------------------------------------------------------------------------------------


def test_under_skip_an_occurrence_that_meets_another_is_cancelled(world: World) -> None:
    first = put_occurrence(world, 0)
    second = partial(put_occurrence, world, 1)
    world.deliver(_while_running(world, second, world.deliver))
    assert world.job(first).status is JobStatus.SUCCEEDED
    skipped = world.job(job_id_of(1))
    assert (skipped.status, reason_of(skipped)) == (JobStatus.CANCELLED, "overlap")
    assert world.telemetry.total("occurrences_skipped") == 1
    sentence = "An occurrence was cancelled before it began."
    [told] = [line.fields for line in world.telemetry.logs if line.sentence == sentence]
    assert (told["job_id"], told["reason"]) == (job_id_of(1), "overlap")
    assert (told["schedule_id"], told["occurrence"]) == (SCHEDULE, rfc3339(nominal(1)))
    third = put_occurrence(world, 2)
    world.deliver()
    assert world.job(third).status is JobStatus.SUCCEEDED, "the first one ended"


def test_as_many_run_side_by_side_as_may(world: World) -> None:
    for number in range(2):
        put_occurrence(world, number, max_running=2)
    third = partial(put_occurrence, world, 2, max_running=2)
    (one, other) = world.receive()
    inner = _while_running(world, third, world.deliver)
    world.handle(one, _while_running(world, partial(world.handle, other, inner)))
    assert reason_of(world.job(job_id_of(2))) == "overlap"
    assert len(world.runs) == 2


def test_a_job_waits_without_a_message_and_gets_the_slot_of_the_one_that_ends(world: World) -> None:
    put_occurrence(world, 0, "buffer_all")
    later = partial(put_occurrence, world, 1, "buffer_all")
    seen: list[Job] = []

    def look() -> None:
        seen.append(world.job(job_id_of(1)))

    world.deliver(_while_running(world, later, world.deliver, look))
    (waiting,) = seen
    assert (waiting.run_at, waiting.due_at) == (START, START)
    assert (waiting.history[-1].kind, reason_of(waiting)) == (EventKind.PARKED, "waits for a slot")
    assert (world.job(waiting), held_in(world)) == (waiting, {waiting.id: 1})
    assert world.telemetry.total("jobs_parked") == 1
    assert world.telemetry.total("slots_granted") == 1
    world.deliver()
    assert world.job(waiting).status is JobStatus.SUCCEEDED


def test_those_that_wait_run_in_the_order_of_their_times(world: World) -> None:
    put_occurrence(world, 0, "buffer_all")
    others = [partial(put_occurrence, world, number, "buffer_all") for number in (3, 1, 2)]
    world.deliver(_while_running(world, *others, world.deliver))
    world.settle()
    ran = [run.job.occurrence for run in world.runs]
    assert ran == [nominal(number) for number in range(4)]


def test_further_ones_than_may_wait_are_cancelled(world: World) -> None:
    put_occurrence(world, 0, "buffer_one")
    others = [partial(put_occurrence, world, number, "buffer_one") for number in (1, 2)]
    world.deliver(_while_running(world, *others, world.deliver))
    full = world.job(job_id_of(2))
    assert (full.status, reason_of(full)) == (JobStatus.CANCELLED, "buffer full")
    world.settle()
    assert world.job(job_id_of(1)).status is JobStatus.SUCCEEDED


def test_under_cancel_other_a_running_one_is_asked_to_stop_once(world: World) -> None:
    first = put_occurrence(world, 0, "cancel_other")
    second = partial(put_occurrence, world, 1, "cancel_other")

    def come_again() -> None:
        world.queues.send([outgoing_of(world.job(job_id_of(1)), START, timedelta(0))])
        world.deliver()

    world.deliver(_while_running(world, second, world.deliver, come_again, then=stop_if_told))
    stopped = world.job(first)
    assert stopped.status is JobStatus.CANCELLED
    asked = [e for e in stopped.history if e.kind is EventKind.CANCEL_REQUESTED]
    assert [event.reason for event in asked] == ["overlap"]
    world.deliver()
    assert world.job(job_id_of(1)).status is JobStatus.SUCCEEDED, "it got the slot at once"


def test_under_cancel_other_one_that_waits_for_its_retry_is_cancelled(world: World) -> None:
    first = put_occurrence(world, 0, "cancel_other")
    world.deliver(fail)
    second = put_occurrence(world, 1, "cancel_other")
    world.deliver()
    assert (world.job(first).status, reason_of(world.job(first))) == (
        JobStatus.CANCELLED,
        "overlap",
    )
    assert world.job(second).status is JobStatus.SUCCEEDED
    assert world.telemetry.total("occurrences_skipped") == 1


def test_under_cancel_other_a_holder_that_ends_as_it_is_asked_is_left_alone(world: World) -> None:
    put_running(world, 0, "cancel_other", lease_until=START + 45 * SECOND)
    second = put_occurrence(world, 1, "cancel_other")
    faults = Faults().interrupt("jobs.transition", partial(end_run, world, 0), nth=2)
    world.deliver(by=world.process(faults).worker)
    assert world.job(job_id_of(0)).status is JobStatus.SUCCEEDED
    assert world.job(second).status is JobStatus.SUCCEEDED


def _take_over(world: World, token: int) -> None:
    """Let the first job have another owner."""
    move = Transition(name="take_over", job_id=job_id_of(0), expect={}, sets={"token": token})
    assert isinstance(world.store.transition(move), Applied)


def test_under_cancel_other_a_holder_that_changes_all_the_time_is_left_to_its_end(
    world: World,
) -> None:
    put_running(world, 0, "cancel_other", lease_until=START + 45 * SECOND)
    second = put_occurrence(world, 1, "cancel_other")
    faults = Faults()
    for nth in range(2, 2 + MAX_STOPS):
        faults.interrupt("jobs.transition", partial(_take_over, world, nth), nth=nth)
    world.deliver(by=world.process(faults).worker)
    assert world.job(job_id_of(0)).cancel_requested_at is None
    assert world.job(second).waits_for is not None


def test_under_cancel_other_an_older_job_that_got_the_slot_meanwhile_is_asked_to_stop(
    world: World,
) -> None:
    put_running(world, 0, "cancel_other", lease_until=START + 45 * SECOND)
    newest = put_occurrence(world, 2, "cancel_other")

    def give_the_slot_to_another() -> None:
        end_run(world, 0)
        drop_holder(world, job_id_of(0))
        put_running(world, 1, "cancel_other", lease_until=START + 45 * SECOND)

    faults = Faults().interrupt("side_items.write_item", give_the_slot_to_another)
    world.deliver(by=world.process(faults).worker)
    assert world.job(job_id_of(1)).cancel_requested_at == START
    assert world.job(newest).status is JobStatus.ENQUEUED


def test_a_job_that_is_changed_as_it_is_parked_is_looked_at_again(world: World) -> None:
    put_occurrence(world, 0, "buffer_all")
    later = partial(put_occurrence, world, 1, "buffer_all")
    answers: list[Disposition] = []

    def meet() -> None:
        faults = Faults()
        step = partial(world.change, job_id_of(1), priority="high")
        faults.interrupt("side_items.write_item", step, when=When.AFTER)
        (delivery,) = world.receive()
        answers.append(world.handle(delivery, by=world.process(faults).worker))

    world.deliver(_while_running(world, later, meet))
    assert answers == [Disposition.KEEP]
    world.settle()
    assert world.job(job_id_of(1)).status is JobStatus.SUCCEEDED


def test_an_end_that_finds_no_job_parked_yet_is_noticed_by_the_job_that_parks(world: World) -> None:
    put_running(world, 0, "buffer_all")
    waiting = put_occurrence(world, 1, "buffer_all")
    faults = Faults().interrupt("jobs.transition", partial(end_run, world, 0))
    assert world.deliver(by=world.process(faults).worker) == [Disposition.DONE]
    assert world.telemetry.total("jobs_parked") == 1
    assert world.job(waiting).status is JobStatus.SUCCEEDED, "it goes on at once"


@pytest.mark.parametrize("policy", ["skip", "buffer_all", "cancel_other"])
def test_waiters_that_were_all_cancelled_keep_no_job_out(world: World, policy: str) -> None:
    for number in range(20):
        over = put_occurrence(world, number, policy, status=JobStatus.CANCELLED, due_at=None)
        put_seated(world, over, seat=number)
    job = put_occurrence(world, 10 if policy == "cancel_other" else 50, policy, id="mine")
    world.deliver()
    assert world.job(job).status is JobStatus.SUCCEEDED
    assert waiting_in(world) == [], "the first job that comes deletes their records"


def test_a_job_that_is_caught_up_and_one_with_a_seat_start_in_the_order_of_their_times(
    world: World,
) -> None:
    put_occurrence(world, 0, "buffer_all")
    others = [
        partial(put_occurrence, world, number, "buffer_all", buffer_limit=limit)
        for number, limit in ((4, 100), (3, 100), (2, 100), (5, 1_000), (1, 1_000))
    ]
    world.deliver(_while_running(world, *others, world.deliver))
    world.settle()
    assert [run.job.occurrence for run in world.runs] == [nominal(n) for n in range(6)]


def test_a_waiter_without_a_seat_that_does_not_wait_keeps_no_job_out(world: World) -> None:
    put_running(world, 0, "buffer_one")
    over = put_occurrence(world, 1, "buffer_one", status=JobStatus.CANCELLED, due_at=None)
    put_unseated(world, over)
    job = put_occurrence(world, 2, "buffer_one")
    world.deliver()
    assert waiting_in(world) == [job.id]


def test_a_job_that_waits_without_a_seat_takes_the_place_of_one(world: World) -> None:
    put_occurrence(world, 0, "buffer_one")
    caught_up = partial(put_occurrence, world, 1, "buffer_all", buffer_limit=1_000)
    later = partial(put_occurrence, world, 2, "buffer_one")
    world.deliver(_while_running(world, caught_up, later, world.deliver))
    assert reason_of(world.job(job_id_of(2))) == "buffer full"


# --- races for a place --------------------------------------------------------------------------


def test_of_two_that_see_the_same_free_place_one_takes_it(world: World) -> None:
    one, other = put_occurrence(world, 0), put_occurrence(world, 1)
    first, second = world.receive()
    faults = Faults().interrupt("side_items.write_item", partial(world.handle, second, fail))
    assert world.handle(first, by=world.process(faults).worker) is Disposition.DONE
    assert [run.job.id for run in world.runs] == [other.id]
    assert (world.job(one).status, reason_of(world.job(one))) == (JobStatus.CANCELLED, "overlap")


def test_calls_without_an_answer_are_made_again(world: World) -> None:
    put_occurrence(world, 0)
    faults = Faults()
    methods = ("jobs.get", "side_items.query_items", "schedules.get", "side_items.write_item")
    for method in methods:
        faults.throttle(method, times=2)
    faults.lose_answer("side_items.write_item", nth=3)
    world.deliver(by=world.process(faults).worker)
    assert len(world.runs) == 1
    assert held_in(world) == {job_id_of(0): 1}, "its own write is known again"


# --- after a failure ----------------------------------------------------------------------------


def _fail_and_meet(world: World, policy: str | None, **fields: Any) -> Job:
    """Let one fail for good, and the next come before its schedule is paused."""
    put_occurrence(world, 0, policy, pauses_schedule=True, **fields)
    world.deliver(fail_for_good)
    following = put_occurrence(world, 1, policy, pauses_schedule=True)
    assert world.deliver() == [Disposition.KEEP]
    assert not world.queues.dead_letters, "that is left to who may pause the schedule"
    return following


@pytest.mark.parametrize("policy", [None, "skip"])
def test_nothing_runs_between_a_failure_and_the_pause_for_it(
    world: World, policy: str | None
) -> None:
    let_failures_pause(world)
    following = _fail_and_meet(world, policy)
    world.settle()
    after = world.job(following)
    assert (after.status, reason_of(after)) == (JobStatus.CANCELLED, "paused")
    assert len(world.runs) == 1
    assert len(world.queues.dead_letters) == 1
    stored = world.schedules.get(SCHEDULE)
    assert stored is not None
    assert stored.paused_at is not None


def test_a_failure_that_a_skipped_one_lies_after_is_seen_by_its_place(world: World) -> None:
    let_failures_pause(world)
    put_occurrence(world, 0, pauses_schedule=True)
    second = partial(put_occurrence, world, 1, pauses_schedule=True)
    world.deliver(_while_running(world, second, world.deliver, then=fail_for_good))
    third = put_occurrence(world, 2, pauses_schedule=True)
    assert world.deliver() == [Disposition.KEEP]
    world.settle()
    assert reason_of(world.job(third)) == "paused"


def test_a_job_that_dies_with_its_worker_gives_its_place_up_when_it_is_recovered(
    world: World,
) -> None:
    dead = put_running(world, 0, on_lost=OnLost.DEAD)
    put_occurrence(world, 1)
    world.deliver()
    assert reason_of(world.job(job_id_of(1))) == "overlap", "its lease may still be alive"
    world.advance(48)
    world.tick()
    assert world.job(dead).status is JobStatus.DEAD
    third = put_occurrence(world, 2)
    world.deliver()
    assert world.job(third).status is JobStatus.SUCCEEDED
