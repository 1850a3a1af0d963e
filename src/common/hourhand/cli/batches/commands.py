"""``hourhand batches``: its verbs."""

from __future__ import annotations

from typing import Annotated

import typer

from hourhand.answers.children import Batch
from hourhand.cli.completing import job_ids
from hourhand.cli.console import opens_page
from hourhand.cli.exits import NOT_FOUND, REFUSED
from hourhand.cli.helping import Noun
from hourhand.cli.options import WebOption, argument, option
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb

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
    from hourhand.cli.batches.reading import read_batch
    from hourhand.cli.batches.showing import show_changed

    jobs, fields = read_batch(file)
    fields["id"] = id or fields.get("id")
    fields["open"] = open or bool(fields.get("open"))
    show_changed(session, session.client.batches.submit(jobs, **fields), "submitted")


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
    if opens_page(session, web, "jobs", batch.id):
        return
    from hourhand.cli.batches.showing import show

    show(session, batch)


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
    from hourhand.cli.batches.reading import read_jobs
    from hourhand.cli.batches.showing import show_changed

    jobs = read_jobs(file)
    batch = session.client.batches.add(id, jobs, first_index=first_index)
    show_changed(session, batch, "added")


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
    from hourhand.cli.batches.showing import show_changed

    show_changed(session, session.client.batches.close(id, total), "closed")
