"""The flags of verbs that can be watched, and of those that ask before they act."""

from __future__ import annotations

from typing import Annotated

import typer

WatchOption = Annotated[
    bool, typer.Option("--watch", "-w", help="Look again and again, until Ctrl-C.")
]
EveryOption = Annotated[
    float,
    typer.Option("--every", metavar="SECONDS", min=0.2, help="With --watch: how often to look."),
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do it without a question.")]
DEFAULT_EVERY_SECONDS = 2.0
