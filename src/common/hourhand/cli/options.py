"""The flags that several commands share. Each can also be set in the environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer

from hourhand.cli.completing import context_names, job_ids
from hourhand.cli.reading import read_duration, read_time, read_whole_duration

MEMORY, MOTO = "memory", "moto"
CONNECTION, OUTPUT = "Connection", "Output"
DEFAULT_LIMIT = 50
DEFAULT_LOG_LINES = 1_000
DEFAULT_EVERY_SECONDS = 2.0

SEVERAL = "Can be repeated. In the environment, separate the values by a semicolon"
"""A blank cannot separate them: an expression contains several."""


def argument(metavar: str, help: str, values: Callable[..., list[str]] | None = None) -> Any:  # noqa: A002 (Typer's name)
    """Return an argument that shows no default; the shell completes its ``values``, if any."""
    return typer.Argument(metavar=metavar, help=help, show_default=False, autocompletion=values)


def option(metavar: str, help: str, panel: str | None = None, **settings: Any) -> Any:  # noqa: A002 (Typer's name)
    """Return an option that has a value, which the help calls ``metavar``, in its ``panel``."""
    return typer.Option(metavar=metavar, help=help, rich_help_panel=panel, **settings)


def duration_option(help: str, panel: str | None = None) -> Any:  # noqa: A002 (Typer's name)
    """Return an option whose value is a duration."""
    return option("DURATION", help, panel, parser=read_duration)


def whole_duration_option(help: str, panel: str | None = None) -> Any:  # noqa: A002 (Typer's name)
    """Return an option whose value is a duration in whole seconds."""
    return option("DURATION", help, panel, parser=read_whole_duration)


def time_option(help: str, panel: str | None = None) -> Any:  # noqa: A002 (Typer's name)
    """Return an option whose value is a time."""
    return option("TIME", help, panel, parser=read_time)


def listed(
    context: typer.Context, parameter: typer.CallbackParam, value: list[str] | None
) -> list[str] | None:
    """Return the values of a flag that can be repeated; split those of the environment at ``;``."""
    source = context.get_parameter_source(parameter.name or "")
    if not value or source is None or source.name != "ENVIRONMENT":
        return value
    # Typer has split the text at blanks.
    return [part.strip() for part in " ".join(value).split(";") if part.strip()]


def _backend(value: str) -> str:
    if value in {MEMORY, MOTO} or value.startswith(("http://", "https://")):
        return value
    raise typer.BadParameter(f"must be memory, moto or the URL of an endpoint, not {value!r}")


HandlersOption = Annotated[
    str | None,
    option(
        "MODULE",
        "Module that registers the handlers, on PYTHONPATH or in the current folder. Default: "
        "handlers of the table tool.hourhand in its pyproject.toml. "
        "Example: examples.quickstart.",
        envvar="HOURHAND_HANDLERS",
    ),
]
OrderOption = Annotated[
    Literal["oldest", "newest"], typer.Option(help="Which ones come first: oldest or newest.")
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
        help="Port of the API on 127.0.0.1. 0 takes a free port.",
    ),
]
BackendOption = Annotated[
    str,
    option(
        "memory|moto|URL",
        "What stands in for AWS. memory: Hourhand's own stores and queues. Handlers cannot "
        "call AWS. moto: a simulation of AWS, for handlers that call DynamoDB, S3 or SQS, and for "
        "up to a few thousand jobs. URL: an emulator's endpoint; missing tables and queues are "
        "created there.",
        envvar="HOURHAND_BACKEND",
        callback=_backend,
    ),
]
TickSecondsOption = Annotated[
    float,
    option(
        "N",
        "Seconds between two ticks of the scheduler. In a deployment: 60.",
        envvar="HOURHAND_TICK_SECONDS",
        min=0.5,
    ),
]
WorkersOption = Annotated[
    int,
    option(
        "N",
        "Number of worker processes. Each runs one batch at a time.",
        envvar="HOURHAND_WORKERS",
        min=1,
        max=64,
    ),
]
BatchSizeOption = Annotated[
    int,
    option(
        "N",
        "Messages per worker invocation. The jobs of a batch run in parallel.",
        envvar="HOURHAND_BATCH_SIZE",
        min=1,
        max=10,
    ),
]
SpeedOption = Annotated[
    float,
    option(
        "N",
        "With --backend memory: simulated seconds per real second.",
        envvar="HOURHAND_SPEED",
        min=0.1,
        max=3600,
    ),
]
QuickOption = Annotated[
    bool,
    typer.Option("--quick", help="Run only 60 jobs, in about 30 seconds."),
]
QuietOption = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Show only warnings, crashes and output of handlers."),
]
VerboseOption = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Also show every request, log line, tick and metric."),
]
ContextOption = Annotated[
    str | None,
    typer.Option(
        "--context",
        envvar="HOURHAND_CONTEXT",
        metavar="NAME",
        help="Context to act in, see `hourhand context`. It sets the options of this group that "
        "are not given. Default: the context in use.",
        rich_help_panel=CONNECTION,
        autocompletion=context_names,
    ),
]
StackOption = Annotated[
    str | None,
    option(
        "NAME",
        "CloudFormation stack of the deployment. Default: that of the context, else hourhand-dev.",
        envvar="HOURHAND_STACK",
    ),
]
RegionOption = Annotated[
    str | None,
    option(
        "REGION",
        "AWS Region. Default: that of the context, of the API's URL, or of the profile.",
        CONNECTION,
        envvar=["HOURHAND_REGION", "AWS_REGION", "AWS_DEFAULT_REGION"],
    ),
]
ProfileOption = Annotated[
    str | None,
    option(
        "NAME",
        "Profile of the AWS configuration that has the credentials.",
        CONNECTION,
        envvar=["HOURHAND_PROFILE", "AWS_PROFILE"],
    ),
]
EndpointOption = Annotated[
    str | None,
    typer.Option(
        "--endpoint-url",
        envvar="AWS_ENDPOINT_URL",
        metavar="URL",
        help="URL of an emulator to use instead of AWS.",
        rich_help_panel=CONNECTION,
    ),
]
JsonOption = Annotated[
    bool,
    typer.Option(
        "--json",
        envvar="HOURHAND_JSON",
        help="Short for --output json.",
        rich_help_panel=OUTPUT,
    ),
]
LimitOption = Annotated[
    int, typer.Option("--limit", "-n", metavar="N", min=1, help="Maximum number of rows.")
]
AllOption = Annotated[bool, typer.Option("--all", help="List all, however many there are.")]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rows:
    """The flags that say how much of a list is printed."""

    limit: LimitOption = DEFAULT_LIMIT
    all: AllOption = False

    @property
    def most(self) -> int | None:
        """The number of rows to print; ``None``: all."""
        return None if self.all else self.limit


WatchOption = Annotated[bool, typer.Option("--watch", "-w", help="Update the output until Ctrl-C.")]
FollowOption = Annotated[
    bool, typer.Option("--watch", "-w", help="Follow the job until it ends, like `jobs watch`.")
]
EveryOption = Annotated[
    float,
    typer.Option(
        "--every", metavar="SECONDS", min=0.2, help="With --watch: time between two updates."
    ),
]
WebOption = Annotated[
    bool,
    typer.Option(
        "--web",
        help="Open the web console at this page instead. For an API on AWS, the command serves the "
        "console until Ctrl-C.",
    ),
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
JobId = Annotated[str, argument("ID", "ID of the job.", job_ids)]
JobIdOrNone = Annotated[str | None, argument("ID", "ID of the job.", job_ids)]
JobIds = Annotated[list[str] | None, argument("ID", "IDs of the jobs.", job_ids)]
