"""Why AWS cannot be asked anything at all, as one sentence that says what to type."""

from __future__ import annotations

from dataclasses import dataclass

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,  # noqa: A004 (botocore's own, and it is what we mean)
    CredentialRetrievalError,
    HTTPClientError,
    NoCredentialsError,
    NoRegionError,
    PartialCredentialsError,
    ProfileNotFound,
    SSOError,
    TokenRetrievalError,
)

from hourhand.aws.failures import error_code
from hourhand.cli.exits import NOT_ALLOWED, UNREACHABLE, WRONG_USAGE

_RENEW = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "MissingAuthenticationToken",
        "RequestExpired",
        "UnrecognizedClientException",
    }
)


@dataclass(frozen=True, slots=True)
class NoAccess:
    """The sentence to print, and the exit code to end with."""

    sentence: str
    exit_code: int


def no_access(error: Exception | None, profile: str | None) -> NoAccess | None:
    """Return why no call of AWS can succeed; ``None``: another call might."""
    of_profile = f" --profile {profile}" if profile else ""
    login = f"type `aws sso login{of_profile}` or `aws configure{of_profile}`"
    other = "give another --profile" if profile else "give --profile NAME"
    match error:
        case ProfileNotFound():
            return NoAccess(
                f"The AWS configuration has no profile {profile}: type `aws configure "
                "list-profiles`, and give one of them with --profile.",
                WRONG_USAGE,
            )
        case NoCredentialsError() | PartialCredentialsError():
            whose = f"The profile {profile} has" if profile else "This terminal has"
            return NoAccess(f"{whose} no AWS credentials: {login}, or {other}.", NOT_ALLOWED)
        case CredentialRetrievalError() | SSOError() | TokenRetrievalError():
            reason = str(error).rstrip(".")
            return NoAccess(
                f"The AWS credentials cannot be used ({reason}): {login}, or {other}.", NOT_ALLOWED
            )
        case ClientError() if error_code(error) in _RENEW:
            return NoAccess(
                f"AWS does not accept the credentials ({error_code(error)}): {login}, or {other}.",
                NOT_ALLOWED,
            )
        case NoRegionError():
            return NoAccess(
                "The AWS Region is unknown: give --region, or type `aws configure set region "
                f"eu-central-1{of_profile}` with your Region.",
                WRONG_USAGE,
            )
        case HTTPClientError() | ConnectionError():
            host = _host_of(error)
            return NoAccess(
                f"AWS does not answer{host}: check the network and its proxy, and type the same "
                "command again.",
                UNREACHABLE,
            )
    return None


def _host_of(error: BotoCoreError) -> str:
    url = str(error.kwargs.get("endpoint_url", ""))
    return f" at {url}" if url else ""
