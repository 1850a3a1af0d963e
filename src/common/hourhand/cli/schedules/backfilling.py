"""``hourhand schedules backfill``: counts, asks, and runs scheduled times of the past."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any

from rich.text import Text

from hourhand.answers.schedules import Backfill, BackfillReport
from hourhand.cli.output.harmless import cell
from hourhand.cli.output.tables import Column
from hourhand.cli.session import Session

SHOWN = 10


def backfill(
    session: Session,
    schedule_id: str,
    span: tuple[datetime, datetime],
    how: Mapping[str, Any],
    *,
    is_dry: bool,
    is_sure: bool,
) -> None:
    """Count what would run, ask, and run it. ``how``: as the client takes it."""
    schedules = session.client.schedules
    would = schedules.backfill(schedule_id, *span, dry_run=True, **how)
    if is_dry or not would.total:
        _show(session, schedule_id, would)
        return
    times = f"{would.total:,} scheduled times of {schedule_id}, {_span(session, would)}"
    session.confirm(f"Run {times}?", is_sure=is_sure)
    _show(session, schedule_id, schedules.backfill(schedule_id, *span, **how))


COLUMNS = (
    Column("N"),
    Column("STATUS"),
    Column("FROM"),
    Column("TO"),
    Column("DONE"),
    Column("FAILED"),
    Column("SKIPPED", rank=2),
    Column("NOTE", rank=1, is_flexible=True),
)


def list_backfills(session: Session, schedule_id: str, limit: int | None) -> None:
    """Print the backfills of a schedule, newest first."""
    find = partial(session.client.schedules.backfills, schedule_id)
    session.print_list(find, limit, COLUMNS, _row, none="There is no backfill.", first="newest")


def change(
    session: Session, verb: str, schedule_id: str, n: int, note: str | None, *, is_sure: bool
) -> None:
    """Pause, resume or cancel a backfill, and print it."""
    if verb == "cancel":
        session.confirm(f"Cancel backfill {n} of {schedule_id}?", is_sure=is_sure)
    session.agree()
    act = getattr(session.client.schedules, f"{verb}_backfill")
    session.print(*session.page([act(schedule_id, n, note=note)], COLUMNS, _row))


def _row(session: Session, backfill: Backfill) -> tuple[str, ...]:
    return (
        str(backfill.n),
        backfill.status,
        session.times.absolute(backfill.start),
        session.times.absolute(backfill.end),
        f"{backfill.done:,} of {backfill.total:,}",
        f"{backfill.failed:,}",
        f"{backfill.skipped:,}",
        backfill.note or "",
    )


def _show(session: Session, schedule_id: str, report: BackfillReport) -> None:
    if session.gives_json(report):
        return
    if not report.total:
        session.remark("There is nothing to run in this period.")
        return
    name = "" if report.backfill is None else f" as backfill {report.backfill.n}"
    did = "would run" if report.backfill is None else "runs"
    counted = f"  {did} {report.total:,} scheduled times{name}, {_span(session, report)}"
    session.print(Text.assemble(cell(schedule_id), cell(counted)))
    if report.backfill is None:
        times = session.times
        rows = ((times.absolute(fire.at), times.relative(fire.at)) for fire in report.fires[:SHOWN])
        session.print_table((Column("SCHEDULED TIME"), Column("WHEN")), rows)
        if report.total > SHOWN:
            session.remark(f"and {report.total - SHOWN:,} more")


def _span(session: Session, report: BackfillReport) -> str:
    times = session.times
    if report.first is None or report.last is None:
        return "none"
    return f"{times.absolute(report.first)} to {times.absolute(report.last)}"
