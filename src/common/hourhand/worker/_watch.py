"""Watches one running handler: its end, its time, its pulse and its neighbours."""

from __future__ import annotations

from dataclasses import replace

from hourhand.domain.jobs.job import Job
from hourhand.domain.ticks.timings import Timings
from hourhand.handlers import JobContext, StopReason, StopSignal
from hourhand.handlers._context import attempt_of
from hourhand.ports.clock import Clock
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.telemetry import Telemetry
from hourhand.worker._call import HandlerCall, finished_call, timed_out
from hourhand.worker._process import Record
from hourhand.worker._tools import HandlerAbandoned, RunnerTools

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
        self._margin = timings.clock_margin.total_seconds()
        self._telemetry = telemetry
        self._told: StopReason | None = None
        self._next_at = clock.monotonic() + self._interval

    def seconds_to_next(self) -> float:
        """Return how long it is until the next beat; 0 if it is due."""
        return max(0.0, self._next_at - self._clock.monotonic())

    @property
    def handler_must_end_at(self) -> float:
        """When the handler must not run any more (monotonic): a margin before its lease ends.

        The lease is that of the last beat that was answered.
        """
        return self._pulse.lease_ends_at - self._margin

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


class Watch:
    """What the record's thread does while the handler's own thread runs."""

    def __init__(
        self,
        tools: RunnerTools,
        record: Record,
        job: Job,
        call: HandlerCall,
        heart: Heart,
        context: JobContext,
    ) -> None:
        self._tools, self._record, self._job = tools, record, job
        self._call, self._heart, self._context = call, heart, context
        self._attempt = attempt_of(context)
        self._stack: str | None = None
        self._told_at: float | None = None

    @property
    def _limit(self) -> float:
        return self._attempt.limit_at_monotonic

    def to_the_end(self) -> Finished:
        """Watch until the handler ended, or its outcome may be committed although it did not."""
        while not self._call.is_done:
            now = self._tools.clock.monotonic()
            if self._record.is_stuck:
                if self._may_commit(now):
                    break
            elif self._told_at is not None:
                # From when it was asked to stop, not from its limit: a pause must not use up its
                # grace.
                if now >= self._told_at + self._tools.limits.stop_grace:
                    self._declare_stuck(now)
            elif now >= self._limit:
                self._tell_over_time(now)
            elif self._must_hand_back(now):
                self._hand_back()
            self._heart.beat_if_due()
            self._tools.watchdog.extend(self._call, self._heart.handler_must_end_at)
            self._wait()
        if not self._call.is_done:
            self._end_process_in_time()
        return self._finished()

    def _finished(self) -> Finished:
        ended, progress = self._call.ended, self._attempt.last_progress
        if ended is None:
            overran = self._attempt.step_overran(still_runs=True)
            if overran is not None:
                return replace(overran, progress=progress)
            return timed_out(self._job, None, self._stack, progress)
        if self._is_over_time and self._attempt.unwound_as() is None:
            return timed_out(self._job, ended, self._stack, progress)
        return finished_call(ended, self._context, progress)

    @property
    def _is_over_time(self) -> bool:
        """Whether the time of the handler was over; that of a step is judged by its run."""
        return self._told_at is not None and self._told_at >= self._attempt.ends_at_monotonic

    def _tell_over_time(self, now: float) -> None:
        self._told_at = now
        self._stack = self._call.stack()
        self._context.cancelled.tell(StopReason.TIMED_OUT)
        self._call.interrupt()

    def _declare_stuck(self, now: float) -> None:
        self._tools.telemetry.warning(
            "A handler ignored its time limit: its process will end.",
            job_id=self._job.id,
            handler=self._job.handler,
            timeout_seconds=self._job.timeout_seconds,
        )
        self._tools.telemetry.count("handlers_stuck")
        self._tools.process.declare_stuck(
            self._record, self._call, now + self._tools.limits.neighbour_grace
        )

    def _may_commit(self, now: float) -> bool:
        """Whether no neighbour is left, or those that are had their time."""
        process = self._tools.process
        until = process.neighbours_until
        if until is None or not process.has_neighbours():
            return True
        return now >= until + self._tools.limits.hand_back

    def _must_hand_back(self, now: float) -> bool:
        until = self._tools.process.neighbours_until
        return until is not None and now >= until

    def _hand_back(self) -> None:
        self._tools.process.disown(self._call)
        self._end_process_in_time()
        was_possible = self._tools.hand_back(self._job.id, "the process had to end")
        self._tools.telemetry.info(
            "A job was returned to its queue, because its process had to end.",
            job_id=self._job.id,
            was_handed_back=was_possible,
        )
        raise HandlerAbandoned(self._job.id)

    def _end_process_in_time(self) -> None:
        """Make sure that the next attempt cannot overlap with this one, even if calls hang."""
        now = self._tools.clock.monotonic()
        self._tools.watchdog.end_by(self._call, now + self._tools.limits.process_end)

    def _wait(self) -> None:
        """Wait for a wake-up, or for the next moment at which something is to be done."""
        now = self._tools.clock.monotonic()
        # One that passed during the heartbeat is waited for no longer, but still to be acted on.
        waits = [max(0.0, moment - now) for moment in self._moments_to_come()]
        self._record.wake.wait(min([*waits, self._heart.seconds_to_next()]))
        self._record.wake.clear()

    def _moments_to_come(self) -> list[float]:
        """Return when the steps are due that `to_the_end` has not done yet."""
        limits, until = self._tools.limits, self._tools.process.neighbours_until
        if self._record.is_stuck:
            return [] if until is None else [until + limits.hand_back]
        if self._told_at is not None:
            return [self._told_at + limits.stop_grace]
        return [self._limit] if until is None else [self._limit, until]
