"""Time as the double of an installation lets it pass: with each step, what is due is run."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from hourhand.handlers import RetryLater, Snooze
from hourhand.memory.clock import MemoryClock
from hourhand.testing.inline_runner import InlineRunner, Run
from hourhand.testing.installation import Installation
from hourhand.testing.live_handlers import LiveHandlers


class PassingTime:
    """Implements the port `Clock` for code that waits: a sleep runs what becomes due meanwhile.

    ``clock`` itself only moves. ``raise_errors``: what a handler raises is raised where time was
    let pass, unless a step says otherwise.
    """

    def __init__(
        self, clock: MemoryClock, handlers: LiveHandlers, *, raise_errors: bool = False
    ) -> None:
        """Begin at the time of ``clock``, with an ``installation`` that runs ``handlers``."""
        self.raise_errors = raise_errors
        self.clock = clock
        self._runner = InlineRunner(handlers, clock)
        self.installation = Installation(
            clock,
            handlers,
            self._runner,
            after_each=self._raise_what_was_raised,
            logs=self._runner.logs,
        )
        self._is_passing = False
        self._raises_now = False
        self._looked_at = 0

    @property
    def runs(self) -> list[Run]:
        """Every attempt so far, in order."""
        return list(self._runner.runs)

    def now(self) -> datetime:
        """Return the time, in UTC."""
        return self.clock.now()

    def monotonic(self) -> float:
        """Return the seconds that passed since the start."""
        return self.clock.monotonic()

    def sleep(self, seconds: float) -> None:
        """Let time pass; only move the clock for a handler that is being run."""
        if self._is_passing:
            self.clock.sleep(seconds)
        else:
            self.pass_until(self.now() + timedelta(seconds=max(0.0, seconds)))

    def pass_until(self, instant: datetime, *, raise_errors: bool | None = None) -> list[Run]:
        """Let time pass until ``instant``; return what was run. Raises what `run_job` does."""
        return self._step(lambda: self.installation.run_until(instant), raise_errors)

    def run_job(self, job_id: str, *, raise_errors: bool | None = None) -> list[Run]:
        """Run what is due of one job; return what was run.

        Raises `RuntimeError` where a handler asks for it that is being run by just that.
        """
        return self._step(lambda: self.installation.work_off_job(job_id), raise_errors)

    def _step(self, step: Callable[[], None], raise_errors: bool | None) -> list[Run]:
        if self._is_passing:
            raise RuntimeError(
                "A handler that runs while the test lets time pass cannot let time pass itself. "
                "It may move the clock: hourhand_jobs.clock.advance(seconds)."
            )
        self._is_passing = True
        self._raises_now = self.raise_errors if raise_errors is None else raise_errors
        before = len(self._runner.runs)
        try:
            step()
        finally:
            self._is_passing = False
        return self._runner.runs[before:]

    def _raise_what_was_raised(self) -> None:
        """Raise the error of the attempt that ended last; its outcome is committed by now."""
        new, self._looked_at = self._runner.runs[self._looked_at :], len(self._runner.runs)
        for run in new:
            # These two only say when the job runs again.
            is_wish = isinstance(run.error, (RetryLater, Snooze))
            if self._raises_now and run.error is not None and not is_wish:
                note = (
                    f"Attempt {run.attempt} of the job {run.job_id} raised this. Its outcome is "
                    "stored. To test what follows, such as a retry, pass raise_errors=False."
                )
                if note not in getattr(run.error, "__notes__", ()):
                    run.error.add_note(note)
                raise run.error
