"""``hourhand demo`` in a terminal: the progress and the report."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from hourhand.cli.dev import ending_signals
from hourhand.cli.exits import DONE, FAILED, INTERRUPTED
from hourhand.cli.output.tables import PIPE_WIDTH
from hourhand.local.demo.plan import Course
from hourhand.local.demo.run import Demo
from hourhand.local.demo.verdict import Check, Verdict

PLAIN_SECONDS = 10.0
"""How often the progress is printed where it cannot be redrawn."""

LATE_MS = 1000
"""A p99 of lateness above this is marked. It is not a failure: the machine may be busy."""

MAX_PROBLEMS = 10
"""How many problems are listed for each promise."""

KEPT, BROKEN, NOTED = ("✓", "green"), ("✗", "red"), ("!", "yellow")


def run_demo(course: Course, port: int, *, is_json: bool = False) -> int:
    """Run the demo and return the exit code. Raises `HourhandError` where it cannot run."""
    console = Console(stderr=is_json, highlight=False, emoji=False, markup=False)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    began_at = time.monotonic()
    try:
        with ending_signals() as asked_to_end, Screen(console, course, asked_to_end) as screen:
            verdict = Demo(course, screen.say, screen.show, port=port).run()
    except KeyboardInterrupt:
        console.print("Interrupted. Every process of the demo has ended.")
        return INTERRUPTED
    seconds = time.monotonic() - began_at
    if is_json:
        print(json.dumps({"seconds": round(seconds, 1), **asdict(verdict)}))
    else:
        report(console, verdict, seconds)
    return DONE if verdict.is_good else FAILED


class Screen:
    """Shows a demo: its events as lines, and below them the progress, on a terminal as a bar.

    Once the demo is ``asked_to_end``, the next look at the progress raises `KeyboardInterrupt`.
    """

    def __init__(self, console: Console, course: Course, asked_to_end: threading.Event) -> None:
        """Show nothing yet."""
        self._console = console
        self._course = course
        self._asked_to_end = asked_to_end
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._plain_at = PLAIN_SECONDS

    def __enter__(self) -> Screen:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def say(self, text: str) -> None:
        """Print a line."""
        self._console.print(text, soft_wrap=True)

    def show(self, seconds: float, submitted: int, succeeded: int) -> None:
        """Redraw the progress, or print it now and then."""
        if self._asked_to_end.is_set():
            raise KeyboardInterrupt
        jobs = f"{submitted} of {self._course.jobs} jobs submitted, {succeeded} succeeded"
        if self._console.is_terminal:
            row = Table.grid(padding=(0, 1))
            row.add_row(ProgressBar(self._course.seconds, seconds, width=24), Text(jobs, "dim"))
            self._live.update(row, refresh=True)
        elif seconds >= self._plain_at:
            self._plain_at += PLAIN_SECONDS
            self.say(f"{seconds:.0f} s: {jobs}")


def report(console: Console, verdict: Verdict, seconds: float) -> None:
    """Print the verdict, a line for each promise, and the counts."""
    broken, count = sum(bool(one.problems) for one in verdict.checks), len(verdict.checks)
    mark, style = BROKEN if broken else KEPT
    result = f"{broken} of {count} promises were broken" if broken else "Every promise was kept"
    console.print(Text(f"\n{mark} {result}. The demo took {seconds:.0f} s.", f"bold {style}"))
    table = Table(box=None, show_header=False, pad_edge=False)
    for check in verdict.checks:
        _add(table, check, BROKEN if check.problems else KEPT)
    late = verdict.lateness_ms
    is_late = (late["p99"] or 0) > LATE_MS
    detail = ", ".join(f"{name} {milliseconds} ms" for name, milliseconds in late.items())
    detail = f"lateness: {detail}" + ("; this machine was busy" if is_late else "")
    on_time = Check(promise="Jobs started on time", detail=detail)
    _add(table, on_time, NOTED if is_late else KEPT)
    console.print(table)
    console.print("\nThe counts:", *counts(verdict), sep="\n  ")
    console.print("\nThe console ended with the demo. `make dev` serves one until Ctrl-C.")


def _add(table: Table, check: Check, mark: tuple[str, str]) -> None:
    table.add_row(Text(*mark), check.promise, Text(check.detail, "dim"))
    for problem in check.problems[:MAX_PROBLEMS]:
        table.add_row("", "", Text(problem, "red"))


def counts(verdict: Verdict) -> Iterator[str]:
    """Yield sums that add up: where the jobs come from, how they ended, and their attempts."""
    jobs, attempts = sum(verdict.statuses.values()), sum(verdict.outcomes.values())
    yield f"{jobs} jobs = {verdict.submitted} submitted + {verdict.from_schedules} from schedules"
    yield f"{jobs} jobs = {_sum(verdict.statuses)}"
    retries = attempts - verdict.started
    yield f"{attempts} attempts = {verdict.started} first attempts + {retries} retries"
    yield f"{attempts} attempts = {_sum(verdict.outcomes)}"


def _sum(parts: Mapping[str, int]) -> str:
    words = {"LOST": "lost with their worker"}
    return " + ".join(f"{n} {words.get(name, name.lower())}" for name, n in parts.items())
