"""Calls of AWS side by side, in threads that are kept: most of a call's time is waiting.

Services start no threads; an adapter may, as long as a call of it returns only when all that it
began has ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

C = TypeVar("C")
T = TypeVar("T")
R = TypeVar("R")


class SideBySide:
    """Does many pieces of work at most ``threads`` at a time."""

    def __init__(self, threads: int) -> None:
        """Start no thread yet: of a snapshot many processes are made."""
        if threads < 1:
            raise ValueError(f"threads must be at least 1, not {threads}")
        self._threads = threads
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    def each(self, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Return what ``work`` returns for each of ``items``, in their order.

        All of it has ended when this returns, and when it raises what the first one raised that
        failed. One piece of work, or one thread, is done by the caller itself.
        """
        if len(items) < 2 or self._threads == 1:  # noqa: PLR2004 (one has nobody beside it)
            return [work(item) for item in items]
        futures = [self._started().submit(work, item) for item in items]
        # The first that failed is raised only when the last has ended.
        errors = [future.exception() for future in futures]
        for error in errors:
            if error is not None:
                raise error
        return [future.result() for future in futures]

    def _started(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="aws")
            return self._pool


ONE_BY_ONE = SideBySide(1)
"""Starts no thread."""


@dataclass(frozen=True, slots=True)
class Bulk(Generic[C]):
    """How the calls are made that a sweep makes by the thousand: by whom, how many at a time."""

    client: C
    side_by_side: SideBySide = ONE_BY_ONE
