"""A directory of handlers without any code behind them."""

from __future__ import annotations

from collections.abc import Sequence

from hourhand.ports.handler_directory import HandlerInfo


class MemoryHandlerDirectory:
    """Implements the port `HandlerDirectory` over a fixed list."""

    def __init__(self, *handlers: HandlerInfo | str, advice: str = "") -> None:
        """Take handlers, or names alone for handlers that state no policy of their own."""
        self.advice = advice
        infos = [HandlerInfo(name=h) if isinstance(h, str) else h for h in handlers]
        self._by_name = {info.name: info for info in infos}

    def find(self, name: str) -> HandlerInfo | None:
        """Return the handler of that name."""
        return self._by_name.get(name)

    def all(self) -> Sequence[HandlerInfo]:
        """Return every handler, by name."""
        return [self._by_name[name] for name in sorted(self._by_name)]
