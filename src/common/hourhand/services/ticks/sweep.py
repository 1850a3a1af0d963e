"""The sweep: read buckets, decide about each job, act.

One read finds what is due and what is stuck; there is no other recovery.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.actions import (
    Action,
    Dispatch,
    DispatchAgain,
    Expire,
    Finish,
    Hold,
    KeepPayload,
    LeaveQueue,
    OutOfQueue,
    PutOff,
    Recheck,
    Recover,
    SweepContext,
    Wake,
    after_recheck,
    next_action,
)
from hourhand.domain.jobs.job import TICK, IndexEntry, Job, Priority
from hourhand.domain.jobs.pauses import next_look
from hourhand.domain.ticks.watermark import Place
from hourhand.domain.times import rfc3339
from hourhand.ports.job_store import IndexPage, JobStore
from hourhand.ports.queues import Queues
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.parking import Parking
from hourhand.services.jobs.recovery import RecoveryService
from hourhand.services.limits.queue_rechecks import Rechecks, SweepRechecks
from hourhand.services.optional import leaving_newer, read_readable, reason_of
from hourhand.services.ticks.dispatch import Dispatcher, ToDispatch, is_again

PAGE_ENTRIES = 1000
"""Index entries a page: about 100 KB, a tenth of what a query may return. What a scheduler that
dies in the midst of one had sent, the next one sends again."""

MOST_UNDER_WAY = 5 * PAGE_ENTRIES
"""Jobs whose calls wait to be tried again while further pages are read: what a tenth of throttled
calls comes to at full pace, five times. A scheduler that dies then has sent no more unmarked."""

MAX_SETTLES = 1000
"""Failures that are logged at the end of a sweep; what is under way has a bound of its own."""

MAX_LEFT = 100
"""Jobs of paused handlers that one sweep takes out of the queues of limits: a dozen calls each."""

MAX_PAGES = 100_000
"""Pages of one bucket's shard: fifty million jobs due in one minute. A bound, not a limit."""


@dataclass(slots=True)
class SweepCounts:
    """What a sweep found and did. ``unsent``: jobs that it was to send and could not.

    ``live``: by tenant, actor and shard, the jobs that have not ended, if a quota bounds them;
    ``shards``: those that it read.
    """

    entries: int = 0
    dispatched: int = 0
    unsent: int = 0
    actions: dict[str, int] = field(default_factory=dict)
    failures: int = 0
    oldest_due: dict[Priority, timedelta] = field(default_factory=dict)
    live: Counter[tuple[str | None, str, int]] = field(default_factory=Counter)
    shards: set[int] = field(default_factory=set)

    @property
    def sent_all(self) -> bool:
        """Whether everything that was read and to be sent was accepted."""
        return self.unsent == 0 and self.failures == 0

    def note(self, job: Job, action: Action, now: datetime) -> None:
        """Count an action, and the age of a job that is late.

        One that a pause or a full limit holds back is not late, unless the sweep sends it now.
        """
        name = type(action).__name__
        self.actions[name] = self.actions.get(name, 0) + 1
        is_parked = job.is_parked and not isinstance(action, Wake)
        is_held = isinstance(action, Hold | PutOff | LeaveQueue) or is_parked
        if job.status.is_waiting and job.due_at is not None and job.due_at <= now and not is_held:
            age = now - job.due_at
            self.oldest_due[job.queue] = max(age, self.oldest_due.get(job.queue, age))


