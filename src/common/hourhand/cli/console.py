"""``hourhand console``: the web console on loopback, for an API that is deployed elsewhere."""

from __future__ import annotations

import os
import signal
import sys
import threading
import webbrowser
from collections.abc import Mapping
from typing import Annotated

import typer

from hourhand.cli.exits import (
    DONE,
    FAILED,
    INTERRUPTED,
    NOT_ALLOWED,
    NOT_FOUND,
    REFUSED,
    UNREACHABLE,
    WRONG_USAGE,
)
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb

DEFAULT_PORT = 8788
DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")

ConsolePortOption = Annotated[
    int,
    typer.Option(
        "--port",
        "-p",
        metavar="N",
        min=0,
        max=65535,
        help="Where the console listens on 127.0.0.1; 0 takes a free port.",
    ),
]
ReadOnlyOption = Annotated[
    bool, typer.Option("--read-only", help="Refuse whatever would change something.")
]
NoBrowserOption = Annotated[
    bool, typer.Option("--no-browser", help="Print the address alone: open no browser.")
]


@verb(
    example="hourhand console --endpoint https://abc123.execute-api.eu-west-1.amazonaws.com",
    codes={
        **dict.fromkeys((NOT_FOUND, REFUSED, UNREACHABLE, NOT_ALLOWED, INTERRUPTED)),
        DONE: "ended by Ctrl-C or SIGTERM",
        FAILED: "it could not start",
        WRONG_USAGE: "wrong usage, or no credentials",
    },
    tells_times=False,
)
def console(
    session: Session,
    port: ConsolePortOption = DEFAULT_PORT,
    read_only: ReadOnlyOption = False,
    no_browser: NoBrowserOption = False,
) -> None:
    """Serve the web console on this machine, for the API of --endpoint, until Ctrl-C.

    The command signs the page's requests with your own credentials. The printed address ends in a
    token, which is new at each start. Anybody who has the address acts as you. `hourhand dev`
    serves a console of its own.
    """
    from hourhand.console import serve_console

    connection = session.connection
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        running = serve_console(
            connection.endpoint,
            token=connection.token,
            auth=connection.auth,
            region=connection.region,
            profile=connection.profile,
            timeout_seconds=connection.request_timeout,
            port=port,
            read_only=read_only,
        )
        try:
            _tell(session, running.address, running.endpoint, read_only=read_only)
            if not no_browser and has_browser(os.environ):
                webbrowser.open(running.address)
            threading.Event().wait()
        except KeyboardInterrupt:
            session.remark("Ended.")
        finally:
            running.close()
    finally:
        signal.signal(signal.SIGTERM, before)


def has_browser(environ: Mapping[str, str]) -> bool:
    """Whether a browser would open beside the terminal, not in it."""
    return sys.platform in {"darwin", "win32"} or any(environ.get(name) for name in DISPLAYS)


def _tell(session: Session, address: str, endpoint: str, *, read_only: bool) -> None:
    if session.is_json:
        session.print_json({"address": address, "endpoint": endpoint, "read_only": read_only})
        return
    session.remark(f"The console{', which changes nothing' * read_only} of {endpoint} is at")
    # Whole, however narrow the terminal: it is copied.
    session.print_text(f"  {address}")
    session.remark("Keep the address to yourself. Ctrl-C ends it.")
