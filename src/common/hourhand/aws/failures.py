"""The one place that reads AWS's errors: a lost race becomes a value, the rest one sentence.

Whatever may pass (throttling, a server error, a timeout, an answer that was damaged on its way,
credentials that ran out, a table that is not there yet) is raised as `Unavailable` with which
call failed on what, and what to do. An item that is too large is raised as `TooLarge`. Any other
answer is a mistake in our own request: it is left as botocore raised it, since it says best what
was wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from botocore.exceptions import (
    BotoCoreError,
    ChecksumError,
    ClientError,
    ConnectionError,  # noqa: A004 (botocore's own, and it is what we mean)
    CredentialRetrievalError,
    FlexibleChecksumError,
    HTTPClientError,
    IncompleteReadError,
    NoCredentialsError,
    NoRegionError,
    PartialCredentialsError,
    SSOError,
    TokenRetrievalError,
    WaiterError,
)

from hourhand.domain.errors import HourhandError, TooLarge, Unavailable

T = TypeVar("T")

CONDITION_FAILED = "ConditionalCheckFailedException"

THROTTLES = frozenset(
    {
        "BandwidthLimitExceeded",
        "LimitExceededException",
        "OverLimit",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    },
)
_CREDENTIALS = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignature",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "MissingAuthenticationToken",
        "RequestExpired",
        "RequestTimeTooSkewed",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    },
)
_DENIED = frozenset({"AccessDenied", "AccessDeniedException"})
_MISSING = frozenset(
    {
        "AWS.SimpleQueueService.NonExistentQueue",
        "NoSuchBucket",
        "QueueDoesNotExist",
        "ResourceNotFoundException",
    },
)
_KMS = "kms"
"""How the code of an error begins that a service has from KMS, in small letters: SQS says
``KmsDisabled`` or ``KMS.DisabledException``, Lambda ``KMSDisabledException``, CloudWatch
``KmsKeyDisabledException``, S3 ``KMS.DisabledException``."""

_KMS_PASSES = ("internal", "unavailable", "timeout")
_SERVER_ERROR = 500
_NO_CREDENTIALS = (
    CredentialRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
    SSOError,
    TokenRetrievalError,
)


CHECKSUM = "x-amz-crc32"
"""The header with the CRC-32 of the body of DynamoDB's answers."""


class UnreadableAnswer(BotoCoreError):
    """What arrived is no answer in AWS's protocol; ``operation`` and ``reason`` say of which."""

    fmt = "The answer to {operation} cannot be read: {reason}."


_UNREADABLE = (ChecksumError, FlexibleChecksumError, IncompleteReadError, UnreadableAnswer)
"""What arrived is not what AWS sent, which it sent the length or a checksum of."""


@dataclass(frozen=True, slots=True)
class ConditionRefused:
    """A conditional write was not applied. ``item``: what stood in its way, if AWS returned it."""

    item: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Expected:
    """AWS answered with an error that the caller expects, such as "no such key"."""

    code: str


@dataclass(frozen=True, slots=True)
class NotDone:
    """AWS did not do as asked, or did not answer; ``reason`` is a sentence."""

    reason: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call of AWS on one resource, such as ``UpdateItem`` on "table jobs", for its errors."""

    operation: str
    resource: str

    def __str__(self) -> str:
        return f"{self.operation} on {self.resource}"


def ask(call: Call, method: Callable[..., T], **arguments: Any) -> T:
    """Call AWS; raise `Unavailable` or `TooLarge` where it does not do as asked."""
    try:
        return method(**arguments)
    except (BotoCoreError, ClientError) as error:
        raise translated(error, call) from error


def ask_conditionally(
    call: Call, method: Callable[..., T], **arguments: Any
) -> T | ConditionRefused:
    """Call AWS for a conditional write; a condition that failed is a value."""
    try:
        return method(**arguments)
    except ClientError as error:
        if error_code(error) == CONDITION_FAILED:
            answer: Mapping[str, Any] = error.response
            return ConditionRefused(answer.get("Item"))
        raise translated(error, call) from error
    except BotoCoreError as error:
        raise translated(error, call) from error


def ask_expecting(
    expected: Collection[str], call: Call, method: Callable[..., T], **arguments: Any
) -> T | Expected:
    """Call AWS; one of the ``expected`` error codes is a value."""
    try:
        return method(**arguments)
    except ClientError as error:
        code = error_code(error)
        if code in expected:
            return Expected(code)
        raise translated(error, call) from error
    except BotoCoreError as error:
        raise translated(error, call) from error


def ask_or_reason(call: Call, method: Callable[..., T], **arguments: Any) -> T | NotDone:
    """Call AWS; every error is a value: for one of many that must not stop the others."""
    try:
        return method(**arguments)
    except (BotoCoreError, ClientError) as error:
        return not_done(call, error)


def not_done(call: Call, error: BotoCoreError | ClientError) -> NotDone:
    """Return ``error`` as a value."""
    return NotDone(str(translated(error, call)))


def settled(call: Call, answer: T | BotoCoreError | ClientError) -> T:
    """Return the answer to one of many calls; raise as `ask` does where there is none."""
    if isinstance(answer, BotoCoreError | ClientError):
        raise translated(answer, call) from answer
    return answer


def required(call: Call, answer: Mapping[str, Any], name: str) -> Any:
    """Return what ``answer`` has under ``name``; raise `Unavailable` if it is missing.

    botocore takes a body that it cannot read for an empty answer.
    """
    if name not in answer:
        raise Unavailable(
            f"{call} was answered without {name}: it may have been done or not; try again in a "
            "moment."
        )
    return answer[name]


def error_code(error: ClientError) -> str:
    """Return the code of AWS's error, such as ``ThrottlingException``."""
    return str(error.response.get("Error", {}).get("Code", ""))


