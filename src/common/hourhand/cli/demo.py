"""``hourhand demo`` in a terminal: what it does, how far it is, and the report."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import fields
from datetime import timedelta

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from hourhand.cli.demo_schedules import (
    clock_change_notes,
    clock_change_table,
    clock_change_title,
    report_table,
    schedule_rows,
    seconds,
)
from hourhand.domain.timings import Timings
from hourhand.local.child_process import exit_reason
from hourhand.local.cloud import MOTO, LocalCloud
from hourhand.local.demo.plan import TIME_SCALE, Step, planned_jobs
from hourhand.local.demo.planned_schedules import SCHEDULES
from hourhand.local.demo.run import MAX_WAITING, Demo, DemoOptions, Outcome, Progress
from hourhand.local.demo.verdict import Group, Lateness, Verdict
from hourhand.local.news import (
    BatchEnded,
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
    # Both ways of asking it to end leave nothing behind.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    console.print("[bold]Hourhand demo[/]")
    console.print("[dim]Starting a local cloud ...[/]")
    try:
        with screen:
            outcome = Demo(options, screen).run()
    except KeyboardInterrupt:
        console.print("Interrupted. Everything that was started is ended.")
        return INTERRUPTED
    finally:
        signal.signal(signal.SIGTERM, before)
    report(console, outcome)
    return FAILED if outcome.problems else 0


class DemoScreen:
    """Implements `hourhand.local.demo.run.Screen`: live where that is possible, else plain."""

    def __init__(self, console: Console) -> None:
        """Take where to write."""
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._lock = threading.Lock()
        self._began_at = time.monotonic()
        self._told_at = 0.0

    def __enter__(self) -> DemoScreen:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def started(self, cloud: LocalCloud, plan: Sequence[Step]) -> None:
        """Say what runs, and what is going to happen."""
        self._began_at = time.monotonic()
        table = Table.grid(padding=(0, 2))
        for name, value in _introduction(cloud, plan).items():
            table.add_row(Text(f"  {name}", "dim"), value)
        self._console.print(table)
        self._console.print()

    def say(self, seconds: float, text: str) -> None:
        """Print a line above the progress."""
        self._print(seconds, Text(text))

    def heard(self, news: News) -> None:
        """Print what is worth it; the rest of the news is for the report."""
        text = _line(news)
        if text is not None:
            self._print(time.monotonic() - self._began_at, text)

    def show(self, progress: Progress) -> None:
        """Redraw the progress, or tell it every now and then."""
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
    verdict = outcome.verdict
    for table in (_ends(verdict), _lateness(verdict), _besides(outcome)):
        console.print()
        console.print(table)
    console.print()
    console.print(clock_change_title(outcome.clock_change))
    console.print(clock_change_table(outcome.clock_change))
    for note in clock_change_notes(outcome.clock_change):
        console.print(Text(f"  {note}", "dim"))
    console.print()
    if outcome.problems:
        console.print(f"[bold red]{len(outcome.problems)} things are not as they should be:[/]")
        for problem in outcome.problems[:SHOWN_PROBLEMS]:
            console.print(Text(f"  {problem}"))
        return
    jobs = sum(verdict.by_status.values())
    console.print(
        f"[bold green]All {jobs} jobs ended as they should:[/] nothing lost, "
        f"nothing run twice at once, each nominal time exactly once. {outcome.seconds:.0f} s."
    )


def _introduction(cloud: LocalCloud, plan: Sequence[Step]) -> dict[str, str]:
    jobs = len(planned_jobs(plan))
    place = "moto, in memory" if cloud.options.backend == MOTO else cloud.options.backend
    return {
        "cloud": f"{place}; API at {cloud.url}/v1",
        "runs": f"{len(cloud.schedulers)} schedulers and {len(cloud.workers)} workers, "
        "a process each",
        "jobs": f"{jobs}: one a module of this Python's standard library, reports on them, "
        "and some that misbehave",
        "schedules": ", ".join(schedule.expression for schedule in SCHEDULES),
        "pace": f"submitted over {plan[-1].at_seconds:.0f} s, with a pause while {MAX_WAITING} "
        "messages wait, as moto is slow with more",
        "timings": f"shortened to 1/{1 / TIME_SCALE:.0f}: {_timings(cloud.options.timings)}",
    }


def _ends(verdict: Verdict) -> Table:
    table = report_table("jobs, by how they ended")
    for status, count in sorted(verdict.by_status.items(), key=lambda item: -item[1]):
        table.add_row(status, str(count))
    return table


def _lateness(verdict: Verdict) -> Table:
    table = report_table("lateness of first attempts")
    table.columns[1].header = "jobs"
    for column in table.columns[1:]:
        column.justify = "right"
    for name in ("p50", "p99", "max"):
        table.add_column(name, justify="right", min_width=9)
    _add(table, "all jobs but those below", verdict.lateness[Group.OTHERS], is_judged=True)
    _add(table, "  of them, due while no leader lived", verdict.leaderless)
    _add(table, "message purged from its queue", verdict.lateness[Group.PURGED])
    _add(table, "beside the poison job in its process", verdict.lateness[Group.BESIDE_POISON])
    return table


def _add(table: Table, name: str, lateness: Lateness, *, is_judged: bool = False) -> None:
    p99 = seconds(lateness.p99_ms)
    if is_judged and lateness.p99_ms is not None:
        style = "green" if lateness.p99_ms < LIMIT_MS else "bold red"
        p99 = f"[{style}]{p99}[/]"
    table.add_row(name, str(lateness.jobs), seconds(lateness.p50_ms), p99, seconds(lateness.max_ms))


def _besides(outcome: Outcome) -> Table:
    verdict, tracker = outcome.verdict, outcome.tracker
    table = report_table("and besides")
    for name, came in schedule_rows(verdict.schedules):
        table.add_row(name, came)
    by_outcome = sorted(verdict.by_outcome.items(), key=lambda item: -item[1])
    attempts = sum(verdict.by_outcome.values())
    table.add_row("attempts", ", ".join(f"{count} {name}" for name, count in by_outcome))
    table.add_row("retries", f"{attempts - _started(verdict)}")
    table.add_row("dead letters", f"{verdict.dead_letters}")
    table.add_row("messages missed and sent again", f"{verdict.dispatched_again}")
    table.add_row("duplicate messages dropped", f"{tracker.total('duplicates_dropped')}")
    table.add_row("runs noted by the handlers", f"{verdict.runs}, {_overlaps(verdict)}")
    won, followed = tracker.total("elections_won"), tracker.total("elections_followed")
    table.add_row("elections", f"{won} won, {followed} stepped back")
    if outcome.hand_off_seconds is not None:
        table.add_row("next leader after the kill", f"{outcome.hand_off_seconds:.1f} s later")
    pauses = f"paused {outcome.pauses} times" if outcome.pauses else "never paused"
    table.add_row(f"submission, for {MAX_WAITING} waiting", pauses)
    return table


def _started(verdict: Verdict) -> int:
    return sum(lateness.jobs for lateness in verdict.lateness.values())


def _overlaps(verdict: Verdict) -> str:
    overlaps = any("overlapped" in problem for problem in verdict.problems)
    return "[bold red]some of them overlapped[/]" if overlaps else "no two of a job at once"


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
        case BatchEnded(crash=str()):
            return Text(f"{news.worker} held {_job_ids(news)}, to be received again", "red")
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


def _job_ids(batch: BatchEnded) -> str:
    return ", ".join(json.loads(body)["job"] for body in batch.bodies)


def _timings(timings: Timings) -> str:
    shown = [field.name for field in fields(timings) if field.name in SHOWN_TIMINGS]
    return ", ".join(f"{name.replace('_', ' ')} {_short(getattr(timings, name))}" for name in shown)


def _short(duration: timedelta) -> str:
    return f"{duration.total_seconds():.3g} s"
