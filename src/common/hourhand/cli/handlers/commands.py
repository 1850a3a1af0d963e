"""``hourhand handlers``: its verbs."""

from __future__ import annotations

from typing import Annotated

import typer

from hourhand.answers.system import Handler
from hourhand.cli.completing import handler_names
from hourhand.cli.exits import NOT_FOUND, REFUSED
from hourhand.cli.helping import Noun
from hourhand.cli.options import WebOption
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb

handlers = Noun(
    name="handlers",
    help="List the registered handlers, and show what each of them takes.",
)

HandlerName = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="Name of the handler.",
        show_default=False,
        autocompletion=handler_names,
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
    if web:
        from hourhand.cli.console import open_page

        open_page(session, "handlers", handler.name)
        return
    from hourhand.cli.handlers.showing import show

    show(session, handler)
