"""``hourhand console``: the web console on this machine, for a deployed API."""

from __future__ import annotations

import os
import signal
import sys
import threading
import webbrowser
from collections.abc import Mapping
from typing import Annotated
from urllib.parse import quote

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
        help="Port of the console on 127.0.0.1. 0 takes a free port.",
    ),
]
ReadOnlyOption = Annotated[
    bool, typer.Option("--read-only", help="Refuse every request that changes something.")
]
NoBrowserOption = Annotated[
    bool, typer.Option("--no-browser", help="Only print the URL; do not open a browser.")
]


@verb(
    example="hourhand console --endpoint https://abc123.execute-api.eu-west-1.amazonaws.com",
    codes={
        **dict.fromkeys((NOT_FOUND, REFUSED, UNREACHABLE, NOT_ALLOWED, INTERRUPTED)),
        DONE: "stopped by Ctrl-C or SIGTERM",
        FAILED: "could not start",
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
    """Serve the web console on this machine, for the API at --endpoint, until Ctrl-C.

    The command signs the requests of the page with your own credentials. The printed URL ends in
    a token, which is new at each start. Everyone who has the URL can act as you. `hourhand dev`
    has a console of its own.
    """
    _serve(session, port=port, read_only=read_only, opens=not no_browser)


def opens_page(session: Session, is_asked: bool, *segments: str) -> bool:
    """Open the console at an object, such as ``("jobs", id)``, if asked; return whether."""
    if is_asked:
        open_page(session, *segments)
    return is_asked


def open_page(session: Session, *segments: str) -> None:
    """Open the console at one object, or print its URL.

    `hourhand dev` serves a console itself. For another API, serve one until Ctrl-C.
    """
    from hourhand.client import find_endpoint

    page = "/".join(quote(each, safe="") for each in segments)
    endpoint = find_endpoint(session.client.endpoint)
    if not endpoint.is_loopback:
        # Another console may have the usual port.
        _serve(session, port=0, page=page)
        return
    address = f"{endpoint.url}/console/{page}"
    if session.is_json:
        session.print_json({"address": address})
    else:
        session.print_text(address)
    if has_browser(os.environ):
        webbrowser.open(address)


def _serve(
    session: Session, *, port: int, page: str = "", read_only: bool = False, opens: bool = True
) -> None:
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
            is_production=session.context is not None and session.context.context.is_production,
        )
        try:
            home, mark, token = running.address.partition("#")
            address = f"{home}{page}{mark}{token}"
            _print_address(session, address, running.endpoint, read_only=read_only)
            if opens and has_browser(os.environ):
                webbrowser.open(address)
            threading.Event().wait()
        except KeyboardInterrupt:
            session.remark("Stopped.")
        finally:
            running.close()
    finally:
        signal.signal(signal.SIGTERM, before)


def has_browser(environ: Mapping[str, str]) -> bool:
    """Whether a browser would open beside the terminal, not in it."""
    return sys.platform in {"darwin", "win32"} or any(environ.get(name) for name in DISPLAYS)


def _print_address(session: Session, address: str, endpoint: str, *, read_only: bool) -> None:
    if session.is_json:
        session.print_json({"address": address, "endpoint": endpoint, "read_only": read_only})
        return
    session.remark(f"The {'read-only ' * read_only}console of {endpoint} is at")
    # Unbroken, however narrow the terminal, so that it can be copied.
    session.print_text(f"  {address}")
    session.remark("Keep this URL secret. Ctrl-C stops the console.")
