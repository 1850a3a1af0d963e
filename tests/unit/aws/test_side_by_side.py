"""Work side by side: in order, all of it ended, and nobody's failure lost."""

from __future__ import annotations

import threading

import pytest

from hourhand.aws.side_by_side import ONE_BY_ONE, SideBySide

WAIT_SECONDS = 30


def test_results_are_in_the_order_of_the_items() -> None:
    turns = [threading.Event() for _ in range(3)]

    def backwards(number: int) -> int:
        if number < 2:
            assert turns[number + 1].wait(WAIT_SECONDS)
        turns[number].set()
        return number * 10

    assert SideBySide(3).each(backwards, [0, 1, 2]) == [0, 10, 20]


def test_as_many_as_are_allowed_run_at_a_time() -> None:
    together = threading.Barrier(4, timeout=WAIT_SECONDS)
    SideBySide(4).each(lambda _: together.wait(), range(4))


def test_no_more_than_are_allowed_run_at_a_time() -> None:
    lock, running, most = threading.Lock(), [0], [0]

    def work(_: int) -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        with lock:
            running[0] -= 1

    SideBySide(2).each(work, range(200))
    assert 1 <= most[0] <= 2


def test_the_first_failure_is_raised_when_all_have_ended() -> None:
    ended: list[int] = []

    def work(number: int) -> None:
        ended.append(number)
        if number in {1, 3}:
            raise ValueError(f"number {number}")

    with pytest.raises(ValueError, match="number 1"):
        SideBySide(2).each(work, range(6))
    assert sorted(ended) == list(range(6))


def test_one_piece_of_work_is_done_by_the_caller() -> None:
    caller = threading.get_ident()
    assert SideBySide(8).each(lambda _: threading.get_ident(), [1]) == [caller]
    assert SideBySide(8).each(lambda _: threading.get_ident(), []) == []


def test_one_by_one_starts_no_thread() -> None:
    caller = threading.get_ident()
    assert ONE_BY_ONE.each(lambda _: threading.get_ident(), range(3)) == [caller] * 3


def test_there_is_at_least_one() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        SideBySide(0)
