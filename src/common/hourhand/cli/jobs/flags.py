"""The flags that describe a job. `jobs submit` and the definition of a schedule share most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from hourhand.cli.options import (
    YesOption,
    duration_option,
    option,
    time_option,
    whole_duration_option,
)
from hourhand.cli.reading import Seconds, read_tag
from hourhand.domain.jobs.job import OnLost, Priority
from hourhand.domain.jobs.retry import Backoff, Jitter
from hourhand.domain.limits.debounce import Mode
from hourhand.domain.limits.unique_keys import OnConflict

WHEN, WHAT, POLICY, FILE = "When", "Job", "Policies", "Many jobs"

PriorityOption = Annotated[
    Priority | None,
    typer.Option(help="Queue of the job: high, medium or low.", rich_help_panel=WHAT),
]
EverythingOption = Annotated[
    bool, typer.Option("--all", help="All jobs whose state allows it, of every handler.")
]
NoteOption = Annotated[
    str | None, option("TEXT", "Note for people, such as the reason. Kept with the job.")
]
PAYLOAD_HELP = "Payload as JSON, @FILE to read a file, or - to read stdin."


@dataclass(frozen=True, kw_only=True, slots=True)
class Due:
    """The flags that say when a job runs."""

    run_at: Annotated[
        datetime | None,
        time_option(
            "Run the job at this time. Without an offset, in the time zone of this machine.", WHEN
        ),
    ] = None
    delay: Annotated[
        Seconds | None, duration_option("Run the job after this delay: 90s, 5m, 1.5h or 2d.", WHEN)
    ] = None
    expires_at: Annotated[
        datetime | None, time_option("Do not start the job after this time.", WHEN)
    ] = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Policies:
    """The flags of a job's policies. What is ``None`` was not given."""

    priority: PriorityOption = None
    tenant: Annotated[str | None, option("NAME", "Tenant of the job.", WHAT)] = None
    tag: Annotated[
        list[Any] | None,
        option("KEY:VALUE", "Tag of the job. Can be repeated.", WHAT, parser=read_tag),
    ] = None
    timeout: Annotated[
        int | None, whole_duration_option("Time limit of one attempt: 1s to 14m.", POLICY)
    ] = None
    retention: Annotated[
        int | None, whole_duration_option("How long to keep the job after it ends.", POLICY)
    ] = None
    on_lost: Annotated[
        OnLost | None,
        typer.Option(
            help="What to do if the job's worker disappears: retry runs the job again, dead does "
            "not.",
            rich_help_panel=POLICY,
        ),
    ] = None
    max_attempts: Annotated[
        int | None,
        option("N", "Maximum number of attempts, the first included.", POLICY, min=1, max=100),
    ] = None
    backoff: Annotated[
        Backoff | None,
        typer.Option(
            help="How the retry delays grow: exponential, linear, fixed or sidekiq.",
            rich_help_panel=POLICY,
        ),
    ] = None
    retry_base: Annotated[
        Seconds | None, duration_option("First retry delay. Has no effect on sidekiq.", POLICY)
    ] = None
    retry_max_delay: Annotated[Seconds | None, duration_option("Longest retry delay.", POLICY)] = (
        None
    )
    retry_jitter: Annotated[
        Jitter | None,
        typer.Option(
            help="Random part of each retry delay: none, additive (adds up to 0.5 s) or full "
            "(between 0 and the delay).",
            rich_help_panel=POLICY,
        ),
    ] = None

    def fields(self) -> dict[str, Any]:
        """Return those that were given, as fields of the API."""
        retry = {
            "max_attempts": self.max_attempts,
            "backoff": self.backoff,
            "base_seconds": self.retry_base,
            "max_delay_seconds": self.retry_max_delay,
            "jitter": self.retry_jitter,
        }
        return given(
            {
                "priority": self.priority,
                "tenant": self.tenant,
                "tags": dict(self.tag) if self.tag else None,
                "timeout_seconds": self.timeout,
                "retention_seconds": self.retention,
                "on_lost": self.on_lost,
                "retry": given(retry) or None,
            }
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class FileFlags:
    """The flags of `jobs submit --file`."""

    file: Annotated[
        str | None,
        typer.Option(
            "--file",
            "-f",
            metavar="FILE",
            help="Submit each line of this file, a JSON object with the fields of a job; - reads "
            "stdin. Other options fill in the fields that a line lacks.",
            rich_help_panel=FILE,
        ),
    ] = None
    failed: Annotated[
        Path | None,
        option(
            "FILE",
            "Write rejected lines and the reasons to this file. Default: the name of the "
            "input file with .failed.",
            FILE,
        ),
    ] = None
    parallel: Annotated[
        int,
        option("N", "Number of parallel requests, each with up to 500 jobs.", FILE, min=1, max=64),
    ] = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Consent:
    """The flags by which the caller agrees to a change of many jobs."""

    all_matching: Annotated[
        bool,
        typer.Option(
            "--all-matching", help="Change every job that matches, also if 1,000 or more match."
        ),
    ] = False
    yes: YesOption = False
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only count the jobs; change nothing.")
    ] = False


def given(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that were given: those that are not ``None``."""
    return {name: value for name, value in fields.items() if value is not None}


def unique_fields(
    key: str | None, until: str | None, on_conflict: OnConflict | None
) -> dict[str, Any] | None:
    """Return how a job is unique, as the API takes it; ``None`` if it is not said."""
    if key is None:
        for name, value in (("--unique-until", until), ("--on-conflict", on_conflict)):
            if value is not None:
                raise typer.BadParameter("give --unique, too", param_hint=name)
        return None
    fields = given({"key": key, "until": until, "on_conflict": on_conflict})
    if until is not None and until.isdecimal():
        fields["until"] = int(until)
    return fields


def debounce_fields(
    key: str | None, wait: Seconds | None, max_wait: Seconds | None, mode: Mode | None
) -> dict[str, Any] | None:
    """Return how a job is debounced, as the API takes it; ``None`` if it is not said."""
    if key is None:
        for name, value in (
            ("--debounce-wait", wait),
            ("--debounce-max-wait", max_wait),
            ("--debounce-mode", mode),
        ):
            if value is not None:
                raise typer.BadParameter("give --debounce, too", param_hint=name)
        return None
    if wait is None:
        raise typer.BadParameter("give --debounce-wait, too", param_hint="--debounce")
    return given({"key": key, "wait_seconds": wait, "max_wait_seconds": max_wait, "mode": mode})
