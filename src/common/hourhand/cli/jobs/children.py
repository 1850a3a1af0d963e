"""``hourhand jobs children``: the child jobs of a run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from hourhand.cli.jobs.listing import remark, status_text, when_text
from hourhand.cli.output.tables import Column
from hourhand.cli.session import Session

if TYPE_CHECKING:
    from hourhand.client import Child
    from hourhand.domain.jobs.job import JobStatus

COLUMNS = (
    Column("PATH", is_whole=True),
    Column("INDEX", is_number=True, rank=4),
    Column("ID", is_whole=True),
    Column("HANDLER", is_flexible=True, rank=3),
    Column("STATUS"),
    Column("WHEN", rank=1),
    Column("REMARK", rank=2, is_flexible=True),
)


def list_found(
    session: Session,
    run_id: str,
    status: JobStatus | None,
    path: str | None,
    limit: int | None,
) -> None:
    """Print the children of a run as they arrive."""
    found = session.client.children(
        run_id,
        status=None if status is None else status.value,
        path=path,
        limit=None if limit is None else limit + 1,
    )
    none = "There are no such child jobs." if path else "The run has no child jobs."
    if status is not None:
        none = f"No child job is {status.value}."
    session.print_list(found, limit, partial(_table, session), none=none)


def _table(session: Session, children: Sequence[Child]) -> RenderableType:
    rows = [_row(session, child) for child in children]
    return session.table(COLUMNS, rows, without_empty=True)


def _row(session: Session, child: Child) -> tuple[Text | str, ...]:
    return (
        child.path,
        str(child.index),
        child.id,
        child.handler,
        status_text(child.status),
        when_text(child, session.times),
        remark(child, session.times),
    )
