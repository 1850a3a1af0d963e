"""The timer that ends a process whose own threads cannot, and when it is set to what."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hourhand import JobContext
from hourhand.domain.jobs.job import Outcome
from hourhand.domain.ticks.timings import Timings
from hourhand.memory import MemoryClock
from hourhand.services.jobs.attempt import HAND_BACK_DELAY
from hourhand.services.jobs.execution import END_RESERVE_SECONDS
from hourhand.worker import FaultTimer, RunLimits, Watchdog
from tests.unit.worker.fakes import (
    FAST_HEART,
    PATIENCE,
    FakePulse,
    FakeTimer,
    OneRun,
    eventually,
)

LEASE = 45.0
HOUR = 3600.0
MARGIN = Timings().clock_margin.total_seconds()


class Rig:
    """A watchdog over a timer that only notes, at a time that a test moves."""

    def __init__(self) -> None:
        self.clock = MemoryClock()
        self.timer = FakeTimer()
        self.failures = 0
        self.dog = Watchdog(self.timer, self.clock.monotonic, self._fail)

    def at(self, seconds: float) -> float:
        return self.clock.monotonic() + seconds

    def _fail(self) -> None:
        self.failures += 1


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_the_timer_follows_the_earliest_end_of_all_handlers(rig: Rig) -> None:
    rig.dog.watch("one", rig.at(40))
    rig.dog.watch("two", rig.at(43))
    rig.clock.advance(10)
    rig.dog.extend("one", rig.at(40))

    # The end of "two", 43 s from the beginning, is the earliest now.
    assert rig.timer.acts == [40, 33]
    rig.dog.forget("two")
    assert rig.timer.acts == [40, 33, 40]


def test_where_no_handler_runs_the_timer_is_disarmed(rig: Rig) -> None:
    rig.dog.watch("one", rig.at(40))
    rig.dog.watch("two", rig.at(40))
    rig.dog.forget("one")
    assert rig.timer.is_armed
    rig.dog.forget("two")
    assert rig.timer.acts == [40, None]


def test_a_handler_that_ended_is_not_watched_again_by_a_late_heartbeat(rig: Rig) -> None:
    rig.dog.watch("one", rig.at(40))
    rig.dog.forget("one")
    rig.dog.extend("one", rig.at(40))
    rig.dog.end_by("one", rig.at(8))
    rig.dog.forget("one")
    assert rig.timer.acts == [40, None]


def test_the_end_of_a_process_is_only_ever_brought_forward(rig: Rig) -> None:
    rig.dog.watch("one", rig.at(5))
    rig.dog.end_by("one", rig.at(8))
    assert rig.timer.acts == [5]
    rig.dog.end_by("one", rig.at(2))
    assert rig.timer.acts == [5, 2]


def test_a_handler_that_cannot_be_watched_is_not_begun(rig: Rig) -> None:
    rig.timer.refusals = 1
    with pytest.raises(RuntimeError):
        rig.dog.watch("one", rig.at(40))
    rig.dog.watch("two", rig.at(43))
    assert rig.timer.acts == [None, 43]


def test_a_timer_that_cannot_be_set_again_is_reported_and_tried_again(rig: Rig) -> None:
    rig.dog.watch("one", rig.at(40))
    rig.timer.refusals = 1
    rig.dog.extend("one", rig.at(41))
    assert rig.failures == 1
    rig.dog.extend("one", rig.at(41))
    assert rig.timer.acts == [40, None, 41]


def test_without_a_timer_nothing_is_armed() -> None:
    dog = Watchdog(None, MemoryClock().monotonic, lambda: None)
    dog.watch("one", 1.0)
    dog.forget("one")


# --- under a run --------------------------------------------------------------------------------


def test_a_handler_is_watched_from_before_its_start_to_its_end() -> None:
    timer, clock = FakeTimer(), MemoryClock()
    pulse = FakePulse()
    pulse.lease_ends_at = clock.monotonic() + LEASE
    seen: list[bool] = []
    run = OneRun(clock=clock, timer=timer)
    finished = run.run(lambda ctx: seen.append(timer.is_armed), pulse=pulse)

    assert finished.outcome is Outcome.SUCCEEDED
    assert seen == [True]
    assert timer.acts == [LEASE - MARGIN, None]


def test_a_handler_that_raises_is_watched_no_longer() -> None:
    timer = FakeTimer()
    pulse = FakePulse()
    pulse.lease_ends_at = MemoryClock().monotonic() + LEASE

    def leave(ctx: JobContext) -> None:
        raise SystemExit

    OneRun(timer=timer).run(leave, pulse=pulse)
    assert not timer.is_armed


def test_a_heartbeat_that_extends_the_lease_sets_the_timer_again() -> None:
    clock, timer = MemoryClock(), FakeTimer()

    class ExtendingPulse(FakePulse):
        def beat(self, progress: object) -> str:
            self.lease_ends_at = clock.monotonic() + LEASE
            return super().beat(None)

    pulse = ExtendingPulse()
    pulse.lease_ends_at = clock.monotonic() + LEASE

    def wait_for_a_beat(ctx: JobContext) -> None:
        clock.advance(FAST_HEART.heartbeat)
        eventually(lambda: len(timer.acts) > 1)

    OneRun(clock=clock, timer=timer).run(wait_for_a_beat, pulse=pulse)
    assert timer.acts == [LEASE - MARGIN, LEASE - MARGIN, None]


def test_a_heartbeat_without_an_answer_leaves_the_timer_as_it_was() -> None:
    clock, timer = MemoryClock(), FakeTimer()
    pulse = FakePulse("alive")
    pulse.lease_ends_at = clock.monotonic() + LEASE

    def wait_for_a_beat(ctx: JobContext) -> None:
        clock.advance(FAST_HEART.heartbeat)
        assert pulse.has_beaten.wait(PATIENCE)

    OneRun(clock=clock, timer=timer).run(wait_for_a_beat, pulse=pulse)
    assert timer.acts == [LEASE - MARGIN, None]


def test_a_process_that_can_have_no_watch_begins_no_handler() -> None:
    timer = FakeTimer()
    timer.refusals = 1
    begun: list[int] = []
    run = OneRun(timer=timer)
    pulse = FakePulse()
    pulse.lease_ends_at = run.clock.monotonic() + LEASE
    finished = run.run(lambda ctx: begun.append(1), pulse=pulse)
    assert finished.outcome is Outcome.SNOOZED
    assert not begun
    assert run.process.is_ending


@pytest.mark.parametrize(("seconds_left", "is_begun"), [(MARGIN, False), (MARGIN + 1, True)])
def test_a_handler_whose_lease_is_over_is_not_begun_and_its_process_goes_on(
    seconds_left: float, is_begun: bool
) -> None:
    timer, clock = FakeTimer(), MemoryClock()
    begun: list[int] = []
    run = OneRun(clock=clock, timer=timer)
    pulse = FakePulse()
    pulse.lease_ends_at = clock.monotonic() + seconds_left
    finished = run.run(lambda ctx: begun.append(1), pulse=pulse)
    assert finished.outcome is (Outcome.SUCCEEDED if is_begun else Outcome.SNOOZED)
    assert bool(begun) is bool(timer.acts) is is_begun
    assert not run.process.is_ending


def test_a_process_without_a_timer_begins_handlers_whatever_its_clock_says_of_leases() -> None:
    # As on a fast local cloud, where leases are of another clock.
    clock, pulse = MemoryClock(), FakePulse()
    pulse.lease_ends_at = clock.monotonic() - HOUR
    assert OneRun(clock=clock).run(lambda ctx: None, pulse=pulse).outcome is Outcome.SUCCEEDED


# --- a stuck handler: see also test_stuck.py ---


def test_the_next_attempt_is_due_after_the_last_moment_of_the_process() -> None:
    limits = RunLimits()
    assert (
        limits.process_end + Timings().clock_margin.total_seconds()
        <= HAND_BACK_DELAY.total_seconds()
    )
    # The neighbours are handed back first: the commit of the stuck job has the rest.
    assert limits.hand_back < limits.process_end < END_RESERVE_SECONDS


# --- a real timer -------------------------------------------------------------------------------

SCRIPT = """
import re, sys, time
from hourhand.worker import FaultTimer
from tests.unit.worker.fakes import FakePulse, OneRun

