"""What limits do for jobs that start, run, move and end. Most jobs have none: they load nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.outbox import waits_for_slot
from hourhand.domain.jobs.waiting import Reserved, TakenStart
from hourhand.domain.limits.slot_shards import unpack_shards
from hourhand.domain.limits.slots import generation_ended, slot_ends
from hourhand.ports.handler_directory import HandlerDirectory
from hourhand.ports.job_store import JobDetails
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.aspects import DONE, Candidate, Deferred, Settled, StartRule
from hourhand.services.optional import leaving_newer, reason_of

if TYPE_CHECKING:
    from hourhand.domain.limits.declarations import Limit
    from hourhand.services.limits.job_limits import JobLimits
    from hourhand.services.limits.rate_admission import RateWaits
    from hourhand.services.limits.wait_queues import WaitQueues


@dataclass(frozen=True, slots=True)
class LimitsAspect:
    """Implements `LimitsOfJobs`, and the outbox task that releases slots.

    Its parts are imported once a job with limits asks for them. Slots are always released after the
    write that ended their generation: if they were freed first, a worker with a copy of the message
    could claim the job without a slot.
    """

    handlers: HandlerDirectory
    limits: JobLimits
    queues: WaitQueues
    rates: RateWaits
    telemetry: Telemetry

    def after_move(self, before: Job, after: Job) -> None:
        """Release the slots of ``before`` if a move ended its generation. Raises nothing.

        A job that was parked is left to its outbox task. A slot that stays is found by a job that
        finds the limit full, and by the sweep's recheck.
        """
        is_left = after.status.is_final and waits_for_slot(after)
        if not self._are_of(before) or is_left or not generation_ended(before, after):
            return
        try:
            with leaving_newer(self.telemetry):
                self.release(before, after)
        except Exception as error:  # noqa: BLE001 - the move stands, whatever this was
            self.telemetry.count("releases_failed")
            self.telemetry.warning(
                "The slots of a job could not be released. A job that needs one finds them.",
                job_id=before.id,
                reason=reason_of(error),
            )

    def settle(self, ended: JobDetails) -> Settled:
        """Release the slots of a job that ended. Raises `Unavailable`."""
        # As it will be: the schedule is paused that was to be paused first.
        self.release(ended.job, replace(ended.job, due_at=None))
        return DONE

    def release(self, ended: Job, after: Job) -> None:
        """Release the slots of the generation of ``ended``. Safe to repeat; raises `Unavailable`.

        Also for a message of a generation that ended: the message of a worker that died is
        redelivered, and settles what that worker left.
        """
        if not self._are_of(ended):
            return
        shards = unpack_shards(ended.slot_shards)
        for slots in self.queues.slots_of(ended):
            if slot_ends(ended, after, slots.holds):
                self.queues.release_all(slots, ended, shards.get(slots.limit.position))

    def release_other(self, job: Job, granted: int) -> None:
        """Release a slot of the shard ``granted`` of a job that runs with one of another shard.

        Components that end jobs of several shards at once may all hand their slots to one waiter.
        The message of each names its shard. Raises `Unavailable`.
        """
        if job.slot_shards is None:
            return
        shards = unpack_shards(job.slot_shards)
        for slots in self.queues.slots_of(job):
            if shards.get(slots.limit.position, granted) != granted:
                self.queues.release_held(slots.at(granted), job)

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
        """Take a start for a handler; see `RateWaits.take`."""
        return self.rates.take(job, name, cost, longest, reserved)

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
