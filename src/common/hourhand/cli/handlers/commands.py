"""``hourhand handlers``: its verbs."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any

import typer

from hourhand.answers.system import Handler
from hourhand.cli.completing import handler_names
from hourhand.cli.console import opens_page
from hourhand.cli.exits import NOT_FOUND, REFUSED
from hourhand.cli.helping import Noun
from hourhand.cli.options import WebOption, argument, option
from hourhand.cli.reading import read_time_or_duration
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb

handlers = Noun(
    name="handlers",
    help="List, show, pause and resume the registered handlers.",
)

HandlerName = Annotated[str, argument("NAME", "Name of the handler.", handler_names)]
HandlerNames = Annotated[list[str], argument("NAME", "Names of the handlers.", handler_names)]
NoteOption = Annotated[str | None, option("TEXT", "Reason, shown with the pause and in the audit.")]
UntilOption = Annotated[
    # To Typer a union of types would be none.
    Any,
    typer.Option(
        metavar="TIME|DELAY",
        parser=read_time_or_duration,
        help="End the pause by itself at this time, or after this long, such as 2h.",
    ),
]


@handlers.command("list")
@verb(
    example="hourhand handlers list",
    codes=dict.fromkeys((NOT_FOUND, REFUSED)),
    prints=(Handler,),
)
def list_handlers(session: Session) -> None:
    """List the handlers by name, with the fields of their payloads and their policies.

    A field with a question mark can be left out. With --json, each handler is one line, with the
    whole JSON Schema of its payload.
    """
    from hourhand.cli.handlers.showing import list_found

    list_found(session)


@handlers.command("show")
@verb(example="hourhand handlers show send-welcome", codes={REFUSED: None}, prints=(Handler,))
def show_handler(session: Session, name: HandlerName, web: WebOption = False) -> None:
    """Show a handler: its payload, its policies, and a submission that works.

    The output also has the schedule that the handler declares, if there is one.

    With --json, the output has the whole JSON Schema of the payload, in payload_schema.
    """
    handler = session.client.handler(name)
    if opens_page(session, web, "handlers", handler.name):
        return
    from hourhand.cli.handlers.showing import show

    show(session, handler)


@handlers.command("pause")
@verb(
    example="hourhand handlers pause send-invoice --note 'wrong totals' --until 2h",
    codes={REFUSED: None},
    changes=True,
    prints=(Handler,),
)
def pause(
    session: Session, names: HandlerNames, note: NoteOption = None, until: UntilOption = None
) -> int:
    """Pause handlers: no job of them starts until they are resumed.

    Jobs are accepted and schedules go on, and all of it waits. Jobs that run end as ever, and no
    attempt is used. Workers may start jobs of the handlers for 30 s more. Of a handler that is
    paused already, the note and the end are replaced.
    """
    from hourhand.cli.handlers.showing import show_state

    client, end = session.client, _instant(until, session.times.now)
    return session.do_to_each(
        names, lambda one: show_state(session, client.pause_handler(one, note=note, until=end))
    )


@handlers.command("resume")
@verb(
    example="hourhand handlers resume send-invoice",
    codes={REFUSED: None},
    changes=True,
    prints=(Handler,),
)
def resume(session: Session, names: HandlerNames, note: NoteOption = None) -> int:
    """Resume paused handlers. Up to 1,000 waiting jobs of each are sent at once.

    The next ticks, one a minute, send the others.
    """
    from hourhand.cli.handlers.showing import show_state

    client = session.client
    return session.do_to_each(
        names, lambda one: show_state(session, client.resume_handler(one, note=note))
    )


def _instant(given: datetime | timedelta | None, now: datetime) -> datetime | None:
    return now + given if isinstance(given, timedelta) else given
