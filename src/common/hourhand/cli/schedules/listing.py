"""Schedules as a table: when each fires next, and how it stands."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from hourhand.cli.output.harmless import cell
from hourhand.cli.output.tables import Column
from hourhand.cli.output.times import NOTHING
from hourhand.cli.session import Session

if TYPE_CHECKING:
    from hourhand.client import Schedule

ROWS_A_TABLE = 200
STYLES = {"active": "green", "paused": "yellow", "broken": "red", "ended": "dim"}
COLUMNS = (
    Column("ID", is_whole=True),
    Column("STATUS"),
    Column("NEXT"),
    Column("EXPRESSION", is_flexible=True),
    Column("ZONE", rank=3),
    Column("HANDLER", rank=1, is_flexible=True),
    Column("LAST", rank=2),
    Column("MADE", rank=5, is_number=True),
    Column("NOTE", rank=4, is_flexible=True),
)


def list_found(session: Session, limit: int | None) -> None:
    """Print all schedules as they come, in the order of their ids."""
    found = iter(session.client.schedules.list(limit=None if limit is None else limit + 1))
    shown = itertools.islice(found, limit)
    count = 0
    for schedules in iter(lambda: list(itertools.islice(shown, ROWS_A_TABLE)), []):
        count += len(schedules)
        session.print(*_told(session, schedules))
    if not count and not session.is_json:
        session.remark("There is no schedule.")
    elif next(found, None) is not None:
        session.remark(f"These are the first {count}; --limit N or --all tells more.")


def watch_found(session: Session, limit: int | None, every_seconds: float) -> None:
    """Print them again and again."""
    session.watch(
        every_seconds,
        lambda: _told(session, list(session.client.schedules.list(limit=limit))),
    )


def expression_text(expression: Any) -> str:
    """Return one expression, or several, on a line."""
    return expression if isinstance(expression, str) else " | ".join(map(str, expression))


def status_text(status: str) -> Text:
    """Return how a schedule stands, in its colour."""
    return cell(status, STYLES.get(status, ""))


def telling_table(
    session: Session, columns: Sequence[Column], rows: Sequence[Sequence[Text | str]]
) -> RenderableType:
    """Return a table without those columns that tell nothing of any row: others have their room."""
    told = [
        number
        for number, column in enumerate(columns)
        if not column.rank or any(str(row[number]) not in {"", NOTHING} for row in rows)
    ]
    return session.table(
        [columns[number] for number in told], ([row[number] for number in told] for row in rows)
    )


def _told(session: Session, schedules: Sequence[Schedule]) -> Sequence[RenderableType]:
    if not session.is_json:
        return [telling_table(session, COLUMNS, [_row(session, each) for each in schedules])]
    for schedule in schedules:
        session.print_json(schedule.raw)
    return []


def _row(session: Session, schedule: Schedule) -> tuple[Text | str, ...]:
    times = session.times
    return (
        schedule.id,
        status_text(schedule.status),
        times.short(schedule.next_at),
        expression_text(schedule.expression),
        schedule.timezone,
        schedule.handler,
        times.short(schedule.last_occurrence),
        f"{schedule.occurrences_made:,}",
        schedule.note or "",
    )
