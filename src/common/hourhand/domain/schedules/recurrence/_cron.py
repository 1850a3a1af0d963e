"""What a cron expression means, whatever its dialect."""

from __future__ import annotations

from dataclasses import dataclass

from hourhand.domain.schedules.recurrence._local_times import CronTimes


@dataclass(frozen=True, slots=True)
class Cron:
    """Its local times, and how its minute and hour were written."""

    times: CronTimes
    minute: str
    hour: str

    @property
    def is_hourly(self) -> bool:
        """Whether its hour is wild: it fires in all hours, or in each nth."""
        return self.hour.startswith("*")

    @property
    def is_wild(self) -> bool:
        """Whether it follows real time: such as "hourly", or "every 15 minutes"."""
        return self.is_hourly or self.minute.startswith("*")
