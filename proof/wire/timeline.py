"""One time for the functions and the queues, which only the world moves, besides the real one.

So leases expire, delays end and ticks come without anybody waiting, in this process and in the
emulator's, which reads how far the time was moved from a file.
"""

from __future__ import annotations

import mmap
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hourhand.aws.clock import SystemClock
from hourhand.aws.job_store import DynamoJobStore
from hourhand.aws.queues import SqsQueues
from hourhand.domain.times import floor_ms

_DOUBLE = struct.Struct("<d")


class Timeline:
    """How far the world is ahead of the machine's time. ``file``: where an emulator reads it."""

    def __init__(self, file: Path | None = None) -> None:
        self.seconds = 0.0
        self._lock = threading.Lock()
        self._shared: mmap.mmap | None = None
        if file is not None:
            file.write_bytes(_DOUBLE.pack(0.0))
            with file.open("r+b") as opened:
                self._shared = mmap.mmap(opened.fileno(), _DOUBLE.size)

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return time.monotonic() + self.seconds

    def advance(self, seconds: float) -> None:
        with self._lock:
            self.seconds += max(0.0, seconds)
            if self._shared is not None:
                _DOUBLE.pack_into(self._shared, 0, self.seconds)

    @contextmanager
    def rules(self) -> Iterator[None]:
        """Let it be the time of the functions, of our clients' pauses, and of moto's queues."""
        with pytest.MonkeyPatch.context() as patch:
            really_now, really_monotonic = SystemClock.now, SystemClock.monotonic

            def now(clock: SystemClock) -> datetime:
                return floor_ms(really_now(clock) + timedelta(seconds=self.seconds))

            patch.setattr(SystemClock, "now", now)
            patch.setattr(
                SystemClock, "monotonic", lambda clock: really_monotonic(clock) + self.seconds
            )
            patch.setattr(SystemClock, "sleep", lambda _, seconds: self.advance(seconds))
            # botocore's pauses between the tries of a call, and ours between those of a batch.
            patch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=self.advance))
            for adapter in (DynamoJobStore, SqsQueues):
                pauses: dict[str, Any] = {
                    **(adapter.__init__.__kwdefaults__ or {}),
                    "sleep": self.advance,
                }
                patch.setattr(adapter.__init__, "__kwdefaults__", pauses)
            for name, factor in (("unix_time", 1), ("unix_time_millis", 1000)):
                patch.setattr(f"moto.sqs.models.{name}", self._of_moto(factor))
            yield

    def _of_moto(self, factor: int) -> Any:
        return lambda _=None: (time.time() + self.seconds) * factor
