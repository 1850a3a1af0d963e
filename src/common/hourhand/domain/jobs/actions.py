"""What the sweep does with a job that it reads: one pure decision, `next_action`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from hourhand.domain.jobs.job import EventKind, Job, JobStatus, Priority
from hourhand.domain.jobs.outbox import waits_for_slot
from hourhand.domain.jobs.pauses import NO_PAUSES, HandlerPauses, next_look
from hourhand.domain.ticks.timings import Timings
from hourhand.domain.ticks.unmarked_dispatch import Economy, stands_since


@dataclass(frozen=True, slots=True)
class QueueView:
    """What is known of one queue at the start of a tick.

    ``messages``: how many wait in it to be received (approximate). Those in flight and those
    delayed explain nothing: a due job whose message is not waiting either has lost it, or will
    see it again soon. ``oldest_sent_at``: when the oldest was sent, where that is known.
    """

    messages: int
    oldest_sent_at: datetime | None = None

    def explains(self, sent_at: datetime) -> bool:
        """Whether a message sent at ``sent_at`` may well still wait in this queue.

        SQS drops a message that was received three times from its oldest-message age, so a wrong
        "no" is possible; it costs a duplicate message, which the claim absorbs.
        """
        if self.messages == 0:
            return False
        return self.oldest_sent_at is None or sent_at >= self.oldest_sent_at


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Send a message of this generation, then mark it ENQUEUED: none was marked before.

    ``is_marked``: in economy mode the record of the whole sweep may do in the place of a mark.
    ``is_missed``: an earlier sweep sent one, as its record says, and the job still waits.
    """

    is_marked: bool = True
    is_missed: bool = False


@dataclass(frozen=True, slots=True)
class DispatchAgain:
    """Send a further message to ``queue``, then mark when.

    ``slot_shard``: where it was granted the slot for which it is parked.
    """

    queue: Priority
    reason: str
    slot_shard: int = 0


@dataclass(frozen=True, slots=True)
class Recover:
    """Its lease expired: end the lost attempt."""


@dataclass(frozen=True, slots=True)
class Expire:
    """``expires_at`` passed before a start."""


@dataclass(frozen=True, slots=True)
class Finish:
    """It is final, and something may still be owed for it; then its entry is removed."""


@dataclass(frozen=True, slots=True)
class KeepPayload:
    """The payload beside it would be deleted too soon: keep it longer."""


@dataclass(frozen=True, slots=True)
class Wake:
    """It was parked, and what it waited for is there: send it, then mark it as not parked."""


@dataclass(frozen=True, slots=True)
class Recheck:
    """It is parked for a slot: recheck the wait queue in which it stands."""


@dataclass(frozen=True, slots=True)
class LeaveQueue:
    """It is parked for a slot, and its handler is paused: take it out of the queue."""


@dataclass(frozen=True, slots=True)
class OutOfQueue:
    """What a recheck found: the parked job does not stand in its wait queue.

    ``granted_at``: since when it has a slot, in ``slot_shard``. ``None``: it has none, and a worker
    must judge it anew: its waiter record is lost, or its limit or the shard is gone.
    """

    granted_at: datetime | None = None
    slot_shard: int = 0


@dataclass(frozen=True, slots=True)
class PutOff:
    """It is parked, or its handler is paused, and its entry is old: move the entry to ``until``."""

    until: datetime


@dataclass(frozen=True, slots=True)
class Hold:
    """Its handler is paused: it is not sent. It is not late by any fault of Hourhand's."""


@dataclass(frozen=True, slots=True)
class Leave:
    """Nothing to do in this tick."""


Action = (
    Dispatch
    | DispatchAgain
    | Recover
    | Expire
    | Finish
    | KeepPayload
    | Wake
    | Recheck
    | LeaveQueue
    | PutOff
    | Hold
    | Leave
)

_AGAIN = frozenset({EventKind.DISPATCHED_AGAIN, EventKind.AGED})
_ABOVE = {Priority.LOW: Priority.MEDIUM, Priority.MEDIUM: Priority.HIGH}


@dataclass(frozen=True, slots=True)
class SweepContext:
    """Everything beside the job that `next_action` weighs.

    ``horizon`` is now + look-ahead, widened where the clock is in doubt. ``economy``: how marks
    are spared, if they are. ``pauses``: those of the handlers.
    """

    now: datetime
    horizon: datetime
    timings: Timings
    queues: Mapping[Priority, QueueView] = field(default_factory=dict)
    economy: Economy | None = None
    pauses: HandlerPauses = NO_PAUSES


def next_action(job: Job, judgement: SweepContext) -> Action:
    """Decide what the sweep does with ``job`` now."""
    now, timings = judgement.now, judgement.timings
    if job.status.is_final:
        return Leave() if job.due_at is None else Finish()
    if job.status is JobStatus.RUNNING:
        expired = job.lease is not None and job.lease.until < now - timings.clock_margin
        return Recover() if expired else Leave()
    if job.expires_at is not None and job.expires_at <= now:
        return Expire()
    if judgement.pauses.of(job.handler, max(now, job.due_at or now)) is not None:
        action = _while_paused(job, now)
    elif job.is_parked:
        action = _wake(job, judgement)
    else:
        action = _send(job, judgement)
    # There are weeks left for the payload: what is due goes first, whatever becomes of this.
    runs_at = max(now, job.due_at or now)
    if isinstance(action, Leave | Hold) and needs_payload_renewal(job, runs_at, timings):
        return KeepPayload()
    return action


