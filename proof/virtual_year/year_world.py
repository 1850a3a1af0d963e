"""The world of the virtual year: wired for real, its stores written down."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import ErrorInfo, Job, Outcome
from hourhand.ports.clock import Clock
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.queues import Delivery
from hourhand.services.jobs.execution import Disposition
from hourhand.wiring.functions import WorkerServices
from proof.virtual_year.books import BookedJobStore, BookedScheduleStore, Books
from proof.virtual_year.schedule_mix import HANDLERS
from proof.virtual_year.slow_runs import SlowRun, sleep_with_beats
from tests.world.runs import HandlerKilled, make_error
from tests.world.world import FUNCTION_SECONDS, World

EXPECTED_ERRORS = ("Unavailable", "Crash")
KEPT_WARNINGS = 3


class CountingTelemetry:
    """Counts; a year of lines would fill the memory. An error that is none of ours is told."""

    def __init__(self, books: Books) -> None:
        self.totals: Counter[str] = Counter()
        self.warnings: Counter[str] = Counter()
        self.examples: dict[str, list[dict[str, Any]]] = {}
        self._books = books

    def info(self, sentence: str, **fields: Any) -> None:
        """Forget it."""

    def warning(self, sentence: str, **fields: Any) -> None:
        """Count it."""
        self.warnings[sentence] += 1
        examples = self.examples.setdefault(sentence, [])
        if len(examples) < KEPT_WARNINGS:
            examples.append(fields)
        reason = str(fields.get("error") or fields.get("reason") or "")
        if sentence.startswith(_FAILURES) and not reason.startswith(EXPECTED_ERRORS):
            self._books.violate("an error that nobody caused", sentence=sentence, **fields)

    def count(self, metric: str, value: float = 1) -> None:
        """Add to a total."""
        self.totals[metric] += int(value)

    def observe(self, metric: str, value: float, unit: str = "Milliseconds") -> None:
        """Forget it."""

    def gauge(self, metric: str, value: float, unit: str) -> None:
        """Forget it."""

    def flush(self) -> None:
        """Nothing is held back."""


_FAILURES = (
    "A schedule could not be",
    "A shard could not be read",
    "A job could not be",
    "Jobs could not be",
    "An item could not be",
    "A calendar",
    "A schedule names",
)


class YearWorld(World):
    """A `World` whose stores write into `Books`, and which starts on a day of its own."""

    def __init__(self, start: datetime, index_lag: timedelta) -> None:
        super().__init__(handlers=HANDLERS)
        self.clock.advance_to(start)
        self.books = Books(self.clock)
        options = {"clock": self.clock, "index_lag": index_lag}
        self.schedules = BookedScheduleStore(self.books, **options)
        self.store = BookedJobStore(self.books, self.schedules, self.side_items, **options)  # type: ignore[assignment]
        self.telemetry = CountingTelemetry(self.books)  # type: ignore[assignment]
        process = self.process()
        self.api, self.scheduler, self.worker = process.api, process.scheduler, process.worker

    def work(self, delivery: Delivery, runner: ChanceRunner, by: WorkerServices) -> None:
        """Let a worker work off one message, and delete it if it is done with."""
        try:
            disposition = by.execution.handle(delivery, runner, lambda: FUNCTION_SECONDS)
        except Unavailable:
            return
        if disposition is Disposition.DONE:
            self.queues.delete(delivery)


@dataclass(eq=False)
class ChanceRunner:
    """Runs "handlers": what becomes of a job follows from its id, attempt by attempt.

    ``slow``: the thread in which a handler may sleep.
    """

    clock: Clock
    slow: SlowRun | None = None

    def run(
        self, job: Job, payload_text: str, last_error: ErrorInfo | None, pulse: Pulse
    ) -> Finished:
        """Run one."""
        luck = _luck(f"{job.id} {job.token}")
        behave: Callable[[Job, Pulse, float], Finished] = {
            "quick": self._quick,
            "slow": self._slow,
            "flaky": self._flaky,
            "failing": self._failing,
        }[job.handler]
        return behave(job, pulse, luck)

    def _quick(self, job: Job, pulse: Pulse, luck: float) -> Finished:
        return Finished(outcome=Outcome.SUCCEEDED)

    def _slow(self, job: Job, pulse: Pulse, luck: float) -> Finished:
        if self.slow is not None:
            lasts = timedelta(seconds=20 + round(luck * luck * 760))
            stopped = sleep_with_beats(self.slow, job, pulse, self.clock, lasts)
            if stopped is not None:
                return stopped
        return self._flaky(job, pulse, luck * 3)

    def _flaky(self, job: Job, pulse: Pulse, luck: float) -> Finished:
        if luck < 0.02:
            raise HandlerKilled
        if luck < 0.3:
            return Finished(outcome=Outcome.FAILED, error=make_error())
        return self._quick(job, pulse, luck)

    def _failing(self, job: Job, pulse: Pulse, luck: float) -> Finished:
        if luck < 0.6:
            return Finished(outcome=Outcome.FAILED, error=make_error(retryable=False))
        return self._quick(job, pulse, luck)


def _luck(text: str) -> float:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6]) / (1 << 48)
