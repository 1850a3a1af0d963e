"""``hourhand graphs``: its verbs."""

from __future__ import annotations

from typing import Annotated

import typer

from hourhand.answers.graphs import Graph, GraphRerun
from hourhand.cli.completing import job_ids
from hourhand.cli.console import opens_page
from hourhand.cli.exits import NOT_FOUND, REFUSED
from hourhand.cli.helping import Noun
from hourhand.cli.options import SEVERAL, WebOption, argument, listed
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb

graphs = Noun(
    name="graphs",
    help="Submit graphs of jobs that depend on one another, show their nodes, and run parts of "
    "them again.",
)

GraphId = Annotated[str, argument("ID", "ID of the graph, which is that of its job.", job_ids)]
OwnIdOption = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="ID",
        help="ID of the graph. The same ID with the same graph changes nothing. Default: the id in "
        "the file, or a new one.",
    ),
]


@graphs.command("submit")
@verb(
    example="hourhand graphs submit etl.json --id etl-2027-01-31",
    codes={NOT_FOUND: None, REFUSED: "the id was used with another graph"},
    changes=True,
    prints=(Graph,),
)
def submit(
    session: Session,
    file: Annotated[
        str,
        argument("FILE", "File with the graph, a JSON object with its nodes; - reads stdin."),
    ],
    id: OwnIdOption = None,  # noqa: A002 (the flag's name)
) -> None:
    """Submit a graph: jobs and maps, and which come after which.

    The file contains what POST /v1/graphs takes, such as {"nodes": {"extract": {"handler":
    "extract"}, "load": {"handler": "load", "after": ["extract"], "payload": {"rows": {"$result":
    "extract"}}}}}.
    """
    from hourhand.cli.graphs.showing import show_submitted
    from hourhand.cli.schedules.definition import read_object

    definition = read_object(file, "FILE")
    show_submitted(session, session.client.graphs.submit(definition, id=id))


@graphs.command("show")
@verb(
    example="hourhand graphs show etl-2027-01-31",
    codes={REFUSED: "the journal of the graph cannot be read"},
    prints=(Graph,),
)
def show_graph(
    session: Session,
    id: GraphId,  # noqa: A002 (the argument's name)
    web: WebOption = False,
) -> None:
    """Show a graph: its state, and each node with its status, duration, job and error.

    The nodes are in an order in which they can run. A node that was skipped has a reason: rule, its
    trigger rule was not met; upstream_failed, a node before it failed.
    """
    graph = session.client.graphs.get(id)
    if opens_page(session, web, "jobs", graph.id):
        return
    from hourhand.cli.graphs.showing import show

    show(session, graph)


@graphs.command("rerun")
@verb(
    example="hourhand graphs rerun etl-2027-01-31 --from transform --dry-run",
    codes={REFUSED: "the graph has not ended"},
    changes=True,
    prints=(GraphRerun,),
)
def rerun(
    session: Session,
    id: GraphId,  # noqa: A002 (the argument's name)
    names: Annotated[
        list[str],
        typer.Option(
            "--from",
            envvar="HOURHAND_GRAPHS_RERUN_FROM",
            show_envvar=False,
            metavar="NODE",
            callback=listed,
            help=f"Name of a node that runs again, with all nodes after it. {SEVERAL}.",
            show_default=False,
        ),
    ],
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print which nodes would run again, and change nothing."),
    ] = False,
) -> None:
    """Run nodes of a graph that has ended again, with all nodes after them.

    They get new jobs. The other nodes keep their results; those without one run as in any redrive.
    It works on a graph that failed, and on one that succeeded.
    """
    from hourhand.cli.graphs.showing import show_rerun

    show_rerun(session, id, session.client.graphs.rerun(id, names, dry_run=dry_run))
