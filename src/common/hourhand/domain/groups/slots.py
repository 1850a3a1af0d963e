"""Which jobs of a group may start, which wait for room, and which are skipped: pure decisions.

The slots name jobs; what those jobs are is looked up. A place is taken only by a conditional
write on the slots as they were read *before* the jobs were looked up. So no job takes a place
from a job that could still start in it: one that was seen to hold nothing (it ended, or was put
off) must write the slots again before it starts, and one of the two writes is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import takewhile

from hourhand.domain.groups.admission import nominal_of, runs_in_any_case
from hourhand.domain.groups.overlap import Overlap, OverlapPolicy, Slots
from hourhand.domain.jobs.job import EventKind, HistoryEvent, Job
from hourhand.domain.jobs.pauses import Waiting
from hourhand.domain.jobs.waiting import WaitKind
from hourhand.domain.schedules.schedule import SkipReason
from hourhand.domain.ticks.timings import Timings
from hourhand.domain.times import to_ms

LOOKED_UP = 10
"""Of those that wait, so many beyond the places there are looked up at either end of the line.

If they all wait still, they precede the jobs between them; if not, the rest is looked up.
"""

WAITS_FOR_SLOT = "waits for a slot"
"""The reason, in a job's history, of a wait for a slot of its group."""

_NO_SLOT = frozenset(
    {
        EventKind.ENQUEUED,
        EventKind.SEND_FAILED,
        EventKind.DISPATCHED_AGAIN,
        EventKind.AGED,
        EventKind.REFILED,
        EventKind.RUN_NOW,
    }
)
"""Events after which a job that waited for a slot still waits: none of them gives it one."""

Known = Mapping[str, Job | None]
"""Jobs by id as they were looked up; ``None``: there is none. Others are taken to be alive."""


@dataclass(frozen=True, slots=True)
class Admit:
    """Start, once ``slots`` are stored; ``None``: it holds its place already."""

    slots: Slots | None


@dataclass(frozen=True, slots=True)
class Skip:
    """Cancel it for this reason."""

    reason: SkipReason


@dataclass(frozen=True, slots=True)
class Wait:
    """Come again after ``deferral``, once ``slots`` are stored (``None``: nothing is to store).

    ``stops``: those that run and are to be stopped for it.
    """

    slots: Slots | None
    deferral: timedelta
    stops: tuple[Job, ...] = ()


@dataclass(frozen=True, slots=True)
class _Seen:
    """The group without the judged job: the holders of places, and the line in its order."""

    holders: tuple[str, ...]
    line: tuple[tuple[int, str], ...]


def has_begun(job: Job) -> bool:
    """Whether an attempt of the job's present round was begun: it keeps its place to its end."""
    return job.lateness_ms is not None


def still_waits(job: Job | None, now: datetime, timings: Timings) -> bool:
    """Whether a job of the line waits for room; one that was rescheduled gives up its turn."""
    if job is None or not job.status.is_waiting or job.run_at > now + timings.skew_refuses:
        return False
    return _is_due(job, now + timings.turn_wait_cap + timings.skew_refuses)


def waiting_for_group(job: Job) -> Waiting | None:
    """Return that a job waits for a slot of its group, as it is shown; ``None``: it waits for none.

    Its history shows it: no event after the wait began ends the wait. The answer is only shown: the
    slots themselves, at the next check, decide whether the job waits on.
    """
    if job.overlap is None or not job.status.is_waiting:
        return None
    lately = takewhile(
        lambda event: event.kind in _NO_SLOT or _is_wait(event), reversed(job.history)
    )
    waits = [event.at for event in lately if _is_wait(event)]
    if not waits:
        return None
    # A long history drops the first of several waits; a run-now moves `run_at`. A job that makes
    # up for a missed time is due since before it was created.
    since = max(job.created_at, min(*waits, job.run_at))
    return Waiting(kind=WaitKind.SLOT, since=since, max_running=job.overlap.max_running)


def _is_wait(event: HistoryEvent) -> bool:
    return event.kind is EventKind.CHANGED and event.reason == WAITS_FOR_SLOT


def rank_of(job: Job, overlap: Overlap) -> tuple[int, str]:
    """Return the job's rank in the line, lowest first, with its id."""
    nominal_ms = to_ms(nominal_of(job))
    return (-nominal_ms if overlap.newest_first else nominal_ms), job.id


def ids_to_look_up(job: Job, overlap: Overlap, slots: Slots) -> tuple[str, ...]:
    """Return the jobs to look up before `decide_place`: all holders, and a part of the line.

    Of a line that is full every job is looked up: some may have been cancelled long ago.
    """
    if _keeps_its_place(job, slots):
        return ()
    line = [job_id for _, job_id in slots.waiting if job_id != job.id]
    ends = overlap.max_running + LOOKED_UP
    if len(line) < _limit(overlap) and len(line) > 2 * ends:
        line = [*line[:ends], *line[-ends:]]
    return tuple(dict.fromkeys((*(i for i in slots.holders if i != job.id), *line)))


def ids_of_the_rest(
    job: Job, slots: Slots, known: Known, now: datetime, timings: Timings
) -> tuple[str, ...]:
    """Return further jobs to look up: the rest of the line, if one of those seen waits no more.

    Else a line that was cancelled long ago would keep out every job for which nothing is stored.
    """
    line = [job_id for _, job_id in slots.waiting if job_id != job.id]
    if all(still_waits(known[job_id], now, timings) for job_id in line if job_id in known):
        return ()
    return tuple(job_id for job_id in line if job_id not in known)


