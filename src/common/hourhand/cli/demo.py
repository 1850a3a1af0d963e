"""``hourhand demo`` in a terminal: what it does, how far it is, and the report."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from dataclasses import fields
from datetime import timedelta

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from hourhand.domain.timings import Timings
from hourhand.local.child_process import exit_reason
from hourhand.local.cloud import LocalCloud
from hourhand.local.demo.plan import TIME_SCALE, Step, Submit, demo_timings
from hourhand.local.demo.run import MAX_WAITING, Demo, DemoOptions, Outcome, Progress
from hourhand.local.demo.verdict import Group, Lateness, Verdict
from hourhand.local.news import (
    ChildDied,
    ChildStarted,
    Logged,
    News,
    Printed,
    QueueFailed,
    Ticked,
)

FAILED, INTERRUPTED = 1, 130
PLAIN_SECONDS = 10.0
"""How often progress is told where there is no terminal to redraw."""

BAR_WIDTH = 40
SHOWN_PROBLEMS = 20
LIMIT_MS = 1000
"""What lateness p99 is to stay below."""

SHOWN_TIMINGS = (
    "tick",
    "look_ahead",
    "leader_lease",
    "job_lease",
    "visibility",
    "heartbeat",
    "redispatch_first",
)


def run_demo(options: DemoOptions) -> int:
    """Run the demo; return the exit code."""
    console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
    screen = DemoScreen(console)
    console.print("[bold]Hourhand demo[/]")
    console.print("[dim]Starting a local cloud ...[/]")
    try:
        with screen:
            outcome = Demo(options, screen).run()
    except KeyboardInterrupt:
        console.print("Interrupted. Everything that was started is ended.")
        return INTERRUPTED
    report(console, outcome)
    return FAILED if outcome.verdict.problems else 0


class DemoScreen:
    """Implements `hourhand.local.demo.run.Screen`: live where that is possible, else plain."""

    def __init__(self, console: Console) -> None:
        """Take where to write."""
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._lock = threading.Lock()
        self._seconds = 0.0
        self._told_at = 0.0

    def __enter__(self) -> DemoScreen:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def started(self, cloud: LocalCloud, plan: Sequence[Step]) -> None:
        """Say what runs, and what is going to happen."""
        jobs = sum(isinstance(step.action, Submit) for step in plan)
        workers, schedulers = len(cloud.workers), len(cloud.schedulers)
        say = self._console.print
        say(
            f"  [dim]cloud   [/] {cloud.options.backend} at {cloud.endpoint}, API at {cloud.url}/v1"
        )
        say(f"  [dim]runs    [/] {schedulers} schedulers, {workers} workers: a process each")
        say(f"  [dim]jobs    [/] {jobs}, one for each of so many modules of this Python's library")
        say(f"  [dim]timings [/] shortened to 1/{1 / TIME_SCALE:.0f}: {_timings(demo_timings())}")
        say()

    def say(self, seconds: float, text: str) -> None:
        """Print a line above the progress."""
        self._print(seconds, Text(text))

    def heard(self, news: News) -> None:
        """Print what is worth it; the rest of the news is for the report."""
        text = _line(news)
        if text is not None:
            self._print(self._seconds, text)

    def show(self, progress: Progress) -> None:
        """Redraw the progress, or tell it every now and then."""
        self._seconds = progress.seconds
        if self._console.is_terminal:
            self._live.update(_bar(progress), refresh=True)
        elif progress.seconds - self._told_at >= PLAIN_SECONDS:
            self._told_at = progress.seconds
            self._print(progress.seconds, Text(_so_far(progress), style="dim"))

    def _print(self, seconds: float, text: Text) -> None:
        with self._lock:
            self._console.print(Text.assemble((f"{seconds:6.1f} s  ", "dim"), text))


def report(console: Console, outcome: Outcome) -> None:
    """Print what came of it."""
    verdict, tracker = outcome.verdict, outcome.tracker
    console.print()
    console.print(_ends(verdict))
    console.print(_lateness(verdict))
    table = _plain_table("and besides", "")
    retries = max(0, sum(verdict.by_outcome.values()) - _started(verdict))
    table.add_row("retries", f"{retries} attempts beyond each job's first")
    table.add_row("dead letters", f"{verdict.dead_letters} in the dead-letter queue")
    table.add_row("dispatched again", f"{verdict.dispatched_again} jobs, whose message was missed")
    table.add_row(
        "duplicates", f"{tracker.total('duplicates_dropped')} messages dropped at the claim"
    )
    table.add_row("runs", f"{verdict.runs} of handlers, by their own ledger; {_overlaps(verdict)}")
    table.add_row("elections", _elections(outcome))
    table.add_row("pace", _pace(outcome))
    console.print(table)
    if verdict.problems:
        console.print(f"[bold red]{len(verdict.problems)} things are not as they should be:[/]")
        for problem in verdict.problems[:SHOWN_PROBLEMS]:
            console.print(Text(f"  {problem}"))
    else:
        jobs = sum(verdict.by_status.values())
        console.print(
            f"[bold green]All {jobs} jobs ended as they should:[/] nothing lost, "
            f"nothing run twice at once. {outcome.seconds:.0f} s."
        )


def _ends(verdict: Verdict) -> Table:
    table = _plain_table("jobs ended", "")
    for status, count in sorted(verdict.by_status.items(), key=lambda item: -item[1]):
        table.add_row(status, str(count))
    attempts = ", ".join(f"{count} {name}" for name, count in sorted(verdict.by_outcome.items()))
    table.add_row("[dim]attempts[/]", f"[dim]{attempts}[/]")
    return table


def _lateness(verdict: Verdict) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", title_justify="left")
    table.add_column("lateness", min_width=34)
    for name in ("jobs", "p50", "p99", "max"):
        table.add_column(name, justify="right", min_width=9)
    _add(table, "all jobs but those below", verdict.lateness[Group.OTHERS], is_judged=True)
    _add(table, "  of them, due while no leader lived", verdict.leaderless)
    _add(table, "message purged from its queue", verdict.lateness[Group.PURGED])
    _add(table, "beside the poison job", verdict.lateness[Group.BESIDE_POISON])
    table.add_section()
    return table


def _add(table: Table, name: str, lateness: Lateness, *, is_judged: bool = False) -> None:
    p99 = _seconds(lateness.p99_ms)
    if is_judged and lateness.p99_ms is not None:
        style = "green" if lateness.p99_ms < LIMIT_MS else "bold red"
        p99 = f"[{style}]{p99}[/]"
    table.add_row(
        name, str(lateness.jobs), _seconds(lateness.p50_ms), p99, _seconds(lateness.max_ms)
    )


def _plain_table(first: str, second: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(first, min_width=18)
    table.add_column(second)
    return table


def _started(verdict: Verdict) -> int:
    return sum(lateness.jobs for lateness in verdict.lateness.values())


def _overlaps(verdict: Verdict) -> str:
    overlaps = any("overlapped" in problem for problem in verdict.problems)
    return "SOME OVERLAPPED" if overlaps else "none of a job overlapped another"


def _elections(outcome: Outcome) -> str:
    tracker = outcome.tracker
    won, followed = tracker.total("elections_won"), tracker.total("elections_followed")
    text = f"{won} won, {followed} stepped back"
    if outcome.hand_off_seconds is not None:
        text += f"; after the kill the next leader swept {outcome.hand_off_seconds:.1f} s later"
    return text


def _pace(outcome: Outcome) -> str:
    jobs = sum(outcome.verdict.by_status.values())
    pauses = f"paused {outcome.pauses} times" if outcome.pauses else "never paused"
    return (
        f"{jobs} jobs in {outcome.seconds:.0f} s; {pauses} for {MAX_WAITING} waiting messages, "
        "beyond which moto is slow"
    )


def _bar(progress: Progress) -> Table:
    grid = Table.grid(padding=(0, 2))
    for name, value in (("submitted", progress.submitted), ("succeeded", progress.succeeded)):
        bar = ProgressBar(total=progress.planned, completed=value, width=BAR_WIDTH)
        grid.add_row(Text(name, "dim"), bar, f"{value} of {progress.planned}")
    others = f"{progress.not_succeeded_attempts} attempts ended otherwise"
    grid.add_row(Text("time", "dim"), Text(f"{progress.seconds:.0f} s, {others}", "dim"))
    return grid


def _so_far(progress: Progress) -> str:
    return (
        f"{progress.submitted} of {progress.planned} submitted, {progress.succeeded} succeeded, "
        f"{progress.not_succeeded_attempts} attempts ended otherwise"
    )


def _line(news: News) -> Text | None:
    match news:
        case ChildDied():
            text = f"{news.name} died (pid {news.pid}, {exit_reason(news.exit_code)})"
            return Text(text, "red")
        case ChildStarted(is_restart=True):
            return Text(f"{news.name} is back (pid {news.pid})", "green")
        case QueueFailed():
            return Text(f"SQS: {news.operation} failed: {news.reason}", "yellow")
        case Ticked(error=str(error)):
            return Text(f"a tick failed: {error}", "yellow")
        case Logged(is_warning=True):
            job = news.fields.get("job_id", "")
            return Text(f"{news.name}: {news.sentence} {job}", "yellow")
        case Printed():
            return Text(f"{news.name}: {news.line}", "dim")
        case _:
            return None


def _timings(timings: Timings) -> str:
    shown = [field.name for field in fields(timings) if field.name in SHOWN_TIMINGS]
    return ", ".join(f"{name.replace('_', ' ')} {_short(getattr(timings, name))}" for name in shown)


def _short(duration: timedelta) -> str:
    return f"{duration.total_seconds():.3g} s"


def _seconds(milliseconds: int | None) -> str:
    return "-" if milliseconds is None else f"{milliseconds / 1000:.3f} s"
