"""What the demo adds up while it runs."""

from __future__ import annotations

from datetime import UTC, datetime

from hourhand.domain.model import Priority
from hourhand.local.demo.tracker import ATTEMPT_ENDED, Casualty, Tracker
from hourhand.local.news import BatchBegun, BatchEnded, ChildDied, Logged, Measured, News, Ticked

NOW = datetime(2026, 1, 5, tzinfo=UTC)


def attempt(job_id: str, outcome: str) -> Logged:
    fields = {"job_id": job_id, "outcome": outcome}
    return Logged(name="worker-1", sentence=ATTEMPT_ENDED, is_warning=False, fields=fields)


def batch(pid: int, *job_ids: str) -> tuple[BatchBegun, BatchEnded]:
    bodies = tuple(f'{{"job": "{job_id}"}}' for job_id in job_ids)
    worker = f"worker-{pid}"
    return (
        BatchBegun(worker=worker, pid=pid, queue=Priority.HIGH, bodies=bodies),
        BatchEnded(worker=worker, pid=pid, queue=Priority.HIGH, bodies=bodies),
    )


def death(pid: int) -> ChildDied:
    return ChildDied(
        name=f"worker-{pid}", pid=pid, exit_code=-9, restart_seconds=0.1, at_monotonic=5.0
    )


def tracker_of(*news: News) -> Tracker:
    tracker = Tracker()
    for one in news:
        tracker.tell(one)
    return tracker


def test_attempts_are_counted_by_how_they_ended() -> None:
    tracker = tracker_of(
        attempt("a", "SUCCEEDED"), attempt("b", "FAILED"), attempt("b", "SUCCEEDED")
    )
    assert tracker.ended_jobs == {"a", "b"}
    assert tracker.retries() == 1


def test_other_lines_are_no_attempts() -> None:
    other = Logged(name="worker-1", sentence="Hello.", is_warning=False, fields={"job_id": "a"})
    assert tracker_of(other).ended_jobs == set()


def test_a_dead_process_takes_down_what_it_held_then() -> None:
    first, done = batch(1, "a")
    second, _ = batch(1, "b", "c")
    elsewhere, _ = batch(2, "d")
    tracker = tracker_of(first, done, second, elsewhere, death(1))
    assert tracker.casualties == [
        Casualty(name="worker-1", pid=1, at_monotonic=5.0, job_ids=("b", "c"))
    ]


def test_a_crash_told_before_the_death_leaves_the_batch_to_it() -> None:
    begun, ended = batch(1, "a")
    crashed = BatchEnded(
        worker=ended.worker, pid=1, queue=ended.queue, bodies=ended.bodies, crash="died"
    )
    [casualty] = tracker_of(begun, crashed, death(1)).casualties
    assert casualty.job_ids == ("a",)


def test_an_idle_process_dies_alone() -> None:
    [casualty] = tracker_of(death(3)).casualties
    assert casualty.job_ids == ()


def test_metrics_are_summed_over_all_processes() -> None:
    tracker = tracker_of(
        Measured(name="scheduler-1", values={"ticks": (1.0, 1.0)}),
        Measured(name="scheduler-2", values={"ticks": (1.0,), "hand_offs": (1.0,)}),
    )
    assert tracker.total("ticks") == 3
    assert tracker.total("hand_offs") == 1
    assert tracker.total("nothing") == 0


def test_only_ticks_that_led_are_told_as_such() -> None:
    ticks = [
        Ticked(name="s", at=NOW, request_id=str(n), took_seconds=1, report={"led": led})
        for n, led in enumerate((True, False, True))
    ]
    failed = Ticked(name="s", at=NOW, request_id="x", took_seconds=1, error="no table")
    assert tracker_of(*ticks, failed).leading_ticks() == [ticks[0], ticks[2]]
