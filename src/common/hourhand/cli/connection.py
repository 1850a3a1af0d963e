"""Which API or deployment a command works with, and with which credentials."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hourhand.cli.options import (
    CONNECTION,
    ContextOption,
    EndpointOption,
    ProfileOption,
    RegionOption,
    StackOption,
    option,
)

if TYPE_CHECKING:
    from hourhand import Client

DEFAULT_SECONDS = 30.0
DEFAULT_STACK = "hourhand-dev"


@dataclass(frozen=True, kw_only=True, slots=True)
class Connection:
    """The flags of every command that calls the API; the client decides what ``None`` means."""

    context: ContextOption = None
    endpoint: Annotated[
        str | None,
        option(
            "URL",
            "URL of the API. Default: that of the context, else http://127.0.0.1:8787, which "
            "`hourhand dev` serves.",
            CONNECTION,
            envvar="HOURHAND_ENDPOINT",
        ),
    ] = None
    token: Annotated[
        str | None,
        option(
            "JWT",
            "Token to send. Prefer the environment, which the process list does not show.",
            CONNECTION,
            envvar="HOURHAND_TOKEN",
        ),
    ] = None
    auth: Annotated[
        Literal["none", "iam", "jwt"] | None,
        typer.Option(
            envvar="HOURHAND_AUTH",
            help="How to authenticate: none, iam or jwt. Default: jwt if there is a token, iam for "
            "an API on AWS, none on this machine.",
            rich_help_panel=CONNECTION,
        ),
    ] = None
    region: RegionOption = None
    profile: ProfileOption = None
    request_timeout: Annotated[
        float,
        option(
            "SECONDS",
            "Time limit of one request. `jobs submit --file` uses 300 unless you change it.",
            CONNECTION,
            envvar="HOURHAND_REQUEST_TIMEOUT",
            min=0.1,
        ),
    ] = DEFAULT_SECONDS

    def open(self) -> Client:
        """Return a client, which the caller closes. Raises the client's errors."""
        from hourhand.client import Client

        options = asdict(self)
        options.pop("context")
        seconds = options.pop("request_timeout")
        return Client(options.pop("endpoint"), timeout_seconds=seconds, **options)


@dataclass(frozen=True, kw_only=True, slots=True)
class AwsFlags:
    """The flags of every command that calls AWS itself."""

    context: ContextOption = None
    region: RegionOption = None
    profile: ProfileOption = None


@dataclass(frozen=True, kw_only=True, slots=True)
class DeploymentFlags(AwsFlags):
    """The flags of every command that calls AWS about one deployment."""

    stack: StackOption = None
    endpoint_url: EndpointOption = None

    @property
    def stack_name(self) -> str:
        """The stack, if only by default."""
        return self.stack or DEFAULT_STACK
