"""``hourhand jobs watch``: follow one job until it ends."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from rich.console import RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from hourhand.answers.jobs import Event, Job
from hourhand.cli.exits import DONE, FAILED, TIMED_OUT, CommandError
from hourhand.cli.jobs.listing import STYLES, status_text, waiting_text
from hourhand.cli.jobs.showing import show_changed
from hourhand.cli.output.harmless import cell
from hourhand.cli.output.times import Times, duration
from hourhand.cli.session import Session

FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 2.0
PAUSE_GROWS = 1.3
FAR = timedelta(minutes=1)
FAR_PAUSE_SECONDS = 5.0
"""How often to look at a job that is due later than `FAR`: a user may make it due now."""

BAR_WIDTH = 30
_KIND_WIDTH, _STATUS_WIDTH = 17, 9
_CONTENTS = frozenset({"payload", "result"})


@dataclass(slots=True)
class _Followed:
    """What was printed of the job so far."""

    known: set[tuple[Any, ...]] = field(default_factory=set)
    state: tuple[Any, ...] | None = None

    def changed(self, job: Job) -> bool:
        """Return whether the job has changed since the last call."""
        state = (job.status, job.attempt, job.due_at, job.cancel_requested_at, job.progress)
        before, self.state = self.state, state
        return before != state

    def new_events(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield the events that were not printed yet."""
        for event in events:
            key = (event.at, event.kind, event.attempt, event.actor)
            if key not in self.known:
                self.known.add(key)
                yield event


def follow(session: Session, job_id: str, timeout_seconds: float | None) -> int:
    """Print what happens to a job until it ends; return 0 only if it succeeded.

    Raises `CommandError` if it does not end in time, and the client's errors.
    """
    ends_at = None if timeout_seconds is None else session.clock.monotonic() + timeout_seconds
    followed, pause = _Followed(), FIRST_PAUSE_SECONDS
    with Live(console=session.out, auto_refresh=False, transient=True) as live:
        while True:
            job = session.client.get(job_id)
            if followed.changed(job):
                pause = FIRST_PAUSE_SECONDS
                _print_changes(session, job, followed)
            if job.is_final:
                break
            _must_have_time(session, job, ends_at)
            if session.out.is_terminal and not session.is_json:
                live.update(_now(job, session.times), refresh=True)
            session.clock.sleep(_pause(job, session, pause, ends_at))
            pause = min(pause * PAUSE_GROWS, LONGEST_PAUSE_SECONDS)
        live.update(Text(""), refresh=session.out.is_terminal)
    _print_end(session, job)
    return DONE if job.status == "SUCCEEDED" else FAILED


def show_new(session: Session, job: Job, did: str, *, is_followed: bool) -> int:
    """Print a job that was created, or follow it until it ends; return the exit code."""
    if not is_followed:
        show_changed(session, job, did)
        return DONE
    session.remark(f"Job {job.id}", "")
    return follow(session, job.id, None)


def _must_have_time(session: Session, job: Job, ends_at: float | None) -> None:
    if ends_at is not None and session.clock.monotonic() >= ends_at:
        raise CommandError(f"{job.id} did not end in time. It is {job.status}.", TIMED_OUT)


def _pause(job: Job, session: Session, pause: float, ends_at: float | None) -> float:
    due_at = job.due_at or job.run_at
    if job.status != "RUNNING" and due_at - session.clock.now() > FAR:
        pause = FAR_PAUSE_SECONDS
    if ends_at is None:
        return pause
    return max(0.0, min(pause, ends_at - session.clock.monotonic()))


def _print_changes(session: Session, job: Job, followed: _Followed) -> None:
    if session.is_json:
        if not job.is_final:
            session.print_json({k: v for k, v in job.raw.items() if k not in _CONTENTS})
        return
    for event in followed.new_events(session.client.events(job.id)):
        session.print(_event_line(event, session.times))


def _event_line(event: Event, times: Times) -> Text:
    local = event.at.astimezone(times.zone)
    words = event.kind.lower().replace("_", " ")
    attempt = f"attempt {event.attempt} " if event.attempt else ""
    return Text.assemble(
        (f"{local:%H:%M:%S}.{local.microsecond // 1000:03d}  ", "dim"),
        cell(f"{words:<{_KIND_WIDTH}} "),
        cell(f"{event.status:<{_STATUS_WIDTH}} ", STYLES.get(event.status, "")),
        cell(f"{attempt}by {event.actor} ", "dim"),
        cell(event.reason or ""),
    )


def _now(job: Job, times: Times) -> RenderableType:
    """Return the last line on a terminal: the state at this moment."""
    if job.status != "RUNNING":
        when = f", due {times.relative(job.due_at or job.run_at)}"
        if waits := waiting_text(job):
            when = f", {waits}{when if job.reserved_start else ''}"
        return Text.assemble(
            status_text(job.status), cell(when), ". Ctrl-C stops watching, not the job."
        )
    running = "" if job.started_at is None else f" for {duration(times.now - job.started_at)}"
    state = Text.assemble(status_text(job.status), f"{running} ")
    progress = job.progress
    if progress is None:
        return state
    grid = Table.grid(padding=(0, 1, 0, 0))
    if not progress.total:
        grid.add_row(state, cell(f"{progress.done:g} done {progress.message or ''}"))
        return grid
    share = min(progress.done / progress.total, 1.0)
    bar = ProgressBar(total=1.0, completed=share, width=BAR_WIDTH)
    far = f"{progress.done:g} of {progress.total:g} {progress.message or ''}"
    grid.add_row(state, bar, f"{share:.0%}", cell(far))
    return grid


def _print_end(session: Session, job: Job) -> None:
    if session.gives_json(job):
        return
    tries = "1 attempt" if job.attempt == 1 else f"{job.attempt} attempts"
    late = "" if job.lateness_ms is None else f", started {duration(job.lateness_ms / 1000)} late"
    ended = f" after {tries}{late}"
    session.print(Text.assemble(cell(job.id), " ", status_text(job.status), ended))
    if job.status == "SUCCEEDED" and job.result is not None:
        session.print_text(json.dumps(job.result, ensure_ascii=False, default=dict))
    if job.error is not None and job.status != "SUCCEEDED":
        session.print_text(f"{job.error.type}: {job.error.message}", "red")
        session.remark(f"`hourhand jobs show {job.id}` shows the traceback.")