def decide_place(
    job: Job,
    overlap: Overlap,
    slots: Slots,
    known: Known,
    *,
    now: datetime,
    timings: Timings,
    write_id: str,
) -> Admit | Skip | Wait:
    """Decide about ``job``, which is due and waits for its start."""
    if _keeps_its_place(job, slots):
        return Admit(None)
    seen = _see(slots, known, now, timings, but=job.id)
    me = rank_of(job, overlap)
    policy = OverlapPolicy.BUFFER_ALL if runs_in_any_case(job) else overlap.policy
    if policy is OverlapPolicy.CANCEL_OTHER:
        before_me = [other for other in seen.line if other > me]
    else:
        before_me = [other for other in seen.line if other < me]
    free = overlap.max_running - len(seen.holders)
    if free > (0 if job.id in slots.holders else len(before_me)):
        return Admit(_next(slots, (*seen.holders, job.id), seen.line, write_id))
    if policy is OverlapPolicy.SKIP:
        return Skip(SkipReason.OVERLAP)
    if policy is OverlapPolicy.CANCEL_OTHER:
        held = [known.get(job_id) for job_id in seen.holders]
        stops = tuple(o for o in held if o is not None and rank_of(o, overlap) < me)
        if before_me or not stops:
            return Skip(SkipReason.OVERLAP)
        line = sorted((*seen.line, me))[-overlap.buffer_limit :]
        return Wait(_news(slots, seen.holders, line, write_id), timings.stop_wait, stops)
    return _join_line(job, overlap, slots, seen, timings, write_id)


def _join_line(
    job: Job, overlap: Overlap, slots: Slots, seen: _Seen, timings: Timings, write_id: str
) -> Skip | Wait:
    is_in_line = job.id in {job_id for _, job_id in slots.waiting}
    if not is_in_line and len(seen.line) >= _limit(overlap):
        if runs_in_any_case(job):
            return Wait(None, timings.turn_wait_cap)
        return Skip(SkipReason.BUFFER_FULL)
    me = rank_of(job, overlap)
    line = sorted((*seen.line, me))
    deferral = min(timings.turn_wait * (line.index(me) + 1), timings.turn_wait_cap)
    return Wait(_news(slots, seen.holders, line, write_id), deferral)


def ids_next_in_line(overlap: Overlap, slots: Slots) -> tuple[str, ...]:
    """Return the jobs to look up before `next_in_line`; none if none waits."""
    if not slots.waiting:
        return ()
    first = slots.waiting[: overlap.max_running + LOOKED_UP]
    return tuple(dict.fromkeys((*slots.holders, *(job_id for _, job_id in first))))


def next_in_line(
    overlap: Overlap, slots: Slots, known: Known, *, now: datetime, timings: Timings
) -> tuple[Job, ...]:
    """Return the jobs for which there is room now and which would be due only later."""
    seen = _see(slots, known, now, timings)
    free = max(0, overlap.max_running - len(seen.holders))
    first = [known.get(job_id) for _, job_id in seen.line[:free]]
    return tuple(j for j in first if j is not None and j.run_at <= now and not _is_due(j, now))


def _keeps_its_place(job: Job, slots: Slots) -> bool:
    return job.id in slots.holders and has_begun(job)


def _limit(overlap: Overlap) -> int:
    return 1 if overlap.policy is OverlapPolicy.BUFFER_ONE else overlap.buffer_limit


def _see(slots: Slots, known: Known, now: datetime, timings: Timings, but: str = "") -> _Seen:
    def holds(job_id: str) -> bool:
        return job_id != but and (job_id not in known or _holds_place(known[job_id], now, timings))

    def waits(job_id: str) -> bool:
        return job_id != but and (job_id not in known or still_waits(known[job_id], now, timings))

    return _Seen(
        holders=tuple(job_id for job_id in slots.holders if holds(job_id)),
        line=tuple(place for place in slots.waiting if waits(place[1])),
    )


def _holds_place(job: Job | None, now: datetime, timings: Timings) -> bool:
    """Whether a job that was admitted may be running, or may still start by that.

    One that did not begin and was put off since comes in only by another admission: the claim
    that the first one was for names a generation that is over.
    """
    if job is None or job.status.is_final:
        return False
    return not job.status.is_waiting or has_begun(job) or _is_due(job, now + timings.skew_refuses)


def _is_due(job: Job, by: datetime) -> bool:
    return job.due_at is not None and job.due_at <= by


def _next(
    slots: Slots, holders: Sequence[str], line: Sequence[tuple[int, str]], write_id: str
) -> Slots:
    return replace(
        slots,
        sequence=slots.sequence + 1,
        write_id=write_id,
        holders=tuple(holders),
        waiting=tuple(line),
    )


def _news(
    slots: Slots, holders: Sequence[str], line: Sequence[tuple[int, str]], write_id: str
) -> Slots | None:
    """Return what is to be stored, or ``None`` where that is what is stored already."""
    if (slots.holders, slots.waiting) == (tuple(holders), tuple(line)):
        return None
    return _next(slots, holders, line, write_id)
