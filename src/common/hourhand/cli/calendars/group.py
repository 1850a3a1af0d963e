"""The verbs of ``hourhand calendars``."""

from __future__ import annotations

from typing import Annotated

import typer

from hourhand.cli.completing import calendar_names
from hourhand.cli.exits import FAILED
from hourhand.cli.helping import Noun
from hourhand.cli.limits import DEFAULT_LIMIT, AllOption, LimitOption
from hourhand.cli.listed import SEVERAL, listed
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb
from hourhand.cli.watching import YesOption

calendars = Noun(
    name="calendars",
    no_args_is_help=True,
    help="Put, look at and delete calendars: exclusions under a name that schedules share.",
)

CalendarName = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="The calendar.", show_default=False, autocompletion=calendar_names
    ),
]
CalendarNames = Annotated[
    list[str],
    typer.Argument(
        metavar="NAME", help="The calendars.", show_default=False, autocompletion=calendar_names
    ),
]
ExcludeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        metavar="WHAT",
        callback=listed,
        help=f"A date, two dates or times as FROM..TO, or an expression; {SEVERAL}.",
    ),
]
FileOption = Annotated[
    str | None,
    typer.Option(
        "--file",
        "-f",
        metavar="FILE",
        help="A file with a calendar as a JSON object, such as `calendars show --json` prints; - "
        "for stdin. What --exclude names is added.",
    ),
]
NoteOption = Annotated[
    str | None, typer.Option("--note", metavar="TEXT", help="What others should know of it.")
]


@calendars.command("put")
@verb(
    example="hourhand calendars put holidays --exclude 2026-12-25 --exclude 2026-12-28..2026-12-31"
)
def put(
    session: Session,
    name: CalendarName,
    exclude: ExcludeOption = None,
    file: FileOption = None,
    note: NoteOption = None,
) -> None:
    """Create a calendar, or replace it whole. Schedules that use it follow within a few minutes."""
    from hourhand.cli.calendars.fields import calendar_given
    from hourhand.cli.calendars.showing import show_put

    excluded, said = calendar_given(exclude, file, note)
    show_put(session, session.client.calendars.put(name, excluded, note=said))


@calendars.command("list")
@verb(example="hourhand calendars list")
def list_calendars(
    session: Session,
    limit: LimitOption = DEFAULT_LIMIT,
    all: AllOption = False,  # noqa: A002 (the flag's name)
) -> None:
    """List calendars by their names, with what they exclude."""
    from hourhand.cli.calendars.showing import list_found

    list_found(session, None if all else limit)


@calendars.command("show")
@verb(example="hourhand calendars show holidays")
def show_calendar(session: Session, name: CalendarName) -> None:
    """Show one calendar with all that it excludes. With --json it is what can be put again."""
    from hourhand.cli.calendars.showing import show

    show(session, session.client.calendars.get(name))


@calendars.command("delete")
@verb(
    example="hourhand calendars delete holidays --yes",
    codes={FAILED: "it was not confirmed"},
)
def delete(session: Session, names: CalendarNames, yes: YesOption = False) -> int:
    """Delete calendars. One that a schedule uses is refused."""
    from hourhand.cli.schedules.several import Kind, delete_each

    calendar = Kind("calendar", "name", session.client.calendars.delete)
    return delete_each(session, names, calendar, is_sure=yes)
