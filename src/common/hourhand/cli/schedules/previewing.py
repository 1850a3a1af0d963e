"""``hourhand schedules preview``: the next times of a schedule, and effects of clock changes."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from hourhand.answers.schedules import PreviewedDay, PreviewedFire, Schedule
from hourhand.cli.exits import NOT_FOUND, CommandError
from hourhand.cli.output.harmless import block
from hourhand.cli.output.tables import Column
from hourhand.cli.session import Session

COLUMNS = (
    Column("UTC", rank=1),
    Column("WHEN", rank=2),
    Column("", rank=3),
)
DAY_COLUMNS = (
    Column("DAY"),
    Column("TIMES", is_number=True),
    Column("FIRST", rank=2),
    Column("EXCLUDED BY", rank=1),
    Column("", rank=3),
)
NOTED = "*"


def found(session: Session, schedule_id: str) -> Schedule:
    """Return the schedule to preview. Raises the client's errors.

    Raises `CommandError` if there is none and the ID looks like an expression.
    """
    from hourhand.client import NotFound

    try:
        return session.client.schedules.get(schedule_id)
    except NotFound as error:
        if len(schedule_id.split()) == 1:
            raise
        hint = f"To preview an expression, use -x {shlex.quote(schedule_id)}"
        raise CommandError(f"{error.detail} {hint}", NOT_FOUND) from error


def preview(
    session: Session,
    fields: Mapping[str, Any],
    *,
    count: int,
    after: datetime | None,
    month: str | None = None,
) -> None:
    """Print the next times of a schedule with these fields, or the days of a month."""
    answer = session.client.schedules.preview(fields, count=count, after=after, month=month)
    if session.gives_json(answer):
        return
    if month is not None:
        session.print_table(DAY_COLUMNS, (_day_row(day) for day in answer.days))
    elif not answer.fires:
        session.remark("The schedule would never run.")
    else:
        local = Column(f"LOCAL TIME ({fields.get('timezone', 'UTC')})")
        session.print_table((local, *COLUMNS), (_row(session, fire) for fire in answer.fires))
    shown = answer.fires if month is None else [fire for day in answer.days for fire in day.first]
    for note in dict.fromkeys(fire.note for fire in shown if fire.note):
        session.print(block(f"{NOTED} {note}", "yellow"))
    for warning in answer.warnings:
        session.remark(warning, "yellow")


def _day_row(day: PreviewedDay) -> tuple[str, ...]:
    times = f"{day.count:,}{'+' if day.is_least else ''}"
    first = ", ".join(f"{fire.local:%H:%M}" for fire in day.first)
    excluded = ", ".join(day.excluded_by) or ("the schedule" if day.excluded else "")
    return f"{day.day:%a %Y-%m-%d}", times, first, excluded, NOTED if day.clocks_change else ""


def _row(session: Session, fire: PreviewedFire) -> tuple[str, ...]:
    local = f"{fire.local:%a %Y-%m-%d %H:%M:%S %z}"
    mark = NOTED if fire.note else ""
    return local, f"{fire.at:%Y-%m-%d %H:%M:%SZ}", session.times.relative(fire.at), mark
