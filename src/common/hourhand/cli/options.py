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
        help="moto: AWS in memory, for up to a few thousand jobs. memory: everything in one "
        "process, on a virtual clock, also for load (dev only). URL: an endpoint that speaks AWS's "
        "protocols; missing tables and queues are created there.",
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
QuickOption = Annotated[
    bool,
    typer.Option("--quick", help="Run only 60 jobs, in about 30 seconds."),
]
QuietOption = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Show warnings, deaths and what user code prints alone."),
]
VerboseOption = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Show every request, log line, tick and metric, too."),
]
StackOption = Annotated[
    str,
    typer.Option(
        envvar="HOURHAND_STACK",
        metavar="NAME",
        help="The CloudFormation stack of the deployment.",
    ),
]
RegionOption = Annotated[
    str | None,
    typer.Option(
        envvar=["HOURHAND_REGION", "AWS_REGION", "AWS_DEFAULT_REGION"],
        metavar="REGION",
        help="Where it is deployed; else the Region of the profile.",
    ),
]
ProfileOption = Annotated[
    str | None,
    typer.Option(
        envvar=["HOURHAND_PROFILE", "AWS_PROFILE"],
        metavar="NAME",
        help="The profile of AWS's configuration whose credentials are used.",
    ),
]
EndpointOption = Annotated[
    str | None,
    typer.Option(
        "--endpoint-url",
        envvar="AWS_ENDPOINT_URL",
        metavar="URL",
        help="An emulator to ask instead of AWS.",
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", envvar="HOURHAND_JSON", help="Print JSON, for programs.")
]
