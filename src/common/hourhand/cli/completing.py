"""Names for shell completion, from the API and from the user's contexts.

Nothing may disturb a prompt: if the API does not answer at once, the completion is empty.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from hourhand import Client

SECONDS = 1.5
"""Time limit for the API: the user waits at the prompt."""

MOST = 200
"""Names that are read. More would fill the screen."""

Asked = Callable[["Client"], Iterable[str]]


def _offering(asked: Asked) -> Callable[[typer.Context, str], list[str]]:
    """Return what completes a name from those that ``asked`` returns."""

    def offer(context: typer.Context, incomplete: str) -> list[str]:
        # A prompt cannot show an error, not even that of a module that is not installed.
        with suppress(Exception), _client(context) as client:
            names = itertools.islice(asked(client), MOST)
            return [name for name in names if name.startswith(incomplete)]
        return []

    return offer


schedule_ids = _offering(lambda client: (each.id for each in client.schedules.list()))
calendar_names = _offering(lambda client: (each.name for each in client.calendars.list()))
handler_names = _offering(lambda client: (each.name for each in client.handlers()))
limit_names = _offering(lambda client: (each.name for each in client.limits.list(limit=MOST)))
job_ids = _offering(lambda client: (each.id for each in client.list(limit=MOST)))
"""The newest jobs."""


def context_names(incomplete: str) -> list[str]:
    """Return the names of contexts that begin with ``incomplete``."""
    from hourhand.cli.contexts.store import read_contexts

    # As above: not even that of a damaged file.
    with suppress(Exception):
        return [name for name in read_contexts().contexts if name.startswith(incomplete)]
    return []


def _client(context: typer.Context) -> Client:
    """Return a client of the API that the line so far, the environment or the context names."""
    from hourhand import Client
    from hourhand.cli.contexts.store import enter_context

    names = ("context", "endpoint", "token", "auth", "region", "profile")
    given: dict[str, Any] = {name: context.params.get(name) for name in names}
    enter_context(given)
    del given["context"]
    return Client(given.pop("endpoint"), **given, timeout_seconds=SECONDS, max_attempts=1)
