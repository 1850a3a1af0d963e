"""What the verbs of jobs and of dead letters are told alike: which job, or which ones."""

from __future__ import annotations

from typing import Annotated

import typer

from hourhand.cli.completing import job_ids

JobId = Annotated[
    str,
    typer.Argument(metavar="ID", help="The job.", show_default=False, autocompletion=job_ids),
]
JobIds = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="ID",
        help="The jobs, by their ids.",
        show_default=False,
        autocompletion=job_ids,
    ),
]
EverythingOption = Annotated[
    bool, typer.Option("--all", help="Every job for which it can be done, of whatever handler.")
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Count what would be changed, and change nothing.")
]
