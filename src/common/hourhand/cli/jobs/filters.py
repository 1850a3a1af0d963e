"""Which jobs are meant: the flags of every verb that finds jobs, and what they come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Annotated, Any

import typer

from hourhand.cli.completing import handler_names, schedule_ids
from hourhand.cli.gathering import gathering
from hourhand.cli.output.times import duration
from hourhand.cli.reading import read_tag, read_time_ago
from hourhand.domain.model import JobStatus

PANEL = "Which jobs"

StatusFilter = Annotated[
    JobStatus | None,
    typer.Option(
        "--status",
        case_sensitive=False,
        # Typer alone would tell them in small letters, as nothing else does.
        metavar=f"<{'|'.join(JobStatus)}>",
        help="In this state.",
        rich_help_panel=PANEL,
    ),
]
HandlerFilter = Annotated[
    str | None,
    typer.Option(
        "--handler",
        metavar="NAME",
        help="Of this handler.",
        rich_help_panel=PANEL,
        autocompletion=handler_names,
    ),
]
ScheduleFilter = Annotated[
    str | None,
    typer.Option(
        "--schedule",
        metavar="ID",
        help="Of this schedule.",
        rich_help_panel=PANEL,
        autocompletion=schedule_ids,
    ),
]
TenantFilter = Annotated[
    str | None,
    typer.Option("--tenant", metavar="NAME", help="Of this tenant.", rich_help_panel=PANEL),
]
TagFilter = Annotated[
    # To Typer a tuple would be two words.
    Any,
    typer.Option(
        "--tag",
        parser=read_tag,
        metavar="KEY:VALUE",
        help="With this tag.",
        rich_help_panel=PANEL,
    ),
]
CreatedAfter = Annotated[
    Any,
    typer.Option(
        "--created-after",
        parser=read_time_ago,
        metavar="TIME|AGO",
        help="Submitted after this time, or less than so long ago: 2h.",
        rich_help_panel=PANEL,
    ),
]
CreatedBefore = Annotated[
    Any,
    typer.Option(
        "--created-before",
        parser=read_time_ago,
        metavar="TIME|AGO",
        help="Submitted before this time, or more than so long ago: 7d.",
        rich_help_panel=PANEL,
    ),
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Filters:
    """Which jobs are meant; all that is given must hold."""

    status: JobStatus | None = None
    handler: str | None = None
    schedule: str | None = None
    tenant: str | None = None
    tag: tuple[str, str] | None = None
    created_after: datetime | timedelta | None = None
    created_before: datetime | timedelta | None = None

    @property
    def is_empty(self) -> bool:
        """Whether every job is meant."""
        return all(getattr(self, each.name) is None for each in fields(self))

    def for_client(self, now: datetime) -> dict[str, Any]:
        """Return what the client takes; how long ago something is, is counted from ``now``."""
        given = {
            "status": self.status,
            "handler": self.handler,
            "schedule_id": self.schedule,
            "tenant": self.tenant,
            "tag": ":".join(self.tag) if self.tag else None,
            "created_after": _instant(self.created_after, now),
            "created_before": _instant(self.created_before, now),
        }
        return {name: value for name, value in given.items() if value is not None}

    def told(self) -> str:
        """Return the filters as a sentence says them, such as ``of handler x, DEAD``."""
        parts = []
        if self.status:
            parts.append(f"in state {self.status}")
        for name in ("handler", "schedule", "tenant"):
            value = getattr(self, name)
            if value is not None:
                parts.append(f"of {name} {value}")
        if self.tag:
            parts.append(f"tagged {':'.join(self.tag)}")
        for name, limit in (("after", self.created_after), ("before", self.created_before)):
            if limit is not None:
                parts.append(f"created {name} {_told(limit)}")
        return ", ".join(parts)


FILTER_FLAGS: Mapping[str, Any] = {
    "status": StatusFilter,
    "handler": HandlerFilter,
    "schedule": ScheduleFilter,
    "tenant": TenantFilter,
    "tag": TagFilter,
    "created_after": CreatedAfter,
    "created_before": CreatedBefore,
}

takes_filters = gathering("filters", FILTER_FLAGS, into=Filters)
"""Give a verb all of these flags in the place of ``filters``: the `Filters` that they come to."""


def _told(limit: datetime | timedelta) -> str:
    if isinstance(limit, timedelta):
        return f"{duration(limit)} ago"
    return f"{limit:%Y-%m-%d %H:%M:%S %Z}"


def _instant(typed: datetime | timedelta | None, now: datetime) -> datetime | None:
    return now - typed if isinstance(typed, timedelta) else typed