@dataclass(slots=True)
class Sweep:
    """One sweep under one ``judgement``. ``may_go_on`` is asked between pages."""

    jobs: JobStore
    queues: Queues
    dispatcher: Dispatcher
    recovery: RecoveryService
    parking: Parking
    rechecks: Rechecks
    telemetry: Telemetry
    judgement: SweepContext
    may_go_on: Callable[[], bool]
    counts: SweepCounts = field(default_factory=SweepCounts)
    _knows_queues: bool = field(default=False, init=False)
    _has_unread: bool = field(default=False, init=False)
    _sends_again: bool = field(default=False, init=False)
    _known_rechecks: SweepRechecks | None = field(default=None, init=False)
    _left: int = field(default=0, init=False)

    def first_pages(
        self, places: Sequence[Place], *, to_peek: bool = False
    ) -> Mapping[Place, IndexPage]:
        """Read the first page of many shards of buckets, side by side; ``to_peek``: one entry each.

        One that could not be read is left out: read alone, it is tried again and says why.
        """
        limit = 1 if to_peek else PAGE_ENTRIES
        if not places or not self.may_go_on():
            return {}
        try:
            pages = self.jobs.read_buckets(tuple(places), limit=limit)
        except Exception as error:  # noqa: BLE001 - one shard must not hold up the others
            self._tell("Shards could not be read in parallel. Each one is read alone.", error)
            return {}
        found = zip(places, pages, strict=True)
        return {place: page for place, page in found if page is not None}

    def read_shard(self, bucket: int, shard: int, first: IndexPage | None = None) -> bool | None:
        """Sweep one shard of a bucket to its last page; ``first`` is its first page if at hand.

        Returns whether it showed any entry, or ``None`` where it was not read to its end.
        """
        position: Mapping[str, Any] | None = None
        showed_any = False
        self.counts.shards.add(shard)
        for number in range(MAX_PAGES):
            if not self.may_go_on():
                return None
            try:
                page = first if number == 0 else None
                if page is None:
                    page = self.jobs.read_bucket(
                        bucket, shard, position=position, limit=PAGE_ENTRIES
                    )
                self._act_on(page.entries)
            except Exception as error:  # noqa: BLE001 - one shard must not hold up the others
                self._tell("A shard could not be read; the next tick tries again.", error)
                return None
            showed_any = showed_any or bool(page.entries)
            if page.next is None:
                # Maybe jobs of another shard, whose call was put off: then both are read again.
                has_unread, self._has_unread = self._has_unread, False
                return None if has_unread else showed_any
            position = page.next
        return None

    def peek(self, bucket: int, shard: int, first: IndexPage | None = None) -> bool | None:
        """Say whether a shard that another sweeps shows any entry; ``None``: it cannot be read."""
        if first is not None:
            return bool(first.entries)
        try:
            return bool(self.jobs.read_bucket(bucket, shard, position=None, limit=1).entries)
        except Exception as error:  # noqa: BLE001 - one shard must not hold up the others
            self._tell("A shard could not be checked; the next tick tries again.", error)
            return None

    def _act_on(self, entries: Sequence[IndexEntry]) -> None:
        if not entries:
            return
        self.counts.entries += len(entries)
        job_ids = [entry.job_id for entry in entries]
        self.dispatcher.pipeline.read(job_ids, self._act_on_read)
        self._go_on(MOST_UNDER_WAY)
        if self._sends_again:
            # What is overdue is claimed as soon as it is sent: a mark that waited for further
            # pages would come too late, and the history would not show that it was sent again.
            self._sends_again = False
            self.settle()

    def settle(self) -> None:
        """Let all calls end that are under way; the next tick does what failed."""
        for _ in range(MAX_SETTLES):
            if self._go_on(0):
                return

    def _go_on(self, most_left: int) -> bool:
        """Let calls end that are under way; whether none of them failed."""
        try:
            self.dispatcher.pipeline.go_on(most_left)
        except Exception as error:  # noqa: BLE001 - the rest must end, too
            self._tell("Jobs could not be dispatched; the next tick tries again.", error)
            return False
        return True

    def _act_on_read(self, job_ids: Sequence[str], read: Mapping[str, Job] | Exception) -> None:
        """Decide about jobs and act; those that could not be read are left to the next tick."""
        try:
            found = self._read_jobs(job_ids, read) if isinstance(read, Exception) else read
        except Unavailable as error:
            self._has_unread = True
            self._tell("Jobs could not be read; the next tick tries again.", error)
            return
        to_dispatch: list[ToDispatch] = []
        now = self.judgement.now
        for job_id in job_ids:
            job = found.get(job_id)
            # An entry without a job, or of a job that moved on, is the index's lag.
            if job is None:
                continue
            action = self._decided(job)
            if isinstance(action, Recheck):
                action = self._rechecked(job)
            # The entry of a job that was put off moves when it is woken: no mark does that.
            is_put_off = isinstance(action, Wake) and (job.due_at or now) > now
            if isinstance(action, Dispatch | DispatchAgain | Wake) and not is_put_off:
                to_dispatch.append(ToDispatch(job, action))
                self._sends_again = self._sends_again or is_again(action)
            elif action is not None:
                self._repair(job, action)
        self._dispatch(to_dispatch)

    def _read_jobs(self, job_ids: Sequence[str], failure: Exception) -> Mapping[str, Job]:
        """Read base items after ``failure``; one that this code cannot read as a job is logged."""
        if isinstance(failure, Unavailable):
            raise failure

        def note(job_id: str, error: Exception) -> None:
            self._tell("An item could not be read as a job.", error, job_id)

        return read_readable(job_ids, self.jobs.get_many, note)

    def _decided(self, job: Job) -> Action | None:
        """Decide about one job and count that; ``None`` where that is not possible."""
        try:
            action = self._decide(job)
            self.counts.note(job, action, self.judgement.now)
            if self.judgement.pauses.counts_live and not job.status.is_final:
                self.counts.live[job.tenant, job.history[0].actor, job.shard or 0] += 1
        except Exception as error:  # noqa: BLE001 - one job must not hold up its page
            self._tell("No decision could be made about a job.", error, job.id)
            return None
        return action

    def _decide(self, job: Job, found: OutOfQueue | None = None) -> Action:
        """Decide about a job; ``found``: what the recheck of its wait queue found."""
        action = self._action(job, found)
        if is_again(action) and not self._knows_queues:
            # Asking the queues costs requests: only a tick that misses messages does it.
            self._look_at_queues()
            return self._action(job, found)
        return action

    def _action(self, job: Job, found: OutOfQueue | None) -> Action:
        if found is not None:
            return after_recheck(job, found, self.judgement)
        return next_action(job, self.judgement)

    def _rechecked(self, job: Job) -> Action | None:
        """Recheck the wait queue of a parked job; return what is to be done with the job."""
        try:
            with leaving_newer(self.telemetry):
                found = self._sweep_rechecks().recheck(job)
                action = self._decide(job, found) if found is not None else None
                is_put_off = job.due_at is not None and job.due_at > self.judgement.now
                if isinstance(action, DispatchAgain) and is_put_off:
                    # No mark moves its entry.
                    self.rechecks.queues.send(job, action.slot_shard)
                    return None
                return action
        except Exception as error:  # noqa: BLE001 - one job must not hold up the others
            self._tell("A job could not be repaired; the next tick tries again.", error, job.id)
        return None

    def _look_at_queues(self) -> None:
        self._knows_queues = True
        try:
            self.judgement = replace(self.judgement, queues=self.queues.view())
        except Exception as error:  # noqa: BLE001 - the page can do without the view
            # A second message costs little; one that is lost and never sent again costs the job.
            self._tell(
                "The queues could not be counted. Jobs whose messages are missing are sent again.",
                error,
            )

    def _dispatch(self, batch: Sequence[ToDispatch]) -> None:
        try:
            self.dispatcher.dispatch(batch, self._note_sent)
        except Unavailable as error:
            self.counts.unsent += len(batch)
            self._tell("Jobs could not be dispatched; the next tick tries again.", error)
        except Exception as error:  # noqa: BLE001 - one job must not hold up its page
            if len(batch) == 1:
                self.counts.unsent += 1
                self._tell("A job could not be dispatched.", error, batch[0].job.id)
                return
            for item in batch:
                self._dispatch([item])

    def _note_sent(self, sent: int, unsent: int) -> None:
        self.counts.dispatched += sent
        self.counts.unsent += unsent

    def _repair(self, job: Job, action: Action) -> None:
        try:
            with leaving_newer(self.telemetry):
                match action:
                    case Recover():
                        self.recovery.recover_lost(job, TICK)
                    case Expire():
                        self.recovery.expire_job(job, TICK)
                    case Finish():
                        self.recovery.finish_job(job)
                    case KeepPayload():
                        self.recovery.renew_payload(job)
                    case Wake():
                        self.parking.wake(job, TICK)
                    case LeaveQueue():
                        self._leave_queue(job)
                    case PutOff(until):
                        self.parking.put_off(job, until, TICK)
        except Exception as error:  # noqa: BLE001 - one job must not hold up the others
            self._tell("A job could not be repaired; the next tick tries again.", error, job.id)

    def _leave_queue(self, job: Job) -> None:
        """Take a job of a paused handler out of the queue of a limit, or only put its entry off.

        It leaves where jobs of other handlers may wait for slots that it holds, so many in a sweep.
        """
        if self._left < MAX_LEFT and self.rechecks.limits.may_block_others(job):
            self._left += 1
            self.parking.leave_queue(job, TICK)
            return
        later = next_look(job, self.judgement.now)
        if later is not None:
            self.parking.put_off(job, later, TICK)

    @property
    def rechecked_all(self) -> bool:
        """Whether every wait queue was rechecked that it met."""
        return self._known_rechecks is None or self._known_rechecks.left == 0

    def _sweep_rechecks(self) -> SweepRechecks:
        if self._known_rechecks is None:
            self._known_rechecks = self.rechecks.of_sweep(rfc3339(self.judgement.now))
        return self._known_rechecks

    def _tell(self, sentence: str, error: Exception, job_id: str | None = None) -> None:
        self.counts.failures += 1
        self.telemetry.count("sweep_failures")
        self.telemetry.warning(sentence, reason=reason_of(error), job_id=job_id)