LEASE = 3.0

def match(ctx):
    print("matching", flush=True)
    re.match(r"(a+)+$", "a" * 60 + "b")

pulse = FakePulse()
pulse.lease_ends_at = time.monotonic() + LEASE
OneRun(timer=FaultTimer()).run(match, pulse=pulse)
print("the process goes on")
"""

FORKS = """
import os, sys, time
from hourhand.worker import FaultTimer

timer = FaultTimer()
timer.arm(60)
child = os.fork()
if child == 0:
    timer.arm(60)
    timer.disarm()
    os._exit(7)
_, status = os.waitpid(child, 0)
timer.disarm()
print(os.waitstatus_to_exitcode(status))
"""

FULL_PIPE = """
import os, sys, time
from hourhand.worker import FaultTimer

timer = FaultTimer()
os.set_blocking(2, False)
try:
    while True:
        os.write(2, b"x" * 65536)
except BlockingIOError:
    pass
os.set_blocking(2, True)
timer.arm(0.5)
time.sleep(60)
"""


def _python(script: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[3],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.real_time
@pytest.mark.timeout(60)
def test_a_handler_that_holds_the_gil_ends_with_its_lease() -> None:
    process = _python(SCRIPT)
    out, err = process.communicate(timeout=50)
    assert process.returncode == 1, err
    assert out == "matching\n"
    assert "Timeout (0:00:0" in err
    assert " in match\n" in err
    assert "aaa" not in err, "a value in a log"


@pytest.mark.real_time
@pytest.mark.timeout(60)
def test_a_full_log_does_not_keep_the_process() -> None:
    process = _python(FULL_PIPE)
    # Nobody reads its standard error until it has ended.
    assert process.wait(50) == 1
    process.communicate()


@pytest.mark.real_time
@pytest.mark.timeout(60)
def test_a_fork_of_a_handler_has_no_timer_and_waits_for_none() -> None:
    process = _python(FORKS)
    out, err = process.communicate(timeout=50)
    assert out == "7\n", err


def test_a_timer_without_standard_error_writes_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*_: object) -> int:
        raise OSError

    real = os.open
    monkeypatch.setattr(os, "dup", closed)
    monkeypatch.setattr(
        os, "open", lambda path, flags: real(path, flags) if path == os.devnull else closed()
    )
    timer = FaultTimer()
    timer.arm(PATIENCE)
    timer.disarm()
