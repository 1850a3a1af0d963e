"""The scheduler's process: when it ticks."""

from __future__ import annotations

import io
import itertools
import sys
from typing import Any

import pytest

from hourhand.local import entry_points, scheduler_process

TICKS = 3


class Ended(Exception):
    """The test has seen enough."""


class SlowTime:
    """A clock on which two seconds pass between any two looks; remembers what was slept."""

    def __init__(self) -> None:
        self._looks = itertools.count(step=2)
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return next(self._looks)

    def sleep(self, seconds: float) -> None:
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        self.slept.append(seconds)
        if len(self.slept) == TICKS:
            raise Ended


def test_a_tick_that_took_longer_than_its_time_is_followed_by_the_next_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    time, replies = SlowTime(), io.StringIO()
    monkeypatch.setattr(scheduler_process, "time", time)
    monkeypatch.setattr(sys, "argv", ["scheduler", "--tick-seconds", "1", "--name", "scheduler-1"])
    monkeypatch.setattr(scheduler_process, "take_over_streams", lambda: (io.StringIO(), replies))
    # In the real one the end of the input ends the process.
    monkeypatch.setattr(scheduler_process, "_end_with", lambda requests: None)

    def load(_: str) -> Any:
        return lambda event, context: {}

    monkeypatch.setattr(entry_points, "load_entry_point", load)
    with pytest.raises(Ended):
        scheduler_process.main()
    assert time.slept == [0.0] * TICKS
    assert len(replies.getvalue().splitlines()) == 1 + TICKS
