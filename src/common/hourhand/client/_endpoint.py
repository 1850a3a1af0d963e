"""Where the API is, and how it is asked there: read from arguments and the environment."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args
from urllib.parse import urlsplit

from hourhand.client._authorisation import Authorise, Bearer, NoAuth, Signature, Token
from hourhand.client._values import NotConfigured

LOCAL_ENDPOINT = "http://127.0.0.1:8787"
"""Where ``hourhand dev`` serves."""

ENDPOINT_VARIABLE = "HOURHAND_ENDPOINT"
TOKEN_VARIABLE = "HOURHAND_TOKEN"  # noqa: S105 - its name, no token

Auth = Literal["none", "iam", "jwt"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """Where the API is. ``url`` is all that comes before ``/v1``; ``host`` is without the port."""

    url: str
    host: str
    is_secure: bool
    is_loopback: bool


def find_endpoint(given: str | None, environ: Mapping[str, str] = os.environ) -> Endpoint:
    """Return the endpoint that is given, else the environment's, else the local one.

    Raises `NotConfigured` if it is not the URL of an API.
    """
    text = (given or environ.get(ENDPOINT_VARIABLE, "").strip() or LOCAL_ENDPOINT).rstrip("/")
    text = text.removesuffix("/v1")
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError as error:
        raise NotConfigured(f"The endpoint {text!r} is not a URL: {error}.") from error
    is_plain = not (parts.query or parts.fragment or parts.username or parts.password)
    if parts.scheme not in {"http", "https"} or not parts.hostname or not is_plain:
        raise NotConfigured(
            f"The endpoint must be a URL such as {LOCAL_ENDPOINT} or https://api.example.com, "
            f"without user, query and fragment, not {text!r}."
        )
    return Endpoint(
        url=text,
        host=parts.hostname,
        is_secure=parts.scheme == "https",
        is_loopback=_is_loopback(parts.hostname),
    )


def find_authorisation(
    endpoint: Endpoint,
    *,
    auth: str | None,
    token: Token | None,
    region: str | None,
    profile: str | None,
    environ: Mapping[str, str] = os.environ,
) -> Authorise:
    """Return how requests authenticate: by ``auth``, or by what fits the other arguments.

    That is ``jwt`` where there is a token, ``none`` on loopback, else ``iam``. Raises
    `NotConfigured` for what does not go together, and where a secret would be sent in the clear.
    """
    if auth is not None and auth not in get_args(Auth):
        raise NotConfigured(f"auth must be none, iam or jwt, not {auth!r}.")
    shown = token or environ.get(TOKEN_VARIABLE, "").strip() or None
    chosen = auth or ("jwt" if shown else "none" if endpoint.is_loopback else "iam")
    if chosen == "none":
        return NoAuth()
    if not endpoint.is_secure and not endpoint.is_loopback:
        raise NotConfigured(
            f"{endpoint.url} is not encrypted: a {'token' if chosen == 'jwt' else 'signature'} "
            "is sent only over https://, or to this machine."
        )
    if chosen == "iam":
        return Signature(endpoint.host, region=region, profile=profile)
    if shown is None:
        raise NotConfigured(f"auth='jwt' needs a token: give one, or set {TOKEN_VARIABLE}.")
    return Bearer(shown)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
