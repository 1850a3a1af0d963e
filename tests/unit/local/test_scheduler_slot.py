"""A scheduler process is always there: one that dies is told of and replaced."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from typing import Any, cast

import pytest

from hourhand.local.child_process import ChildListener, ChildProcess
from hourhand.local.events import ChildDied, ChildStarted, News, Printed, Ticked
from hourhand.local.scheduler_slot import SchedulerSlot

WAIT_SECONDS = 10


class FakeChild:
    """A process that does what the test says."""

    def __init__(self, pid: int, listener: ChildListener) -> None:
        self.name, self.pid = "scheduler-1", pid
        self.listener = listener
        self.has_ended = False
        self.told: list[dict[str, Any]] = []

    def say(self, message: dict[str, Any]) -> bool:
        self.told.append(message)
        return True

    def says(self, **message: Any) -> None:
        self.listener.heard(cast("ChildProcess", self), message)

    def prints(self, line: str) -> None:
        self.listener.logged(cast("ChildProcess", self), line)

    def dies(self) -> None:
        self.listener.ended(cast("ChildProcess", self), -9)

    def end(self) -> None:
        self.has_ended = True


class Stage:
    def __init__(self) -> None:
        self.children: list[FakeChild] = []
        self.news: queue.Queue[News] = queue.Queue()
        self.slot = SchedulerSlot(self.spawn, self.news.put)

    def spawn(self, listener: ChildListener) -> ChildProcess:
        self.children.append(FakeChild(len(self.children) + 1, listener))
        return cast("ChildProcess", self.children[-1])

    def next_news(self) -> News:
        return self.news.get(timeout=WAIT_SECONDS)


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    stage = Stage()
    monkeypatch.setattr(stage.slot, "_delay", ShortDelay())
    yield stage
    stage.slot.stop()


class ShortDelay:
    """Waits as short a time as can be, and notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[bool] = []

    def after_death(self, *, was_useful: bool) -> float:
        self.asked.append(was_useful)
        return 0.001


def test_each_tick_is_told_with_its_report(stage: Stage) -> None:
    [child] = stage.children
    child.says(ready=1)
    assert stage.next_news() == ChildStarted(name="scheduler-1", pid=1)
    child.says(request_id="scheduler-1-a", took_seconds=0.2, result={"led": True})
    tick = stage.next_news()
    assert isinstance(tick, Ticked)
    assert (tick.request_id, tick.report, tick.error) == ("scheduler-1-a", {"led": True}, None)


def test_a_tick_that_failed_is_told_with_its_error(stage: Stage) -> None:
    error = {"errorType": "Unavailable", "errorMessage": "no table"}
    stage.children[0].says(request_id="r", took_seconds=0.2, error=error)
    tick = stage.next_news()
    assert isinstance(tick, Ticked)
    assert (tick.report, tick.error) == (None, "Unavailable: no table")


def test_one_that_dies_is_replaced_and_that_is_told(stage: Stage) -> None:
    stage.children[0].dies()
    died = stage.next_news()
    assert isinstance(died, ChildDied)
    assert (died.pid, died.exit_code) == (1, -9)
    assert stage.slot.child.pid == 2
    stage.children[1].says(ready=2)
    assert stage.next_news() == ChildStarted(name="scheduler-1", pid=2, is_restart=True)


def test_one_that_never_ticked_is_waited_for_longer(stage: Stage) -> None:
    delay = cast("ShortDelay", stage.slot._delay)
    stage.children[0].dies()
    stage.children[1].says(request_id="r", took_seconds=0.1, result={})
    stage.children[1].dies()
    assert delay.asked == [False, True]


def test_what_it_prints_is_passed_on(stage: Stage) -> None:
    stage.children[0].prints("Hello")
    assert stage.next_news() == Printed(name="scheduler-1", line="Hello")


def test_a_change_of_the_handlers_is_passed_on(stage: Stage) -> None:
    stage.slot.refresh()
    assert stage.children[0].told == [{"refresh": True}]


def test_stopping_ends_it_and_starts_no_other(stage: Stage) -> None:
    stage.slot.stop()
    assert stage.children[0].has_ended
    stage.children[0].dies()
    assert len(stage.children) == 1
    assert stage.news.empty()
