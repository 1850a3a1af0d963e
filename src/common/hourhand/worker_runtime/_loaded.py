"""The user's handlers, imported once for a process."""

from __future__ import annotations

import threading
from collections.abc import Callable

from hourhand.handlers import HandlersNotLoaded, Registry


class LoadedHandlers:
    """Imports the handlers in the thread that calls `load`; the others wait for it.

    That thread is the process's first one: modules may do at import what only that one may, such
    as setting a signal handler. A failed import is told by every attempt until it is tried again.
    """

    def __init__(self, load: Callable[[], Registry]) -> None:
        """Take what imports them; it may raise anything."""
        self._import = load
        self._is_settled = threading.Event()
        self._registry: Registry | None = None
        self._error: BaseException | None = None

    def forget_failure(self) -> None:
        """Let the next `load` try again, and waiters wait for it."""
        if self._registry is None:
            self._error = None
            self._is_settled.clear()

    def load(self) -> None:
        """Import the handlers, unless that is done. Raises nothing but `KeyboardInterrupt`."""
        if self._registry is not None:
            return
        try:
            self._registry = self._import()
        except BaseException as error:
            self._error = error
            if isinstance(error, KeyboardInterrupt):
                raise
        finally:
            self._is_settled.set()

    def wait(self, seconds: float) -> bool:
        """Wait until the import has ended well or badly; whether it has."""
        return self._is_settled.wait(seconds)

    def registry(self) -> Registry:
        """Return the handlers; raise what their import raised."""
        if self._registry is not None:
            return self._registry
        raise self._error or HandlersNotLoaded("The handlers are still being imported.")
