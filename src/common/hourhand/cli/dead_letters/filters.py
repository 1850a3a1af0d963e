"""Which dead jobs are meant: the flags of the verbs that find them, and what they come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from hourhand.cli.gathering import gathering
from hourhand.cli.jobs.filters import PANEL, HandlerFilter, TenantFilter

ErrorFilter = Annotated[
    str | None,
    typer.Option(
        "--error",
        metavar="TYPE",
        help="With this error: its type, as `dead-letters list` tells it.",
        rich_help_panel=PANEL,
    ),
]


@dataclass(frozen=True, kw_only=True, slots=True)
class DeadFilters:
    """Which dead jobs are meant; all that is given must hold."""

    handler: str | None = None
    tenant: str | None = None
    error: str | None = None


DEAD_FILTER_FLAGS: Mapping[str, Any] = {
    "handler": HandlerFilter,
    "tenant": TenantFilter,
    "error": ErrorFilter,
}

takes_dead_filters = gathering("filters", DEAD_FILTER_FLAGS, into=DeadFilters)
"""Give a verb these flags in the place of ``filters``: the `DeadFilters` that they come to."""
