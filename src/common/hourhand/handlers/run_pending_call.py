"""What a call of an ``async`` durable handler returns: it runs once the handler awaits it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Generator
from pathlib import Path
from typing import Any, NoReturn

from hourhand.handlers._errors import NotAwaited
from hourhand.handlers.run_state import RunState

_OURS = str(Path(__file__).parent)


class PendingCall(Coroutine[Any, Any, Any]):
    """A call of the context. A handler that returns without an await of it fails.

    It has no truth value and is equal to nothing: an await is missing there.
    """

    def __init__(
        self, start: Callable[[], Coroutine[Any, Any, Any]], path: str, state: RunState
    ) -> None:
        """Take what carries the call out, its path, and the state of its run."""
        self._start, self._state = start, state
        self._running: Coroutine[Any, Any, Any] | None = None
        method, frame = "", sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
            method, frame = frame.f_code.co_name, frame.f_back
        file = Path(frame.f_code.co_filename).name
        self._what = f"{method}() of {path} in {file}, line {frame.f_lineno},"
        state.not_awaited[id(self)] = self

    def __str__(self) -> str:
        """Return which call it is, and where the code makes it."""
        return self._what

    def _refuse(self, *_: object) -> NoReturn:
        raise NotAwaited(
            f"The call {self} has no value until it is awaited. Write await before it."
        )

    __bool__ = __eq__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __hash__ = object.__hash__

    def __await__(self) -> Generator[Any, Any, Any]:
        """Carry the call out."""
        return self._begun().__await__()

    def send(self, value: Any) -> Any:
        """Go on, for a task whose coroutine this is."""
        return self._begun().send(value)

    def throw(self, *error: Any) -> Any:
        """Go on with an error, for a task whose coroutine this is."""
        begun = self._begun()
        self._note_if_left()
        return begun.throw(*error)

    def close(self) -> None:
        """Give the call up."""
        self._begun().close()

    def _begun(self) -> Coroutine[Any, Any, Any]:
        if self._running is None:
            del self._state.not_awaited[id(self)]
            self._running = self._carried_out()
        return self._running

    async def _carried_out(self) -> Any:
        try:
            return await self._start()
        except asyncio.CancelledError:
            self._note_if_left()
            raise

    def _note_if_left(self) -> None:
        """Count the call as not awaited if the handler has returned: its loop cancels the rest."""
        if self._state.main is not None and self._state.main.done():
            self._state.not_awaited[id(self)] = self