def is_throttle(code: str) -> bool:
    """Whether AWS's ``code`` says that there were too many requests, also KMS's for a service."""
    return code in THROTTLES or (_is_of_kms(code) and "throttl" in code.lower())


def translated(error: BotoCoreError | ClientError, call: Call) -> Exception:
    """Return what to raise instead of ``error``: itself, where it is a mistake of ours."""
    if isinstance(error, ClientError):
        known, code = _of_answer(error, call), error_code(error)
        # botocore takes the status for the code of an error whose body it cannot read.
        if known is None and (code.isdigit() or not code):
            return _unreadable(call, f"({code})")
        return known or error
    return _of_no_answer(error, call) or error


def _of_answer(error: ClientError, call: Call) -> HourhandError | None:
    code = error_code(error)
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    said = f"({code})"
    if is_throttle(code):
        return Unavailable(f"{call} was throttled {said}: try again in a moment.")
    if code in _CREDENTIALS:
        return Unavailable(
            f"{call} was refused {said}: the AWS credentials are invalid or expired, or this "
            "machine's clock is wrong; renew them and try again."
        )
    # S3 and DynamoDB say which action was denied: one of KMS is the key's, not the call's own.
    is_denied_by_key = code in _DENIED and f"{_KMS}:" in str(error)
    if _is_of_kms(code) or is_denied_by_key:
        return _of_key(code, call)
    if code in _DENIED:
        return Unavailable(
            f"{call} was denied {said}: allow it in the policy of the role that calls."
        )
    if code in _MISSING:
        return Unavailable(
            f"{call} found nothing there {said}: create it, or correct the name in the settings."
        )
    if code == "ValidationException" and "Item size" in str(error):
        return TooLarge(f"{call} was refused: the item is larger than DynamoDB accepts.")
    if status >= _SERVER_ERROR or code in {"500", "503", "InternalError", "InternalServerError"}:
        return Unavailable(f"{call} failed within AWS {said}: try again in a moment.")
    return None


def _is_of_kms(code: str) -> bool:
    return code.lower().startswith(_KMS)


def _of_key(code: str, call: Call) -> HourhandError:
    """Return what to raise where the key that encrypts a table, queue or bucket was not to be had.

    It is no mistake of ours, and passes once the key is in order again: no job is lost.
    """
    if any(word in code.lower() for word in _KMS_PASSES):
        return Unavailable(f"{call} failed within AWS KMS ({code}): try again in a moment.")
    return Unavailable(
        f"{call} was refused by the key that encrypts it ({code}): enable the key, or cancel its "
        "deletion, and allow kms:Decrypt and kms:GenerateDataKey in the key's policy and in that "
        'of the role that calls; see "Refused by the key" in the runbook.'
    )


def _of_no_answer(error: BotoCoreError, call: Call) -> HourhandError | None:
    said = f"({type(error).__name__})"
    if isinstance(error, _NO_CREDENTIALS):
        return Unavailable(f"{call} could not be signed {said}: give this process AWS credentials.")
    if isinstance(error, NoRegionError):
        return Unavailable(f"{call} has no AWS Region {said}: set AWS_REGION.")
    if isinstance(error, HTTPClientError | ConnectionError):
        return Unavailable(
            f"{call} had no answer {said}: it may have been done or not; check that the endpoint "
            "can be reached, and try again."
        )
    if isinstance(error, _UNREADABLE):
        return _unreadable(call, said)
    if isinstance(error, WaiterError):
        return Unavailable(f"{call} shows no change yet {said}: try again in a moment.")
    return None


def _unreadable(call: Call, said: str) -> HourhandError:
    return Unavailable(
        f"{call} was answered in a way that cannot be read {said}: it may have been done or not; "
        "try again in a moment."
    )
