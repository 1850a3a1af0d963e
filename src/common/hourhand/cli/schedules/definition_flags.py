"""The flags that say what a schedule is, for every verb that takes one: put and preview."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import typer

from hourhand.cli.completing import handler_names
from hourhand.cli.gathering import gathering
from hourhand.cli.jobs.submit_command import (
    AttemptsOption,
    BackoffOption,
    BaseOption,
    LongestOption,
    OnLostOption,
    PriorityOption,
    RetentionOption,
    TagsOption,
    TenantOption,
    TimeoutOption,
)
from hourhand.cli.listed import SEVERAL, listed
from hourhand.cli.reading import Seconds, read_duration, read_time
from hourhand.cli.schedules.fields import fields_given
from hourhand.domain.model import Jitter
from hourhand.domain.overlap import OverlapPolicy
from hourhand.domain.recurrence import DstFold, DstGap
from hourhand.domain.schedules import MisfirePolicy

WHEN, WHAT, MISSED = "When", "What", "Missed and overlapping"

ExpressionOption = Annotated[
    list[str] | None,
    typer.Option(
        "--expression",
        "-x",
        metavar="TEXT",
        callback=listed,
        help="'0 6 * * MON-FRI', 'cron(0 18 ? * MON-FRI *)', '@daily', 'rate(5 minutes)' or "
        f"'at(2027-01-01T09:00)'; {SEVERAL}: then it has the times of all.",
        rich_help_panel=WHEN,
    ),
]
TimezoneOption = Annotated[
    str | None,
    typer.Option(
        "--timezone",
        metavar="ZONE",
        help="Such as Europe/Berlin; without it, UTC.",
        rich_help_panel=WHEN,
    ),
]
ExcludeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        metavar="WHAT",
        callback=listed,
        help="A date, two dates or times as FROM..TO, an expression, or the name of a calendar; "
        f"{SEVERAL}.",
        rich_help_panel=WHEN,
    ),
]
StartOption = Annotated[
    datetime | None,
    typer.Option(
        "--start-at", parser=read_time, metavar="TIME", help="From when.", rich_help_panel=WHEN
    ),
]
EndOption = Annotated[
    datetime | None,
    typer.Option(
        "--end-at", parser=read_time, metavar="TIME", help="Until when.", rich_help_panel=WHEN
    ),
]
AnchorOption = Annotated[
    datetime | None,
    typer.Option(
        "--anchor",
        parser=read_time,
        metavar="TIME",
        help="From when rate(...) counts.",
        rich_help_panel=WHEN,
    ),
]
OccurrencesOption = Annotated[
    int | None,
    typer.Option("--max-occurrences", metavar="N", help="How often at most.", rich_help_panel=WHEN),
]
JitterSecondsOption = Annotated[
    Seconds | None,
    typer.Option(
        "--jitter",
        parser=read_duration,
        metavar="DURATION",
        help="By how much each is put off at most, so that many do not start at once.",
        rich_help_panel=WHEN,
    ),
]
DstGapOption = Annotated[
    DstGap | None,
    typer.Option(
        "--dst-gap", help="Of a local time that a day does not have.", rich_help_panel=WHEN
    ),
]
DstFoldOption = Annotated[
    DstFold | None,
    typer.Option("--dst-fold", help="Of one that it has twice.", rich_help_panel=WHEN),
]
HandlerOption = Annotated[
    str | None,
    typer.Option(
        "--handler",
        metavar="NAME",
        help="What each of its jobs runs.",
        rich_help_panel=WHAT,
        autocompletion=handler_names,
    ),
]
PayloadOption = Annotated[
    str | None,
    typer.Option(
        "--payload",
        metavar="JSON",
        help="JSON, @ and the name of a file with it, or - for stdin.",
        rich_help_panel=WHAT,
    ),
]
RetryJitterOption = Annotated[
    Jitter | None,
    typer.Option("--retry-jitter", help="How chance spreads retries.", rich_help_panel="Policy"),
]
MisfireOption = Annotated[
    MisfirePolicy | None,
    typer.Option(
        "--misfire", help="Which of the missed times are made up for.", rich_help_panel=MISSED
    ),
]
WindowOption = Annotated[
    Seconds | None,
    typer.Option(
        "--misfire-window",
        parser=read_duration,
        metavar="DURATION",
        help="How long ago at most they were missed.",
        rich_help_panel=MISSED,
    ),
]
OverlapOption = Annotated[
    OverlapPolicy | None,
    typer.Option(
        "--overlap", help="Of one that is due while the last still runs.", rich_help_panel=MISSED
    ),
]
MaxRunningOption = Annotated[
    int | None,
    typer.Option(
        "--max-running", metavar="N", help="How many may run at once.", rich_help_panel=MISSED
    ),
]
BufferOption = Annotated[
    int | None,
    typer.Option(
        "--buffer-limit",
        metavar="N",
        help="How many may wait under --overlap buffer_all.",
        rich_help_panel=MISSED,
    ),
]
PauseOnFailureOption = Annotated[
    bool | None,
    typer.Option(
        "--pause-on-failure/--no-pause-on-failure",
        help="Pause it when a job of it ends DEAD.",
        # Two flags so long leave no room for others beside them.
        rich_help_panel="Failures",
        show_default=False,
    ),
]
PausedOption = Annotated[
    bool | None,
    typer.Option(
        "--paused/--not-paused",
        help="Put it paused, or let it go on; without either, it stays as it was.",
        show_default=False,
    ),
]
NoteOption = Annotated[
    str | None, typer.Option("--note", metavar="TEXT", help="What others should know of it.")
]
KeepSucceededOption = Annotated[
    int | None,
    typer.Option(
        "--keep-succeeded", metavar="N", help="Of how many that succeeded the history tells."
    ),
]
KeepFailedOption = Annotated[
    int | None,
    typer.Option("--keep-failed", metavar="N", help="Of how many that did not."),
]

DEFINITION_FLAGS: Mapping[str, Any] = {
    "expression": ExpressionOption,
    "timezone": TimezoneOption,
    "exclude": ExcludeOption,
    "start_at": StartOption,
    "end_at": EndOption,
    "anchor": AnchorOption,
    "max_occurrences": OccurrencesOption,
    "jitter": JitterSecondsOption,
    "dst_gap": DstGapOption,
    "dst_fold": DstFoldOption,
    "handler": HandlerOption,
    "payload": PayloadOption,
    "priority": PriorityOption,
    "tenant": TenantOption,
    "tag": TagsOption,
    "misfire": MisfireOption,
    "misfire_window": WindowOption,
    "overlap": OverlapOption,
    "max_running": MaxRunningOption,
    "buffer_limit": BufferOption,
    "pause_on_failure": PauseOnFailureOption,
    "timeout": TimeoutOption,
    "retention": RetentionOption,
    "on_lost": OnLostOption,
    "max_attempts": AttemptsOption,
    "backoff": BackoffOption,
    "retry_base": BaseOption,
    "retry_max_delay": LongestOption,
    "retry_jitter": RetryJitterOption,
    "paused": PausedOption,
    "note": NoteOption,
    "keep_succeeded": KeepSucceededOption,
    "keep_failed": KeepFailedOption,
}
"""By the name of the parameter. None has a default: what is not given is not sent."""

takes_definition = gathering("given", DEFINITION_FLAGS, into=lambda **flags: fields_given(flags))
"""Give a verb these flags in the place of ``given``: the API's fields that they come to."""
