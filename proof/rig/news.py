"""What a local cloud reported, from its first moment on."""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from datetime import UTC, datetime
from typing import Any, TextIO, TypeVar

from hourhand.local.events import ApiAnswered, ChildDied, Logged, News, Printed, QueueFailed, Ticked

T = TypeVar("T")


class Recorder:
    """Keeps all news but the API's answers, which would fill the memory; safe for threads."""

    def __init__(self, log: TextIO | None = None) -> None:
        """Also write what a reader looks for into ``log``, line by line."""
        self._news: dict[type, list[tuple[float, Any]]] = defaultdict(list)
        self._log = log
        self._lock = threading.Lock()

    def note(self, news: News) -> None:
        """Be the cloud's listener."""
        if isinstance(news, ApiAnswered):
            return
        with self._lock:
            now = time.time()
            self._news[type(news)].append((now, news))
            line = _line_of(news)
            if line is not None and self._log is not None and not self._log.closed:
                at = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds")
                self._log.write(f"{at} {line}\n")

    def timed(self, kind: type[T]) -> list[tuple[float, T]]:
        """Return the news of one kind, oldest first, each with the time of its arrival."""
        with self._lock:
            return list(self._news[kind])

    def of(self, kind: type[T]) -> list[T]:
        """Return the news of one kind, oldest first."""
        return [news for _, news in self.timed(kind)]

    def logged(self, sentence: str) -> list[Logged]:
        """Return the log lines with this sentence."""
        return [line for line in self.of(Logged) if line.sentence == sentence]


def _line_of(news: News) -> str | None:
    match news:
        case ChildDied():
            return f"{news.name}: died: pid {news.pid}, exit code {news.exit_code}"
        case Ticked():
            return f"{news.name}: tick: {news.error or news.report}"
        case Logged():
            fields = {key: value for key, value in news.fields.items() if value is not None}
            return f"{news.name}: {news.sentence} {json.dumps(fields, default=str)}"
        case Printed():
            return f"{news.name}: {news.line}"
        case QueueFailed():
            return f"event source: {news.operation}: {news.reason}"
        case _:
            return None
