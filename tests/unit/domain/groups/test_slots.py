"""Who may start, who waits and who is skipped, by the slots of the group as they were read."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from hourhand.domain.groups.overlap import Overlap, OverlapPolicy, Slots
from hourhand.domain.groups.slots import (
    LOOKED_UP,
    WAITS_FOR_SLOT,
    Admit,
    Skip,
    Wait,
    decide_place,
    ids_next_in_line,
    ids_of_the_rest,
    ids_to_look_up,
    next_in_line,
    rank_of,
    waiting_for_group,
)
from hourhand.domain.jobs.job import EventKind, Job, JobStatus
from hourhand.domain.schedules.schedule import SkipReason
from hourhand.domain.ticks.timings import Timings
from hourhand.memory import START
from hourhand.testing import make_event, make_job

SECOND = timedelta(seconds=1)
NOW = START + timedelta(hours=1)
TIMINGS = Timings()
EVERY_POLICY = pytest.mark.parametrize("policy", list(OverlapPolicy))
WAITING_POLICIES = pytest.mark.parametrize(
    "policy", [OverlapPolicy.BUFFER_ONE, OverlapPolicy.BUFFER_ALL]
)


def _at(number: int) -> datetime:
    return START + number * 60 * SECOND


def _job(number: int, **overrides: Any) -> Job:
    """Return an occurrence that is due: higher numbers are later ones."""
    fields: dict[str, Any] = {
        "id": f"o{number}",
        "status": JobStatus.ENQUEUED,
        "run_at": _at(number),
        "due_at": NOW,
        "schedule_id": "nightly",
        "occurrence": _at(number),
        **overrides,
    }
    return make_job(**fields)


def _running(number: int, **overrides: Any) -> Job:
    return _job(number, status=JobStatus.RUNNING, **overrides)


def _done(number: int, status: JobStatus = JobStatus.SUCCEEDED) -> Job:
    return _job(number, status=status, due_at=None)


def _waiting(number: int) -> Job:
    return _job(number, due_at=NOW + 60 * SECOND)


def _overlap(policy: OverlapPolicy = OverlapPolicy.SKIP, **fields: Any) -> Overlap:
    return Overlap(group="nightly", policy=policy, **fields)


def _slots(holders: tuple[Job, ...] = (), waiting: tuple[Job, ...] = ()) -> Slots:
    line = tuple(rank_of(job, _overlap()) for job in waiting)
    ids = tuple(job.id for job in holders)
    return Slots(group="nightly", sequence=4, write_id="old", holders=ids, waiting=line)


def _decide(
    job: Job,
    overlap: Overlap,
    holders: tuple[Job, ...] = (),
    waiting: tuple[Job, ...] = (),
    gone: tuple[str, ...] = (),
) -> Admit | Skip | Wait:
    known: dict[str, Job | None] = {j.id: j for j in (*holders, *waiting) if j.id != job.id}
    known |= dict.fromkeys(gone)
    return decide_place(
        job, overlap, _slots(holders, waiting), known, now=NOW, timings=TIMINGS, write_id="new"
    )


def _stored(decision: Admit | Skip | Wait) -> tuple[tuple[str, ...], tuple[str, ...]]:
    assert isinstance(decision, Admit | Wait)
    assert decision.slots is not None
    assert (decision.slots.sequence, decision.slots.write_id) == (5, "new")
    return decision.slots.holders, tuple(job_id for _, job_id in decision.slots.waiting)


# --- what is told of a wait ---


def _told(*kinds: EventKind | str, **fields: Any) -> Job:
    """Return a job of a group, due since `START`, with one event a second; a text is a reason."""
    history = [
        make_event(
            kind=EventKind.CHANGED if kind in REASONS else kind,
            reason=kind if kind in REASONS else "",
            at=START + number * SECOND,
        )
        for number, kind in enumerate(kinds, start=1)
    ]
    return _job(0, **{"overlap": _overlap(), "history": (make_event(), *history), **fields})


FREE, BY_HAND = "a slot is free", "by hand"
REASONS = {WAITS_FOR_SLOT, FREE, BY_HAND}
REDRIVEN, RUN_NOW = EventKind.REDRIVEN, EventKind.RUN_NOW
SENT = EventKind.ENQUEUED


@pytest.mark.parametrize(
    ("kinds", "second"),
    [
        ((), None),
        ((REDRIVEN,), None),
        ((REDRIVEN, WAITS_FOR_SLOT), 2),
        ((REDRIVEN, WAITS_FOR_SLOT, SENT), 2),
        ((REDRIVEN, WAITS_FOR_SLOT, SENT, WAITS_FOR_SLOT), 2),
        ((WAITS_FOR_SLOT, RUN_NOW), 1),
        ((WAITS_FOR_SLOT, RUN_NOW, WAITS_FOR_SLOT), 1),
        ((WAITS_FOR_SLOT, FREE), None),
        ((WAITS_FOR_SLOT, FREE, WAITS_FOR_SLOT), 3),
        ((WAITS_FOR_SLOT, BY_HAND), None),
        ((WAITS_FOR_SLOT, REDRIVEN), None),
    ],
)
def test_a_job_waits_since_it_was_first_put_off_and_until_something_else_happens(
    kinds: tuple[EventKind | str, ...], second: int | None
) -> None:
    since = None if second is None else START + second * SECOND
    shown = waiting_for_group(_told(*kinds, run_at=START + timedelta(days=1)))
    assert (shown and shown.since) == since


def test_a_job_whose_history_dropped_the_first_wait_waits_since_it_was_due() -> None:
    shown = waiting_for_group(_told(WAITS_FOR_SLOT))
    assert shown is not None
    assert (shown.since, shown.max_running) == (START, 1)


def test_a_job_for_a_missed_time_waits_at_most_since_it_was_created() -> None:
    job = _told(WAITS_FOR_SLOT, run_at=START - timedelta(hours=3))
    shown = waiting_for_group(job)
    assert shown is not None
    assert shown.since == job.created_at == START


@pytest.mark.parametrize(
    "fields", [{"overlap": None}, {"status": JobStatus.RUNNING}, {"status": JobStatus.CANCELLED}]
)
def test_a_job_without_a_group_or_that_does_not_wait_for_its_start_waits_for_no_slot(
    fields: dict[str, Any],
) -> None:
    assert waiting_for_group(_told(WAITS_FOR_SLOT, **fields)) is None


# --- room ---------------------------------------------------------------------------------------


@EVERY_POLICY
def test_where_nobody_holds_a_place_a_job_takes_one(policy: OverlapPolicy) -> None:
    assert _stored(_decide(_job(1), _overlap(policy))) == (("o1",), ())


@EVERY_POLICY
def test_as_many_as_may_run_side_by_side(policy: OverlapPolicy) -> None:
    two = _overlap(policy, max_running=2)
    assert _stored(_decide(_job(2), two, (_running(1),))) == (("o1", "o2"), ())
    third = _decide(_job(3), two, (_running(1), _running(2)))
    assert not isinstance(third, Admit)


@pytest.mark.parametrize(
    "holder",
    [*(_done(1, s) for s in JobStatus if s.is_final), _job(1, due_at=NOW + 31 * SECOND), None],
    ids=lambda job: "gone" if job is None else f"{job.status} due {job.due_at}",
)
def test_a_job_that_ended_is_gone_or_was_put_off_before_it_began_holds_nothing(
    holder: Job | None,
) -> None:
    slots, known = _slots((_done(1),)), {"o1": holder}
    judged = partial(decide_place, _job(2), _overlap(), slots, now=NOW, timings=TIMINGS)
    assert _stored(judged(known=known, write_id="new")) == (("o2",), ())
    not_looked_up: dict[str, Job | None] = {}
    assert judged(known=not_looked_up, write_id="new") == Skip(SkipReason.OVERLAP)


@pytest.mark.parametrize(
    "holder",
    [
        _running(1),
        _job(1),
        _job(1, due_at=NOW + 30 * SECOND),
        _job(1, status=JobStatus.RETRYING, due_at=NOW + timedelta(days=9)),
    ],
    ids=["runs", "is about to", "is about to by a clock ahead of ours", "will be tried again"],
)
def test_a_job_that_runs_or_may_run_by_its_admission_holds_its_place(holder: Job) -> None:
    assert _decide(_job(2), _overlap(), (holder,)) == Skip(SkipReason.OVERLAP)


def test_a_retry_of_a_holder_needs_no_other_admission() -> None:
    retry = _job(1, status=JobStatus.RETRYING)
    assert _decide(retry, _overlap(), (retry,), (_waiting(0),)) == Admit(None)
    assert ids_to_look_up(retry, _overlap(), _slots((retry, _running(2)))) == ()


def test_a_holder_that_did_not_begin_is_admitted_again_by_another_write_if_so_many_may() -> None:
    """Meanwhile somebody may have seen it hold nothing."""
    me = _job(1)
    assert _stored(_decide(me, _overlap(), (me,), (_waiting(0),))) == (("o1",), ("o0",))
    assert _decide(me, _overlap(), (me, _running(2))) == Skip(SkipReason.OVERLAP)


# --- skip ---------------------------------------------------------------------------------------


def test_under_skip_a_job_takes_no_place_from_an_earlier_one_that_waits_for_it() -> None:
    assert _decide(_job(2), _overlap(), (_running(1),)) == Skip(SkipReason.OVERLAP)
    assert _decide(_job(2), _overlap(), (), (_waiting(1),)) == Skip(SkipReason.OVERLAP)
    assert isinstance(_decide(_job(2), _overlap(max_running=2), (), (_waiting(1),)), Admit)
    assert isinstance(_decide(_job(2), _overlap(), (), (_waiting(3),)), Admit)


@pytest.mark.parametrize(
    "fields",
    [{"round": 2, "schedule_revision": None}, {"token": 1}],
    ids=["sent round again by hand", "handed back before"],
)
def test_a_job_that_is_to_run_in_any_case_waits_instead_of_being_skipped(
    fields: dict[str, Any],
) -> None:
    decision = _decide(_job(1, **fields), _overlap(), (_running(2),))
    assert _stored(decision) == (("o2",), ("o1",))


# --- waiting ------------------------------------------------------------------------------------


@WAITING_POLICIES
def test_a_job_without_room_waits_for_its_turn(policy: OverlapPolicy) -> None:
    decision = _decide(_job(2), _overlap(policy), (_running(1),))
    assert _stored(decision) == (("o1",), ("o2",))
    assert isinstance(decision, Wait)
    assert decision.deferral == 60 * SECOND


def test_those_that_wait_are_in_the_order_of_their_times() -> None:
    buffer_all = _overlap(OverlapPolicy.BUFFER_ALL)
    decision = _decide(_job(3), buffer_all, (_running(1),), (_waiting(2), _waiting(4)))
    assert _stored(decision) == (("o1",), ("o2", "o3", "o4"))
    assert isinstance(decision, Wait)
    assert decision.deferral == 120 * SECOND, "its place in the line"


def test_the_newest_may_go_first() -> None:
    newest_first = _overlap(OverlapPolicy.BUFFER_ALL, newest_first=True)
    ranks = [rank_of(_job(number), newest_first) for number in (3, 2, 1)]
    assert ranks == sorted(ranks)


def test_nobody_waits_for_longer_than_a_quarter_of_an_hour_at_a_time() -> None:
    line = tuple(_waiting(number) for number in range(40))
    decision = _decide(_job(50), _overlap(OverlapPolicy.BUFFER_ALL), (_running(60),), line)
    assert isinstance(decision, Wait)
    assert decision.deferral == timedelta(minutes=15)


@WAITING_POLICIES
def test_only_the_first_in_line_takes_a_free_place(policy: OverlapPolicy) -> None:
    overlap = _overlap(policy, buffer_limit=9)
    first, second = _waiting(1), _waiting(2)
    assert not isinstance(_decide(second, overlap, (), (first, second)), Admit)
    assert _stored(_decide(first, overlap, (), (first, second))) == (("o1",), ("o2",))


def test_a_job_far_back_in_the_line_takes_a_place_that_those_before_it_do_not_need() -> None:
    overlap = _overlap(OverlapPolicy.BUFFER_ALL, max_running=2)
    first, second, third = _waiting(1), _waiting(2), _waiting(3)
    line = (first, second, third)
    assert isinstance(_decide(second, overlap, (), line), Admit)
    assert isinstance(_decide(third, overlap, (), line), Wait)


@pytest.mark.parametrize(
    "first",
    [
        _done(1, JobStatus.CANCELLED),
        _running(1),
        _job(1, due_at=NOW + timedelta(days=300)),
        _job(1, due_at=NOW + 100 * SECOND, run_at=NOW + 100 * SECOND),
    ],
    ids=["cancelled", "running outside of the group", "filed for long", "put off by somebody"],
)
def test_who_does_not_wait_any_more_is_dropped_from_the_line(first: Job) -> None:
    me = _waiting(2)
    buffer_all = _overlap(OverlapPolicy.BUFFER_ALL)
    assert _stored(_decide(me, buffer_all, (), (first, me))) == (("o2",), ())


def test_who_was_not_looked_up_is_taken_to_wait() -> None:
    me, overlap = _waiting(2), _overlap(OverlapPolicy.BUFFER_ALL)
    slots = _slots((), (_waiting(1), me))
    decision = decide_place(me, overlap, slots, {}, now=NOW, timings=TIMINGS, write_id="new")
    assert decision == Wait(None, 120 * SECOND), "and nothing is to be stored"


def test_one_may_wait_under_buffer_one_and_it_is_the_first() -> None:
    buffer_one = _overlap(OverlapPolicy.BUFFER_ONE)
    first = _waiting(2)
    decision = _decide(_job(3), buffer_one, (_running(1),), (first,))
    assert decision == Skip(SkipReason.BUFFER_FULL)
    assert _decide(first, buffer_one, (_running(1),), (first,)) == Wait(None, 60 * SECOND)


def test_as_many_wait_under_buffer_all_as_its_limit_says() -> None:
    two = _overlap(OverlapPolicy.BUFFER_ALL, buffer_limit=2)
    one, other = _waiting(2), _waiting(3)
    assert isinstance(_decide(_job(3), two, (_running(1),), (one,)), Wait)
    full = _decide(_job(4), two, (_running(1),), (one, other))
    assert full == Skip(SkipReason.BUFFER_FULL)


def test_a_line_that_was_full_of_cancelled_jobs_has_room() -> None:
    two = _overlap(OverlapPolicy.BUFFER_ALL, buffer_limit=2)
    dead = _done(2, JobStatus.CANCELLED)
    decision = _decide(_job(4), two, (_running(1),), (dead, _waiting(3)))
    assert _stored(decision) == (("o1",), ("o3", "o4"))


def test_a_job_that_is_to_run_in_any_case_waits_outside_of_a_full_line() -> None:
    again = _job(1, round=2)
    decision = _decide(again, _overlap(OverlapPolicy.BUFFER_ONE), (_running(3),), (_waiting(2),))
    assert decision == Wait(None, timedelta(minutes=15))


# --- cancel_other -------------------------------------------------------------------------------

CANCEL_OTHER = _overlap(OverlapPolicy.CANCEL_OTHER)


def test_under_cancel_other_the_older_ones_are_stopped_and_the_newest_waits_for_that() -> None:
    one, other = _running(1), _running(2)
    two = _overlap(OverlapPolicy.CANCEL_OTHER, max_running=2)
    decision = _decide(_job(3), two, (one, other))
    assert isinstance(decision, Wait)
    assert (decision.deferral, decision.stops) == (5 * SECOND, (one, other))
    assert _stored(decision) == (("o1", "o2"), ("o3",))


def test_under_cancel_other_nothing_is_stored_again_while_it_waits() -> None:
    one, me = _running(1), _waiting(3)
    assert _decide(me, CANCEL_OTHER, (one,), (me,)) == Wait(None, 5 * SECOND, (one,))


def test_under_cancel_other_who_waits_gives_way_to_a_newer_one() -> None:
    me, newer = _waiting(2), _waiting(3)
    assert _decide(me, CANCEL_OTHER, (_running(1),), (me, newer)) == Skip(SkipReason.OVERLAP)
    assert _decide(me, CANCEL_OTHER, (), (me, newer)) == Skip(SkipReason.OVERLAP)
    assert isinstance(_decide(newer, CANCEL_OTHER, (), (me, newer)), Admit)


def test_under_cancel_other_an_older_one_or_one_sent_round_again_stops_nobody() -> None:
    assert _decide(_job(1), CANCEL_OTHER, (_running(2),)) == Skip(SkipReason.OVERLAP)
    decision = _decide(_job(4, round=2), CANCEL_OTHER, (_running(1),))
    assert isinstance(decision, Wait)
    assert decision.stops == ()


def test_under_cancel_other_the_line_is_bounded_too() -> None:
    two = _overlap(OverlapPolicy.CANCEL_OTHER, buffer_limit=2)
    decision = _decide(_job(4), two, (_running(1),), (_waiting(2), _waiting(3)))
    assert _stored(decision) == (("o1",), ("o3", "o4"))


# --- whom to look up ----------------------------------------------------------------------------


def test_of_a_long_line_both_ends_are_looked_up_and_of_a_full_one_everybody() -> None:
    overlap = _overlap(OverlapPolicy.BUFFER_ALL, buffer_limit=1000)
    line = tuple(_waiting(number) for number in range(100, 200))
    ids = ids_to_look_up(_job(150), overlap, _slots((_running(1), _job(150)), line))
    ends = 1 + LOOKED_UP
    first = [f"o{number}" for number in range(100, 100 + ends)]
    last = [f"o{number}" for number in range(200 - ends, 200)]
    assert ids == ("o1", *first, *last)
    full = _overlap(OverlapPolicy.BUFFER_ALL, buffer_limit=100)
    assert len(ids_to_look_up(_job(1), full, _slots((), line))) == 100


def test_of_a_short_line_everybody_is_looked_up_once() -> None:
    line = tuple(_waiting(number) for number in range(100, 105))
    ids = ids_to_look_up(_waiting(102), _overlap(), _slots((), line))
    assert ids == ("o100", "o101", "o103", "o104")


def _looked_up(line: tuple[Job, ...], gone: tuple[int, ...] = ()) -> dict[str, Job | None]:
    """Return what the first look at a line tells, in which some jobs wait no more."""
    jobs = {job.id: job for job in line} | {f"o{n}": _done(n, JobStatus.CANCELLED) for n in gone}
    return {i: jobs[i] for i in ids_to_look_up(_job(50), _overlap(), _slots((), line))}


def _rest(line: tuple[Job, ...], known: dict[str, Job | None]) -> tuple[str, ...]:
    return ids_of_the_rest(_job(50), _slots((), line), known, NOW, TIMINGS)


@pytest.mark.parametrize("gone", [0, 39], ids=["first", "last"])
def test_only_of_a_line_in_which_one_waits_no_more_the_rest_is_looked_up(gone: int) -> None:
    line = tuple(_waiting(number) for number in range(40))
    between = range(1 + LOOKED_UP, 40 - 1 - LOOKED_UP)
    assert _rest(line, _looked_up(line, (gone,))) == tuple(f"o{number}" for number in between)
    assert _rest(line, _looked_up(line)) == ()


def test_the_rest_of_a_line_is_without_the_one_that_is_judged() -> None:
    line = (_waiting(1), _waiting(50), _waiting(51))
    assert _rest(line, {"o1": None}) == ("o51",)


def test_a_line_of_which_all_were_cancelled_keeps_nobody_out() -> None:
    line = tuple(_waiting(number) for number in range(40))
    known = _looked_up(line, tuple(range(40)))
    known |= {i: _done(int(i[1:]), JobStatus.CANCELLED) for i in _rest(line, known)}
    decision = decide_place(
        _job(50),
        _overlap(),
        _slots((), line),
        known,
        now=NOW,
        timings=TIMINGS,
        write_id="new",
    )
    assert _stored(decision) == (("o50",), ())


# --- whom to call -------------------------------------------------------------------------------


def _next(overlap: Overlap, holders: tuple[Job, ...], waiting: tuple[Job, ...]) -> tuple[str, ...]:
    known: dict[str, Job | None] = {job.id: job for job in (*holders, *waiting)}
    jobs = next_in_line(overlap, _slots(holders, waiting), known, now=NOW, timings=TIMINGS)
    return tuple(job.id for job in jobs)


LINE = (_waiting(2), _waiting(3), _waiting(4))
TWO = _overlap(OverlapPolicy.BUFFER_ALL, max_running=2)
NOT_YET = NOW + 10 * SECOND


@pytest.mark.parametrize(
    ("overlap", "holders", "waiting", "called"),
    [
        (TWO, (_done(1),), LINE, ("o2", "o3")),
        (TWO, (_running(1),), LINE, ("o2",)),
        (TWO, (_running(1), _running(5)), LINE, ()),
        (_overlap(), (_running(1), _running(5)), LINE, ()),
        (_overlap(), (), (_job(2), _waiting(3)), ()),
        (_overlap(), (), (_job(2, due_at=NOT_YET, run_at=NOT_YET),), ()),
        (_overlap(), (), (_done(2, JobStatus.CANCELLED), _waiting(3)), ("o3",)),
    ],
    ids=[
        "as many as there is room for",
        "one",
        "none",
        "none where fewer may run by now",
        "not who is due already, and it keeps its turn",
        "not before the time that was asked for",
        "not who was cancelled, nor does anybody wait for it",
    ],
)
def test_who_is_called(
    overlap: Overlap, holders: tuple[Job, ...], waiting: tuple[Job, ...], called: tuple[str, ...]
) -> None:
    assert _next(overlap, holders, waiting) == called


def test_nobody_is_looked_up_where_nobody_waits() -> None:
    assert ids_next_in_line(_overlap(), _slots((_running(1),))) == ()
    line = tuple(_waiting(number) for number in range(100, 200))
    ids = ids_next_in_line(_overlap(), _slots((_running(1),), line))
    assert len(ids) == 1 + 1 + LOOKED_UP
