"""A worker slot keeps a process alive, gives it one batch at a time, and tells what befalls it."""

from __future__ import annotations

import queue
import signal
from typing import Any, cast

import pytest

from hourhand.local.child_process import ChildListener, ChildProcess
from hourhand.local.events import ChildDied, ChildStarted, News, Printed
from hourhand.local.worker_slot import Answered, Crashed, Invocation, WorkerSlot

WAIT_SECONDS = 10


class FakeChild:
    """A process that does what the test says."""

    def __init__(self, number: int, listener: ChildListener) -> None:
        self.name = "worker-1"
        self.pid = 1000 + number
        self.said: queue.Queue[dict[str, Any]] = queue.Queue()
        self.signals: queue.Queue[int] = queue.Queue()
        self.has_ended = False
        self._listener = listener

    def say(self, message: dict[str, Any]) -> bool:
        self.said.put(message)
        return True

    def signal(self, number: signal.Signals) -> None:
        self.signals.put(number)

    def end(self) -> None:
        self.has_ended = True

    # what the process does

    def be_ready(self) -> None:
        self._listener.heard(cast("ChildProcess", self), {"ready": self.pid, "result": {}})

    def answer(self, **reply: Any) -> None:
        request = self.said.get(timeout=WAIT_SECONDS)
        self._listener.heard(
            cast("ChildProcess", self), {"request_id": request["request_id"], **reply}
        )

    def print(self, line: str) -> None:
        self._listener.logged(cast("ChildProcess", self), line)

    def die(self, exit_code: int = -9) -> None:
        self._listener.ended(cast("ChildProcess", self), exit_code)


class Stage:
    """A slot with its children, and ears for everything."""

    def __init__(self) -> None:
        self.children: queue.Queue[FakeChild] = queue.Queue()
        self.idle: queue.SimpleQueue[WorkerSlot] = queue.SimpleQueue()
        self.news: queue.Queue[News] = queue.Queue()
        self.ends: queue.Queue[Answered | Crashed] = queue.Queue()
        self.spawned = 0
        self.slot = WorkerSlot("worker-1", self.spawn, self.idle, self.news.put)

    def spawn(self, listener: ChildListener) -> ChildProcess:
        self.spawned += 1
        child = FakeChild(self.spawned, listener)
        self.children.put(child)
        return cast("ChildProcess", child)

    def next_child(self) -> FakeChild:
        return self.children.get(timeout=WAIT_SECONDS)

    def next_news(self) -> News:
        return self.news.get(timeout=WAIT_SECONDS)

    def take(self) -> WorkerSlot:
        return self.idle.get(timeout=WAIT_SECONDS)

    def invoke(self) -> None:
        self.slot.invoke(Invocation(event={"Records": []}, on_end=self.ends.put))

    def next_end(self) -> Answered | Crashed:
        return self.ends.get(timeout=WAIT_SECONDS)


@pytest.fixture
def stage() -> Any:
    stage = Stage()
    yield stage
    stage.slot.stop()


def test_a_slot_is_free_once_its_process_is_ready(stage: Stage) -> None:
    child = stage.next_child()
    assert stage.idle.empty()
    child.be_ready()
    assert stage.take() is stage.slot
    assert stage.next_news() == ChildStarted(name="worker-1", pid=child.pid)
    assert stage.slot.was_ready


def test_an_invocation_is_answered_and_the_slot_is_free_again(stage: Stage) -> None:
    child = stage.next_child()
    child.be_ready()
    stage.take()
    stage.invoke()
    child.answer(result={"batchItemFailures": []})
    assert stage.next_end() == Answered(result={"batchItemFailures": []})
    assert stage.take() is stage.slot


def test_an_error_of_the_function_crashes_the_invocation_not_the_process(stage: Stage) -> None:
    child = stage.next_child()
    child.be_ready()
    stage.take()
    stage.invoke()
    child.answer(error={"errorType": "Unavailable", "errorMessage": "no table"})
    assert stage.next_end() == Crashed(reason="Unavailable: no table", pid=child.pid)
    assert stage.take() is stage.slot
    assert stage.spawned == 1


def test_a_process_that_dies_is_told_replaced_and_its_invocation_crashed(stage: Stage) -> None:
    first = stage.next_child()
    first.be_ready()
    stage.take()
    stage.next_news()
    stage.invoke()
    first.said.get(timeout=WAIT_SECONDS)
    first.die()
    died = stage.next_news()
    assert isinstance(died, ChildDied)
    assert (died.pid, died.exit_code) == (first.pid, -9)
    assert stage.next_end() == Crashed(reason="its process died", pid=first.pid)
    second = stage.next_child()
    second.be_ready()
    assert stage.next_news() == ChildStarted(name="worker-1", pid=second.pid, is_restart=True)
    assert stage.take() is stage.slot


def test_work_given_to_a_slot_whose_idle_process_just_died_goes_to_the_next(stage: Stage) -> None:
    first = stage.next_child()
    first.be_ready()
    stage.take()
    first.die()
    stage.invoke()
    second = stage.next_child()
    second.be_ready()
    second.answer(result=None)
    assert stage.next_end() == Answered(result=None)
    assert first.said.empty()


def test_a_process_is_replaced_at_once_when_it_is_idle(stage: Stage) -> None:
    first = stage.next_child()
    first.be_ready()
    stage.take()
    stage.slot.refresh()
    second = stage.next_child()
    second.be_ready()
    stage.invoke()
    second.answer(result=None)
    assert stage.next_end() == Answered(result=None)
    assert first.has_ended


def test_a_busy_process_is_replaced_after_its_invocation(stage: Stage) -> None:
    first = stage.next_child()
    first.be_ready()
    stage.take()
    stage.invoke()
    request = first.said.get(timeout=WAIT_SECONDS)
    stage.slot.refresh()
    assert not first.has_ended
    first.said.put(request)
    first.answer(result=None)
    assert stage.next_end() == Answered(result=None)
    stage.next_child().be_ready()
    assert stage.take() is stage.slot
    assert first.has_ended


def test_what_a_replaced_process_still_says_is_not_taken_for_the_new_ones(stage: Stage) -> None:
    first = stage.next_child()
    first.be_ready()
    stage.take()
    stage.slot.refresh()
    second = stage.next_child()
    first.die(0)
    second.be_ready()
    stage.invoke()
    second.answer(result=None)
    assert stage.next_end() == Answered(result=None)
    assert stage.spawned == 2


def test_an_invocation_over_the_functions_time_limit_is_ended_by_force(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("hourhand.local.worker_slot.FUNCTION_SECONDS", 0.05)
    stage = Stage()
    child = stage.next_child()
    child.be_ready()
    stage.take()
    stage.invoke()
    assert child.signals.get(timeout=WAIT_SECONDS) == signal.SIGKILL
    child.die()
    assert stage.next_end() == Crashed(reason="its process died", pid=child.pid)
    stage.slot.stop()


def test_what_the_process_prints_is_passed_on(stage: Stage) -> None:
    stage.next_child().print("Hello")
    assert stage.next_news() == Printed(name="worker-1", line="Hello")


def test_stopping_ends_the_process_and_starts_no_other(stage: Stage) -> None:
    child = stage.next_child()
    stage.slot.stop()
    assert child.has_ended
    assert stage.spawned == 1
