"""The flags of every command that finds jobs."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Annotated, Any

import typer

from hourhand.cli.completing import handler_names, schedule_ids
from hourhand.cli.options import option
from hourhand.cli.output.times import duration
from hourhand.cli.reading import read_tag, read_time_or_duration, time_ago
from hourhand.domain.jobs.job import JobStatus

PANEL = "Filters"

HandlerFilter = Annotated[
    str | None, option("NAME", "Only jobs of this handler.", PANEL, autocompletion=handler_names)
]
TenantFilter = Annotated[str | None, option("NAME", "Only jobs of this tenant.", PANEL)]
ErrorTypeFilter = Annotated[
    str | None,
    option(
        "TYPE",
        "Only jobs whose last failed attempt had this type of error, such as TimeoutError.",
        PANEL,
    ),
]
ErrorGroupFilter = Annotated[
    str | None,
    option("ID", "Only the dead jobs of this group, as `dead-letters list` shows it.", PANEL),
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Filters:
    """Which jobs are meant. A job must match all filters that are given."""

    status: Annotated[
        JobStatus | None,
        typer.Option(
            case_sensitive=False,
            # Typer would show them in lower case.
            metavar=f"<{'|'.join(JobStatus)}>",
            help="Only jobs in this state.",
            rich_help_panel=PANEL,
        ),
    ] = None
    handler: HandlerFilter = None
    schedule: Annotated[
        str | None, option("ID", "Only jobs of this schedule.", PANEL, autocompletion=schedule_ids)
    ] = None
    tenant: TenantFilter = None
    # To Typer a tuple would be two words, so the type is Any; the same holds for the unions below.
    tag: Annotated[Any, option("KEY:VALUE", "Only jobs with this tag.", PANEL, parser=read_tag)] = (
        None
    )
    error_type: ErrorTypeFilter = None
    error_group: ErrorGroupFilter = None
    created_after: Annotated[
        Any,
        option(
            "TIME|AGO",
            "Only jobs submitted after this time, or within this duration, such as 2h.",
            PANEL,
            parser=read_time_or_duration,
        ),
    ] = None
    created_before: Annotated[
        Any,
        option(
            "TIME|AGO",
            "Only jobs submitted before this time, or longer ago than this, such as 7d.",
            PANEL,
            parser=read_time_or_duration,
        ),
    ] = None

    @property
    def is_empty(self) -> bool:
        """Whether every job is meant, or every one that was not discarded: nearly all jobs."""
        return all(getattr(self, each.name) in {None, False} for each in fields(self))

    def for_client(self, now: datetime) -> dict[str, Any]:
        """Return the filters as the client takes them; durations count back from ``now``."""
        given = {
            "status": self.status,
            "handler": self.handler,
            "schedule_id": self.schedule,
            "tenant": self.tenant,
            "tag": ":".join(self.tag) if self.tag else None,
            "error_type": self.error_type,
            "error_group": self.error_group,
            "created_after": time_ago(self.created_after, now),
            "created_before": time_ago(self.created_before, now),
        }
        return {name: value for name, value in given.items() if value is not None}

    def described(self) -> str:
        """Return the filters as part of a sentence, such as ``of handler x, in state DEAD``."""
        return ", ".join(self._described())

    def _described(self) -> list[str]:
        parts = [f"in state {self.status}"] if self.status else []
        for name in ("handler", "schedule", "tenant"):
            value = getattr(self, name)
            if value is not None:
                parts.append(f"of {name} {value}")
        if self.tag:
            parts.append(f"tagged {':'.join(self.tag)}")
        if self.error_type:
            parts.append(f"with error {self.error_type}")
        if self.error_group:
            parts.append(f"of group {self.error_group}")
        for name, limit in (("after", self.created_after), ("before", self.created_before)):
            if isinstance(limit, timedelta):
                parts.append(f"created {name} {duration(limit)} ago")
            elif limit is not None:
                parts.append(f"created {name} {limit:%Y-%m-%d %H:%M:%S %Z}")
        return parts


@dataclass(frozen=True, kw_only=True, slots=True)
class ListingFilters(Filters):
    """Which jobs are meant, where discarded ones can be among them."""

    discarded: Annotated[
        bool | None,
        typer.Option(
            "--discarded/--not-discarded",
            help="Only DEAD jobs that were discarded, or only other jobs.",
            rich_help_panel=PANEL,
            show_default=False,
        ),
    ] = None

    def for_client(self, now: datetime) -> dict[str, Any]:
        """Return the filters as the client takes them; durations count back from ``now``."""
        given = Filters.for_client(self, now)
        return given if self.discarded is None else {**given, "discarded": self.discarded}

    def _described(self) -> list[str]:
        words = {None: [], True: ["discarded"], False: ["not discarded"]}
        return words[self.discarded] + Filters._described(self)
