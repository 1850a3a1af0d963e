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

from hourhand.answers.audit import AuditEvent, AuditPage
from hourhand.answers.batches import FieldProblem
from hourhand.answers.children import Batch, Child, ChildCounts
from hourhand.answers.graphs import (
    Graph,
    GraphNode,
    GraphRerun,
    GridRun,
    NodeState,
    ScheduleGrid,
)
from hourhand.answers.jobs import (
    Attempt,
    AttemptSummary,
    DeadLetter,
    DeadLetterGroup,
    DeadLetterGroups,
    ErrorDetails,
    ErrorSummary,
    Event,
    Events,
    Job,
    JobSummary,
    Lease,
    LogLine,
    Progress,
    Retry,
    WaitsFor,
)
from hourhand.answers.limits import ChangedLimit, JobOfLimit, Limit, LimitSummary
from hourhand.answers.quotas import Quota
from hourhand.answers.runs import (
    Accepted,
    JournalPage,
    JournalRecord,
    RedrivePlan,
    Step,
    StepPage,
)
from hourhand.answers.schedules import (
    Backfill,
    BackfillReport,
    Calendar,
    Fire,
    Occurrence,
    Preview,
    PreviewedDay,
    PreviewedFire,
    RecentRun,
    Schedule,
    ScheduleEffect,
    ScheduleKeep,
    ScheduleMisfire,
    ScheduleRetry,
)
from hourhand.answers.system import (
    Handler,
    HandlerDebounce,
    HandlerLimit,
    HandlerPause,
    HandlerPolicies,
    HandlerSchedule,
    HandlerUnique,
    Health,
    LatenessStats,
    QueueStats,
    Resweep,
    Stats,
)
from hourhand.client._async_client import (
    AsyncBatches,
    AsyncCalendars,
    AsyncCallbacks,
    AsyncClient,
    AsyncGraphs,
    AsyncLimits,
    AsyncRuns,
    AsyncSchedules,
    AsyncSubmitStream,
)
from hourhand.client._authorisation import Authorise, Bearer, NoAuth, Signature, Token
from hourhand.client._client import (
    Batches,
    Calendars,
    Callbacks,
    Client,
    Graphs,
    Limits,
    Runs,
    Schedules,
    SubmitStream,
)
from hourhand.client._default import default_client, use
from hourhand.client._endpoint import Auth, Endpoint, find_authorisation, find_endpoint
from hourhand.client._errors import (
    ClientError,
    Conflict,
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
from hourhand.client._submissions import Fate, Submission, SubmitProgress, Submitted

__all__ = [
    "KEEP",
    "Accepted",
    "AsyncBatches",
    "AsyncCalendars",
    "AsyncCallbacks",
    "AsyncClient",
    "AsyncGraphs",
    "AsyncLimits",
    "AsyncRuns",
    "AsyncSchedules",
    "AsyncSubmitStream",
    "Attempt",
    "AttemptSummary",
    "AuditEvent",
    "AuditPage",
    "Auth",
    "Authorise",
    "Backfill",
    "BackfillReport",
    "Batch",
    "Batches",
    "Bearer",
    "BulkFailure",
    "BulkReport",
    "Calendar",
    "Calendars",
    "Callbacks",
    "ChangedLimit",
    "Child",
    "ChildCounts",
    "Client",
    "ClientError",
    "Conflict",
    "DeadLetter",
    "DeadLetterGroup",
    "DeadLetterGroups",
    "Endpoint",
    "ErrorDetails",
    "ErrorSummary",
    "Event",
    "Events",
    "Fate",
    "FieldProblem",
    "Fire",
    "Graph",
    "GraphNode",
    "GraphRerun",
    "Graphs",
    "GridRun",
    "Handler",
    "HandlerDebounce",
    "HandlerLimit",
    "HandlerPause",
    "HandlerPolicies",
    "HandlerSchedule",
    "HandlerUnique",
    "Health",
    "Invalid",
    "Job",
    "JobOfLimit",
    "JobSummary",
    "JournalPage",
    "JournalRecord",
    "LatenessStats",
    "Lease",
    "Limit",
    "LimitSummary",
    "Limits",
    "LogLine",
    "NoAuth",
    "NodeState",
    "NotConfigured",
    "NotFound",
    "NotSent",
    "Occurrence",
    "Preview",
    "PreviewedDay",
    "PreviewedFire",
    "Progress",
    "QueueStats",
    "Quota",
    "RecentRun",
    "RedrivePlan",
    "Resweep",
    "Retry",
    "Runs",
    "Schedule",
    "ScheduleEffect",
    "ScheduleGrid",
    "ScheduleKeep",
    "ScheduleMisfire",
    "ScheduleRetry",
    "Schedules",
    "ServerFailed",
    "Signature",
    "Stats",
    "Step",
    "StepPage",
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
    "WaitsFor",
    "default_client",
    "find_authorisation",
    "find_endpoint",
    "stand_in",
    "submitted_before",
    "use",
]
