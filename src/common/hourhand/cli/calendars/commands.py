"""``hourhand calendars``: its verbs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.text import Text

from hourhand.answers.schedules import Calendar
from hourhand.cli.completing import calendar_names
from hourhand.cli.console import opens_page
from hourhand.cli.exits import FAILED, WRONG_USAGE, CommandError
from hourhand.cli.helping import Noun
from hourhand.cli.options import (
    SEVERAL,
    Rows,
    WebOption,
    YesOption,
    argument,
    listed,
    option,
)
from hourhand.cli.output.harmless import cell
from hourhand.cli.output.tables import Column, fact, facts
from hourhand.cli.schedules.definition import exclusion_text, read_exclusion, read_object
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb

FIELDS = frozenset({"exclude", "note"})
NOT_PUT = frozenset({"name", "revision", "updated_at"})
"""Fields that the API returns and does not take, so that the output of `show --json` can be put."""

COLUMNS = (
    Column("NAME", is_whole=True),
    Column("EXCLUDES", is_flexible=True),
    Column("CHANGED", rank=2),
    Column("NOTE", rank=1, is_flexible=True),
)

calendars = Noun(
    name="calendars",
    help="Create, list and delete calendars: named sets of exclusions that schedules share.",
)

CalendarName = Annotated[str, argument("NAME", "Name of the calendar.", calendar_names)]
CalendarNames = Annotated[list[str], argument("NAME", "Names of the calendars.", calendar_names)]


@calendars.command("put")
@verb(
    example="hourhand calendars put holidays --exclude 2026-12-25 --exclude 2026-12-28..2026-12-31",
    changes=True,
    prints=(Calendar,),
)
def put(
    session: Session,
    name: CalendarName,
    exclude: Annotated[
        list[str] | None,
        option(
            "WHAT",
            "Times to exclude: a date, a range FROM..TO of dates or times, or an expression. "
            f"{SEVERAL}.",
            callback=listed,
        ),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            "--file",
            "-f",
            metavar="FILE",
            help="Read the calendar from this file, a JSON object as `calendars show --json` "
            "prints it; - reads stdin. --exclude adds to it.",
        ),
    ] = None,
    note: Annotated[str | None, option("TEXT", "Note for the readers of the calendar.")] = None,
) -> None:
    """Create a calendar, or replace all of it. Its schedules follow within a few minutes."""
    if exclude is None and file is None:
        raise CommandError("Give what to exclude, with --exclude or --file.", WRONG_USAGE)
    fields: dict[str, Any] = read_object(file)
    unknown = sorted(fields.keys() - NOT_PUT - FIELDS)
    if unknown:
        message = f"contains {', '.join(unknown)}; a calendar has only exclude and note"
        raise typer.BadParameter(message, param_hint="--file")
    excluded = fields.get("exclude", [])
    if not isinstance(excluded, list):
        raise typer.BadParameter("must contain a list in exclude", param_hint="--file")
    excluded = [*excluded, *map(read_exclusion, exclude or ())]
    note = note or fields.get("note")
    calendar = session.client.calendars.put(name, excluded, note=note)
    if session.gives_json(calendar):
        return
    number = len(calendar.exclude)
    plural = "" if number == 1 else "s"
    result = f"  put: {number:,} exclusion{plural}, revision {calendar.revision}"
    session.print(Text.assemble(cell(calendar.name), result))


@calendars.command("list")
@verb(example="hourhand calendars list", prints=(Calendar,))
def list_calendars(session: Session, rows: Rows) -> None:
    """List calendars by name, with what they exclude."""
    find = session.client.calendars.list
    session.print_list(find, rows.most, COLUMNS, _row, none="There is no calendar.")


@calendars.command("show")
@verb(example="hourhand calendars show holidays", prints=(Calendar,))
def show_calendar(session: Session, name: CalendarName, web: WebOption = False) -> None:
    """Show a calendar with all that it excludes. The output of --json can be put again."""
    calendar = session.client.calendars.get(name)
    if opens_page(session, web, "calendars", calendar.name) or session.gives_json(calendar):
        return
    session.print(facts(_facts(session, calendar)))


@calendars.command("delete")
@verb(example="hourhand calendars delete holidays --yes", codes={FAILED: "you did not confirm"})
def delete(session: Session, names: CalendarNames, yes: YesOption = False) -> int:
    """Delete calendars. The API refuses to delete a calendar that a schedule uses."""
    act = session.client.calendars.delete
    return session.delete_each("calendar", names, act, key="name", is_sure=yes)


def _facts(session: Session, calendar: Calendar) -> Iterator[tuple[str, str]]:
    yield "name", calendar.name
    yield from fact("note", calendar.note)
    yield "changed", f"{session.times.full(calendar.updated_at)}, revision {calendar.revision}"
    first, *others = map(exclusion_text, calendar.exclude or ["nothing"])
    yield "excludes", first
    yield from (("", other) for other in others)


def _row(session: Session, calendar: Calendar) -> tuple[str, ...]:
    excluded = ", ".join(map(exclusion_text, calendar.exclude))
    return calendar.name, excluded, session.times.short(calendar.updated_at), calendar.note or ""
