"""The release of the slots of jobs whose generation ended."""

from __future__ import annotations

from dataclasses import dataclass

from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.outbox import waits_for_slot
from hourhand.domain.limits.shards import unpack_shards
from hourhand.domain.limits.slots import generation_ended, slot_ends
from hourhand.ports.telemetry import Telemetry
from hourhand.services.limits.job_limits import JobLimits
from hourhand.services.limits.wait_queues import WaitQueues
from hourhand.services.optional import leaving_newer, reason_of


@dataclass(frozen=True, slots=True)
class SlotRelease:
    """Gives the slots of a generation back that ended, always after the write that ended it.

    If the slots were freed first, a worker with a copy of the message could claim the job without a
    slot.
    """

    limits: JobLimits
    queues: WaitQueues
    telemetry: Telemetry

    def after_move(self, before: Job, after: Job) -> None:
        """Release the slots of ``before`` if a move ended its generation.

        A job that was parked is left to its outbox task. Raises nothing: the move stands. A slot
        that stays is found by a job that finds the limit full, and by the sweep's recheck.
        """
        is_left = after.status.is_final and waits_for_slot(after)
        if is_left or not generation_ended(before, after):
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

    def release_other(self, job: Job, granted: int) -> None:
        """Release a slot of the shard ``granted`` of a job that runs with one of another shard.

        Components that end jobs of several shards at once may all hand their slots to one waiter.
        The message of each names its shard. Raises `Unavailable`.
        """
        for limit in self.limits.of(job):
            slots = self.queues.tables.slots_of(limit)
            noted = unpack_shards(job.slot_shards).get(limit.position, granted)
            if slots is not None and noted != granted:
                self.queues.release_held(slots.at(granted), job)

    def release(self, ended: Job, after: Job) -> None:
        """Release the slots of the generation of ``ended``. Safe to repeat; raises `Unavailable`.

        Also for a message of a generation that ended: the message of a worker that died is
        redelivered, and settles what that worker left.
        """
        shards = unpack_shards(ended.slot_shards)
        for limit in self.limits.of(ended):
            slots = self.queues.tables.slots_of(limit)
            if slots is not None and slot_ends(ended, after, slots.holds):
                self.queues.release_all(slots, ended, shards.get(limit.position))
