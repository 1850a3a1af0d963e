"""How requests authenticate: not at all, with a bearer token, or with an AWS signature."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from hourhand.client._values import NotConfigured

if TYPE_CHECKING:
    from boto3.session import Session as AwsSession

SERVICE = "execute-api"

_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")
"""What a bearer token consists of (RFC 6750, section 2.1)."""

Token = str | Callable[[], str]
"""A JWT, or what returns one that holds now."""


class Authorise(Protocol):
    """Adds the headers that authenticate a request."""

    @property
    def may_block(self) -> bool:
        """Whether it may have to call other services first."""

    def headers(self, method: str, url: str, body: bytes | None) -> Mapping[str, str]:
        """Return the headers for a request with these final bytes; raise `NotConfigured`."""


@dataclass(frozen=True, slots=True)
class NoAuth:
    """No authentication, as for the local server."""

    may_block: bool = False

    def headers(self, method: str, url: str, body: bytes | None) -> Mapping[str, str]:  # noqa: ARG002 - as the protocol has it
        """Return none."""
        return {}


@dataclass(frozen=True, slots=True)
class Bearer:
    """Sends a bearer token."""

    token: Token = field(repr=False)
    may_block: bool = False

    def headers(self, method: str, url: str, body: bytes | None) -> Mapping[str, str]:  # noqa: ARG002 - as the protocol has it
        """Return the header with the token."""
        token: object = self.token() if callable(self.token) else self.token
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            # The error does not quote the value: it may be a secret with a typing error.
            raise NotConfigured(
                "The token must be a JWT: only letters, digits and - . _ ~ + / = are allowed."
            )
        return {"authorization": f"Bearer {token}"}


class Signature:
    """Signs by Signature Version 4 with the caller's own credentials; safe for threads."""

    may_block = True

    def __init__(
        self,
        host: str,
        *,
        region: str | None,
        profile: str | None,
        session: AwsSession | None = None,
    ) -> None:
        """Find credentials as AWS's own tools do; raise `NotConfigured` if there are none.

        The Region is ``region``, else that in the name of the host, else the profile's. A
        ``session`` is asked for both instead of one of ``profile``.
        """
        # Imported here: it takes a third of a second, and only a client that signs needs it.
        try:
            from boto3.session import Session  # noqa: PLC0415
            from botocore.exceptions import BotoCoreError  # noqa: PLC0415
        except ImportError as error:
            raise NotConfigured(
                "Signing requests with credentials of AWS needs boto3: pip install boto3. A client "
                "with a token does not need it."
            ) from error

        try:
            asked = session or Session(profile_name=profile)
            credentials = asked.get_credentials()
        except BotoCoreError as error:
            raise NotConfigured(f"The AWS credentials cannot be read: {error}.") from error
        if credentials is None:
            raise NotConfigured(
                "There are no AWS credentials to sign with: log in (aws sso login), name a "
                "profile, or give a token."
            )
        found = region or region_of(host) or asked.region_name
        if found is None:
            raise NotConfigured(
                f"The AWS Region of {host} is unknown: give region, or set AWS_REGION."
            )
        self._credentials = credentials
        self._region = found

    def headers(self, method: str, url: str, body: bytes | None) -> Mapping[str, str]:
        """Return the headers that sign a request; credentials that run out are renewed."""
        from botocore.auth import SigV4Auth  # noqa: PLC0415 - as above
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415
        from botocore.exceptions import BotoCoreError  # noqa: PLC0415

        request: Any = AWSRequest(method, url, data=body)
        try:
            frozen = self._credentials.get_frozen_credentials()
            SigV4Auth(frozen, SERVICE, self._region).add_auth(request)
        except BotoCoreError as error:
            raise NotConfigured(f"The AWS credentials cannot be read: {error}.") from error
        return {name.lower(): value for name, value in request.headers.items()}


def region_of(host: str) -> str | None:
    """Return the Region that API Gateway's own name of an API tells, if ``host`` is one."""
    match = re.fullmatch(r"[a-z0-9-]+\.execute-api\.([a-z0-9-]+)\.amazonaws\.com(\.cn)?", host)
    return match[1] if match else None
