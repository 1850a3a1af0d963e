"""The flags that say how many rows of a list are told."""

from __future__ import annotations

from typing import Annotated

import typer

DEFAULT_LIMIT = 50

LimitOption = Annotated[
    int, typer.Option("--limit", "-n", metavar="N", min=1, help="How many at most.")
]
AllOption = Annotated[bool, typer.Option("--all", help="Every one, however many there are.")]
