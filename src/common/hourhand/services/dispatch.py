"""Sending due jobs to their queues, then marking them: in this order, always.

A crash between the two sends a message twice, which the claim drops. The other order would lose
the message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from hourhand.domain.actions import Dispatch, DispatchAgain
from hourhand.domain.errors import WrittenByNewer
from hourhand.domain.model import Job
from hourhand.domain.moves import EnqueuedMarks, Move, mark_dispatched_again
from hourhand.ports import Clock, JobStore, LeftToNewer, Queues, Telemetry
from hourhand.services.newer import tell_newer
from hourhand.services.sending import outgoing_of

ACTOR = "tick"


@dataclass(frozen=True, slots=True)
class ToDispatch:
    """A job that is to be sent, and why."""

    job: Job
    action: Dispatch | DispatchAgain

    @property
    def is_again(self) -> bool:
        """Whether it was sent before, and its message is missed."""
        return isinstance(self.action, DispatchAgain) or self.action.is_missed


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """Sends and marks."""

    jobs: JobStore
    queues: Queues
    clock: Clock
    telemetry: Telemetry

    def dispatch(self, batch: Sequence[ToDispatch]) -> int:
        """Send every job of ``batch``; return how many messages SQS accepted.

        What it did not accept stays unmarked, and the next tick sends it. So does what is sent
        without a mark, unless the record of the whole sweep covers it.
        """
        if not batch:
            return 0
        # A fresh "now" for the delays: the tick's own may be a minute old in a long sweep.
        now = self.clock.now()
        outgoing = [
            outgoing_of(
                item.job,
                now,
                item.action.queue if isinstance(item.action, DispatchAgain) else None,
            )
            for item in batch
        ]
        failures = self.queues.send(outgoing)
        now = self.clock.now()
        enqueued = EnqueuedMarks(now, ACTOR)
        marks: list[Move] = []
        sent = 0
        for item, failure in zip(batch, failures, strict=True):
            if failure is None:
                sent += 1
                if not isinstance(item.action, Dispatch) or item.action.is_marked:
                    marks.append(_mark(item, enqueued, now))
            else:
                self.telemetry.count("send_failures")
                self.telemetry.warning(
                    "A message was not accepted; the next tick sends it again.",
                    job_id=item.job.id,
                    reason=failure,
                )
        results = self.jobs.transition_many(marks)
        refused = sum(1 for result in results if result is False)
        self._tell_left([each.reason for each in results if isinstance(each, LeftToNewer)])
        self._count(batch, sent, refused)
        return sent

    def _tell_left(self, left: Sequence[WrittenByNewer]) -> None:
        """Tell of jobs that turned newer after they were read: their claims judge the messages."""
        if left:
            ids = frozenset[str]().union(*(newer.ids for newer in left))
            tell_newer(self.telemetry, WrittenByNewer(left[0].detail, ids=ids))

    def _count(self, batch: Sequence[ToDispatch], sent: int, refused: int) -> None:
        again = sum(1 for item in batch if item.is_again)
        self.telemetry.count("jobs_dispatched", sent)
        if again:
            self.telemetry.count("jobs_dispatched_again", again)
        if refused:
            # Claimed, changed or cancelled while the message was on its way: as it should be.
            self.telemetry.count("marks_refused", refused)


def _mark(item: ToDispatch, enqueued: EnqueuedMarks, now: datetime) -> Move:
    if isinstance(item.action, Dispatch):
        return enqueued.of(item.job)
    return mark_dispatched_again(
        item.job,
        now=now,
        actor=ACTOR,
        queue=item.action.queue,
        reason=item.action.reason,
    )
