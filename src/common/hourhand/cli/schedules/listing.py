"""``hourhand schedules list``: a table of schedules."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from hourhand.cli.output.harmless import cell
from hourhand.cli.output.tables import Column
from hourhand.cli.session import Session

if TYPE_CHECKING:
    from hourhand.client import Schedule

STYLES = {"active": "green", "paused": "yellow", "broken": "red", "ended": "dim"}
COLUMNS = (
    Column("ID", is_whole=True),
    Column("STATUS"),
    Column("NEXT"),
    Column("EXPRESSION", is_flexible=True),
    Column("ZONE", rank=3),
    Column("HANDLER", rank=1, is_flexible=True),
    Column("LAST", rank=2),
    Column("RUNS", rank=5, is_number=True),
    Column("MANAGED BY", rank=6),
    Column("NOTE", rank=4, is_flexible=True),
)


def list_found(session: Session, limit: int | None) -> None:
    """Print the schedules as they arrive, in the order of their IDs."""
    found = session.client.schedules.list(limit=None if limit is None else limit + 1)
    session.print_list(found, limit, partial(_table, session), none="There is no schedule.")


def watch_found(session: Session, limit: int | None, every_seconds: float) -> None:
    """Print the schedules again and again."""

    def look() -> Sequence[RenderableType]:
        return session.page(
            list(session.client.schedules.list(limit=limit)), partial(_table, session)
        )

    session.watch(every_seconds, look)


def expression_text(expression: Any) -> str:
    """Return one expression, or several, on one line."""
    return expression if isinstance(expression, str) else " | ".join(map(str, expression))


def status_text(status: str) -> Text:
    """Return a schedule's state in its colour."""
    return cell(status, STYLES.get(status, ""))


def _table(session: Session, schedules: Sequence[Schedule]) -> RenderableType:
    return session.table(COLUMNS, [_row(session, each) for each in schedules], without_empty=True)


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
        f"{schedule.occurrences_made:,}",
        schedule.managed_by or "",
        schedule.note or "",
    )
