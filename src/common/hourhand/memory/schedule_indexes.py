"""The eventually consistent indexes of `MemoryScheduleStore`, as late as a test wants them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from hourhand.domain.ticks.buckets import shard_of
from hourhand.memory.late_changes import LateChanges
from hourhand.ports.clock import Clock
from hourhand.ports.schedule_store import DUE_SHARDS, DueSchedule, NamePage

SCHEDULES = "schedules"
CALENDARS = "calendars"


@dataclass(frozen=True, slots=True)
class Shown:
    """What the indexes show of a schedule (its next visit, if it wants one) or a calendar."""

    next_at: datetime | None = None


class ScheduleIndexes:
    """Shows each change ``lag`` after it was made by the ``clock``, and none while frozen."""

    def __init__(self, clock: Clock | None, lag: timedelta) -> None:
        """Without a clock every change is shown at once, unless frozen."""
        self._changes: LateChanges[tuple[str, str, Shown | None]] = LateChanges(clock, lag)
        self._shown: dict[str, dict[str, Shown]] = {SCHEDULES: {}, CALENDARS: {}}

    def freeze(self) -> None:
        """Show from now on what is shown now."""
        self._catch_up()
        self._changes.is_frozen = True

    def thaw(self) -> None:
        """Go on to show what changes."""
        self._changes.is_frozen = False

    def change(self, kind: str, name: str, shown: Shown | None) -> None:
        """Note what is to be shown under a name from now on (``None``: nothing)."""
        self._changes.add((kind, name, shown))

    def due(self, shard: int, until: datetime) -> list[DueSchedule]:
        """Return what is shown of a shard up to ``until``, earliest first."""
        self._catch_up()
        found = [
            DueSchedule(name, shown.next_at)
            for name, shown in self._shown[SCHEDULES].items()
            if shown.next_at is not None
            and shown.next_at <= until
            and shard_of(name, DUE_SHARDS) == shard
        ]
        return sorted(found, key=lambda one: (one.next_at, one.schedule_id))

    def names(self, kind: str, after: str | None, limit: int) -> NamePage:
        """Return one page of the names of a kind, in ascending order."""
        self._catch_up()
        names = sorted(name for name in self._shown[kind] if after is None or name > after)
        page = tuple(names[:limit])
        return NamePage(page, page[-1] if len(names) > limit else None)

    def _catch_up(self) -> None:
        for kind, name, shown in self._changes.take():
            if shown is None:
                self._shown[kind].pop(name, None)
            else:
                self._shown[kind][name] = shown
