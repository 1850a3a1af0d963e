"""The Python client of the HTTP API: `Client`, and `AsyncClient` for event loops.

    from hourhand import Client

    client = Client()
    job = client.submit("send-welcome", {"email": "ada@example.org"}, delay=60)
    print(client.wait(job.id).status)

It needs httpx: install Hourhand with its extra ``client``.
"""

try:
    import httpx as _httpx  # noqa: F401 - to say clearly what is missing
except ModuleNotFoundError as error:
    if error.name != "httpx":
        raise
    raise ModuleNotFoundError(
        "The client of Hourhand needs httpx, which is not installed. "
        "Install Hourhand with its extra [client].",
        name="httpx",
    ) from None

from hourhand.client._async_client import (
    AsyncCalendars,
    AsyncClient,
    AsyncSchedules,
    AsyncSubmitStream,
)
from hourhand.client._authorisation import Authorise, Bearer, NoAuth, Signature, Token
from hourhand.client._client import Calendars, Client, Schedules, SubmitStream
from hourhand.client._default import default_client, use
from hourhand.client._endpoint import Auth, Endpoint, find_authorisation, find_endpoint
from hourhand.client._errors import (
    ClientError,
    Conflict,
    FieldProblem,
    Invalid,
    NotConfigured,
    NotFound,
    NotSent,
    ServerFailed,
    Throttled,
    TooLarge,
    Unauthorised,
    UnexpectedAnswer,
    Unreachable,
    WaitTimedOut,
)
from hourhand.client._making import stand_in
from hourhand.client._operations._bulk import BulkFailure, BulkReport
from hourhand.client._operations._jobs import KEEP
from hourhand.client._operations._many import submitted_before
from hourhand.client._results import (
    Attempt,
    Event,
    Health,
    Job,
    JobFailure,
    JobSummary,
    LatenessStats,
    Lease,
    Progress,
    QueueStats,
    RegisteredHandler,
    Resweep,
    RetryPolicy,
    Stats,
)
from hourhand.client._schedule_results import (
    Backfill,
    BackfillReport,
    Calendar,
    Fire,
    Keep,
    Misfire,
    Occurrence,
    Preview,
    PreviewedFire,
    Schedule,
)
from hourhand.client._submissions import Fate, Submission, SubmitProgress, Submitted

__all__ = [
    "KEEP",
    "AsyncCalendars",
    "AsyncClient",
    "AsyncSchedules",
    "AsyncSubmitStream",
    "Attempt",
    "Auth",
    "Authorise",
    "Backfill",
    "BackfillReport",
    "Bearer",
    "BulkFailure",
    "BulkReport",
    "Calendar",
    "Calendars",
    "Client",
    "ClientError",
    "Conflict",
    "Endpoint",
    "Event",
    "Fate",
    "FieldProblem",
    "Fire",
    "Health",
    "Invalid",
    "Job",
    "JobFailure",
    "JobSummary",
    "Keep",
    "LatenessStats",
    "Lease",
    "Misfire",
    "NoAuth",
    "NotConfigured",
    "NotFound",
    "NotSent",
    "Occurrence",
    "Preview",
    "PreviewedFire",
    "Progress",
    "QueueStats",
    "RegisteredHandler",
    "Resweep",
    "RetryPolicy",
    "Schedule",
    "Schedules",
    "ServerFailed",
    "Signature",
    "Stats",
    "Submission",
    "SubmitProgress",
    "SubmitStream",
    "Submitted",
    "Throttled",
    "Token",
    "TooLarge",
    "Unauthorised",
    "UnexpectedAnswer",
    "Unreachable",
    "WaitTimedOut",
    "default_client",
    "find_authorisation",
    "find_endpoint",
    "stand_in",
    "submitted_before",
    "use",
]
