"""``hourhand calendars``: its verbs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

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
from hourhand.cli.schedules.definition import read_exclusion, read_object
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb

FIELDS = frozenset({"exclude", "note"})
NOT_PUT = frozenset({"name", "revision", "updated_at"})
"""Fields that the API returns and does not take, so that the output of `show --json` can be put."""

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
    from hourhand.cli.calendars.showing import show_put

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
    show_put(session, session.client.calendars.put(name, excluded, note=note))


@calendars.command("list")
@verb(example="hourhand calendars list", prints=(Calendar,))
def list_calendars(
    session: Session,
    rows: Rows,
) -> None:
    """List calendars by name, with what they exclude."""
    from hourhand.cli.calendars.showing import list_found

    list_found(session, rows.most)


@calendars.command("show")
@verb(example="hourhand calendars show holidays", prints=(Calendar,))
def show_calendar(session: Session, name: CalendarName, web: WebOption = False) -> None:
    """Show a calendar with all that it excludes. The output of --json can be put again."""
    calendar = session.client.calendars.get(name)
    if opens_page(session, web, "calendars", calendar.name):
        return
    from hourhand.cli.calendars.showing import show

    show(session, calendar)


@calendars.command("delete")
@verb(example="hourhand calendars delete holidays --yes", codes={FAILED: "you did not confirm"})
def delete(session: Session, names: CalendarNames, yes: YesOption = False) -> int:
    """Delete calendars. The API refuses to delete a calendar that a schedule uses."""
    act = session.client.calendars.delete
    return session.delete_each("calendar", names, act, key="name", is_sure=yes)
