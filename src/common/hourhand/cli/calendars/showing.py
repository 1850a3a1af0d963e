"""The output of ``hourhand calendars``: a table, and one calendar."""

from __future__ import annotations

from rich.text import Text

from hourhand.answers.schedules import Calendar
from hourhand.cli.output.harmless import cell
from hourhand.cli.output.tables import Column, facts
from hourhand.cli.schedules.showing import exclusion_text
from hourhand.cli.session import Session

COLUMNS = (
    Column("NAME", is_whole=True),
    Column("EXCLUDES", is_flexible=True),
    Column("CHANGED", rank=2),
    Column("NOTE", rank=1, is_flexible=True),
)


def list_found(session: Session, limit: int | None) -> None:
    """Print the calendars as they arrive, in the order of their names."""
    find = session.client.calendars.list
    session.print_list(find, limit, COLUMNS, _row, none="There is no calendar.")


def show(session: Session, calendar: Calendar) -> None:
    """Print one calendar with all that it excludes."""
    if session.gives_json(calendar):
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
    """Print one line about a calendar that was put, or the whole calendar as JSON."""
    if session.gives_json(calendar):
        return
    number = len(calendar.exclude)
    plural = "" if number == 1 else "s"
    result = f"  put: {number:,} exclusion{plural}, revision {calendar.revision}"
    session.print(Text.assemble(cell(calendar.name), result))


def _row(session: Session, calendar: Calendar) -> tuple[str, ...]:
    excluded = ", ".join(map(exclusion_text, calendar.exclude))
    return calendar.name, excluded, session.times.short(calendar.updated_at), calendar.note or ""
