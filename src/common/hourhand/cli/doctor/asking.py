"""Calls AWS with the identity that runs ``hourhand doctor``, for a bounded time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar
from urllib.parse import urlsplit

import botocore.session
from boto3.session import Session
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.httpsession import URLLib3Session

from hourhand.aws.clients import CONNECT_TIMEOUT_SECONDS, client_config
from hourhand.aws.failures import Call, error_code, translated
from hourhand.cli.connection import DeploymentFlags
from hourhand.cli.doctor.access import NoAccess, no_access
from hourhand.cli.doctor.findings import NotSeen, Status
from hourhand.client import NotConfigured, Signature
from hourhand.domain.errors import HourhandError
from hourhand.domain.ticks.clock_skew import TimeSample
from hourhand.ports.clock import Clock

TRIES = 2
API_READ_SECONDS = 10
"""The API's first answer may have to wait for a cold start."""

LOOKING_SECONDS = 14
"""After it, no new call begins: with the calls under way by then, all ends within 30 s. Drift
detection has a bound of its own, `hourhand.cli.doctor.drift.DETECTION_SECONDS`."""

_DENIED = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "AuthorizationError",
        "KMS.AccessDeniedException",
        "UnauthorizedOperation",
    }
)
_NOT_KNOWN = frozenset(
    {"InvalidAction", "NotImplemented", "UnknownOperation", "UnknownOperationException"}
)
_MISSING = frozenset(
    {
        "AWS.SimpleQueueService.NonExistentQueue",
        "QueueDoesNotExist",
        "ResourceNotFoundException",
    }
)
_OURS = (HourhandError, NotConfigured)
"""Errors whose detail is a sentence already; their cause is AWS's error."""

_DATE_RESOLUTION = timedelta(seconds=1)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """What the deployed API answered."""

    status: int
    body: str


@dataclass(slots=True)
class Aws:
    """AWS as one identity sees it, for a limited number of ``seconds``; safe for threads.

    ``endpoint``: of an emulator, instead of AWS's own. ``trust``: a file of certificates to check
    the API's against, instead of the usual ones. ``time_samples``: AWS's time by every
    answer to `ask` so far, to a second.
    """

    session: Session
    clock: Clock
    endpoint: str | None = None
    trust: str | None = None
    seconds: float = LOOKING_SECONDS
    profile: str | None = None
    time_samples: list[TimeSample] = field(default_factory=list)
    _clients: dict[str, Any] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _ends_at: float = field(init=False)

    def __post_init__(self) -> None:
        """Start the time that is given."""
        self._ends_at = self.clock.monotonic() + self.seconds

    def ask(
        self,
        service: str,
        operation: str,
        resource: str,
        *,
        expected: Collection[str] = (),
        **arguments: Any,
    ) -> Mapping[str, Any]:
        """Call ``operation`` (such as ``DescribeTable``); raise `NotSeen` without an answer.

        An error with one of the ``expected`` codes is answered as if nothing were there.
        """

        def call(client: Any) -> Mapping[str, Any]:
            methods = {api: method for method, api in client.meta.method_to_api_mapping.items()}
            sent_at = self.clock.now()
            try:
                answer: Mapping[str, Any] = getattr(client, methods[operation])(**arguments)
            except ClientError as error:
                self._note_time(sent_at, error.response)
                if error_code(error) in expected:
                    return {}
                raise
            self._note_time(sent_at, answer)
            return answer

        return self.look(service, operation, resource, call)

    def look(self, service: str, operation: str, resource: str, look: Callable[[Any], T]) -> T:
        """Return what ``look`` reads by a client of ``service``; raise `NotSeen` if it cannot."""
        self._must_have_time()
        try:
            return look(self._client(service))
        except (BotoCoreError, ClientError, HourhandError) as error:
            call = Call(operation, resource)
            raise not_seen(error, service, call, profile=self.profile) from error

    def get_from_api(self, url: str, path: str) -> ApiAnswer:
        """Get ``path`` of the API at ``url``, signed; raise `NotSeen` without an answer.

        An emulator serves it at its own address; the host's name says which API is meant.
        """
        self._must_have_time()
        host = urlsplit(url).netloc
        if self.endpoint is not None:
            host = f"{host.partition('.')[0]}.execute-api.{urlsplit(self.endpoint).netloc}"
            url = self.endpoint
        url = url.rstrip("/") + path
        try:
            signature = Signature(host, region=None, profile=None, session=self.session)
            signed = signature.headers("GET", urlsplit(url)._replace(netloc=host).geturl(), None)
            request = AWSRequest("GET", url, headers={**signed, "host": host})
            timeouts: Any = (CONNECT_TIMEOUT_SECONDS, API_READ_SECONDS)
            # botocore's stubs know of no file here; the class takes one.
            verify: Any = self.trust or True
            http = URLLib3Session(verify=verify, timeout=timeouts)
            answer = http.send(request.prepare())
        except (BotoCoreError, NotConfigured) as error:
            raise not_seen(error, "execute-api", Call(f"GET {path}", "the API")) from error
        return ApiAnswer(answer.status_code, answer.text)

    def _client(self, service: str) -> Any:
        with self._lock:
            if service not in self._clients:
                session: Any = self.session
                config = client_config().merge(
                    Config(retries={"mode": "standard", "total_max_attempts": TRIES})
                )
                self._clients[service] = session.client(
                    service, config=config, endpoint_url=self.endpoint
                )
            return self._clients[service]

    def _must_have_time(self) -> None:
        if self.clock.monotonic() >= self._ends_at:
            raise NotSeen(
                Status.UNKNOWN,
                f"not checked: AWS did not answer all calls within {self.seconds:g} s",
                "Fix the failures above first, or run the command again from a network with "
                "faster access to AWS.",
            )

    def _note_time(self, sent_at: datetime, answer: Mapping[str, Any]) -> None:
        headers = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {})
        if "date" in headers:
            earliest = parsedate_to_datetime(headers["date"])
            sample = TimeSample(sent_at, self.clock.now(), earliest, earliest + _DATE_RESOLUTION)
            self.time_samples.append(sample)


