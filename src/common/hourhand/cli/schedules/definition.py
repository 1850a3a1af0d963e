"""What a schedule is: the flags of `put` and `preview`, and the fields that they stand for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

import typer

from hourhand.cli.completing import handler_names
from hourhand.cli.jobs.flags import PAYLOAD_HELP, WHAT, WHEN, Policies, given
from hourhand.cli.options import (
    SEVERAL,
    YesOption,
    duration_option,
    listed,
    option,
    time_option,
    whole_duration_option,
)
from hourhand.cli.reading import (
    Seconds,
    read_anchor,
    read_json,
    read_time,
)
from hourhand.domain.groups.overlap import OverlapPolicy
from hourhand.domain.schedules.recurrence import DstFold, DstGap
from hourhand.domain.schedules.schedule import MisfirePolicy

LATE = "Missed and overlapping runs"

NOT_PUT = frozenset(
    {
        "id",
        "status",
        "revision",
        "created_at",
        "updated_at",
        "paused_at",
        "next_at",
        "broken_reason",
        *("behind_seconds", "on_resume", "last_occurrence"),
        "occurrences_made",
        "backfills",
        "recent",
        "effect",
    }
)
"""Fields that the API returns and does not take, so that the output of `show --json` can be put."""

OBJECTS = frozenset({"misfire", "keep", "retry"})
"""Fields with parts, of which a flag sets one."""

ORIGIN = "managed_by"
NULL_IS_A_VALUE = frozenset({"payload", ORIGIN})
"""In the other fields, null means that the field is not given."""

DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Definition:
    """The flags of a schedule itself; those of its jobs are `Policies`."""

    expression: Annotated[
        list[str] | None,
        typer.Option(
            "--expression",
            "-x",
            metavar="TEXT",
            callback=listed,
            help="When to run: '0 6 * * MON-FRI', 'cron(0 18 ? * MON-FRI *)', '@daily', "
            f"'rate(5 minutes)' or 'at(2027-01-01T09:00)'. {SEVERAL}.",
            rich_help_panel=WHEN,
        ),
    ] = None
    timezone: Annotated[
        str | None,
        option("ZONE", "Time zone of the expressions, such as Europe/Berlin. Default: UTC.", WHEN),
    ] = None
    exclude: Annotated[
        list[str] | None,
        option(
            "WHAT",
            "Times to leave out: a date, a range FROM..TO of dates or times, an expression, "
            f"or the name of a calendar. {SEVERAL}.",
            WHEN,
            callback=listed,
        ),
    ] = None
    start_at: Annotated[datetime | None, time_option("No run before this time.", WHEN)] = None
    end_at: Annotated[datetime | None, time_option("No run after this time.", WHEN)] = None
    anchor: Annotated[
        str | None,
        option(
            "TIME",
            "Time from which rate(...) and every(...) count. Without an offset, it is in "
            "--timezone.",
            WHEN,
            parser=read_anchor,
        ),
    ] = None
    max_occurrences: Annotated[int | None, option("N", "Maximum number of runs.", WHEN)] = None
    expires_after: Annotated[
        int | None,
        whole_duration_option(
            "Cancel a run that has not started this long after its scheduled time.", WHEN
        ),
    ] = None
    jitter: Annotated[
        Seconds | None,
        duration_option(
            "Delay each run by a random time up to this, so that many schedules do not start "
            "at once.",
            WHEN,
        ),
    ] = None
    dst_gap: Annotated[
        DstGap | None,
        typer.Option(
            help="What to do when a clock change skips the local time: next_valid runs at the next "
            "valid time, skip does not run, shift adds the length of the gap.",
            rich_help_panel=WHEN,
        ),
    ] = None
    dst_fold: Annotated[
        DstFold | None,
        typer.Option(
            help="When to run if a clock change repeats the local time: first, second or both.",
            rich_help_panel=WHEN,
        ),
    ] = None
    handler: Annotated[
        str | None,
        option("NAME", "Handler that runs the jobs.", WHAT, autocompletion=handler_names),
    ] = None
    payload: Annotated[str | None, option("JSON", PAYLOAD_HELP, WHAT)] = None
    misfire: Annotated[
        MisfirePolicy | None,
        typer.Option(
            help="Which missed runs to make up for: latest, all, earliest or skip (none).",
            rich_help_panel=LATE,
        ),
    ] = None
    misfire_window: Annotated[
        int | None,
        whole_duration_option("Ignore runs that were missed longer ago than this.", LATE),
    ] = None
    overlap: Annotated[
        OverlapPolicy | None,
        typer.Option(
            help="What to do when a run is due while the previous run is still active: skip, "
            "allow, buffer_one, buffer_all or cancel_other.",
            rich_help_panel=LATE,
        ),
    ] = None
    max_running: Annotated[
        int | None, option("N", "Maximum number of runs that are active at once.", LATE)
    ] = None
    buffer_limit: Annotated[
        int | None, option("N", "With --overlap buffer_all: maximum number of waiting runs.", LATE)
    ] = None
    pause_on_failure: Annotated[
        bool | None,
        typer.Option(
            "--pause-on-failure/--no-pause-on-failure",
            help="Pause the schedule when one of its jobs ends DEAD.",
            # Two long flags leave no room for others in their panel.
            rich_help_panel="Failures",
            show_default=False,
        ),
    ] = None
    paused: Annotated[
        bool | None,
        typer.Option(
            "--paused/--not-paused",
            help="Whether the schedule is paused. Default: unchanged.",
            show_default=False,
        ),
    ] = None
    note: Annotated[str | None, option("TEXT", "Note for the readers of the schedule.")] = None
    keep_succeeded: Annotated[
        int | None, option("N", "Number of succeeded runs to keep in the history.")
    ] = None
    keep_failed: Annotated[
        int | None, option("N", "Number of failed runs to keep in the history.")
    ] = None

    def over(self, before: Mapping[str, Any], policies: Policies) -> dict[str, Any]:
        """Return the fields of ``before`` with those that the flags set, part by part.

        Raises `typer.BadParameter`.
        """
        fields = {name: value for name, value in before.items() if name not in NOT_PUT}
        fields = {k: v for k, v in fields.items() if v is not None or k in NULL_IS_A_VALUE}
        if fields.get(ORIGIN) is not None:
            # What a person puts has no origin: a copy under another ID must not be pruned.
            del fields[ORIGIN]
        for name, value in (self._fields() | policies.fields()).items():
            known = fields.get(name)
            is_part = name in OBJECTS and isinstance(known, Mapping)
            fields[name] = {**known, **value} if is_part and known is not None else value
        return fields

    def _fields(self) -> dict[str, Any]:
        texts = self.expression or []
        misfire = given({"policy": self.misfire, "window_seconds": self.misfire_window})
        keep = given({"succeeded": self.keep_succeeded, "failed": self.keep_failed})
        same = (
            *("timezone", "start_at", "end_at", "anchor", "max_occurrences", "dst_gap", "dst_fold"),
            *("handler", "overlap", "max_running", "buffer_limit", "pause_on_failure", "paused"),
            "note",
        )
        fields = given(
            {
                **{name: getattr(self, name) for name in same},
                "expression": texts[0] if len(texts) == 1 else texts or None,
                "exclude": list(map(read_exclusion, self.exclude or ())) or None,
                "jitter_seconds": self.jitter,
                "expires_after_seconds": self.expires_after,
                "misfire": misfire or None,
                "keep": keep or None,
            }
        )
        if self.payload is not None:
            fields["payload"] = read_json(self.payload, "--payload")
        return fields


@dataclass(frozen=True, kw_only=True, slots=True)
class ApplyFlags:
    """How `schedules apply` puts the schedules of files."""

    name: Annotated[
        str,
        option(
            "NAME",
            "Name of this set of files. Its schedules get the origin files:NAME. Give each "
            "repository its own name.",
        ),
    ] = "default"
    prune: Annotated[
        bool,
        typer.Option(
            "--prune",
            help="Also delete the schedules with the same origin that the files no longer have.",
        ),
    ] = False
    take_over: Annotated[
        bool,
        typer.Option(
            "--take-over", help="Also change schedules that have another origin, and take them."
        ),
    ] = False
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Check the files, show the differences, and change nothing. Exit code 1 means "
            "that there are differences.",
        ),
    ] = False
    yes: YesOption = False

    @property
    def origin(self) -> str:
        """What manages the schedules afterwards."""
        return f"files:{self.name}"


def read_object(file: str | None, name: str = "--file") -> dict[str, Any]:
    """Return the JSON object of a file, or of stdin for ``-``; without a file, an empty one.

    Raises `typer.BadParameter`, which names the flag or argument ``name``.
    """
    if file is None:
        return {}
    value = read_json(file if file == "-" else f"@{file}", name)
    if not isinstance(value, dict):
        raise typer.BadParameter("must contain one JSON object", param_hint=name)
    return value


def read_exclusion(text: str) -> str | dict[str, Any]:
    """Return an exclusion as the API takes it; ``FROM..TO`` is a range."""
    start, dots, end = (part.strip() for part in text.partition(".."))
    if not dots:
        return text.strip()
    if DATE.fullmatch(start) and DATE.fullmatch(end):
        return {"from": start, "to": end}
    try:
        return {"from": read_time(start), "to": read_time(end)}
    except typer.BadParameter as error:
        raise typer.BadParameter(f"{error.message}", param_hint="--exclude") from None


def exclusion_text(exclusion: Any) -> str:
    """Return an exclusion as --exclude takes it."""
    if isinstance(exclusion, Mapping):
        return f"{exclusion.get('from')}..{exclusion.get('to')}"
    return str(exclusion)
