"""How far bulk work is, on a terminal and in a log."""

from __future__ import annotations

import io

from rich.console import Console

from hourhand.cli.output.progress import Meter
from hourhand.memory import MemoryClock


def console(*, is_terminal: bool) -> tuple[Console, io.StringIO]:
    stream = io.StringIO()
    return Console(file=stream, force_terminal=is_terminal, width=80, color_system=None), stream


def test_a_log_gets_a_line_every_ten_seconds_with_rate_and_time_left() -> None:
    clock = MemoryClock()
    written, stream = console(is_terminal=False)
    with Meter(written, clock, "jobs", 1000) as meter:
        for count in range(1, 51):
            meter.show(count, 0, count * 10)
            clock.advance(0.5)
    assert stream.getvalue().splitlines() == [
        "21 jobs, 2/s, 21%, about 40 s left",
        "41 jobs, 2/s, 41%, about 30 s left",
    ]


def test_what_was_done_before_does_not_count_as_speed() -> None:
    clock = MemoryClock()
    written, stream = console(is_terminal=False)
    with Meter(written, clock, "jobs", 1000) as meter:
        meter.show(1, 0, 800)
        clock.advance(10)
        meter.show(11, 2, 900)
    assert stream.getvalue() == "11 jobs, 2 failed, 1/s, 90%, about 10 s left\n"


def test_where_nobody_knows_how_much_there_is_no_time_left_is_told() -> None:
    clock = MemoryClock()
    written, stream = console(is_terminal=False)
    with Meter(written, clock, "jobs", None) as meter:
        clock.advance(10)
        meter.show(20, 0, 500)
    assert stream.getvalue() == "20 jobs, 2/s\n"


def test_a_terminal_is_drawn_no_more_often_than_anybody_can_see() -> None:
    clock = MemoryClock()
    written, stream = console(is_terminal=True)
    with Meter(written, clock, "jobs", 10_000) as meter:
        for count in range(1, 10_001):
            clock.advance(0.0005)
            meter.show(count, 0, count)
    drawn = stream.getvalue().count(" jobs, ")
    assert 20 <= drawn <= 30
    assert "10,000 jobs, 2,000/s" in stream.getvalue()


def test_a_bar_without_a_known_end_is_a_bar() -> None:
    clock = MemoryClock()
    written, stream = console(is_terminal=True)
    with Meter(written, clock, "jobs", None) as meter:
        clock.advance(1)
        meter.show(5, 1, 5)
    assert "5 jobs, 1 failed, 5/s" in stream.getvalue()
