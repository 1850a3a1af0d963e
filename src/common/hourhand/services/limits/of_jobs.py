"""What limits do for jobs that start, run, move and end. Most jobs have none: they load nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.waiting import Reserved, TakenStart
from hourhand.ports.handler_directory import HandlerDirectory
from hourhand.ports.job_store import JobDetails
from hourhand.services.jobs.aspects import DONE, Candidate, Deferred, Settled, StartRule

if TYPE_CHECKING:
    from hourhand.domain.limits.declarations import Limit
    from hourhand.services.limits.handler_starts import HandlerStarts
    from hourhand.services.limits.job_limits import JobLimits
    from hourhand.services.limits.rates_rule import RateWaits
    from hourhand.services.limits.slot_release import SlotRelease


@dataclass(frozen=True, slots=True)
class LimitsAspect:
    """Implements `LimitsOfJobs`, and the outbox task that releases slots.

    Its parts are imported once a job with limits asks for them.
    """

    handlers: HandlerDirectory
    limits: JobLimits
    slots: SlotRelease
    rates: RateWaits
    starts: HandlerStarts

    def after_move(self, before: Job, after: Job) -> None:
        """Release the slots of ``before`` if a move ended its generation. Raises nothing."""
        if self._are_of(before):
            self.slots.after_move(before, after)

    def settle(self, ended: JobDetails) -> Settled:
        """Release the slots of a job that ended. Raises `Unavailable`."""
        # As it will be: the schedule is paused that was to be paused first.
        self.release(ended.job, replace(ended.job, due_at=None))
        return DONE

    def release(self, ended: Job, after: Job) -> None:
        """Release the slots of a generation that ended. Raises `Unavailable`."""
        if self._are_of(ended):
            self.slots.release(ended, after)

    def release_other(self, job: Job, granted: int) -> None:
        """Release a slot that a running job was granted besides its own. Raises `Unavailable`."""
        if job.slot_shards is not None:
            self.slots.release_other(job, granted)

    def hold_rates(self, job: Job, until: datetime) -> None:
        """Let no job start before a time that has the rate limits of ``job``."""
        if self._are_of(job):
            self.rates.hold(job, until)

    def has_rate(self, job: Job) -> bool:
        """Whether a rate limit counts each start of ``job``. Reads nothing."""
        return self._are_of(job) and self.limits.has_rate(job)

    def may_block_others(self, job: Job) -> bool:
        """Whether other handlers may share slots that ``job`` has. Reads nothing."""
        return self._are_of(job) and self.limits.may_block_others(job)

    def take(
        self, job: Job, name: str, cost: float, longest: timedelta, reserved: Reserved
    ) -> TakenStart:
        """Take a start for a handler; see `HandlerStarts.take`."""
        return self.starts.take(job, name, cost, longest, reserved)

    def _are_of(self, job: Job) -> bool:
        """Whether a job has limits, by itself or by its handler."""
        if job.overlap is not None or job.limits is not None:
            return True
        handler = self.handlers.find(job.handler)
        return handler is not None and bool(handler.limits)


@dataclass(frozen=True, slots=True)
class RuleOfLimits:
    """Implements the `StartRule` of jobs that have a limit of a ``kind``, by the ``rule`` of these.

    The overlap of a schedule's jobs is a limit of the kind with ``is_of_groups``.
    """

    handlers: HandlerDirectory
    kind: type[Limit]
    rule: StartRule
    is_of_groups: bool = False

    def admit(self, candidate: Candidate) -> Deferred | None:
        """Judge a job that has such a limit. May raise `Unavailable`."""
        handler = self.handlers.find(candidate.message.handler)
        declared = handler.limits if handler is not None else ()
        has_one = any(isinstance(one, self.kind) for one in declared)
        if has_one or candidate.message.has_limits or self._is_of_group(candidate):
            return self.rule.admit(candidate)
        return None

    def _is_of_group(self, candidate: Candidate) -> bool:
        if not self.is_of_groups or not candidate.message.needs_admission:
            return False
        job = candidate.job()
        return job is not None and job.overlap is not None