def open_aws(flags: DeploymentFlags, clock: Clock, *, seconds: float = LOOKING_SECONDS) -> Aws:
    """Return AWS as this identity sees it. Raises `CommandError` for an unknown profile."""
    try:
        core = botocore.session.Session(profile=flags.profile)
        session = Session(botocore_session=core, region_name=flags.region)
        # AWS_CA_BUNDLE, or ca_bundle in the configuration, as the clients take it.
        trust = core.get_config_variable("ca_bundle")
    except BotoCoreError as error:
        call = Call("GetCallerIdentity", "these credentials")
        raise not_seen(error, "sts", call, profile=flags.profile).as_error() from error
    return Aws(session, clock, flags.endpoint_url, trust, seconds, flags.profile)


def not_seen(error: Exception, service: str, call: Call, *, profile: str | None = None) -> NotSeen:
    """Return as a sentence why ``call`` did not show anything, and what to do."""
    cause = error.__cause__ if isinstance(error, _OURS) else error
    access = no_access(cause if isinstance(cause, Exception) else None, profile)
    if isinstance(cause, ClientError):
        return _not_answered_well(cause, service, call, access)
    if isinstance(cause, BotoCoreError):
        error = translated(cause, call)
    return _told(error, call, access)


def _not_answered_well(
    error: ClientError, service: str, call: Call, access: NoAccess | None
) -> NotSeen:
    code = error_code(error)
    if code in _DENIED:
        action = f"{service}:{call.operation}"
        return NotSeen(
            Status.FAILED,
            f"could not be checked: your identity lacks {action}",
            f"Allow the identity {action} on {call.resource}, or use another identity.",
            is_denied=True,
        )
    if code in _NOT_KNOWN:
        return NotSeen(
            Status.SKIPPED,
            f"not available here: this endpoint has no {call.operation} ({code})",
            "No fix is needed on an emulator: AWS has this operation.",
        )
    if code in _MISSING:
        return NotSeen(
            Status.FAILED,
            f"there is no {call.resource} ({code})",
            "If it was deleted by hand, an ordinary deployment does not create it again: see the "
            "drift of the stack.",
        )
    return _told(translated(error, call), call, access)


def _told(error: Exception, call: Call, access: NoAccess | None) -> NotSeen:
    if isinstance(error, _OURS):
        seen, _, fix = error.detail.partition(": ")
        fix = fix[:1].upper() + fix[1:]
        fix = fix or "Try again in a moment."
        return NotSeen(Status.FAILED, seen, fix, no_access=access)
    return NotSeen(
        Status.FAILED,
        f"{call} was refused: {error}",
        "Compare the versions of hourhand here and in the deployment. If they are equal, "
        "report this as a bug.",
        no_access=access,
    )
