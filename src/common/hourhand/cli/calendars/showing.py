"""Calendars as a table, and one of them whole."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from rich.text import Text

from hourhand.cli.output.harmless import cell
from hourhand.cli.output.tables import Column, facts
from hourhand.cli.schedules.listing import telling_table
from hourhand.cli.schedules.showing import exclusion_text
from hourhand.cli.session import Session

if TYPE_CHECKING:
    from hourhand.client import Calendar

COLUMNS = (
    Column("NAME", is_whole=True),
    Column("EXCLUDES", is_flexible=True),
    Column("CHANGED", rank=2),
    Column("NOTE", rank=1, is_flexible=True),
)


def list_found(session: Session, limit: int | None) -> None:
    """Print all calendars, in the order of their names."""
    found = iter(session.client.calendars.list(limit=None if limit is None else limit + 1))
    calendars = list(itertools.islice(found, limit))
    if session.is_json:
        for calendar in calendars:
            session.print_json(calendar.raw)
        return
    if not calendars:
        session.remark("There is no calendar.")
        return
    session.print(telling_table(session, COLUMNS, [_row(session, each) for each in calendars]))
    if next(found, None) is not None:
        session.remark(f"These are the first {len(calendars)}; --limit N or --all tells more.")


def show(session: Session, calendar: Calendar) -> None:
    """Print one calendar with all that it excludes."""
    if session.is_json:
        session.print_json(calendar.raw)
        return
    rows: list[tuple[str, Text | str]] = [("name", calendar.name)]
    if calendar.note:
        rows.append(("note", calendar.note))
    changed = f"{session.times.full(calendar.updated_at)}, revision {calendar.revision}"
    rows.append(("changed", changed))
    first, *others = [exclusion_text(each) for each in calendar.exclude] or ["nothing"]
    rows += [("excludes", first), *(("", other) for other in others)]
    session.print(facts(rows))


def show_put(session: Session, calendar: Calendar) -> None:
    """Print one line of a calendar that was put, or all of it as JSON."""
    if session.is_json:
        session.print_json(calendar.raw)
        return
    number = len(calendar.exclude)
    plural = "" if number == 1 else "s"
    told = f"  put: {number:,} exclusion{plural}, revision {calendar.revision}"
    session.print(Text.assemble(cell(calendar.name), told))


def _row(session: Session, calendar: Calendar) -> tuple[str, ...]:
    excluded = ", ".join(map(exclusion_text, calendar.exclude))
    return calendar.name, excluded, session.times.short(calendar.updated_at), calendar.note or ""
