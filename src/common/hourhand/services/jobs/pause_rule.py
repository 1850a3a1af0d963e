"""The rule of the admission check that no job of a paused handler starts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from hourhand.domain.jobs.outbox import waits_for_slot
from hourhand.services.jobs.aspects import Candidate, Deferred, LimitsOfJobs
from hourhand.services.jobs.known_pauses import KnownPauses
from hourhand.services.jobs.parking import Parking

ASK_AGAIN = timedelta(seconds=5)
"""How long the message of a job is hidden that changed while it was parked."""


@dataclass(frozen=True, slots=True)
class PauseRule:
    """Implements the `StartRule` of pauses: a job of a paused handler is parked.

    It comes before every limit, so that a job that it parks holds no slot. One that waits for a
    slot, or whose message is redelivered, may hold slots. If other handlers share them, it opens a
    generation, which releases them; else it keeps its place. A job of a handler that is not paused
    costs nothing: the message names the handler.
    """

    pauses: KnownPauses
    parking: Parking
    worker: str
    limits: LimitsOfJobs

    def admit(self, candidate: Candidate) -> Deferred | None:
        """Park the job of a paused handler. Raises `Unavailable`."""
        message = candidate.message
        known = self.pauses.current(at_least=message.pauses_revision)
        now = self.parking.clock.now()
        if known.of(message.handler, now) is None:
            return None
        job = candidate.job()
        if job is None or (job.expires_at is not None and job.expires_at <= now):
            # The claim is refused, and says what becomes of the message.
            return None
        is_redelivered = not job.is_parked and candidate.delivery.receive_count > 1
        if (waits_for_slot(job) or is_redelivered) and self.limits.may_block_others(job):
            # It is sent again once the pause is over.
            has_left = self.parking.leave_queue(job, self.worker)
            return Deferred(None if has_left else ASK_AGAIN)
        if not job.is_parked:
            candidate.changed()
            if not self.parking.park(job, self.worker):
                return Deferred(ASK_AGAIN)
        # The pause may have ended before the job was parked: then the resume has not seen it.
        if self.pauses.fresh().of(message.handler, self.parking.clock.now()) is None:
            return None
        return Deferred()
