"""A whole installation in memory: API, scheduler and one worker, on a clock that stands still.

These are the services that are deployed, over the memory adapters. Time passes only in
`Installation.run_until`: then the scheduler ticks and the worker works as
they would, one thing after the other, in the order of time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from hourhand.api.app import create_app
from hourhand.domain.ticks.timings import Timings
from hourhand.domain.times import floor_ms
from hourhand.memory.adapters import memory_adapters
from hourhand.memory.clock import MemoryClock
from hourhand.memory.control_store import MemoryControlStore
from hourhand.memory.deployment import MemoryDeployment
from hourhand.memory.job_logs import MemoryJobLogs
from hourhand.memory.job_store import MemoryJobStore
from hourhand.memory.queues import MemoryQueues, QueuedMessage
from hourhand.memory.randomness import MemoryRandomness
from hourhand.memory.schedule_store import MemoryScheduleStore
from hourhand.memory.sweep_invoker import MemorySweepInvoker
from hourhand.memory.telemetry import RecordingTelemetry
from hourhand.ports.handler_directory import HandlerDirectory
from hourhand.ports.handler_runner import HandlerRunner
from hourhand.ports.queues import Delivery
from hourhand.ports.schedule_store import DUE_SHARDS
from hourhand.services.jobs.execution import Disposition
from hourhand.services.ticks.tick import TickReport
from hourhand.settings import Settings
from hourhand.testing.events import ENDPOINT
from hourhand.wiring.functions import wire_api, wire_scheduler, wire_worker

TICK_EVERY = timedelta(minutes=4)
"""In a deployment: one minute. The look-ahead of five minutes leaves room for four."""

LONGEST_REST = timedelta(hours=12)
"""Between two ticks while nothing is to come. The sweep after it reads each minute of the rest."""

MOMENT = timedelta(milliseconds=1)
"""The shortest time that times are told apart by."""

MAX_ATTEMPTS_AT_ONCE = 10_000
"""Messages worked off at one instant; more would mean that jobs go round in circles."""

FUNCTION_SECONDS = 900.0
TICK_SECONDS = 55.0

_ORDER = {"high": 0, "medium": 1, "low": 2}


class GoesRound(RuntimeError):
    """Jobs create jobs, or run again, without any time passing."""


class SteppedQueues(MemoryQueues):
    """Queues with a single worker, which is never late and never early."""

    def next_to_start(self) -> list[QueuedMessage]:
        """Return the messages whose jobs start next, all at one instant: `starts_at`.

        They are in the order of their priorities, and of sending. Empty where there is none.
        """
        messages = self.messages()
        earliest = min(map(starts_at, messages), default=None)
        now = [held for held in messages if starts_at(held) == earliest]
        return sorted(now, key=lambda held: _ORDER[held.queue])

    def take(self, held: QueuedMessage) -> Delivery:
        """Receive this very message."""
        with self._contents.lock:
            return self._deliver(held, self._clock.now())


def starts_at(held: QueuedMessage) -> datetime:
    """Return when a worker may start the job: a message is visible up to a second before."""
    return max(held.visible_at, held.message.due_at)


class Installation:
    """An installation whose time the test controls.

    ``randomness`` adds nothing to delays: a retry is due exactly when its policy's plain delay
    ends.
    """

    def __init__(
        self,
        clock: MemoryClock,
        handlers: HandlerDirectory,
        runner: HandlerRunner,
        after_each: Callable[[], None],
        logs: MemoryJobLogs | None = None,
    ) -> None:
        """Start empty, at the time of ``clock``; ``runner`` runs what ``handlers`` names.

        ``logs`` are what the API reads as the logs of jobs.

        ``after_each`` is called after each message, when what came of it is committed; what it
        raises, `run_until` raises.
        """
        self.clock = clock
        self.randomness = MemoryRandomness(drawn=0.0)
        self.telemetry = RecordingTelemetry()
        self.jobs = MemoryJobStore()
        self.schedules = MemoryScheduleStore()
        self._control = MemoryControlStore()
        # It is younger than an installation that looks back for a day at its first tick.
        timings = Timings(first_look_back=timedelta(minutes=15)).precise
        # And what a test pauses or resumes counts at once, not after a worker's next look.
        timings = replace(timings, control_cache=timedelta(0))
        self.queues = SteppedQueues(clock, visibility=timings.visibility)
        settings = Settings(timings=timings, api_url=ENDPOINT)
        adapters = memory_adapters(
            clock,
            jobs=self.jobs,
            schedules=self.schedules,
            control=self._control,
            queues=self.queues,
            randomness=self.randomness,
            telemetry=self.telemetry,
            handlers=handlers,
            logs=logs or MemoryJobLogs(),
            invoker=MemorySweepInvoker(accepts=False),
            # So no test runs a handler that only its declared schedule would run.
            deployment=MemoryDeployment(lives=None),
        )
        self.app = create_app(wire_api(settings, adapters))
        self._scheduling = wire_scheduler(settings, adapters).scheduling
        self._execution = wire_worker(settings, adapters).execution
        self._runner = runner
        self._after_each = after_each
        self._look_ahead = timings.look_ahead
        self._tick_numbers = itertools.count(1)

    def run_until(self, end: datetime) -> None:
        """Let time pass until ``end``, an aware datetime, with all that happens meanwhile.

        What is due by then is worked off, also where a handler moved the clock itself. Raises
        `GoesRound` where that takes no end.
        """
        # The clock shows whole milliseconds: it would never show the rest of one.
        end = floor_ms(end + timedelta(microseconds=999))
        next_tick = self.clock.now()
        handled = 0
        while True:
            now = self.clock.now()
            if next_tick <= now:
                next_tick = self._tick()
            waiting = self.queues.next_to_start()
            instant = starts_at(waiting[0]) if waiting else next_tick
            step_to = min(instant, next_tick, end)
            if step_to > now:
                self.clock.advance_to(step_to)
                handled = 0
            elif waiting and instant <= now:
                handled += self._work_off_all(waiting)
                if handled > MAX_ATTEMPTS_AT_ONCE:
                    raise GoesRound(self._circle(waiting[0].message.job_id))
            else:
                return

    def work_off_job(self, job_id: str) -> None:
        """Work off the messages of one job that are due; nothing happens where there are none."""
        for held in self.queues.messages():
            if held.message.job_id == job_id and starts_at(held) <= self.clock.now():
                self._work_off(held)

    def _tick(self) -> datetime:
        """Let the scheduler tick, and return when it has to again."""
        report = self._scheduling.tick(f"tick-{next(self._tick_numbers)}", lambda: TICK_SECONDS)
        now = self.clock.now()
        return min([self._next_tick(report, now), *self._ends_of_pauses(now)])

    def _next_tick(self, report: TickReport, now: datetime) -> datetime:
        if report.entries or report.schedules_visited:
            return now + TICK_EVERY
        rest_until = now + LONGEST_REST
        due = [job.due_at for job in self.jobs.jobs().values() if job.due_at is not None]
        needed_at = min([rest_until, *due, *self._next_visits(rest_until)]) - self._look_ahead
        return max(needed_at, now + TICK_EVERY)

    def _ends_of_pauses(self, now: datetime) -> list[datetime]:
        """Return when pauses of handlers end by themselves."""
        ends = [pause.ended_at for pause in self._control.read_pauses().pauses.values()]
        return [end for end in ends if end is not None and end > now]

    def _next_visits(self, until: datetime) -> list[datetime]:
        """Return when schedules next want to be looked at."""
        pages = (
            self.schedules.read_due(shard, until=until, position=None, limit=1)
            for shard in range(DUE_SHARDS)
        )
        return [due.next_at for page in pages for due in page.due]

    def _work_off_all(self, waiting: list[QueuedMessage]) -> int:
        for held in waiting:
            self._work_off(held)
        return len(waiting)

    def _work_off(self, held: QueuedMessage) -> None:
        delivery = self.queues.take(held)
        disposition = self._execution.handle(delivery, self._runner, lambda: FUNCTION_SECONDS)
        if disposition is Disposition.DONE:
            self.queues.delete(delivery)
        else:
            # Hidden for no time it comes again all the same, a moment later.
            held.visible_at = max(held.visible_at, self.clock.now() + MOMENT)
        self._after_each()

    def _circle(self, job_id: str) -> str:
        job = self.jobs.jobs()[job_id]
        at = self.clock.now().isoformat()
        return (
            f"More than {MAX_ATTEMPTS_AT_ONCE:,} attempts at {at}, the last of {job.handler} (job "
            f"{job_id}). Does a handler submit itself again, snooze for no time, or retry "
            "without a delay?"
        )
