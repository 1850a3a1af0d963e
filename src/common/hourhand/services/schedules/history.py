"""Records in a schedule's history what its visits do not decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hourhand.domain.schedules.schedule import Schedule
from hourhand.domain.ticks.timings import Timings
from hourhand.ports.schedule_store import ScheduleStore, Written
from hourhand.ports.telemetry import Telemetry
from hourhand.services.optional import reason_of
from hourhand.services.schedules.journal_pages import spill

MAX_RECORDINGS = 10
"""How often the schedule may change while its history is written."""


@dataclass(frozen=True, slots=True)
class ScheduleHistory:
    """Records jobs that exist already: a failure costs an entry of the history, and is logged."""

    schedules: ScheduleStore
    timings: Timings
    telemetry: Telemetry

    def note(self, schedule: Schedule, build: Callable[[Schedule], Schedule | None]) -> None:
        """Store what ``build`` makes of the schedule as it stands; ``None``: nothing to note.

        ``schedule`` is how it was when last read or written.
        """
        reason = "it changed too often"
        try:
            current: Schedule | None = schedule
            for _ in range(MAX_RECORDINGS):
                if current is None:
                    return
                after = build(spill(self.schedules, current, self.timings))
                if after is None:
                    return
                answer = self.schedules.write(after, previous=current.sequence)
                if isinstance(answer, Written):
                    return
                current = answer.current
        except Exception as error:  # noqa: BLE001 - what is noted stands, whatever this was
            reason = reason_of(error)
        self.telemetry.warning(
            "Could not record a job in its schedule's history. The job runs, but the history "
            "lacks it.",
            schedule_id=schedule.id,
            reason=reason,
        )
