"""The progress of bulk work, on stderr: a bar on a terminal, else a line every 10 s."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from hourhand.cli.output.times import duration
from hourhand.ports.clock import Clock

REDRAW_SECONDS = 0.2
PLAIN_SECONDS = 10.0
"""How often progress is printed without a terminal."""


class Meter:
    """Shows progress inside its ``with`` block.

    ``things``: what is counted, such as ``jobs``. ``total``: how much there is to do, in any unit
    (such as the bytes of a file), or ``None`` if that is unknown.
    """

    def __init__(self, console: Console, clock: Clock, things: str, total: float | None) -> None:
        """Draw nothing yet."""
        self._console = console
        self._clock = clock
        self._things = things
        self._total = total
        self._began_at = self._told_at = clock.monotonic()
        self._count = self._failed = 0
        self._position = 0.0
        self._first_position: float | None = None
        self._bar = Progress(
            BarColumn(bar_width=None),
            TextColumn("{task.fields[told]}"),
            TimeRemainingColumn(compact=True, elapsed_when_finished=True),
            console=console,
            auto_refresh=False,
            expand=True,
            get_time=clock.monotonic,
        )
        self._task = self._bar.add_task("", total=total, told="")

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._console.is_terminal:
            self._redraw()
            self._bar.stop()

    @property
    def seconds(self) -> float:
        """The time since the start."""
        return self._clock.monotonic() - self._began_at

    def show(self, count: int, failed: int, position: float) -> None:
        """Set how many are done, how many of them failed, and the position in the total.

        It may be called for each thing: it limits how often it draws.
        """
        self._count, self._failed, self._position = count, failed, position
        if self._first_position is None:
            # Earlier work says nothing about the present rate.
            self._first_position = position
            self._bar.reset(self._task, completed=int(position), told="")
        since = self._clock.monotonic() - self._told_at
        if since < (REDRAW_SECONDS if self._console.is_terminal else PLAIN_SECONDS):
            return
        self._told_at = self._clock.monotonic()
        if self._console.is_terminal:
            self._redraw()
        else:
            self._console.print(Text(self._plain_line(), "dim"))

    def _redraw(self) -> None:
        self._bar.update(self._task, completed=self._position, told=self._told(), refresh=True)

    def _told(self) -> str:
        rate = self._count / self.seconds if self.seconds > 0 else 0.0
        failed = f", {self._failed:,} failed" if self._failed else ""
        return f"{self._count:,} {self._things}{failed}, {rate:,.0f}/s"

    def _plain_line(self) -> str:
        told = self._told()
        gone = self._position - (self._first_position or 0.0)
        if self._total is None or gone <= 0:
            return told
        left = self.seconds * (self._total - self._position) / gone
        return f"{told}, {self._position / self._total:.0%}, about {duration(left)} left"
