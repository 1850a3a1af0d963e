"""``hourhand schedules list``: a table of schedules."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import groupby
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from hourhand.answers.schedules import RecentRun, Schedule
from hourhand.cli.output.harmless import cell
from hourhand.cli.output.tables import Column
from hourhand.cli.session import Session

STYLES = {"active": "green", "paused": "yellow", "broken": "red", "ended": "dim"}
COLUMNS = (
    Column("ID", is_whole=True),
    Column("STATUS"),
    Column("NEXT"),
    Column("EXPRESSION", is_flexible=True),
    Column("ZONE", rank=3),
    Column("HANDLER", rank=1, is_flexible=True),
    Column("LAST", rank=2),
    Column("NEWEST RUNS", rank=1, is_flexible=True),
    Column("JOBS", rank=5, is_number=True),
    Column("MANAGED BY", rank=6),
    Column("NOTE", rank=4, is_flexible=True),
)


def list_found(session: Session, limit: int | None, recent: int) -> None:
    """Print the schedules as they arrive, in the order of their IDs, with ``recent`` runs each."""
    find = partial(session.client.schedules.list, recent=recent)
    session.print_list(find, limit, COLUMNS, _row, none="There is no schedule.")


def watch_found(session: Session, limit: int | None, recent: int, every_seconds: float) -> None:
    """Print the schedules again and again."""

    def look() -> Sequence[RenderableType]:
        found = list(session.client.schedules.list(limit=limit, recent=recent))
        return session.page(found, COLUMNS, _row)

    session.watch(every_seconds, look)


def expression_text(expression: Any) -> str:
    """Return one expression, or several, on one line."""
    return expression if isinstance(expression, str) else " | ".join(map(str, expression))


def status_text(status: str) -> Text:
    """Return a schedule's state in its colour."""
    return cell(status, STYLES.get(status, ""))


def _row(session: Session, schedule: Schedule) -> tuple[Text | str, ...]:
    times = session.times_in(schedule.timezone)
    return (
        schedule.id,
        status_text(schedule.status),
        times.short(schedule.next_at),
        expression_text(schedule.expression),
        schedule.timezone,
        schedule.handler,
        times.short(schedule.last_occurrence),
        _runs_text(schedule.recent),
        f"{schedule.occurrences_made:,}",
        schedule.managed_by or "",
        schedule.note or "",
    )


def _runs_text(runs: Sequence[RecentRun]) -> str:
    """Return the results of runs, newest first; equal neighbours are counted."""
    parts = []
    for result, equal in groupby(runs, key=_result):
        count = sum(run.count for run in equal)
        parts.append(f"{count:,} {result}" if count > 1 else result)
    return ", ".join(parts)


def _result(run: RecentRun) -> str:
    if run.reason is not None:
        return f"skipped: {run.reason}"
    return run.status or "job no longer kept"
