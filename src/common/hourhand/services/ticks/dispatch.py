"""Sends due jobs to their queues, then marks them: always in this order.

A crash between the two sends a message twice, which the claim drops. The other order would lose
the message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from hourhand.domain.jobs.actions import Action, Dispatch, DispatchAgain, Wake
from hourhand.domain.jobs.job import TICK, Job
from hourhand.domain.jobs.pauses import RESUMED
from hourhand.domain.jobs.transitions import (
    EnqueuedMarks,
    Transition,
    mark_dispatched_again,
    unpark,
)
from hourhand.ports.clock import Clock
from hourhand.ports.job_store import JobStore
from hourhand.ports.pipeline import Pipeline
from hourhand.ports.queues import Outgoing, Queues
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.due import outgoing_of
from hourhand.services.jobs.known_pauses import KnownPauses


@dataclass(frozen=True, slots=True)
class ToDispatch:
    """A job that is to be sent, and why."""

    job: Job
    action: Dispatch | DispatchAgain | Wake

    @property
    def again(self) -> DispatchAgain | None:
        """The action, where that is to send a message in addition to a marked one."""
        return self.action if isinstance(self.action, DispatchAgain) else None

    @property
    def is_again(self) -> bool:
        """Whether it was sent before, and its message is missed."""
        return is_again(self.action)


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """Sends and marks. ``rounding``: of a message's delay, see `Timings.delay_rounding`."""

    pipeline: Pipeline
    clock: Clock
    telemetry: Telemetry
    rounding: timedelta
    pauses: KnownPauses

    def dispatch(self, batch: Sequence[ToDispatch], ended: Callable[[int, int], None]) -> None:
        """Begin to send every job of ``batch``, each of which is marked once it is sent.

        ``ended`` is called, maybe for one part after the other, with how many messages SQS
        accepted, and how many it did not. These stay unmarked, and the next tick sends them. So
        it does with what is sent without a mark, unless the record of the whole sweep covers it.
        """
        if not batch:
            return
        # A fresh "now" for the delays: the tick's own may be a minute old in a long sweep.
        now = self.clock.now()
        outgoing = [
            outgoing_of(
                item.job,
                now,
                self.rounding,
                item.again.queue if item.again is not None else None,
                pauses_revision=self.pauses.revision,
                slot_shard=item.again.slot_shard if item.again is not None else 0,
            )
            for item in batch
        ]
        self.pipeline.send(outgoing, lambda told: self._mark_sent(batch, told, ended))

    def _mark_sent(
        self,
        batch: Sequence[ToDispatch],
        told: Mapping[int, str | None],
        ended: Callable[[int, int], None],
    ) -> None:
        """Mark what SQS accepted of a part of ``batch``."""
        now = self.clock.now()
        enqueued = EnqueuedMarks(now, TICK)
        marks: list[Transition] = []
        sent: list[ToDispatch] = []
        for place, failure in told.items():
            item = batch[place]
            if failure is None:
                sent.append(item)
                if not isinstance(item.action, Dispatch) or item.action.is_marked:
                    marks.append(_mark(item, enqueued, now))
            else:
                self.telemetry.count("send_failures")
                self.telemetry.warning(
                    "SQS did not accept a message. The next tick sends it again.",
                    job_id=item.job.id,
                    reason=failure,
                )
        self.pipeline.mark(marks, self._count_marks)
        self._count_sent(sent)
        ended(len(sent), len(told) - len(sent))

    def _count_marks(self, results: Sequence[bool] | Exception) -> None:
        if isinstance(results, Exception):
            raise results
        refused = results.count(False)
        if refused:
            # Claimed, changed or cancelled while the message was on its way: as it should be.
            self.telemetry.count("marks_refused", refused)

    def _count_sent(self, sent: Sequence[ToDispatch]) -> None:
        again = sum(1 for item in sent if item.is_again)
        self.telemetry.count("jobs_dispatched", len(sent))
        if again:
            self.telemetry.count("jobs_dispatched_again", again)
        woken = sum(1 for item in sent if isinstance(item.action, Wake))
        if woken:
            self.telemetry.count("jobs_woken", woken)


def is_again(action: Action) -> bool:
    """Whether a message is missing, so that the state of its queue matters."""
    return isinstance(action, DispatchAgain) or (isinstance(action, Dispatch) and action.is_missed)


def _mark(item: ToDispatch, enqueued: EnqueuedMarks, now: datetime) -> Transition:
    if isinstance(item.action, Dispatch):
        return enqueued.of(item.job)
    if isinstance(item.action, Wake):
        return unpark(item.job, now=now, actor=TICK, entry=None, sends_now=True, reason=RESUMED)
    return mark_dispatched_again(
        item.job,
        now=now,
        actor=TICK,
        queue=item.action.queue,
        reason=item.action.reason,
    )


@dataclass(frozen=True, slots=True)
class InTurn:
    """Implements the port `Pipeline` by one call of another port after the other.

    Each has ended when its method returns.
    """

    jobs: JobStore
    queues: Queues

    def read(
        self,
        job_ids: Sequence[str],
        ended: Callable[[Sequence[str], Mapping[str, Job] | Exception], None],
    ) -> None:
        """Read hot items; ``ended`` gets all of them, or the error."""
        found: Mapping[str, Job] | Exception
        try:
            found = self.jobs.get_many(job_ids)
        except Exception as error:  # noqa: BLE001 - what is to be done is the caller's to say
            found = error
        ended(job_ids, found)

    def send(
        self, outgoing: Sequence[Outgoing], ended: Callable[[Mapping[int, str | None]], None]
    ) -> None:
        """Send messages; raises what `Queues.send` raises."""
        ended(dict(enumerate(self.queues.send(outgoing))))

    def mark(
        self,
        moves: Sequence[Transition],
        ended: Callable[[Sequence[bool] | Exception], None],
    ) -> None:
        """Make moves; raises what `JobStore.transition_many` raises."""
        ended(self.jobs.transition_many(moves))

    def go_on(self, most_left: int) -> None:
        """Do nothing: nothing is under way."""
