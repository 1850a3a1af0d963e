"""Which API a command calls, and with which credentials."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hourhand.cli.options import CONNECTION, ProfileOption, RegionOption

if TYPE_CHECKING:
    from hourhand import Client

DEFAULT_SECONDS = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Connection:
    """The flags of every command that calls the API; the client decides what ``None`` means."""

    endpoint: Annotated[
        str | None,
        typer.Option(
            envvar="HOURHAND_ENDPOINT",
            metavar="URL",
            help="URL of the API. Default: http://127.0.0.1:8787, which `hourhand dev` serves.",
            rich_help_panel=CONNECTION,
        ),
    ] = None
    token: Annotated[
        str | None,
        typer.Option(
            envvar="HOURHAND_TOKEN",
            metavar="JWT",
            help="Token to send. Prefer the environment, which the process list does not show.",
            rich_help_panel=CONNECTION,
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
        typer.Option(
            envvar="HOURHAND_REQUEST_TIMEOUT",
            metavar="SECONDS",
            min=0.1,
            help="Time limit of one request. `jobs submit --file` uses 300 unless you change it.",
            rich_help_panel=CONNECTION,
        ),
    ] = DEFAULT_SECONDS

    def open(self) -> Client:
        """Return a client, which the caller closes. Raises the client's errors."""
        from hourhand.client import Client

        options = asdict(self)
        seconds = options.pop("request_timeout")
        return Client(options.pop("endpoint"), timeout_seconds=seconds, **options)
