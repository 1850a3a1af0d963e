"""What the runs of one process share, and how long they wait for what."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from hourhand.domain.ticks.timings import Timings
from hourhand.handlers import HandlersNotLoaded, Registry
from hourhand.ports.clock import Clock
from hourhand.ports.telemetry import Telemetry
from hourhand.worker._process import WorkerProcess
from hourhand.worker._watchdog import Watchdog


class LoadedHandlers:
    """Imports the handlers in the thread that calls `load`; the others wait for it.

    That thread is the process's first one: modules may do at import what only that one may, such
    as setting a signal handler. An import that failed may have left half of its work behind (a
    metric's name that is taken now), so the error that is reported is that of the *first* one.
    """

    def __init__(self, load: Callable[[], Registry]) -> None:
        """Take what imports them; it may raise anything."""
        self._import = load
        self._importing = threading.Lock()
        self._is_settled = threading.Event()
        self._registry: Registry | None = None
        self._error: BaseException | None = None
        self._failures = 0

    @property
    def failures(self) -> int:
        """How many imports failed in this process."""
        return self._failures

    def forget_failure(self) -> None:
        """Let waiters wait for the next `load`, which tries again."""
        if self._registry is None:
            self._is_settled.clear()

    def load(self) -> BaseException | None:
        """Import the handlers, unless that is done; return what the import raised now.

        Raises nothing but `KeyboardInterrupt`.
        """
        try:
            with self._importing:
                if self._registry is None:
                    self._registry = self._import()
        except BaseException as error:
            self._failures += 1
            self._error = self._error or error
            if isinstance(error, KeyboardInterrupt):
                raise
            return error
        finally:
            self._is_settled.set()
        return None

    def wait(self, seconds: float) -> bool:
        """Wait until the import has ended well or badly; whether it has."""
        return self._is_settled.wait(seconds)

    def registry(self) -> Registry:
        """Return the handlers; raise what their first import raised."""
        if self._registry is not None:
            return self._registry
        raise self._error or HandlersNotLoaded("The handlers are still being imported.")


class HandlerAbandoned(Exception):
    """The job was handed back while its handler runs: there is no outcome to commit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunLimits:
    """The waits of the runtime, in seconds.

    ``stop_grace``: after its hard timeout a handler may still stop by itself.
    ``neighbour_grace``: the neighbours of a stuck handler may finish, ``hand_back``: and then
    hand their jobs back. The three together stay below what the execution service reserves of
    the function's time. ``load``: the import of the handlers. ``process_end``: from before the
    commit that lets another attempt at a handler follow that still runs, until the process has
    ended, whatever its last calls do. That attempt is due later by more than two clocks may
    differ: `hourhand.services.jobs.attempt.HAND_BACK_DELAY`.
    """

    stop_grace: float = 2.0
    neighbour_grace: float = 8.0
    hand_back: float = 3.0
    load: float = 60.0
    process_end: float = 8.0


@dataclass(frozen=True, kw_only=True, slots=True)
class RunnerTools:
    """What every run in a process shares.

    ``hand_back`` returns a running job to its queue: `ExecutionService.hand_back`.
    """

    handlers: LoadedHandlers
    process: WorkerProcess
    watchdog: Watchdog
    clock: Clock
    timings: Timings
    telemetry: Telemetry
    hand_back: Callable[[str, str], bool]
    logger: logging.Logger
    limits: RunLimits = field(default_factory=RunLimits)
