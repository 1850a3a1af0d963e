"""The lists by which limits, runs and schedules attach to jobs, which know none of them.

- `BeforeDue`: what comes before a write that sets when a job is due.
- `StartRule`: what stands before a start.
- `EndTask`: what follows the end of a job, by the name of its outbox task.

A feature adds one entry to a list, in `hourhand.wiring`. `LimitsOfJobs` and `ReadsResults` are
what limits and runs do for a job between these points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from hourhand.domain.jobs.job import ErrorInfo, Job, JobMessage
from hourhand.domain.jobs.waiting import Reserved, TakenStart
from hourhand.ports.clock import Clock
from hourhand.ports.job_store import JobDetails, JobStore
from hourhand.ports.queues import Delivery

ASK_AGAIN = timedelta(seconds=5)
"""After how long a job is judged again, if it or its schedule changed under a start rule."""


class BeforeDue(Protocol):
    """Comes before each write that sets when jobs are due."""

    def prepare(self, jobs: Sequence[Job]) -> None:
        """Do what must be done first. ``jobs``: as the write will leave them.

        It is repeated with the write, and the write may be refused. Raises `Unavailable`: then
        nothing is written.
        """


@dataclass(frozen=True, slots=True)
class Deferred:
    """The job does not start now: its message is kept and hidden for a time, or done with."""

    keep_for: timedelta | None = None


@dataclass(slots=True)
class Candidate:
    """The job of a message before its claim. It is read when the first rule needs it."""

    delivery: Delivery
    jobs: JobStore
    slot_shards: dict[int, int] = field(default_factory=dict, init=False)
    """The shard of each slot that the job holds, by the limit's position; noted by a rule."""
    error: ErrorInfo | None = field(default=None, init=False)
    """Why the job ends DEAD once it is claimed, instead of being run; noted by a rule."""
    _read: tuple[Job | None] | None = field(default=None, init=False)

    @property
    def message(self) -> JobMessage:
        """What announced the job."""
        return self.delivery.message

    def job(self) -> Job | None:
        """Return the job, if it waits for the very start that the message announces.

        ``None``: the claim is refused, and says what becomes of the message. May raise
        `Unavailable`.
        """
        if self._read is None:
            job = self.jobs.get(self.message.job_id)
            is_announced = (
                job is not None
                and job.status.is_waiting
                and job.generation == self.message.generation
            )
            self._read = (job if is_announced else None,)
        return self._read[0]

    def to_admit(self, clock: Clock) -> Job | None:
        """Return the job for which limits are taken. May raise `Unavailable`.

        ``None``: the claim is refused, and says what becomes of the message; or it ends the job.
        """
        job = self.job()
        if job is None or self.error is not None:
            return None
        has_expired = job.expires_at is not None and job.expires_at <= clock.now()
        return None if has_expired else job

    def changed(self) -> None:
        """Let the next rule read the job again."""
        self._read = None


class StartRule(Protocol):
    """Decides before the claim whether the job of a message may start."""

    def admit(self, candidate: Candidate) -> Deferred | None:
        """Judge the job of a message; ``None``: it may be claimed. May raise `Unavailable`."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of an outbox task.

    ``is_done``: false if it is left to another component or to a later tick. ``keep_until``: how
    long the job must be kept for what the task began.
    """

    is_done: bool = True
    keep_until: datetime | None = None


DONE, LEFT = Settled(), Settled(is_done=False)


class EndTask(Protocol):
    """Settles an outbox task of jobs that ended. It is safe to repeat."""

    def settle(self, ended: JobDetails) -> Settled:
        """Settle the task of a final job. Raises `Unavailable`: then it is settled later."""


class LimitsOfJobs(Protocol):
    """What limits have to do with jobs that start, run and move."""

    def after_move(self, before: Job, after: Job) -> None:
        """Release the slots of ``before`` if a move ended its generation. Raises nothing."""

    def release(self, ended: Job, after: Job) -> None:
        """Release the slots of a generation that ended: a worker that died may have left them.

        Raises `Unavailable`.
        """

    def release_other(self, job: Job, granted: int) -> None:
        """Release a slot that a running job was granted besides its own. Raises `Unavailable`."""

    def hold_rates(self, job: Job, until: datetime) -> None:
        """Let no job start before a time that has the rate limits of ``job``."""

    def has_rate(self, job: Job) -> bool:
        """Whether a rate limit counts each start of ``job``. Reads nothing."""

    def may_block_others(self, job: Job) -> bool:
        """Whether other handlers may share slots that ``job`` has. Reads nothing."""

    def take(
        self, job: Job, name: str, cost: float, longest: timedelta, reserved: Reserved
    ) -> TakenStart:
        """Take a start for the handler of a job; see `TakeStart`.

        ``reserved``: the reservations of its attempt, which it uses and adds to.
        """


class ReadsResults(Protocol):
    """Reads results that stand in the payloads of the children of runs."""

    def resolve(self, job: Job, payload_text: str) -> str:
        """Return the payload of a child with the results in it.

        Raises `RunEnds` if a result is gone, or the payload is too large with them; `Unavailable`.
        """
