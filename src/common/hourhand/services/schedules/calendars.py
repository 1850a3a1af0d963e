"""Named calendars: exclusions that many schedules share, and that can be changed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from hourhand.domain.errors import (
    NotFound,
    Unavailable,
    WrittenByNewer,
    WrongState,
    changed_too_often,
)
from hourhand.domain.schedules.rule import Exclusion
from hourhand.domain.schedules.schedule import Calendar
from hourhand.ports.calendar_store import CalendarStore
from hourhand.ports.clock import Clock
from hourhand.ports.randomness import Randomness
from hourhand.ports.schedule_store import ScheduleStore
from hourhand.ports.telemetry import Telemetry
from hourhand.services.schedules.compiled_rules import read_definitions
from hourhand.services.schedules.recompute import SCHEDULES_A_PAGE, want_walk

MAX_LOST_RACES = 10
"""How often a calendar may change between the read and the write before the request fails."""

MAX_SECONDS_A_SEARCH = 20.0
"""The search for a calendar's users must end before API Gateway's 30 seconds are over."""


@dataclass(frozen=True, slots=True)
class CalendarService:
    """Changes calendars on request; the schedules that use them are recomputed by the ticks."""

    calendars: CalendarStore
    schedules: ScheduleStore
    clock: Clock
    randomness: Randomness
    telemetry: Telemetry

    def put(
        self, name: str, exclude: tuple[Exclusion, ...], *, note: str | None, actor: str
    ) -> tuple[Calendar, bool]:
        """Create a calendar or replace it; return it, and whether it is new.

        The same put again changes nothing. Raises `Unavailable`.
        """
        for _ in range(MAX_LOST_RACES):
            current = self.calendars.get_calendar(name)
            wanted = Calendar(
                name=name,
                revision=1 if current is None else current.revision + 1,
                exclude=exclude,
                updated_at=self.clock.now(),
                note=note or "",
            )
            if current is not None and _holds(current, wanted):
                # An earlier put may have died before this; requesting a recomputation twice costs
                # little.
                want_walk(self.schedules, self.randomness)
                return current, False
            previous = None if current is None else current.revision
            if self.calendars.put_calendar(wanted, previous=previous):
                want_walk(self.schedules, self.randomness)
                self._tell("A calendar was put.", wanted, actor)
                return wanted, current is None
        raise changed_too_often(f"Calendar {name}")

    def get(self, name: str) -> Calendar:
        """Return a calendar. Raises `NotFound`."""
        calendar = self.calendars.get_calendar(name)
        if calendar is None:
            raise NotFound(f"There is no calendar {name}.")
        return calendar

    def list(self, after: str | None, limit: int) -> tuple[list[Calendar], str | None]:
        """Return a page of calendars by name, and where the next one starts; it may be short."""
        page = self.calendars.list_calendars(after=after, limit=limit)
        found = self.calendars.get_calendars(page.names)
        return [found[name] for name in page.names if name in found], page.next

    def delete(self, name: str, *, actor: str) -> None:
        """Delete a calendar that no schedule uses.

        Raises `NotFound`, `WrongState` naming a schedule that uses it, `WrittenByNewer` where one
        that only a newer version reads may use it, `Unavailable` also where the schedules are too
        many to be looked through in time.
        """
        for _ in range(MAX_LOST_RACES):
            calendar = self.get(name)
            user = self._find_user(name)
            if user is not None:
                raise WrongState(f"Calendar {name} is used by schedule {user}.")
            if self.calendars.delete_calendar(name, previous=calendar.revision):
                self._tell("A calendar was deleted.", calendar, actor)
                return
        raise changed_too_often(f"Calendar {name}")

    def _find_user(self, name: str) -> str | None:
        """Return the id of a schedule that uses a calendar; raises as `delete`."""
        newer: set[str] = set()
        deadline = self.clock.monotonic() + MAX_SECONDS_A_SEARCH
        position: str | None = None
        while self.clock.monotonic() < deadline:
            page = self.schedules.list_schedules(after=position, limit=SCHEDULES_A_PAGE)
            found = self.schedules.get_many(page.names)
            kept = [schedule for schedule in found.values() if schedule.deleted_at is None]
            definitions = read_definitions(self.schedules, kept)
            for schedule_id, definition in definitions.items():
                if name in definition.calendars:
                    return schedule_id
            newer |= found.newer | definitions.newer
            position = page.next
            if position is None:
                _require_none_newer(name, newer)
                return None
        raise Unavailable(
            f"Could not check in time whether a schedule uses calendar {name}; try again."
        )

    def _tell(self, sentence: str, calendar: Calendar, actor: str) -> None:
        self.telemetry.info(
            sentence, calendar=calendar.name, revision=calendar.revision, actor=actor
        )


def _holds(current: Calendar, wanted: Calendar) -> bool:
    return current.exclude == wanted.exclude and current.note == wanted.note


def _require_none_newer(name: str, schedule_ids: Collection[str]) -> None:
    if schedule_ids:
        raise WrittenByNewer(
            f"Schedule {min(schedule_ids)} was written by a newer version of Hourhand and may use "
            f"calendar {name}. Finish the upgrade, then delete the calendar.",
            ids=schedule_ids,
        )
