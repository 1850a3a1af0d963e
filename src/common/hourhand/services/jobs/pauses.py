"""Pauses of handlers: on request, before a start, and once they are over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from hourhand.domain.errors import FieldError, InvalidInput, Unavailable
from hourhand.domain.jobs.history import shorten
from hourhand.domain.jobs.outbox import waits_for_slot
from hourhand.domain.jobs.pauses import QUOTAS, HandlerPause, HandlerPauses, events_of_handler
from hourhand.domain.jobs.quotas import Quota
from hourhand.domain.schedules.schedule import EVENT_NOTE_BYTES, ScheduleEvent, ScheduleEventKind
from hourhand.domain.ticks.timings import Timings
from hourhand.ports.clock import Clock
from hourhand.ports.control_store import ControlStore
from hourhand.ports.publisher import Event, EventName, Publisher
from hourhand.ports.schedule_store import ScheduleStore
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.aspects import ASK_AGAIN, Candidate, Deferred, LimitsOfJobs
from hourhand.services.jobs.known_pauses import KnownPauses
from hourhand.services.jobs.parking import Parking
from hourhand.services.jobs.waiter_records import WaiterRecords

MAX_LOST_RACES = 10
"""How often the record may change between the read and the write before the call fails."""

RECORDS_A_TICK = 1_000
"""Waiter records of an ended pause that one tick deletes: some seconds of calls."""


@dataclass(frozen=True, slots=True)
class HandlerPauseService:
    """Pauses handlers, and resumes them. Every process learns it within `Timings.control_cache`."""

    control: ControlStore
    known: KnownPauses
    parking: Parking
    events: ScheduleStore
    publisher: Publisher
    clock: Clock
    telemetry: Telemetry

    def read(self) -> tuple[HandlerPauses, datetime]:
        """Return the pauses as they stand, and the time at which. Raises `Unavailable`."""
        return self.known.fresh(), self.clock.now()

    def pause(self, handler: str, *, until: datetime | None, note: str | None, actor: str) -> None:
        """Pause a handler; one that is paused already gets the new end and note.

        Raises `InvalidInput` for an end that is over, `WrongState` if too many handlers are
        paused, and `Unavailable`.
        """
        now = self.clock.now()
        if until is not None and until <= now:
            message = "must be in the future"
            raise InvalidInput("The end is over.", errors=(FieldError("until", message),))
        after, _ = self.change(lambda known: known.paused(handler, now, until=until, note=note))
        self._record(ScheduleEventKind.PAUSED, handler, after, now, note, actor)
        self.publisher.publish(Event(EventName.HANDLER_PAUSED, handler, now))
        self.telemetry.info("A handler was paused.", handler=handler, until=until, note=note)

    def resume(self, handler: str, *, note: str | None, actor: str) -> None:
        """End the pause of a handler, and send the first jobs that wait for it.

        Does nothing if it is not paused. A call that is repeated sends what still waits. Raises
        `Unavailable`: then the pause may have ended, and the sweep sends what waits.
        """
        now = self.clock.now()
        after, has_changed = self.change(lambda known: known.resumed(handler, now))
        if has_changed:
            self._record(ScheduleEventKind.RESUMED, handler, after, now, note, actor)
        if handler not in after.pauses:
            return
        sent = self.parking.wake_first(handler, actor)
        self.telemetry.info("A handler was resumed.", handler=handler, jobs_sent=sent)

    def set_quota(self, quota: Quota, actor: str) -> bool:
        """Set a quota, or remove it if it has no bound; return whether there was a change.

        Raises `WrongState` if there are too many, and `Unavailable`.
        """
        now = self.clock.now()
        after, has_changed = self.change(lambda known: known.with_quota(quota))
        if has_changed:
            bounds = ", ".join(f"{name} {bound}" for name, bound in quota.bounds.items())
            note = f"quota: {bounds or 'none'} ({quota.kind} {quota.name})"
            self._record(ScheduleEventKind.CHANGED, QUOTAS, after, now, note, actor)
            self.telemetry.info("A quota was changed.", change=note, actor=actor)
        return has_changed

    def change(
        self, change: Callable[[HandlerPauses], HandlerPauses]
    ) -> tuple[HandlerPauses, bool]:
        """Change the record; return it as it stands, and whether it changed.

        Raises `Unavailable`, and what ``change`` raises.
        """
        for _ in range(MAX_LOST_RACES):
            before = self.known.fresh()
            after = change(before)
            if after is before:
                return before, False
            if self.control.write_pauses(after, previous=before.revision):
                self.known.learn(after)
                return after, True
        raise Unavailable("The pauses of the handlers changed too often; try again.")

    def _record(
        self,
        kind: ScheduleEventKind,
        handler: str,
        after: HandlerPauses,
        now: datetime,
        note: str | None,
        actor: str,
    ) -> None:
        """Keep what a caller did, for the audit: beside the schedules, whose events have a form."""
        # The events of limits are kept in the same place and have odd numbers.
        sequence = 2 * after.revision
        note = shorten(note or "", EVENT_NOTE_BYTES)
        event = ScheduleEvent(kind=kind, at=now, sequence=sequence, actor=actor, note=note)
        self.events.put_event(events_of_handler(handler), event)


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


@dataclass(frozen=True, slots=True)
class EndedPauses:
    """Ends pauses whose time is over, and cleans up after those that people ended."""

    control: ControlStore
    waiters: WaiterRecords
    clock: Clock
    timings: Timings
    telemetry: Telemetry

    @property
    def settling(self) -> timedelta:
        """How long after its end a worker may still park jobs, because it knows the pause."""
        return 2 * self.timings.control_cache + self.timings.settling

    def settle(
        self, pauses: HandlerPauses, *, sent_all: bool, may_go_on: Callable[[], bool]
    ) -> None:
        """Delete the waiter records of ended pauses, and at last the pauses themselves.

        ``pauses`` were read before the sweep. ``sent_all``: it read every open bucket and sent
        every job that waited for their end. A pause stays until then, so that the next sweep reads
        all open buckets again.
        """
        now = self.clock.now()
        done: dict[str, HandlerPause] = {}
        for handler, pause in pauses.ended(now).items():
            is_empty = self.waiters.delete_all(handler, RECORDS_A_TICK, may_go_on)
            ended_at = pause.ended_at or now
            if is_empty and sent_all and now - ended_at >= self.settling:
                done[handler] = pause
        if done and self.control.write_pauses(pauses.without(done), previous=pauses.revision):
            for handler in done:
                self.telemetry.info(
                    "All jobs that waited for the end of a pause were sent.", handler=handler
                )
