"""What the sweep decides about a job: every branch of one pure function."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from hourhand.domain.jobs.actions import (
    Action,
    Dispatch,
    DispatchAgain,
    Expire,
    Finish,
    Hold,
    KeepPayload,
    Leave,
    LeaveQueue,
    OutOfQueue,
    PutOff,
    QueueView,
    Recheck,
    Recover,
    SweepContext,
    Wake,
    after_recheck,
    needs_payload_renewal,
    next_action,
    redispatch_wait,
)
from hourhand.domain.jobs.job import FINAL, EventKind, Job, JobStatus, Priority
from hourhand.domain.jobs.pauses import NO_PAUSES, PUT_OFF_AFTER, PUT_OFF_BY, HandlerPauses
from hourhand.domain.jobs.transitions import mark_dispatched_again
from hourhand.domain.jobs.waiting import PAUSE, WaitKind, WaitsFor
from hourhand.domain.ticks.timings import Timings
from tests.unit.domain.job_samples import (
    NOW,
    a_final_job,
    a_job,
    a_retrying_job,
    a_running_job,
    a_sent_job,
    after,
    an_abandoned_job,
)
from tests.world.factories import make_event

TIMINGS = Timings()
MISSED = DispatchAgain(Priority.MEDIUM, "message missed")
WAITED = DispatchAgain(Priority.MEDIUM, "waited too long")
AGED = DispatchAgain(Priority.HIGH, "waited too long")
EMPTY = QueueView(0)


def decide(job: Job, now: datetime = NOW, view: QueueView | None = None) -> Action:
    queues = {} if view is None else dict.fromkeys(Priority, view)
    return next_action(job, SweepContext(now, now + TIMINGS.look_ahead, TIMINGS, queues))


def in_days(days: float) -> datetime:
    return after(days * 86_400)


HIGH = {"priority": Priority.HIGH, "queue": Priority.HIGH}
LOW = {"priority": Priority.LOW, "queue": Priority.LOW}
FULL = QueueView(1_000_000)
YOUNGER = QueueView(1000, oldest_sent_at=after(-299))
OLDER = QueueView(1000, oldest_sent_at=after(-400))
WAITING = (JobStatus.PENDING, JobStatus.ENQUEUED, JobStatus.RETRYING)
SOON_GONE = in_days(1)

DECISIONS: dict[str, list[tuple[Job, float, QueueView | None, Action]]] = {
    "a running job with a lease is left alone": [
        (a_running_job(), 0, None, Leave()),
        (a_running_job(expires_at=after(-100)), 0, None, Leave()),
    ],
    "a running job without a lease is not judged by it": [
        (a_running_job(lease_until=None), 0, None, Leave())
    ],
    "a waiting job expires at its time": [
        *((a_job(status=each, expires_at=NOW), 0, None, Expire()) for each in WAITING),
        *((a_job(status=each, expires_at=after(0.001)), 0, None, Dispatch()) for each in WAITING),
    ],
    "a job expires though it is not due": [
        (a_job(due_at=after(9000), expires_at=after(-1)), 0, None, Expire())
    ],
    "a waiting job that is not due at all is left alone": [(a_job(due_at=None), 0, None, Leave())],
    "a job sent ahead is left alone until it is missed": [
        (a_sent_job(due_at=after(60)), 0, None, Leave()),
        (a_sent_job(), 59.999, None, Leave()),
        (a_sent_job(), 60, None, MISSED),
    ],
    "a message that may still wait in its queue is not sent again": [
        (a_sent_job(queue=Priority.HIGH), 300, OLDER, Leave())
    ],
    "a message older than the oldest must have been lost": [(a_sent_job(), 60, YOUNGER, MISSED)],
    "an empty queue explains nothing": [
        (a_sent_job(), 60, EMPTY, MISSED),
        (a_sent_job(), 60, QueueView(0, oldest_sent_at=after(-900)), MISSED),
    ],
    "after a hard cap no explanation helps": [
        (a_sent_job(), 1799.999, FULL, Leave()),
        (a_sent_job(), 1800, FULL, WAITED),
        (a_sent_job(enqueued_at=after(1800)), 3599, FULL, Leave()),
    ],
    "a job of medium priority ages once": [
        (a_sent_job(enqueued_at=after(3590)), 3600, EMPTY, AGED),
    ],
    "a job that was never sent goes to its own queue first": [
        (a_job(**LOW), 9000, None, Dispatch())
    ],
    "a job of high priority does not age": [
        (a_sent_job(**HIGH, enqueued_at=after(7190)), 7200, None, Leave())
    ],
    "a payload near its end is kept longer": [
        (a_job(due_at=in_days(30), payload_kept_until=in_days(89.9)), 0, None, KeepPayload()),
        (a_job(due_at=in_days(30), payload_kept_until=in_days(90)), 0, None, Leave()),
        (a_job(due_at=in_days(30), payload_kept_until=None), 0, None, Leave()),
    ],
    "a renewal never holds up what is due": [
        (a_job(payload_kept_until=SOON_GONE), 0, None, Dispatch()),
        (a_sent_job(payload_kept_until=SOON_GONE), 60, None, MISSED),
        (a_sent_job(payload_kept_until=SOON_GONE), 59, None, KeepPayload()),
        (a_job(payload_kept_until=SOON_GONE, expires_at=NOW), 0, None, Expire()),
    ],
}


@pytest.mark.parametrize("cases", DECISIONS.values(), ids=DECISIONS)
def test_a_decision(cases: list[tuple[Job, float, QueueView | None, Action]]) -> None:
    for job, seconds, view, action in cases:
        assert decide(job, after(seconds), view) == action


# --- final ---


@pytest.mark.parametrize("status", sorted(FINAL))
def test_a_final_job_in_the_index_is_finished(status: JobStatus) -> None:
    assert decide(a_final_job(status, due_at=NOW, shard=0)) == Finish()
    assert decide(a_final_job(status, due_at=None, shard=None)) == Leave()


@pytest.mark.parametrize(
    ("seconds_over", "action"),
    [(0, Leave()), (1.999, Leave()), (2, Leave()), (2.001, Recover()), (3600, Recover())],
)
def test_a_job_is_recovered_only_beyond_the_margin(seconds_over: float, action: Action) -> None:
    job = an_abandoned_job(lease_until=after(-seconds_over))
    assert decide(job) == action


# --- dispatch ---


@pytest.mark.parametrize(
    ("due", "action"),
    [(-604_800, Dispatch()), (0, Dispatch()), (300, Dispatch()), (300.001, Leave())],
)
def test_a_job_never_sent_is_dispatched_within_the_look_ahead(due: float, action: Action) -> None:
    assert decide(a_job(due_at=after(due))) == action
    assert decide(a_retrying_job(due_at=after(due), enqueued_at=None)) == action


def test_a_wider_horizon_reaches_further() -> None:
    job = a_job(due_at=after(400))
    assert next_action(job, SweepContext(NOW, after(400), TIMINGS)) == Dispatch()


# --- dispatch again ---


def _resend_times(job: Job, view: QueueView | None, hours: float) -> list[int]:
    """Sweep every second, mark what is sent again; return the seconds past noon of each."""
    times = []
    for second in range(int(hours * 3600)):
        now = after(second)
        action = decide(job, now, view)
        if isinstance(action, DispatchAgain):
            times.append(second)
            move = mark_dispatched_again(
                job, now=now, actor="scheduler", queue=action.queue, reason=action.reason
            )
            job = move.apply(job)
    return times


def test_a_missed_message_is_sent_again_60_120_240_seconds_after_due_and_so_on() -> None:
    assert _resend_times(a_sent_job(queue=Priority.HIGH), None, 1) == [
        60,
        120,
        240,
        480,
        960,
        960 + 900,
        960 + 1800,
    ]


@pytest.mark.parametrize(
    ("sent_after_due", "wait"),
    [(-300, 60), (0, 60), (59, 60), (60, 60), (61, 61), (480, 480), (900, 900), (604_800, 900)],
)
def test_the_next_wait_is_what_has_passed_since_due_within_its_bounds(
    sent_after_due: float, wait: float
) -> None:
    assert redispatch_wait(NOW, after(sent_after_due), TIMINGS) == timedelta(seconds=wait)


def test_only_the_jobs_own_queue_explains_it() -> None:
    job = a_sent_job(queue=Priority.HIGH)
    now = after(60)
    full, own = QueueView(5), {Priority.HIGH: EMPTY}
    queues = {Priority.LOW: full, Priority.MEDIUM: full, **own}
    judgement = SweepContext(now, now + TIMINGS.look_ahead, TIMINGS, queues)
    assert next_action(job, judgement) == DispatchAgain(Priority.HIGH, "message missed")


@pytest.mark.parametrize(
    ("view", "sent_at", "explains"),
    [
        (QueueView(0), NOW, False),
        (QueueView(3), NOW, True),
        (QueueView(3, oldest_sent_at=NOW), NOW, True),
        (QueueView(3, oldest_sent_at=after(1)), NOW, False),
        (QueueView(3, oldest_sent_at=after(-1)), NOW, True),
    ],
)
def test_a_queue_explains_what_is_not_older_than_its_oldest_message(
    view: QueueView, sent_at: datetime, *, explains: bool
) -> None:
    assert view.explains(sent_at) is explains


# --- aging ---


def test_a_job_ages_from_low_to_medium_to_high_an_hour_each() -> None:
    full = QueueView(1_000_000)
    low = a_sent_job(priority=Priority.LOW, queue=Priority.LOW, enqueued_at=after(3500))
    assert decide(low, after(3599), full) == Leave()
    assert decide(low, after(3600), full) == DispatchAgain(Priority.MEDIUM, "waited too long")
    medium = replace(low, queue=Priority.MEDIUM, enqueued_at=after(3600))
    assert decide(medium, after(3601), full) == Leave()
    assert decide(replace(medium, enqueued_at=after(7199)), after(7199), full) == Leave()
    assert decide(medium, after(7200), full) == AGED
    high = replace(medium, queue=Priority.HIGH, enqueued_at=after(7200))
    assert decide(high, after(7260), full) == Leave()


def test_a_job_that_was_first_sent_after_an_outage_ages_from_then_on() -> None:
    """Else the tick after the first would send a whole day's backlog again, all of it to `high`."""
    events = (
        make_event(at=NOW - timedelta(days=1)),
        make_event(kind=EventKind.ENQUEUED, at=NOW, status=JobStatus.ENQUEUED),
    )
    job = a_sent_job(due_at=NOW - timedelta(days=1), enqueued_at=NOW, history=events)
    full = QueueView(20_000)
    assert decide(job, after(60), full) == Leave()
    assert decide(job, after(3599), full) != AGED
    again = make_event(kind=EventKind.DISPATCHED_AGAIN, at=after(1800), status=JobStatus.ENQUEUED)
    sent_again = replace(job, enqueued_at=after(1800), history=(*events, again))
    assert decide(sent_again, after(3599), full) == Leave()
    assert decide(sent_again, after(3600), full) == AGED


