"""A clock that runs too quickly, as long as a file says so."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from hourhand.aws.clock import SystemClock
from proof.rehearsals.signs import DRIFT, FOLDER
from proof.rig import PLACE

HOOK = "proof.rehearsals.clocks:let_schedulers_drift"


def let_schedulers_drift() -> None:
    """Make a scheduler's clock gain so many seconds in each as a file says, while it is there.

    Its true time is the machine's; what it gained is lost again only with the process.
    """
    if not os.environ.get(PLACE, "").startswith("scheduler"):
        return
    file = Path(os.environ[FOLDER]) / DRIFT
    true_now, clock = SystemClock.now, _Drift(file, time.monotonic())

    def now(self: SystemClock) -> datetime:
        return true_now(self) + clock.gained()

    SystemClock.now = now  # type: ignore[method-assign]  # that is the fault


class _Drift:
    def __init__(self, file: Path, now: float) -> None:
        self._file, self._read_at, self._gained = file, now, 0.0

    def gained(self) -> timedelta:
        now = time.monotonic()
        # Once the file is gone the clock is good again, and keeps what it gained.
        with suppress(FileNotFoundError):
            self._gained += float(self._file.read_text()) * (now - self._read_at)
        self._read_at = now
        return timedelta(seconds=self._gained)
