"""The flags of the verbs; each has a twin in the environment."""

from __future__ import annotations

from typing import Annotated

import typer

MEMORY = "memory"


def _backend(value: str) -> str:
    if value in {"moto", MEMORY} or value.startswith(("http://", "https://")):
        return value
    raise typer.BadParameter(f"must be moto, memory or the URL of an endpoint, not {value!r}")


HandlersOption = Annotated[
    str,
    typer.Option(
        envvar="HOURHAND_HANDLERS",
        metavar="MODULE",
        help="The module that registers the handlers, found on PYTHONPATH or in the current "
        "folder, such as examples.quickstart.",
    ),
]
PortOption = Annotated[
    int,
    typer.Option(
        "--port",
        "-p",
        envvar="HOURHAND_PORT",
        metavar="N",
        min=0,
        max=65535,
        help="Where the API listens on 127.0.0.1; 0 takes a free port.",
    ),
]
BackendOption = Annotated[
    str,
    typer.Option(
        envvar="HOURHAND_BACKEND",
        metavar="moto|memory|URL",
        callback=_backend,
        help="moto: AWS in memory. memory: everything in one process, on a virtual clock "
        "(dev only). URL: an endpoint that speaks AWS's protocols; missing tables and queues "
        "are made there.",
    ),
]
TickSecondsOption = Annotated[
    float,
    typer.Option(
        envvar="HOURHAND_TICK_SECONDS",
        metavar="N",
        min=0.5,
        help="How often the scheduler ticks; deployed, once a minute.",
    ),
]
WorkersOption = Annotated[
    int,
    typer.Option(
        envvar="HOURHAND_WORKERS",
        metavar="N",
        min=1,
        max=64,
        help="How many worker processes; each runs one batch at a time.",
    ),
]
BatchSizeOption = Annotated[
    int,
    typer.Option(
        envvar="HOURHAND_BATCH_SIZE",
        metavar="N",
        min=1,
        max=10,
        help="Messages to one invocation of a worker; they run side by side.",
    ),
]
SpeedOption = Annotated[
    float,
    typer.Option(
        envvar="HOURHAND_SPEED",
        metavar="N",
        min=0.1,
        max=3600,
        help="With --backend memory: how many seconds pass in each real one.",
    ),
]
JobsOption = Annotated[
    int,
    typer.Option(
        envvar="HOURHAND_DEMO_JOBS", metavar="N", min=60, max=500, help="How many jobs to run."
    ),
]
QuietOption = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Show warnings, deaths and what user code prints alone."),
]
VerboseOption = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Show every request, log line, tick and metric, too."),
]
