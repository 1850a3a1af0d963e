"""The scheduler's process: when it ticks."""

from __future__ import annotations

import io
import itertools
import json
import os
import sys
import threading
from typing import Any

import pytest

from hourhand.local import function_process, scheduler_process

TICKS = 3
WAIT_SECONDS = 10


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
    monkeypatch.setattr(scheduler_process, "receive", lambda requests, take: None)
    monkeypatch.setattr(
        scheduler_process, "_is_changed_within", lambda seconds, _: time.sleep(seconds)
    )

    def load(_: str) -> Any:
        return lambda event, context: {}

    monkeypatch.setattr(function_process, "load_entry_point", load)
    with pytest.raises(Ended):
        scheduler_process.main()
    assert time.slept == [0.0] * TICKS
    assert len(replies.getvalue().splitlines()) == 1 + TICKS


def test_a_change_of_the_handlers_loads_the_function_again_and_ticks_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    requests, replies = io.StringIO('{"refresh": true}\n'), io.StringIO()
    loaded, waits = itertools.count(1), itertools.count(1)
    has_ended = threading.Event()
    monkeypatch.setattr(sys, "argv", ["scheduler", "--tick-seconds", "3600", "--name", "s"])
    monkeypatch.setattr(scheduler_process, "take_over_streams", lambda: (requests, replies))
    monkeypatch.setattr(os, "_exit", lambda _: has_ended.set())

    def load(_: str) -> Any:
        number = next(loaded)
        return lambda event, context: {"loaded": number}

    def wait(seconds: float, changes: threading.Event) -> bool:
        assert seconds > WAIT_SECONDS
        if next(waits) == 2:
            raise Ended
        return changes.wait(WAIT_SECONDS)

    monkeypatch.setattr(scheduler_process, "load_function", load)
    monkeypatch.setattr(scheduler_process, "_is_changed_within", wait)
    with pytest.raises(Ended):
        scheduler_process.main()
    assert has_ended.wait(WAIT_SECONDS), "the end of the input ends the process"
    results = [json.loads(line).get("result") for line in replies.getvalue().splitlines()]
    assert results == [None, {"loaded": 1}, {"loaded": 2}]