def needs_payload_renewal(job: Job, runs_at: datetime, timings: Timings) -> bool:
    """Whether the payload beside a job comes near its end by the time that the job is to run."""
    until = job.payload_kept_until
    return until is not None and until - runs_at < timings.payload_renewed_below


def redispatch_wait(due_at: datetime, enqueued_at: datetime, timings: Timings) -> timedelta:
    """Return how long after it was last sent (or due) a job's message is missed.

    It doubles without a counter: what has passed since the job was due is the next wait.
    """
    elapsed = enqueued_at - due_at
    return min(max(timings.redispatch_first, elapsed), timings.redispatch_backoff_cap)


def _while_paused(job: Job, now: datetime) -> Action:
    if waits_for_slot(job):
        # It may hold slots that jobs of other handlers wait for.
        return LeaveQueue()
    later = next_look(job, now)
    return PutOff(later) if later is not None else Hold()


def _wake(job: Job, judgement: SweepContext) -> Action:
    """Decide about a job that waits for something other than time.

    The end of a pause wakes it here. Whether a slot is free, its wait queue says. The worker that
    parks a job looks again itself. If it died before that, its message does, which comes before
    this.
    """
    now, timings = judgement.now, judgement.timings
    if now - (job.enqueued_at or now) < timings.redispatch_first:
        return Leave()
    if job.waits_for is not None and job.waits_for.is_pause:
        return Wake()
    later = next_look(job, now)
    return PutOff(later) if later is not None else Recheck()


def after_recheck(job: Job, found: OutOfQueue, judgement: SweepContext) -> DispatchAgain | Leave:
    """Decide about a parked job that stands in no wait queue.

    It was sent when it got its slot, and is judged by that as any job that was sent. One without a
    slot is sent at once; after that, too, its message is missed as that of any job.
    """
    sent_at = job.enqueued_at or judgement.now
    if found.granted_at is not None:
        # It was parked before it was granted: only a mark of a further message is later.
        last = max(found.granted_at, sent_at)
        action = _dispatch_again(job, found.granted_at, last, judgement)
        if isinstance(action, DispatchAgain):
            return replace(action, slot_shard=found.slot_shard)
        return action
    since = [e for e in job.history if e.kind is EventKind.PARKED or e.kind in _AGAIN]
    if not since or since[-1].kind is EventKind.PARKED:
        return DispatchAgain(job.queue, "is in no queue")
    parked_at = max((e.at for e in since if e.kind is EventKind.PARKED), default=sent_at)
    return _dispatch_again(job, parked_at, sent_at, judgement)


def _send(job: Job, judgement: SweepContext) -> Dispatch | DispatchAgain | Leave:
    if job.due_at is None or job.due_at > judgement.horizon:
        return Leave()
    if job.enqueued_at is not None:
        return _dispatch_again(job, job.due_at, job.enqueued_at, judgement)
    economy = judgement.economy
    # Of a handler that was paused until now, the last sweep has not sent what it was to send.
    if economy is None or job.handler in judgement.pauses.pauses:
        return Dispatch()
    if economy.window.covers(job):
        return _dispatch_missed(job, job.due_at, judgement)
    return Dispatch(is_marked=not economy.spares_mark(job))


def _dispatch_missed(job: Job, due_at: datetime, judgement: SweepContext) -> Dispatch | Leave:
    """Decide about a job that was sent without a mark: missed as one that has it."""
    now, timings = judgement.now, judgement.timings
    waited = now - due_at
    if waited < timings.redispatch_first:
        return Leave()
    # The earliest that it can have been sent at: a wrong "it still waits there" would cost time.
    sent_at = max(stands_since(job), due_at - timings.look_ahead)
    is_missed = _why_again(job, sent_at, waited, judgement) is not None
    return Dispatch(is_missed=True) if is_missed else Leave()


def _dispatch_again(
    job: Job, due_at: datetime, enqueued_at: datetime, judgement: SweepContext
) -> DispatchAgain | Leave:
    now, timings = judgement.now, judgement.timings
    last = max(due_at, enqueued_at)
    above = _ABOVE.get(job.queue)
    aged = now - _waits_since(job, due_at)
    if above is not None and aged >= timings.aging_wait * _next_step(job):
        return DispatchAgain(above, "waited too long")
    waited = now - last
    if waited < redispatch_wait(due_at, enqueued_at, timings):
        return Leave()
    reason = _why_again(job, enqueued_at, waited, judgement)
    return DispatchAgain(job.queue, reason) if reason is not None else Leave()


def _waits_since(job: Job, due_at: datetime) -> datetime:
    """Return since when a message of ``job`` waits, as far as its history shows.

    After an outage its time may be long over when it is first sent: no worker could take it before.
    """
    sent = [e.at for e in job.history if e.status is JobStatus.ENQUEUED and e.kind not in _AGAIN]
    return max((due_at, *sent))


def _why_again(
    job: Job, sent_at: datetime, waited: timedelta, judgement: SweepContext
) -> str | None:
    """Return why another message is sent; ``None``: a backlog explains that the job waits."""
    view = judgement.queues.get(job.queue)
    if view is None or not view.explains(sent_at):
        return "message missed"
    return "waited too long" if waited >= judgement.timings.redispatch_hard_cap else None


def _next_step(job: Job) -> int:
    """Return the number of the next aging step, from 1: each takes one more aging wait."""
    order = (Priority.LOW, Priority.MEDIUM, Priority.HIGH)
    return order.index(job.queue) - order.index(job.priority) + 1
