"""``hourhand batches``: its verbs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.text import Text

from hourhand.answers.children import Batch
from hourhand.cli.completing import job_ids
from hourhand.cli.console import opens_page
from hourhand.cli.exits import NOT_FOUND, REFUSED
from hourhand.cli.helping import Noun
from hourhand.cli.options import WebOption, argument, option
from hourhand.cli.output.harmless import cell
from hourhand.cli.output.tables import fact, facts
from hourhand.cli.output.times import NOTHING
from hourhand.cli.reading import read_json
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb
from hourhand.domain.errors import unknown_field
from hourhand.domain.runs.built_in import CALLBACKS, MEMBERS

FIELDS = (MEMBERS, *CALLBACKS, "id", "open", "tenant")
STYLES = {
    "open": "blue",
    "running": "cyan",
    "succeeded": "green",
    "failed": "bold red",
    "cancelled": "magenta",
}

batches = Noun(
    name="batches",
    help="Submit jobs with callbacks, add jobs to an open batch, close it, and show how many have "
    "ended.",
)

BatchId = Annotated[str, argument("ID", "ID of the batch, which is that of its job.", job_ids)]


@batches.command("submit")
@verb(
    example="hourhand batches submit import.json --open",
    codes={NOT_FOUND: None, REFUSED: "the id was used with another batch"},
    changes=True,
    prints=(Batch,),
)
def submit(
    session: Session,
    file: Annotated[
        str,
        argument(
            "FILE",
            "File with the batch: a JSON object with its jobs and callbacks, or an array of "
            "jobs; - reads stdin.",
        ),
    ],
    id: Annotated[  # noqa: A002 (the flag's name)
        str | None,
        typer.Option(
            "--id",
            metavar="ID",
            help="ID of the batch. The same ID with the same batch changes nothing. Default: the "
            "id in the file, or a new one.",
        ),
    ] = None,
    open: Annotated[  # noqa: A002 (the flag's name)
        bool,
        typer.Option("--open", help="Let jobs be added until `hourhand batches close`."),
    ] = False,
) -> None:
    """Submit up to 500 jobs as one batch, with jobs that are submitted after them.

    The file contains what POST /v1/batches takes, such as {"jobs": [{"handler": "import",
    "payload": 1}], "on_success": {"handler": "publish"}}. on_complete is submitted once all jobs
    have ended, on_success if all of them succeeded, on_failure once one failed.
    """
    jobs, fields = _read_batch(file)
    fields["id"] = id or fields.get("id")
    fields["open"] = open or bool(fields.get("open"))
    _show_changed(session, session.client.batches.submit(jobs, **fields), "submitted")


@batches.command("show")
@verb(example="hourhand batches show 01k2v8r3t5w7x9y1z3b5d", codes={REFUSED: None}, prints=(Batch,))
def show_batch(
    session: Session,
    id: BatchId,  # noqa: A002 (the argument's name)
    web: WebOption = False,
) -> None:
    """Show a batch: how many of its jobs have ended, and the jobs that it calls back.

    [bold]hourhand jobs children[/] lists its jobs.
    """
    batch = session.client.batches.get(id)
    if opens_page(session, web, "jobs", batch.id) or session.gives_json(batch):
        return
    session.print(facts(_facts(session, batch)))


@batches.command("add")
@verb(
    example="hourhand batches add 01k2v8r3t5w7x9y1z3b5d more.json --first-index 500",
    codes={REFUSED: "the batch is closed"},
    changes=True,
    prints=(Batch,),
)
def add(
    session: Session,
    id: BatchId,  # noqa: A002 (the argument's name)
    file: Annotated[
        str,
        argument("FILE", "File with up to 500 jobs, a JSON array; - reads stdin."),
    ],
    first_index: Annotated[
        int,
        typer.Option(
            "--first-index",
            metavar="N",
            min=0,
            help="Place of the first of these jobs in the batch, from 0.",
            show_default=False,
        ),
    ],
) -> None:
    """Add jobs to an open batch. The same command again adds nothing.

    The places of all jobs have no gaps in the end: the first addition to a batch of 500 jobs has
    --first-index 500.
    """
    batch = session.client.batches.add(id, _read_jobs(file), first_index=first_index)
    _show_changed(session, batch, "added")


@batches.command("close")
@verb(
    example="hourhand batches close 01k2v8r3t5w7x9y1z3b5d --total 700",
    codes={REFUSED: "a job of the batch is missing, or the batch was closed with another total"},
    changes=True,
    prints=(Batch,),
)
def close(
    session: Session,
    id: BatchId,  # noqa: A002 (the argument's name)
    total: Annotated[
        int | None,
        option("N", "How many jobs the batch must have. Default: those that it has.", min=0),
    ] = None,
) -> None:
    """Close a batch: it takes no more jobs, and ends once all of them have.

    A close that finds a job missing can be repeated after the job was added.
    """
    _show_changed(session, session.client.batches.close(id, total), "closed")


def _read_batch(file: str) -> tuple[list[Any], dict[str, Any]]:
    """Return the jobs of a file, and the other fields of its batch. Raises `typer.BadParameter`."""
    value = _read(file)
    if isinstance(value, list):
        return value, {}
    fields = dict(value) if isinstance(value, dict) else {}
    jobs = fields.pop(MEMBERS, None)
    if not isinstance(jobs, list):
        raise _bad('must contain an array of jobs, or an object such as {"jobs": []}')
    unknown = next((name for name in fields if name not in FIELDS), None)
    if unknown is not None:
        raise _bad(f"has a field {unknown!r}, which {unknown_field(unknown, FIELDS)}")
    return jobs, fields


def _read_jobs(file: str) -> list[Any]:
    """Return the jobs of a file. Raises `typer.BadParameter`."""
    value = _read(file)
    if not isinstance(value, list):
        raise _bad("must contain an array of jobs")
    return value


def _read(file: str) -> Any:
    return read_json(file if file == "-" else f"@{file}", "FILE")


def _bad(message: str) -> typer.BadParameter:
    return typer.BadParameter(message, param_hint="FILE")


def _show_changed(session: Session, batch: Batch, did: str) -> None:
    """Print one line about a batch that changed, or all of it as JSON."""
    if session.gives_json(batch):
        return
    head = Text.assemble(cell(batch.id), f"  {did}: ", _status_text(batch))
    session.print(Text.assemble(head, f", {_counts(batch)}"))


def _facts(session: Session, batch: Batch) -> Iterator[tuple[str, Text | str]]:
    yield "batch", batch.id
    yield "status", _status_text(batch)
    yield "jobs", _counts(batch)
    for name in CALLBACKS:
        yield name, batch.callbacks.get(name) or NOTHING
    yield "created", session.times.full(batch.created_at)
    yield from fact("ended", batch.finished_at, session.times.full)


def _status_text(batch: Batch) -> Text:
    return cell(batch.status, STYLES.get(batch.status, ""))


def _counts(batch: Batch) -> str:
    jobs = "1 job" if batch.total == 1 else f"{batch.total:,} jobs"
    return f"{jobs}, {batch.succeeded:,} succeeded, {batch.failed:,} failed"
