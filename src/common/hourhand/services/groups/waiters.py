"""Wakes the jobs that wait for a slot of their group, as soon as one is free."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from hourhand.domain.groups.overlap import Overlap, Slots
from hourhand.domain.groups.slots import ids_next_in_line, next_in_line
from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.transitions import change
from hourhand.domain.ticks.timings import Timings
from hourhand.ports import Found
from hourhand.ports.clock import Clock
from hourhand.ports.job_store import Applied, JobStore
from hourhand.ports.slot_store import SlotStore
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.due import AT_ONCE, DueJobs
from hourhand.services.optional import leaving_newer, reason_of

THERE_IS_ROOM = "a slot is free"


@dataclass(frozen=True, slots=True)
class Waiters:
    """Wakes the jobs that wait for a slot. Without a wake-up, a waiting job checks again later."""

    jobs: JobStore
    slots: SlotStore
    due: DueJobs
    clock: Clock
    timings: Timings
    telemetry: Telemetry

    def wake_next(self, overlap: Overlap, actor: str) -> None:
        """Make the jobs due for which there is room.

        Raises nothing: failures are logged. The caller's own write is made, and its other
        consequences must not wait for this.

        To be called when a job of the group ended, and when one was put off: the later of the two
        calls sees both.
        """
        try:
            with leaving_newer(self.telemetry):
                for job in self._next(overlap):
                    with leaving_newer(self.telemetry):
                        self._call(job, actor)
        except Exception as error:  # noqa: BLE001 - what called this stands, whatever this was
            self.telemetry.warning(
                "Could not wake the jobs that wait for a slot. They check again later.",
                group=overlap.group,
                reason=reason_of(error),
            )
            self.telemetry.count("nudges_failed")

    def _next(self, overlap: Overlap) -> tuple[Job, ...]:
        slots = self.slots.read_slots(overlap.group)
        job_ids = ids_next_in_line(overlap, slots)
        if not job_ids:
            return ()
        known = as_looked_up(job_ids, self.jobs.get_many(job_ids), slots)
        return next_in_line(overlap, slots, known, now=self.clock.now(), timings=self.timings)

    def _call(self, job: Job, actor: str) -> None:
        build = partial(change, sets={}, reason=THERE_IS_ROOM)
        result = self.due.move(job, AT_ONCE, build, actor)
        # Refused: it was called, changed or cancelled meanwhile, or came by itself.
        if isinstance(result, Applied):
            self.telemetry.count("occurrences_called")


def as_looked_up(
    job_ids: Sequence[str], found: Found[str, Job], slots: Slots | None
) -> dict[str, Job | None]:
    """Return what is known of the jobs of a group (see `hourhand.domain.groups.slots.Known`).

    One that a newer version wrote keeps its place, for it may run; and waits in no line,
    because its start is unknown: it queues up again when its message is handled.
    """
    alive = found.newer.intersection(slots.holders) if slots is not None else frozenset[str]()
    return {job_id: found.get(job_id) for job_id in job_ids if job_id not in alive}
