"""How far bulk work is, on a terminal and in a log."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from hourhand.cli.output.progress import Meter
from hourhand.memory import MemoryClock


def console(*, is_terminal: bool) -> tuple[Console, io.StringIO]:
    stream = io.StringIO()
    return Console(file=stream, force_terminal=is_terminal, width=80, color_system=None), stream


Step = tuple[float, int, int, int]
"""So many seconds later: how many are done, how many failed, and at which position."""
EVERY_HALF_SECOND = [(0.5 if n > 1 else 0, n, 0, n * 10) for n in range(1, 51)]


@pytest.mark.parametrize(
    ("steps", "size", "told"),
    [
        (
            EVERY_HALF_SECOND,
            1000,
            ["21 jobs, 2/s, 21%, about 40 s left", "41 jobs, 2/s, 41%, about 30 s left"],
        ),
        (
            [(0, 1, 0, 800), (10, 11, 2, 900)],
            1000,
            ["11 jobs, 2 failed, 1/s, 90%, about 10 s left"],
        ),
        ([(10, 20, 0, 500)], None, ["20 jobs, 2/s"]),
    ],
    ids=["every ten seconds", "what was done before is no speed", "nobody knows how much there is"],
)
def test_a_log_gets_a_line_every_ten_seconds_with_rate_and_time_left(
    steps: list[Step], size: int | None, told: list[str]
) -> None:
    clock = MemoryClock()
    written, stream = console(is_terminal=False)
    with Meter(written, clock, "jobs", size) as meter:
        for seconds, *shown in steps:
            clock.advance(seconds)
            meter.show(*shown)
    assert stream.getvalue().splitlines() == told


@pytest.mark.parametrize("size", [10_000, None])
def test_a_terminal_is_drawn_no_more_often_than_anybody_can_see(size: int | None) -> None:
    clock = MemoryClock()
    written, stream = console(is_terminal=True)
    with Meter(written, clock, "jobs", size) as meter:
        for count in range(1, 10_001):
            clock.advance(0.0005)
            meter.show(count, 0, count)
    drawn = stream.getvalue().count(" jobs, ")
    assert 20 <= drawn <= 30
    assert "10,000 jobs, 2,000/s" in stream.getvalue()
