"""``hourhand jobs logs``: what a job logged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rich.text import Text

from hourhand.answers.jobs import LogLine
from hourhand.cli.jobs.showing import trace_link
from hourhand.cli.output.harmless import cell
from hourhand.cli.output.times import Times
from hourhand.cli.session import Session

LARGEST_PAGE = 1_000
PAGE_FOLLOWED = 100

STYLES = {"WARNING": "yellow", "ERROR": "red", "CRITICAL": "bold red", "DEBUG": "dim"}
_LEVEL_WIDTH = 8

STACKS = ("exception", "stack")
"""Fields with lines of their own: they come below the line."""


def show_lines(session: Session, job_id: str, *, order: str, limit: int | None) -> None:
    """Print up to ``limit`` lines of a job's log; without a limit, follow it to the job's end."""
    is_followed = limit is None
    lines = session.client.logs(
        job_id,
        order=order,
        limit=None if limit is None else limit + 1,
        page_size=PAGE_FOLLOWED if limit is None else min(limit + 1, LARGEST_PAGE),
        follow=is_followed,
    )
    count = 0
    for line in lines:
        if count == limit:
            first = "first" if order == "oldest" else "newest"
            session.remark(f"Only the {first} {count:,} lines are shown. Use --limit N for more.")
            break
        count += 1
        if session.is_json:
            session.print_json(line.raw)
        else:
            _print_line(session, line)
    if session.is_json:
        return
    if not count:
        session.remark("The job has logged nothing, or its log is no longer kept.")
    link = trace_link(session, session.client.get(job_id))
    if link is not None:
        session.remark(f"Its trace: {link}")


def _print_line(session: Session, line: LogLine) -> None:
    fields = line.fields or {}
    attempt = "" if line.attempt is None else f"try {line.attempt}  "
    session.out.print(
        Text.assemble(
            (f"{_moment(line, session.times)}  ", "dim"),
            cell(f"{line.level:<{_LEVEL_WIDTH}}", STYLES.get(line.level, "")),
            cell(attempt, "dim"),
            cell(line.message),
            cell(_fields_text(fields), "dim"),
        ),
        soft_wrap=True,
    )
    for name in STACKS:
        if isinstance(fields.get(name), str):
            session.print_text(str(fields[name]).rstrip(), "dim")


def _moment(line: LogLine, times: Times) -> str:
    local = line.at.astimezone(times.zone)
    return f"{local:%Y-%m-%d %H:%M:%S}.{local.microsecond // 1000:03d}"


def _fields_text(fields: Mapping[str, Any]) -> str:
    told = {name: value for name, value in fields.items() if name not in STACKS}
    return "".join(f"  {name}={_value_text(value)}" for name, value in told.items())


def _value_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=dict)
