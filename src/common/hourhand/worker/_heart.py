"""The heartbeat of one attempt, beaten by the thread that waits for the handler."""

from __future__ import annotations

from hourhand.domain.jobs.job import Job
from hourhand.domain.ticks.timings import Timings
from hourhand.handlers import JobContext, StopReason, StopSignal
from hourhand.ports.clock import Clock
from hourhand.ports.handler_runner import Pulse
from hourhand.ports.telemetry import Telemetry

_TOLD = {"cancelled": StopReason.CANCELLED, "lost": StopReason.LOST}
"""The pulse's answers, with the reason to stop that each gives."""


class Heart:
    """Beats a pulse every interval, and passes on to the handler what it answers."""

    def __init__(
        self,
        job: Job,
        pulse: Pulse,
        stop: StopSignal,
        *,
        clock: Clock,
        timings: Timings,
        telemetry: Telemetry,
    ) -> None:
        """Start the first interval: a handler shorter than that costs no heartbeat.

        ``context``, once there is one, holds the progress that is passed on.
        """
        self.context: JobContext | None = None
        self._job = job
        self._pulse = pulse
        self._stop = stop
        self._clock = clock
        self._interval = timings.heartbeat.total_seconds()
        self._telemetry = telemetry
        self._told: StopReason | None = None
        self._next_at = clock.monotonic() + self._interval

    def seconds_to_next(self) -> float:
        """Return how long it is until the next beat; 0 if it is due."""
        return max(0.0, self._next_at - self._clock.monotonic())

    @property
    def lease_ends_at(self) -> float:
        """When another worker may take the job, by the last beat that was answered (monotonic)."""
        return self._pulse.lease_ends_at

    def beat_if_due(self) -> None:
        """Beat, if the interval is over. Never raises: a handler is running."""
        if self.seconds_to_next() > 0:
            return
        # From now, not from when it was due: a stall must not be followed by a burst.
        self._next_at = self._clock.monotonic() + self._interval
        reason = _TOLD.get(self._beat())
        if reason is None or reason is self._told:
            return
        self._told = reason
        self._stop.tell(reason)
        self._telemetry.info(
            "A handler was asked to stop.", job_id=self._job.id, reason=str(reason)
        )

    def _beat(self) -> str:
        if self._told is StopReason.LOST:
            return "lost"
        progress = None if self.context is None else self.context.last_progress
        try:
            return self._pulse.beat(progress)
        except Exception as error:  # noqa: BLE001 - leaving now would leave the handler unwatched
            self._telemetry.warning(
                "A heartbeat failed. The worker sends the next one after its interval.",
                job_id=self._job.id,
                reason=type(error).__name__,
            )
            return "alive"
