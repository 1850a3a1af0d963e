"""A handler that ignores its time limit ends its process, and costs its neighbours nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from hourhand import JobContext
from hourhand.domain.errors import Unavailable
from hourhand.services.jobs.execution import END_RESERVE_SECONDS, START_RESERVE_SECONDS
from hourhand.worker import STUCK_EXIT_CODE, RunLimits, _batch
from tests.unit.worker.fakes import (
    FAST_HEART,
    PATIENCE,
    PATIENT,
    FakePulse,
    FakeTimer,
    Worker,
    eventually,
)

LIMIT = 60
EXIT = f"exit {STUCK_EXIT_CODE}"


class Deaf:
    """A handler that hears nothing until it is released."""

    def __init__(self) -> None:
        self.has_begun = threading.Event()
        self.release = threading.Event()

    def __call__(self, ctx: JobContext) -> None:
        self.ctx = ctx
        self.has_begun.set()
        assert self.release.wait(PATIENCE)


@pytest.fixture
def timer() -> FakeTimer:
    return FakeTimer()


@pytest.fixture
def worker(timer: FakeTimer) -> Worker:
    return Worker(timer=timer)


@pytest.fixture
def stuck(worker: Worker) -> Iterator[Deaf]:
    yield from _deaf_handler(worker, "stuck", LIMIT)


@pytest.fixture
def slow(worker: Worker) -> Iterator[Deaf]:
    """A neighbour that is in nobody's way, but takes long."""
    yield from _deaf_handler(worker, "slow", 840)


def _deaf_handler(worker: Worker, name: str, timeout_seconds: int) -> Iterator[Deaf]:
    handler = Deaf()
    worker.add(name, handler, timeout_seconds=timeout_seconds)
    worker.execution.pulses[name] = FakePulse()
    yield handler
    handler.release.set()


def let_it_be_found_stuck(worker: Worker, *stuck: Deaf) -> None:
    for handler in stuck:
        assert handler.has_begun.wait(PATIENCE)
    worker.clock.advance(LIMIT)
    eventually(lambda: all(handler.ctx.cancelled for handler in stuck))
    worker.clock.advance(PATIENT.stop_grace)
    eventually(lambda: worker.telemetry.total("handlers_stuck") == len(stuck))


def test_the_outcome_of_a_stuck_handler_is_committed_before_its_process_ends(
    worker: Worker, stuck: Deaf
) -> None:
    processing = worker.start("stuck")
    let_it_be_found_stuck(worker, stuck)
    processing.kept()

    assert worker.acts == ["stuck TIMED_OUT", EXIT]
    told = worker.execution.finished["stuck"].error
    assert told is not None
    assert "limit of 60 s" in told.message
    assert "its process was ended" in told.message
    assert "in __call__" in (told.traceback or "")


def test_telemetry_is_flushed_before_the_process_ends(worker: Worker, stuck: Deaf) -> None:
    flushed: list[int] = []
    worker.on_exit = lambda: flushed.append(worker.telemetry.flushes)

    processing = worker.start("stuck")
    let_it_be_found_stuck(worker, stuck)
    processing.kept()

    assert flushed == [1]
    assert "The process ends." in worker.telemetry.sentences


def test_a_stream_that_the_stuck_handler_holds_does_not_keep_the_process(
    worker: Worker, stuck: Deaf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_batch, "FLUSH_SECONDS", 0.01)
    is_freed = threading.Event()
    worker.on_exit = is_freed.set
    monkeypatch.setattr(worker.telemetry, "flush", lambda: is_freed.wait(PATIENCE))

    processing = worker.start("stuck")
    let_it_be_found_stuck(worker, stuck)
    processing.kept()

    assert worker.acts[-1] == EXIT


def test_neighbours_may_finish_while_the_stuck_jobs_lease_is_kept(
    worker: Worker, stuck: Deaf, slow: Deaf
) -> None:
    processing = worker.start("stuck", "slow")
    assert slow.has_begun.wait(PATIENCE)
    let_it_be_found_stuck(worker, stuck)
    pulse = worker.execution.pulses["stuck"]
    for _ in range(3):
        pulse.has_beaten.clear()
        worker.clock.advance(FAST_HEART.heartbeat)
        assert pulse.has_beaten.wait(PATIENCE)
    assert worker.acts == []

    slow.release.set()

    assert processing.kept() == []
    assert worker.acts == ["slow SUCCEEDED", "stuck TIMED_OUT", EXIT]


def test_neighbours_that_take_too_long_are_handed_back_before_the_process_ends(
    worker: Worker, stuck: Deaf, slow: Deaf
) -> None:
    processing = worker.start("stuck", "slow")
    assert slow.has_begun.wait(PATIENCE)
    let_it_be_found_stuck(worker, stuck)

    worker.clock.advance(PATIENT.neighbour_grace)

    assert processing.kept() == ["slow"]
    assert worker.acts == ["slow handed back", "stuck TIMED_OUT", EXIT]


