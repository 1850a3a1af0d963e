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
        self._importing = threading.Lock()
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
        try:
            with self._importing:
                if self._registry is None:
                    self._registry = self._import()
        except BaseException as error:
            self._error = error
            if isinstance(error, KeyboardInterrupt):
                raise
        finally:
            self._is_settled.set()

    def load_early(self, seconds: float) -> None:
        """Import the handlers before anybody waits for them; return after ``seconds`` at most.

        An import that takes longer goes on, and `load` waits for it. One that fails is left to
        `load`, too: in the first thread it may succeed, and if not, the attempts are there to
        be told.
        """
        ended = threading.Event()

        def load() -> None:
            try:
                with self._importing:
                    self._registry = self._import()
            except BaseException:  # noqa: BLE001 - see above
                return
            finally:
                ended.set()

        threading.Thread(target=load, name="handlers", daemon=True).start()
        ended.wait(seconds)

    def wait(self, seconds: float) -> bool:
        """Wait until the import has ended well or badly; whether it has."""
        return self._is_settled.wait(seconds)

    def registry(self) -> Registry:
        """Return the handlers; raise what their import raised."""
        if self._registry is not None:
            return self._registry
        raise self._error or HandlersNotLoaded("The handlers are still being imported.")
