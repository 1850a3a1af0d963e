"""The output of ``hourhand runs``: a table of steps, and the plan of a redrive."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import typer

from hourhand.answers.runs import RedrivePlan, Step
from hourhand.cli.graphs.showing import counts_text, kept_words
from hourhand.cli.output.harmless import cell
from hourhand.cli.output.tables import Column
from hourhand.cli.output.times import NOTHING
from hourhand.cli.session import Session

COLUMNS = (
    Column("PATH", is_whole=True),
    Column("KIND", rank=2),
    Column("STATUS"),
    Column("TRIES", is_number=True, rank=3),
    Column("OF", rank=2),
    Column("STARTED", rank=1),
    Column("JOB", rank=5, is_whole=True),
    Column("RESULT", rank=4),
)
MAX_RESULT_CHARACTERS = 60


def list_found(session: Session, run_id: str, order: str, limit: int | None) -> None:
    """Print the steps of a run as they arrive."""
    find = partial(session.client.runs.steps, run_id, order=order)
    first = "first" if order == "oldest" else "newest"
    session.print_list(find, limit, COLUMNS, _row, none="The run has no steps yet.", first=first)


def show_plan(session: Session, plan: RedrivePlan) -> None:
    """Print which calls a redrive would run again."""
    if session.gives_json(plan):
        return
    for path in plan.reset:
        session.print(cell(f"runs again  {path}"))
    for path in plan.kept:
        session.print(cell(f"not reset   {path}", "dim"))
    if plan.kept:
        session.print(cell(kept_words("call"), "dim"))
    keys = "get new keys: their effects happen again" if plan.new_keys else "keep their keys"
    session.print(cell(f"Steps that run again {keys}.", "dim"))


def payload_of(text: str | None) -> Any:
    """Return the value of ``--payload``."""
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"is not JSON: {error}", param_hint="--payload") from None


def _row(session: Session, step: Step) -> tuple[str, ...]:
    return (
        step.path,
        step.kind,
        step.status,
        str(step.attempts) if step.of is None else "",
        counts_text(step.of),
        NOTHING if step.started_at is None else session.times.short(step.started_at),
        step.job_id or "",
        _told(step),
    )


def _told(step: Step) -> str:
    if step.error is not None:
        text = f"{step.error.type}: {step.error.message}"
    elif step.private:
        text = "private"
    elif step.omitted:
        text = "larger than 4 KB"
    elif step.result is None:
        text = ""
    else:
        text = json.dumps(step.result)
    if len(text) <= MAX_RESULT_CHARACTERS:
        return text
    return text[: MAX_RESULT_CHARACTERS - 3] + "..."