def test_a_neighbour_that_cannot_be_handed_back_is_left_to_its_lease(
    worker: Worker, stuck: Deaf, slow: Deaf
) -> None:
    worker.execution.hand_back_answer = Unavailable("no answer")
    processing = worker.start("stuck", "slow")
    assert slow.has_begun.wait(PATIENCE)
    let_it_be_found_stuck(worker, stuck)

    worker.clock.advance(PATIENT.neighbour_grace)

    assert processing.kept() == ["slow"]
    assert worker.acts == ["slow handed back", "stuck TIMED_OUT", EXIT]
    assert "slow" not in worker.execution.finished


def test_a_commit_that_takes_too_long_does_not_hold_up_the_stuck_jobs(
    worker: Worker, stuck: Deaf
) -> None:
    is_committing, may_commit = threading.Event(), threading.Event()

    def commit_slowly() -> None:
        is_committing.set()
        assert may_commit.wait(PATIENCE)

    worker.add("ended", lambda ctx: None)
    worker.execution.after_run["ended"] = commit_slowly
    processing = worker.start("stuck", "ended")
    assert is_committing.wait(PATIENCE)
    let_it_be_found_stuck(worker, stuck)

    worker.clock.advance(PATIENT.neighbour_grace)
    worker.clock.advance(PATIENT.hand_back)
    eventually(lambda: worker.acts == ["stuck TIMED_OUT"])
    may_commit.set()

    assert processing.kept() == []
    assert worker.acts == ["stuck TIMED_OUT", "ended SUCCEEDED", EXIT]


def test_a_handler_that_stops_after_all_spares_its_process_and_neighbours(
    worker: Worker, stuck: Deaf, slow: Deaf
) -> None:
    processing = worker.start("stuck", "slow")
    assert slow.has_begun.wait(PATIENCE)
    let_it_be_found_stuck(worker, stuck)
    stuck.release.set()
    eventually(lambda: worker.acts == ["stuck TIMED_OUT"])

    worker.clock.advance(PATIENT.neighbour_grace)
    slow.release.set()

    assert processing.kept() == []
    assert worker.acts == ["stuck TIMED_OUT", "slow SUCCEEDED"]
    worker.add("next", lambda ctx: None)
    assert worker.process("next") == []
    assert worker.acts[-1] == "next SUCCEEDED"


def test_no_handler_is_started_in_a_process_that_must_end(worker: Worker, stuck: Deaf) -> None:
    may_claim = threading.Event()
    worker.execution.before_run["late"] = lambda: may_claim.wait(PATIENCE)
    started: list[str] = []
    worker.add("late", lambda ctx: started.append("late"))
    processing = worker.start("stuck", "late")
    let_it_be_found_stuck(worker, stuck)

    may_claim.set()

    assert processing.kept() == []
    assert worker.acts == ["late SNOOZED", "stuck TIMED_OUT", EXIT]
    assert started == []


def test_several_stuck_handlers_do_not_wait_for_each_other(worker: Worker, stuck: Deaf) -> None:
    for other in _deaf_handler(worker, "stuck-too", LIMIT):
        processing = worker.start("stuck", "stuck-too")
        let_it_be_found_stuck(worker, stuck, other)
        processing.kept()

    assert sorted(worker.acts[:2]) == ["stuck TIMED_OUT", "stuck-too TIMED_OUT"]
    assert worker.acts[2:] == [EXIT]


def test_the_process_ends_in_time_however_long_the_commit_of_the_stuck_job_takes(
    worker: Worker, stuck: Deaf, timer: FakeTimer
) -> None:
    armed: list[float | None] = []
    # After the run come the commit, and the message of the retry, which a slow queue may hold up.
    worker.execution.after_run["stuck"] = lambda: armed.append(timer.acts[-1])
    processing = worker.start("stuck")
    let_it_be_found_stuck(worker, stuck)
    processing.kept()

    assert armed == [PATIENT.process_end]
    assert timer.is_armed, "the handler still runs"


def test_the_process_ends_in_time_however_long_it_takes_to_hand_back_a_neighbour(
    worker: Worker, stuck: Deaf, slow: Deaf, timer: FakeTimer
) -> None:
    armed: list[float | None] = []
    worker.execution.on_hand_back = lambda: armed.append(timer.acts[-1])
    processing = worker.start("stuck", "slow")
    assert slow.has_begun.wait(PATIENCE)
    let_it_be_found_stuck(worker, stuck)

    worker.clock.advance(PATIENT.neighbour_grace)
    processing.kept()

    assert armed == [PATIENT.process_end]


def test_a_process_that_lives_on_after_all_has_no_timer(
    worker: Worker, stuck: Deaf, timer: FakeTimer
) -> None:
    def stop_meanwhile() -> None:
        stuck.release.set()
        eventually(lambda: not timer.is_armed)

    worker.execution.after_run["stuck"] = stop_meanwhile
    processing = worker.start("stuck")
    let_it_be_found_stuck(worker, stuck)

    assert processing.kept() == []
    assert worker.acts == ["stuck TIMED_OUT"]
    assert not timer.is_armed


def test_the_end_of_a_process_fits_into_the_time_that_is_reserved_for_it() -> None:
    limits = RunLimits()
    waits = limits.stop_grace + limits.neighbour_grace + limits.hand_back

    # What is left of the reserve is for the commits.
    assert waits + 2 <= END_RESERVE_SECONDS < START_RESERVE_SECONDS
