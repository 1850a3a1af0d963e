"""When jobs are due: `DueJobs` makes every write that changes it.

Each such write takes the same steps, in this order:

1. read the monotonic clock, then the time;
2. choose the job's place in the ``run_at`` index;
3. write, under the conditions of the put or the move;
4. if the writer stalled between the steps 1 and 3, move the entry to a current bucket;
5. send the job's message, if the job is due within the look-ahead.

The sweep closes a bucket a trail after its end. A writer that stalls after it read the time may
place its entry in a closed bucket, where no sweep finds it. Step 4 detects that. It relies on the
monotonic clock, which is read first: a stall between the two readings counts, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

from hourhand.domain.conditions import all_hold
from hourhand.domain.errors import HourhandError, PutOff, Unavailable, WrittenByNewer, or_error
from hourhand.domain.ids import trace_id_for
from hourhand.domain.jobs.job import Job, JobMessage, JobStatus, Priority
from hourhand.domain.jobs.transitions import Transition, refile, unmark
from hourhand.domain.ticks.buckets import Entry, ShardMap, bucket_end, bucket_of, file_entry
from hourhand.domain.ticks.timings import SQS_MAX_DELAY, Timings
from hourhand.domain.times import floor_ms, floor_seconds
from hourhand.ports.clock import Clock
from hourhand.ports.control_store import ControlStore
from hourhand.ports.job_store import Applied, JobStore, Refused, WriteResult
from hourhand.ports.queues import Outgoing, Queues
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.aspects import BeforeDue, LimitsOfJobs
from hourhand.services.jobs.known_pauses import KnownPauses
from hourhand.services.jobs.puts import (
    MOVE_SECONDS,
    PUT_SECONDS,
    SENT_TOGETHER,
    THROTTLED_SHARD,
    Put,
    PutPace,
    no_time_left,
)
from hourhand.services.jobs.waiter_records import WaiterRecords
from hourhand.services.optional import log_newer, reason_of

AT_ONCE = timedelta(0)
"""The time of a job that is due now."""

MAX_REFILES = 5
"""A writer that stalls beyond the bound five times in a row gives up."""

MAX_REBUILDS = 5
"""Another writer appended to the history between our read and our write, five times in a row."""


class DueTransition(Protocol):
    """A move of `hourhand.domain.jobs.transitions` that files a job under another time."""

    def __call__(
        self, job: Job, *, now: datetime, actor: str, entry: Entry, sends_now: bool
    ) -> Transition:
        """Build the move. ``sends_now``: the message is sent right after the write."""


class TransitionInPlace(Protocol):
    """A move that opens a new generation of a job and leaves its time as it is."""

    def __call__(
        self, job: Job, *, now: datetime, actor: str, entry: None, sends_now: bool
    ) -> Transition:
        """Build the move, as `DueTransition`."""


@dataclass(slots=True)
class DueJobs:
    """Changes when jobs are due, and sends the messages of those that are due soon.

    ``before_due``: what comes before each write. ``limits`` release the slots of a generation that
    ended.

    It reads the shard map again every `Timings.control_cache`. All methods raise `Unavailable`
    where AWS does not answer, and where the writer stalls again and again: then the job may be
    stored, and its time is not sure.
    """

    jobs: JobStore
    control: ControlStore
    queues: Queues
    clock: Clock
    timings: Timings
    telemetry: Telemetry
    pauses: KnownPauses
    waiters: WaiterRecords
    limits: LimitsOfJobs
    before_due: Sequence[BeforeDue] = ()
    _shard_map: ShardMap | None = field(default=None, init=False)
    _map_read_at: float = field(default=0.0, init=False)

    def make(
        self, job: Job, build: Callable[[Job], Transition], *, follows_up: bool = True
    ) -> WriteResult:
        """Make a move of `make_transition`, and what follows it.

        ``follows_up``: not where a handler still runs, whose slot must not be given to another
        job. The redelivered message of its job releases it.
        """
        result = make_transition(self.jobs, job, build)
        if follows_up:
            self._follow_up(job, result)
        return result

    def move(
        self,
        job: Job,
        due_at: datetime | timedelta,
        build: DueTransition,
        actor: str,
        *,
        announces: bool = True,
        follows_up: bool = True,
    ) -> WriteResult:
        """Make a move after which ``job`` is due at ``due_at``; a timedelta counts from now.

        ``build`` is called again where only the history grew since ``job`` was read. A caller that
        makes several moves may send their messages together: with ``announces=False`` it must call
        `announce` next. ``follows_up``: as in `make`.
        """
        clock_read_at, now = self._read_clocks()
        run_at = floor_ms(now + due_at) if isinstance(due_at, timedelta) else due_at
        entry = self._next_entry(job, run_at, now)
        sends_now = self._sends_now(job.handler, entry.due_at, now)
        ready = partial(build, now=now, actor=actor, entry=entry, sends_now=sends_now)
        result = make_transition(self.jobs, job, self._prepared(ready))
        result = self._after_write(result, clock_read_at, actor, announces=announces)
        if follows_up:
            self._follow_up(job, result)
        return result

    def move_in_place(
        self, job: Job, build: TransitionInPlace, actor: str, *, announces: bool = True
    ) -> WriteResult:
        """Make a move of a waiting job that keeps its time, and send its message again if due soon.

        The messages of its older generation are dropped when they arrive. ``announces``: as in
        `move`.
        """
        clock_read_at, now = self._read_clocks()
        sends_now = job.due_at is not None and self._sends_now(job.handler, job.due_at, now)
        ready = partial(build, now=now, actor=actor, entry=None, sends_now=sends_now)
        result = make_transition(self.jobs, job, ready)
        result = self._after_write(result, clock_read_at, actor, announces=announces)
        self._follow_up(job, result)
        return result

    def put(self, job: Job, actor: str, *, announces: bool = True) -> WriteResult:
        """Put a new job, due at its ``run_at``, if its id is free.

        ``job`` comes without a place in the index, and PENDING. `Applied` too where the job that
        has the id was put by this very call, whose answer was lost. ``announces``: as in `move`.
        """
        clock_read_at, now = self._read_clocks()
        filed = self._filed(job, now)
        self._prepare([filed])
        result = self._after_put(filed, self.jobs.put(filed), clock_read_at, actor)
        if announces and isinstance(result, Applied):
            self.announce([result.job], actor)
        return result

    def pace(self) -> PutPace:
        """Return the pace of a call that puts many jobs from now on."""
        return PutPace(self.clock.monotonic() + PUT_SECONDS)

    def put_many(
        self, jobs: Sequence[Job], actor: str, pace: PutPace | None = None
    ) -> list[WriteResult | HourhandError]:
        """Put new jobs as `put` does and send their messages together, ten to a request.

        Each is judged alone; results in the order of ``jobs``, errors as values. What DynamoDB
        puts off is filed again and joins the next ones, until the time of ``pace`` is over: then
        its result is `Unavailable`.
        """
        pace = pace or self.pace()
        puts = [Put(job, job) for job in jobs]
        counted = pace.put_off.total()
        left, ready = puts, list[Put]()
        while left:
            some, rest = left[: pace.most], left[pace.most :]
            left = self._put_some(some, actor, pace) + rest
            ready += [put for put in some if isinstance(put.result, Applied)]
            if len(ready) >= SENT_TOGETHER:
                self._announce_puts(ready, actor)
                ready = []
            if pace.is_over(self.clock.monotonic()):
                break
            if left and pace.wait_seconds:
                self.clock.sleep(pace.next_wait(left[0].job))
        self._give_up(left)
        self._announce_puts(ready, actor)
        if pace.put_off.total() > counted:
            ((bucket, shard), _), *_others = pace.put_off.most_common(1)
            self.telemetry.warning(THROTTLED_SHARD, shard=shard, bucket=bucket, left=len(left))
        return [put.result for put in puts]

    def _announce_puts(self, puts: Sequence[Put], actor: str) -> None:
        jobs = [put.result.job for put in puts if isinstance(put.result, Applied)]
        self.announce(jobs, actor)

    def _put_some(self, puts: Sequence[Put], actor: str, pace: PutPace) -> list[Put]:
        """Put jobs once, side by side; return those that DynamoDB put off."""
        clock_read_at, now = self._read_clocks()
        sent: list[Put] = []
        for put in puts:
            filed = or_error(partial(self._filed, put.job, now))
            if isinstance(filed, Job):
                put.filed = filed
                put.began_at = min(put.began_at, clock_read_at)
                sent.append(put)
            else:
                put.result = filed
        filed_jobs = [put.filed for put in sent]
        prepared = or_error(partial(self._prepare, filed_jobs))
        if isinstance(prepared, HourhandError):
            for put in sent:
                put.result = prepared
            return []
        results = self.jobs.put_many(filed_jobs)
        answered_at = self.clock.monotonic()
        again: list[Put] = []
        for put, result in zip(sent, results, strict=True):
            if isinstance(result, PutOff) and put.is_put_off(result):
                again.append(put)
                pace.put_off[put.shard] += result.stored is False
                continue
            # What follows the answer, such as moves of other jobs, is no stall of this write.
            idle = result.idle_seconds if isinstance(result, Applied) else 0.0
            waited = self.clock.monotonic() - answered_at + idle
            since = put.began_at if isinstance(result, Refused) else clock_read_at
            until = answered_at + MOVE_SECONDS
            put.result = or_error(
                partial(self._after_put, put.filed, result, since + waited, actor, until)
            )
        pace.note(len(sent), len(again))
        return again

    def _give_up(self, puts: Sequence[Put]) -> None:
        """End jobs for which no time is left; read whether an earlier call stored them."""
        is_answered = not any(put.unanswered for put in puts)
        found = self.stored([put.job.id for put in puts]) if puts and is_answered else None
        for put in puts:
            current = None if found is None else found.get(put.job.id)
            is_stored = None if found is None else False
            left = no_time_left(put.job.id, stored=is_stored)
            put.result = left if current is None else Refused(current)

    def stored(self, job_ids: Sequence[str]) -> Mapping[str, Job] | None:
        """Return those of these jobs that are stored; ``None`` if the table does not answer."""
        found = or_error(partial(self.jobs.get_many, job_ids))
        return None if isinstance(found, HourhandError) or found.newer else found

    def is_behind(self, job: Job, now: datetime) -> bool:
        """Whether the entry of ``job`` lies in a bucket that the sweep may have closed.

        The sweep closes a bucket a trail after its end at the earliest, and only after a second
        look: it finds every entry that was filed by then.
        """
        if job.due_at is None or job.status.is_final:
            return False
        closed_at = bucket_end(bucket_of(job.due_at)) + self.timings.trail
        return now + self.timings.skew_widens >= closed_at

    def refile(self, job: Job, actor: str) -> Job:
        """Move the entry of ``job`` to a current bucket, and send its message if it was announced.

        Returns the job as it stands.
        """
        clock_read_at = self.clock.monotonic()
        job = self._guard(self._refiled(job, actor), clock_read_at, actor)
        self.announce([job], actor)
        return job

    def announce(self, jobs: Sequence[Job], actor: str) -> None:
        """Send the messages of those ``jobs`` whose write said "sent", unless they began already.

        Raises nothing for a message that SQS does not accept: the job is marked as never sent, and
        the next tick sends it. If that mark fails too, or if this process dies before, the sweep
        sends the message after a minute.
        """
        announced = [job for job in jobs if job.is_sent and job.status.is_waiting]
        if not announced:
            return
        now = self.clock.now()
        rounding, revision = self.timings.delay_rounding, self.pauses.revision
        outgoing = [outgoing_of(job, now, rounding, pauses_revision=revision) for job in announced]
        try:
            failures = self.queues.send(outgoing)
        except Exception as error:  # noqa: BLE001 - the jobs are accepted, whatever this was
            failures = [reason_of(error)] * len(outgoing)
        for job, failure in zip(announced, failures, strict=True):
            if failure is not None:
                self._take_back(job, failure, actor)

    def _read_clocks(self) -> tuple[float, datetime]:
        """Return the monotonic clock and the time, read in this order."""
        clock_read_at = self.clock.monotonic()
        return clock_read_at, self.clock.now()

    def _sends_now(self, handler: str, due_at: datetime, now: datetime) -> bool:
        """Whether a message goes out right after the write: none does for a paused handler."""
        is_soon = due_at <= now + self.timings.look_ahead
        return is_soon and not self.pauses.is_paused(handler, max(now, due_at))

    def _prepare(self, jobs: Sequence[Job]) -> None:
        for aspect in self.before_due:
            aspect.prepare(jobs)

    def _prepared(self, build: Callable[[Job], Transition]) -> Callable[[Job], Transition]:
        """Return what builds a move, and does first what comes before its write."""

        def prepared(job: Job) -> Transition:
            move = build(job)
            if self.before_due:
                self._prepare([move.apply(job)])
            return move

        return prepared

    def _follow_up(self, job: Job, result: WriteResult) -> None:
        """Do what follows a move: nothing of that may make the move's own steps late.

        The waiter record of a job that was parked, and is no longer, is deleted.
        """
        if not isinstance(result, Applied):
            return
        if job.waits_for is not None and result.job.waits_for is None:
            self.waiters.forget(job)
        self.limits.after_move(job, result.job)

    def _entry(self, job_id: str, run_at: datetime, now: datetime) -> Entry:
        return file_entry(job_id, run_at, now, self._map())

    def _next_entry(self, job: Job, run_at: datetime, now: datetime) -> Entry:
        """Return the place of ``job`` after its move.

        A job that runs never goes to an older bucket than it lies in now. Its own bucket is open,
        since it shows an entry; older ones may be closed.
        """
        entry = self._entry(job.id, run_at, now)
        if job.status is not JobStatus.RUNNING:
            return entry
        floor = max(now, job.due_at or now)
        if bucket_of(entry.due_at) >= bucket_of(floor):
            return entry
        return self._entry(job.id, floor, now)

    def _filed(self, job: Job, now: datetime) -> Job:
        """Return a new job with its place in the index."""
        entry = self._entry(job.id, job.run_at, now)
        placed = replace(job, due_at=entry.due_at, shard=entry.shard)
        if not self._sends_now(job.handler, entry.due_at, now):
            return placed
        events = tuple(replace(event, status=JobStatus.ENQUEUED) for event in job.history)
        return replace(placed, status=JobStatus.ENQUEUED, enqueued_at=now, history=events)

    def _after_put(
        self,
        job: Job,
        result: WriteResult | HourhandError,
        clock_read_at: float,
        actor: str,
        until: float = math.inf,
    ) -> WriteResult:
        if isinstance(result, HourhandError):
            raise result
        if isinstance(result, Refused) and _is_same_put(job, result.current):
            result = Applied(result.current or job)
        return self._after_write(result, clock_read_at, actor, announces=False, until=until)

    def _after_write(
        self,
        result: WriteResult,
        clock_read_at: float,
        actor: str,
        *,
        announces: bool = True,
        until: float = math.inf,
    ) -> WriteResult:
        """Take the steps that follow a write."""
        if isinstance(result, Refused):
            return result
        job = self._guard(result.job, clock_read_at, actor, until)
        if announces:
            self.announce([job], actor)
        return Applied(job)

    def _guard(self, job: Job, clock_read_at: float, actor: str, until: float = math.inf) -> Job:
        """Move the entry of a written ``job`` if its writer stalled since ``clock_read_at``.

        No move begins after ``until``.
        """
        bound = self.timings.stall_bound.total_seconds()
        for _ in range(MAX_REFILES):
            if self.clock.monotonic() - clock_read_at <= bound:
                return job
            if self.clock.monotonic() >= until:
                break
            clock_read_at = self.clock.monotonic()
            job = self._refiled(job, actor)
        detail = "This writer stalls; the job is stored, but its time is not sure."
        raise Unavailable(detail, stored=True, job_id=job.id)

    def _refiled(self, job: Job, actor: str) -> Job:
        now = self.clock.now()
        if job.due_at is None or job.status.is_final:
            return job
        due_at = job.due_at

        def build(current: Job) -> Transition:
            entry = self._entry(current.id, due_at, now)
            return refile(current, entry=entry, now=now, actor=actor)

        result = make_transition(self.jobs, job, build)
        if isinstance(result, Applied):
            return result.job
        return result.current or job

    def _take_back(self, job: Job, failure: str, actor: str) -> None:
        self.telemetry.warning(
            "SQS did not accept a message. The next tick sends it.", job_id=job.id, reason=failure
        )
        self.telemetry.count("send_failures")
        now = self.clock.now()
        try:
            make_transition(
                self.jobs,
                job,
                lambda current: unmark(current, now=now, actor=actor, reason=failure),
            )
        except WrittenByNewer as newer:
            log_newer(self.telemetry, newer)
        except Exception as error:  # noqa: BLE001 - the job is accepted, whatever this was
            self.telemetry.warning(
                "Could not record the failed send. The sweep will detect that the message is "
                "missing and send it again.",
                job_id=job.id,
                reason=reason_of(error),
            )

    def _map(self) -> ShardMap:
        age = self.clock.monotonic() - self._map_read_at
        if self._shard_map is None or age > self.timings.control_cache.total_seconds():
            self._shard_map = self.control.read_shard_map()
            self._map_read_at = self.clock.monotonic()
        return self._shard_map


def make_transition(jobs: JobStore, job: Job, build: Callable[[Job], Transition]) -> WriteResult:
    """Build a move from ``job`` and make it. One that changes when the job is due: `DueJobs.move`.

    If it is refused only because the history grew since it was read, it is built again from the
    item as it stands: the move itself is still allowed.
    """
    result: WriteResult = Refused(job)
    for _ in range(MAX_REBUILDS):
        move = build(job)
        result = jobs.transition(move)
        if isinstance(result, Applied) or not _only_history_moved(move, result.current):
            return result
        assert result.current is not None
        job = result.current
    return result


def _is_same_put(job: Job, current: Job | None) -> bool:
    """Whether the item that stands in the way is our own, put by a call whose answer was lost.

    Several visits may put a schedule's job in one millisecond: there the caller judges.
    """
    if current is None or job.schedule_id is not None:
        return False
    # An earlier try may have sent its message at once, and the last one not.
    first = [replace(each, status=JobStatus.PENDING) for each in job.history[:1]]
    return [replace(each, status=JobStatus.PENDING) for each in current.history[:1]] == first


def _only_history_moved(move: Transition, current: Job | None) -> bool:
    if current is None or "history_as_read" not in move.expect:
        return False
    others = [c for name, c in move.expect.items() if name != "history_as_read"]
    return all_hold(others, current)


def message_of(job: Job, pauses_revision: int = 0, slot_shard: int = 0) -> JobMessage:
    """Return the message that announces the current generation of ``job``.

    ``pauses_revision``: the state of the handlers' pauses by which it is sent. ``slot_shard``:
    where it was granted the slot for which it is parked.
    """
    return JobMessage(
        job_id=job.id,
        handler=job.handler,
        generation=job.generation,
        attempt=job.attempt,
        token=job.token,
        due_at=job.due_at or job.run_at,
        run_at=job.run_at,
        timeout_seconds=job.timeout_seconds,
        tenant=job.tenant,
        trace_id=job.trace_id or trace_id_for(job.id),
        needs_admission=job.schedule_id is not None,
        has_limits=job.limits is not None,
        is_debounced=job.debounces is not None,
        pauses_revision=pauses_revision,
        slot_shard=slot_shard,
        parent=job.parent_to_find,
    )


def outgoing_of(
    job: Job,
    now: datetime,
    rounding: timedelta,
    queue: Priority | None = None,
    *,
    pauses_revision: int = 0,
    slot_shard: int = 0,
) -> Outgoing:
    """Return the message of ``job`` with the rest of its time, in whole seconds.

    ``rounding``: see `Timings.delay_rounding`. A worker that receives the message a fraction early
    waits for that fraction.
    """
    message = message_of(job, pauses_revision, slot_shard)
    delay = min(message.due_at - now + rounding, SQS_MAX_DELAY)
    return Outgoing(
        message=message,
        queue=queue or job.queue,
        delay_seconds=floor_seconds(delay),
    )
