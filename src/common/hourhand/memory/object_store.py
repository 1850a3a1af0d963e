"""The bucket in memory."""

from __future__ import annotations

import threading
from datetime import datetime

from hourhand.memory.storable import require_storable_time


class MemoryObjectStore:
    """Implements the port `ObjectStore`; safe for threads."""

    def __init__(self) -> None:
        """Start empty."""
        self._lock = threading.RLock()
        self._texts: dict[str, str] = {}
        self._finished: dict[str, datetime] = {}

    def put(self, key: str, text: str) -> None:
        """Store a JSON text."""
        with self._lock:
            self._texts[key] = text
            self._finished.pop(key, None)

    def get(self, key: str) -> str | None:
        """Return it, or ``None`` where it is gone."""
        with self._lock:
            return self._texts.get(key)

    def mark_finished(self, key: str, keep_until: datetime) -> None:
        """Let it expire: its job is final. Does nothing where it is gone."""
        require_storable_time("keep_until", keep_until)
        with self._lock:
            if key in self._texts:
                self._finished[key] = keep_until

    def mark_live(self, key: str) -> None:
        """Keep it: its job was redriven. Does nothing where it is gone."""
        with self._lock:
            self._finished.pop(key, None)

    def keys(self) -> set[str]:
        """Return the keys of all objects: for a test's last look."""
        with self._lock:
            return set(self._texts)

    def finished(self) -> dict[str, datetime]:
        """Return until when the objects marked finished are kept: for a test's last look."""
        with self._lock:
            return dict(self._finished)

    def delete_expired(self, now: datetime) -> int:
        """Delete every object marked finished whose time is over at ``now``; return how many.

        An object that was not marked stays for ever.
        """
        with self._lock:
            gone = [key for key, keep_until in self._finished.items() if keep_until < now]
            for key in gone:
                del self._texts[key], self._finished[key]
            return len(gone)
