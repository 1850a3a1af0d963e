"""Pauses and resumes handlers on request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from hourhand.domain.errors import FieldError, InvalidInput, Unavailable
from hourhand.domain.jobs.history import shorten
from hourhand.domain.jobs.pauses import QUOTAS, HandlerPauses, events_of_handler
from hourhand.domain.jobs.quotas import Quota
from hourhand.domain.schedules.schedule import EVENT_NOTE_BYTES, ScheduleEvent, ScheduleEventKind
from hourhand.ports.clock import Clock
from hourhand.ports.control_store import ControlStore
from hourhand.ports.publisher import Event, EventName, Publisher
from hourhand.ports.schedule_store import ScheduleStore
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.known_pauses import KnownPauses
from hourhand.services.jobs.parking import Parking

MAX_LOST_RACES = 10
"""How often the record may change between the read and the write before the call fails."""


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
