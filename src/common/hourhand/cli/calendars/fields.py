"""What a calendar excludes: from flags, and from a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer

from hourhand.cli.exits import WRONG_USAGE, CommandError
from hourhand.cli.schedules.fields import read_exclusion, read_object

TOLD_ALONE = frozenset({"name", "revision", "updated_at"})
"""What the API tells of a calendar and does not take."""


def calendar_given(
    exclude: Sequence[str] | None, file: str | None, note: str | None
) -> tuple[list[Any], str | None]:
    """Return what to exclude and the note.

    Raises `typer.BadParameter`, and `CommandError` where nothing is given.
    """
    if exclude is None and file is None:
        raise CommandError("Say what it excludes, by --exclude or --file.", WRONG_USAGE)
    told = {} if file is None else read_object(file, "--file")
    unknown = sorted(set(told) - TOLD_ALONE - {"exclude", "note"})
    if unknown:
        message = f"holds {', '.join(unknown)}: a calendar has exclude and note alone"
        raise typer.BadParameter(message, param_hint="--file")
    excluded = told.get("exclude", [])
    if not isinstance(excluded, list):
        raise typer.BadParameter("must hold a list under exclude", param_hint="--file")
    return [*excluded, *map(read_exclusion, exclude or ())], note or told.get("note")
