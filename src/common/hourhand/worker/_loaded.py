"""The user's handlers, imported once for a process."""

from __future__ import annotations

import threading
from collections.abc import Callable

from hourhand.handlers import HandlersNotLoaded, Registry


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
