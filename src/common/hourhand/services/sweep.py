"""The sweep: read buckets, decide about each job, act.

One read finds what is due and what is stuck; there is no other recovery.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from hourhand.domain.actions import (
    Action,
    Dispatch,
    DispatchAgain,
    Expire,
    Finish,
    Judgement,
    KeepPayload,
    Recover,
    next_action,
)
from hourhand.domain.errors import Unavailable, WrittenByNewer
from hourhand.domain.history import shorten
from hourhand.domain.model import IndexEntry, Job, Priority
from hourhand.ports import JobStore, Queues, Telemetry
from hourhand.services.dispatch import ACTOR, Dispatcher, ToDispatch
from hourhand.services.newer import read_known, tell_newer
from hourhand.services.recovery import RecoveryService

PAGE_ENTRIES = 1000
"""Index entries a page: about 100 KB, a tenth of what a query may return. What a scheduler that
dies in the midst of one had sent, the next one sends again."""

MAX_PAGES = 100_000
"""Pages of one bucket's shard: fifty million jobs due in one minute. A bound, not a limit."""


REASON_BYTES = 300
"""How much of an error a log line holds."""


@dataclass(slots=True)
class SweepCounts:
    """What a sweep found and did. ``unsent``: jobs that it was to send and could not."""

    entries: int = 0
    dispatched: int = 0
    unsent: int = 0
    actions: dict[str, int] = field(default_factory=dict)
    failures: int = 0
    oldest_due: dict[Priority, timedelta] = field(default_factory=dict)

    @property
    def sent_all(self) -> bool:
        """Whether everything that was read and to be sent was accepted."""
        return self.unsent == 0 and self.failures == 0

    def note(self, job: Job, action: Action, now: datetime) -> None:
        """Count an action, and the age of a job that waits."""
        name = type(action).__name__
        self.actions[name] = self.actions.get(name, 0) + 1
        if job.status.is_waiting and job.due_at is not None and job.due_at <= now:
            age = now - job.due_at
            self.oldest_due[job.queue] = max(age, self.oldest_due.get(job.queue, age))


@dataclass(slots=True)
class Sweep:
    """One sweep under one ``judgement``. ``may_go_on`` is asked between pages."""

    jobs: JobStore
    queues: Queues
    dispatcher: Dispatcher
    recovery: RecoveryService
    telemetry: Telemetry
    judgement: Judgement
    may_go_on: Callable[[], bool]
    counts: SweepCounts = field(default_factory=SweepCounts)
    _knows_queues: bool = field(default=False, init=False)

    def read_shard(self, bucket: int, shard: int) -> bool | None:
        """Sweep one shard of a bucket to its last page.

        Returns whether it showed any entry, or ``None`` where it was not read to its end.
        """
        position: Mapping[str, Any] | None = None
        showed_any = False
        for _ in range(MAX_PAGES):
            if not self.may_go_on():
                return None
            try:
                page = self.jobs.read_bucket(bucket, shard, position=position, limit=PAGE_ENTRIES)
                self._act_on(page.entries)
            except Exception as error:  # noqa: BLE001 - one shard must not hold up the others
                self._tell("A shard could not be read; the next tick tries again.", error)
                return None
            showed_any = showed_any or bool(page.entries)
            if page.next is None:
                return showed_any
            position = page.next
        return None

    def peek(self, bucket: int, shard: int) -> bool | None:
        """Say whether a shard that another sweeps shows any entry; ``None``: it cannot be read."""
        try:
            return bool(self.jobs.read_bucket(bucket, shard, position=None, limit=1).entries)
        except Unavailable as error:
            self._tell("A shard could not be looked at; the next tick tries again.", error)
            return None

    def _act_on(self, entries: Sequence[IndexEntry]) -> None:
        if not entries:
            return
        self.counts.entries += len(entries)
        found = self._read_jobs([entry.job_id for entry in entries])
        to_dispatch: list[ToDispatch] = []
        for entry in entries:
            job = found.get(entry.job_id)
            # An entry without a job, or of a job that moved on, is the index's lag.
            if job is None:
                continue
            action = self._decide(job)
            self.counts.note(job, action, self.judgement.now)
            if isinstance(action, Dispatch | DispatchAgain):
                to_dispatch.append(ToDispatch(job, action))
            else:
                self._repair(job, action)
        self._dispatch(to_dispatch)

    def _read_jobs(self, job_ids: Sequence[str]) -> Mapping[str, Job]:
        """Read base items; one that this code cannot read as a job is told and left."""
        try:
            return read_known(self.telemetry, job_ids, self.jobs.get_many)
        except Unavailable:
            raise
        except Exception:  # noqa: BLE001 - found out below, item by item
            found: dict[str, Job] = {}
        for job_id in job_ids:
            try:
                job = self.jobs.get(job_id)
            except WrittenByNewer as newer:
                tell_newer(self.telemetry, newer)
            except Exception as error:  # noqa: BLE001 - the others must not pay for it
                self._tell("An item could not be read as a job.", error, job_id)
            else:
                if job is not None:
                    found[job_id] = job
        return found

    def _decide(self, job: Job) -> Action:
        action = next_action(job, self.judgement)
        if _is_again(action) and not self._knows_queues:
            # Asking the queues costs requests: only a tick that misses messages does it.
            self._look_at_queues()
            return next_action(job, self.judgement)
        return action

    def _look_at_queues(self) -> None:
        self._knows_queues = True
        try:
            self.judgement = replace(self.judgement, queues=self.queues.view())
        except Unavailable as error:
            # A second message costs little; one that is lost and never sent again costs the job.
            self._tell("The queues could not be looked at: what is missed is sent again.", error)

    def _dispatch(self, batch: Sequence[ToDispatch]) -> None:
        try:
            sent = self.dispatcher.dispatch(batch)
            self.counts.dispatched += sent
            self.counts.unsent += len(batch) - sent
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

    def _repair(self, job: Job, action: Action) -> None:
        try:
            match action:
                case Recover():
                    self.recovery.recover_lost(job, ACTOR)
                case Expire():
                    self.recovery.expire_job(job, ACTOR)
                case Finish():
                    self.recovery.finish_job(job)
                case KeepPayload():
                    self.recovery.renew_payload(job)
        except WrittenByNewer as newer:
            tell_newer(self.telemetry, newer)
        except Exception as error:  # noqa: BLE001 - one job must not hold up the others
            self._tell("A job could not be repaired; the next tick tries again.", error, job.id)

    def _tell(self, sentence: str, error: Exception, job_id: str | None = None) -> None:
        self.counts.failures += 1
        self.telemetry.count("sweep_failures")
        reason = shorten(f"{type(error).__name__}: {error}", REASON_BYTES)
        self.telemetry.warning(sentence, reason=reason, job_id=job_id)


def _is_again(action: Action) -> bool:
    """Whether a message is missed: a queue may tell where it is."""
    return isinstance(action, DispatchAgain) or (isinstance(action, Dispatch) and action.is_missed)
