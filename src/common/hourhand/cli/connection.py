"""Which API is asked, as whom: the flags that every verb shares which asks one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from hourhand import Client

PANEL = "Connection"
DEFAULT_SECONDS = 30.0

EndpointOption = Annotated[
    str | None,
    typer.Option(
        "--endpoint",
        envvar="HOURHAND_ENDPOINT",
        metavar="URL",
        help="Where the API is; without it, http://127.0.0.1:8787, which `hourhand dev` serves.",
        rich_help_panel=PANEL,
    ),
]
TokenOption = Annotated[
    str | None,
    typer.Option(
        "--token",
        envvar="HOURHAND_TOKEN",
        metavar="JWT",
        help="A token to send. In the environment it is not seen in the list of processes.",
        rich_help_panel=PANEL,
    ),
]
AuthOption = Annotated[
    Literal["none", "iam", "jwt"] | None,
    typer.Option(
        "--auth",
        envvar="HOURHAND_AUTH",
        help="How to say who asks. Without it: jwt with a token, iam for an API of AWS's, and "
        "none on this machine.",
        rich_help_panel=PANEL,
    ),
]
RegionOption = Annotated[
    str | None,
    typer.Option(
        "--region",
        envvar=["HOURHAND_REGION", "AWS_REGION", "AWS_DEFAULT_REGION"],
        metavar="REGION",
        help="The Region to sign for; without it, that of the endpoint's name.",
        rich_help_panel=PANEL,
    ),
]
ProfileOption = Annotated[
    str | None,
    typer.Option(
        "--profile",
        envvar=["HOURHAND_PROFILE", "AWS_PROFILE"],
        metavar="NAME",
        help="The profile of AWS's configuration whose credentials sign the requests.",
        rich_help_panel=PANEL,
    ),
]
RequestTimeoutOption = Annotated[
    float,
    typer.Option(
        "--request-timeout",
        envvar="HOURHAND_REQUEST_TIMEOUT",
        metavar="SECONDS",
        min=0.1,
        help="How long one request may take; for the batches of `jobs submit --file`, 300 where "
        "this is not changed.",
        rich_help_panel=PANEL,
    ),
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Connection:
    """Which API is asked, as whom; ``None`` leaves it to the client's own rules."""

    endpoint: str | None = None
    token: str | None = None
    auth: Literal["none", "iam", "jwt"] | None = None
    region: str | None = None
    profile: str | None = None
    request_timeout: float = DEFAULT_SECONDS

    def open(self) -> Client:
        """Return a client, which the caller closes. Raises the client's errors."""
        from hourhand.client import Client

        return Client(
            self.endpoint,
            token=self.token,
            auth=self.auth,
            region=self.region,
            profile=self.profile,
            timeout_seconds=self.request_timeout,
        )
