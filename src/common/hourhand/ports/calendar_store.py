"""Named calendars, kept in the schedules table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hourhand.domain.schedules.schedule import Calendar
from hourhand.ports import Found
from hourhand.ports.schedule_store import NamePage


class CalendarStore(Protocol):
    """Named calendars, kept in the schedules table."""

    def get_calendar(self, name: str) -> Calendar | None:
        """Read a calendar, strongly consistent."""

    def get_calendars(self, names: Sequence[str]) -> Found[str, Calendar]:
        """Read calendars, strongly consistent; unknown ones are left out."""

    def put_calendar(self, calendar: Calendar, *, previous: int | None) -> bool:
        """Store it if the record has the revision ``previous`` (``None``: none); whether it was.

        It was, too, where the record equals ``calendar``.
        """

    def delete_calendar(self, name: str, *, previous: int) -> bool:
        """Delete it if it has the revision ``previous``; whether it is gone."""

    def list_calendars(self, *, after: str | None, limit: int) -> NamePage:
        """List names in ascending order, strictly after ``after``."""
