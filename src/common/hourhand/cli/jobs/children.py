"""``hourhand jobs children``: the child jobs of a run."""

from __future__ import annotations

from functools import partial

from rich.text import Text

from hourhand.answers.children import Child
from hourhand.cli.jobs.listing import remark, status_text, when_text
from hourhand.cli.output.tables import Column
from hourhand.cli.session import Session
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
    find = partial(session.client.children, run_id, status=status, path=path)
    none = "There are no such child jobs." if path else "The run has no child jobs."
    if status is not None:
        none = f"No child job is {status.value}."
    session.print_list(find, limit, COLUMNS, _row, none=none)


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