# --- payloads ---


def test_what_is_left_of_a_payload_counts_from_when_the_job_is_due() -> None:
    job = a_job(payload_kept_until=in_days(60))
    assert not needs_payload_renewal(job, NOW, TIMINGS)
    assert needs_payload_renewal(job, after(1), TIMINGS)
    assert not needs_payload_renewal(replace(job, payload_kept_until=None), after(1), TIMINGS)


# --- pauses of handlers ---

HANDLER = a_job().handler
PAUSED = NO_PAUSES.paused(HANDLER, after(-3600), until=after(60), note=None)
RESUMED = PAUSED.resumed(HANDLER, NOW)
PARKED = WaitsFor(WaitKind.SLOT, PAUSE, rank=1)
SLOT = WaitsFor(WaitKind.SLOT, "0", rank=1)


def decide_under(pauses: HandlerPauses, job: Job) -> Action:
    return next_action(job, SweepContext(NOW, NOW + TIMINGS.look_ahead, TIMINGS, pauses=pauses))


@pytest.mark.parametrize(
    ("job", "pauses", "action"),
    [
        # While the pause holds, nothing is sent, and only an old entry moves.
        (a_job(), PAUSED, Hold()),
        (a_job(due_at=after(59)), PAUSED, Hold()),
        (a_job(due_at=after(60)), PAUSED, Dispatch()),
        (a_sent_job(enqueued_at=after(-600), due_at=after(-600)), PAUSED, Hold()),
        (a_retrying_job(), PAUSED, Hold()),
        (a_job(waits_for=PARKED, enqueued_at=after(-3600)), PAUSED, Hold()),
        (a_job(due_at=NOW - PUT_OFF_AFTER), PAUSED, PutOff(NOW + PUT_OFF_BY)),
        (a_job(waits_for=SLOT), PAUSED, LeaveQueue()),
        # What else is to be done with a job is done.
        (a_job(expires_at=NOW), PAUSED, Expire()),
        (an_abandoned_job(), PAUSED, Recover()),
        (a_job(payload_kept_until=SOON_GONE), PAUSED, KeepPayload()),
        (a_job(), NO_PAUSES.paused("other", NOW, until=None, note=None), Dispatch()),
        # After it, what was parked is woken, unless its worker is about to look again.
        (a_job(), RESUMED, Dispatch()),
        (a_job(waits_for=PARKED, enqueued_at=after(-60)), RESUMED, Wake()),
        (a_job(waits_for=PARKED, enqueued_at=after(-60)), NO_PAUSES, Wake()),
        (a_job(waits_for=PARKED, enqueued_at=after(-59)), RESUMED, Leave()),
        (a_job(waits_for=PARKED, enqueued_at=after(-60), due_at=after(3600)), RESUMED, Wake()),
        # What waits for another limit is not the pause's: its queue says whether a slot is free.
        (a_job(waits_for=SLOT, enqueued_at=after(-60)), RESUMED, Recheck()),
        (a_job(waits_for=SLOT, enqueued_at=after(-60)), NO_PAUSES, Recheck()),
        (a_job(waits_for=SLOT, enqueued_at=after(-59)), NO_PAUSES, Leave()),
        (a_job(waits_for=SLOT), NO_PAUSES, Leave()),
        (a_job(waits_for=SLOT, enqueued_at=after(-60), expires_at=NOW), NO_PAUSES, Expire()),
        (
            a_job(waits_for=SLOT, enqueued_at=after(-60), due_at=NOW - PUT_OFF_AFTER),
            NO_PAUSES,
            PutOff(NOW + PUT_OFF_BY),
        ),
        (a_job(waits_for=WaitsFor(WaitKind.TIME), enqueued_at=after(-60)), NO_PAUSES, Leave()),
    ],
)
def test_the_jobs_of_a_paused_handler_are_held_and_then_woken(
    job: Job, pauses: HandlerPauses, action: Action
) -> None:
    assert decide_under(pauses, job) == action


