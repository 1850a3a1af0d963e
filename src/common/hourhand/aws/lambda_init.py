"""When a function is wired: in Lambda's init phase, and anywhere else by its first call.

The init phase has more CPU than the calls of a small function have, no caller waits for it where
concurrency is provisioned, and a snapshot keeps what it did. What it raises fails a deployment
that provisions or takes a snapshot; elsewhere it is the error of each call.

How long it may take is Lambda's to say: where concurrency is provisioned or a snapshot is taken
130 s, or the function's own time if that is longer; else 10 s, after which it begins again in a
new process, within the time of the first call (AWS Lambda Developer Guide, "Understanding the
Lambda execution environment lifecycle").
"""

from __future__ import annotations

import gc
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Generic, TypeVar

INITIALIZATION_TYPE = "AWS_LAMBDA_INITIALIZATION_TYPE"
"""Lambda alone sets this: how the process began (Lambda, defined variables)."""

SNAP_START = "snap-start"

YOUNG_OBJECTS = 100_000
"""How many new ones let the collector look: Python's own 700 are few for a server."""

T = TypeVar("T")


@contextmanager
def frozen_gc() -> Iterator[None]:
    """Make what is made here stay: the collector of cycles is not asked, now or ever.

    To import is to make objects that all live on; looking through them again and again is a
    third of a cold start. What comes after is looked through less often, too: a page of a sweep
    has fifty thousand objects, of which hardly any is in a cycle.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(YOUNG_OBJECTS)
        gc.enable()


class LambdaInit(Generic[T]):
    """What the calls of a function work with: ``services()`` makes it, or returns what was made.

    Importing the function's file does nothing, but in Lambda. Safe for threads.
    """

    def __init__(
        self,
        wire: Callable[[], T],
        environ: Mapping[str, str],
        *,
        get_ready: Callable[[T], object] | None = None,
    ) -> None:
        """In Lambda, call ``wire`` and raise what it raises.

        ``get_ready`` is called in Lambda alone, with what was wired, in the thread that calls the
        function later: the process's first. What it leaves undone is left to the calls.
        """
        self._wire = wire
        self._lock = threading.Lock()
        self._wired: T | None = None
        begun = environ.get(INITIALIZATION_TYPE, "")
        self._is_snapshot = begun == SNAP_START
        if not begun:
            return
        with frozen_gc():
            wired = wire()
            if get_ready is not None:
                get_ready(wired)
        # Of a snapshot many processes are made. Each must draw its own worker's id and open its
        # own connections, so it wires once more: a few ms, once everything is imported.
        if not self._is_snapshot:
            self._wired = wired

    def __call__(self) -> T:
        """Return what was wired; wire it first, if this is the first call."""
        with self._lock:
            if self._wired is None:
                if self._is_snapshot:
                    # It was seeded before the snapshot: all copies would back off in step.
                    random.seed()
                self._wired = self._wire()
            return self._wired
