"""What the shell offers when a name is to be typed: asked of the API, quickly and quietly.

Nothing here may disturb a prompt: where the API does not answer at once, nothing is offered.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from hourhand import Client

SECONDS = 1.5
"""How long the API may take; who presses the tabulator waits for it."""

MOST = 200
"""Names that are looked at. More fill the screen and are no help."""

Asked = Callable[["Client"], Iterable[str]]


def schedule_ids(context: typer.Context, incomplete: str) -> list[str]:
    """Return the ids of schedules that begin so."""
    return _offered(
        context, incomplete, lambda client: (each.id for each in client.schedules.list())
    )


def calendar_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of calendars that begin so."""
    return _offered(
        context, incomplete, lambda client: (each.name for each in client.calendars.list())
    )


def handler_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of handlers that begin so."""
    return _offered(context, incomplete, lambda client: (each.name for each in client.handlers()))


def job_ids(context: typer.Context, incomplete: str) -> list[str]:
    """Return the ids of the newest jobs that begin so."""
    return _offered(
        context, incomplete, lambda client: (each.id for each in client.list(limit=MOST))
    )


def _offered(context: typer.Context, incomplete: str, asked: Asked) -> list[str]:
    # Whatever fails, be it a module that is not installed: a prompt is no place to say so.
    with suppress(Exception), _client(context) as client:
        return list(_beginning(asked(client), incomplete))
    return []


def _client(context: typer.Context) -> Client:
    """Return a client of the API that is named on the line so far, or by the environment."""
    from hourhand import Client

    names = ("token", "auth", "region", "profile")
    given: dict[str, Any] = {name: context.params.get(name) for name in names}
    endpoint = context.params.get("endpoint")
    return Client(endpoint, **given, timeout_seconds=SECONDS, max_attempts=1)


def _beginning(names: Iterable[str], incomplete: str) -> Iterator[str]:
    return (name for name in itertools.islice(names, MOST) if name.startswith(incomplete))