# --- parked jobs that stand in no wait queue ---

PARKED_EVENT = make_event(kind=EventKind.PARKED, at=NOW, status=JobStatus.ENQUEUED)
GRANTED = OutOfQueue(after(600), slot_shard=2)
SENT = QueueView(1, oldest_sent_at=after(600))


def a_waiter(sent_again_at: float | None = None) -> Job:
    """Return a job that was parked at NOW, and maybe sent again since."""
    waits_for = WaitsFor(WaitKind.SLOT, "0")
    parked = a_sent_job(waits_for=waits_for, enqueued_at=NOW, history=(PARKED_EVENT,))
    if sent_again_at is None:
        return parked
    at = after(sent_again_at)
    again = make_event(kind=EventKind.DISPATCHED_AGAIN, at=at, status=JobStatus.ENQUEUED)
    return replace(parked, enqueued_at=at, history=(PARKED_EVENT, again))


@pytest.mark.parametrize(
    ("job", "found", "seconds", "view", "action"),
    [
        (a_waiter(), GRANTED, 659, EMPTY, None),
        (a_waiter(), GRANTED, 660, EMPTY, "message missed"),
        (a_waiter(), GRANTED, 660, SENT, None),
        (a_waiter(), GRANTED, 2399, SENT, None),
        (a_waiter(), GRANTED, 2400, SENT, "waited too long"),
        (a_waiter(sent_again_at=700), GRANTED, 799, EMPTY, None),
        (a_waiter(sent_again_at=700), GRANTED, 800, EMPTY, "message missed"),
        (a_waiter(), OutOfQueue(), 60, SENT, "is in no queue"),
        (a_waiter(sent_again_at=700), OutOfQueue(), 1399, EMPTY, None),
        (a_waiter(sent_again_at=700), OutOfQueue(), 1400, EMPTY, "message missed"),
        (a_waiter(sent_again_at=700), OutOfQueue(), 1400, SENT, None),
        (replace(a_waiter(), history=()), OutOfQueue(), 60, SENT, "is in no queue"),
    ],
)
def test_a_job_that_has_left_its_queue_is_sent_by_the_rule_of_all_jobs(
    job: Job, found: OutOfQueue, seconds: float, view: QueueView, action: str | None
) -> None:
    queues = dict.fromkeys(Priority, view)
    judgement = SweepContext(after(seconds), after(seconds), TIMINGS, queues)
    expected = Leave() if action is None else DispatchAgain(job.queue, action, found.slot_shard)
    assert after_recheck(job, found, judgement) == expected
