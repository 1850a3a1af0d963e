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

from hourhand.answers.audit import AuditEvent as AuditEvent
from hourhand.answers.audit import AuditPage as AuditPage
from hourhand.answers.batches import FieldProblem as FieldProblem
from hourhand.answers.children import Batch as Batch
from hourhand.answers.children import Child as Child
from hourhand.answers.children import ChildCounts as ChildCounts
from hourhand.answers.graphs import Graph as Graph
from hourhand.answers.graphs import GraphNode as GraphNode
from hourhand.answers.graphs import GraphRerun as GraphRerun
from hourhand.answers.graphs import GridRun as GridRun
from hourhand.answers.graphs import NodeState as NodeState
from hourhand.answers.graphs import ScheduleGrid as ScheduleGrid
from hourhand.answers.jobs import Attempt as Attempt
from hourhand.answers.jobs import AttemptSummary as AttemptSummary
from hourhand.answers.jobs import DeadLetter as DeadLetter
from hourhand.answers.jobs import DeadLetterGroup as DeadLetterGroup
from hourhand.answers.jobs import DeadLetterGroups as DeadLetterGroups
from hourhand.answers.jobs import ErrorDetails as ErrorDetails
from hourhand.answers.jobs import ErrorSummary as ErrorSummary
from hourhand.answers.jobs import Event as Event
from hourhand.answers.jobs import Events as Events
from hourhand.answers.jobs import Job as Job
from hourhand.answers.jobs import JobSummary as JobSummary
from hourhand.answers.jobs import Lease as Lease
from hourhand.answers.jobs import LogLine as LogLine
from hourhand.answers.jobs import Progress as Progress
from hourhand.answers.jobs import Retry as Retry
from hourhand.answers.jobs import WaitsFor as WaitsFor
from hourhand.answers.limits import ChangedLimit as ChangedLimit
from hourhand.answers.limits import JobOfLimit as JobOfLimit
from hourhand.answers.limits import Limit as Limit
from hourhand.answers.limits import LimitSummary as LimitSummary
from hourhand.answers.quotas import Quota as Quota
from hourhand.answers.runs import Accepted as Accepted
from hourhand.answers.runs import JournalPage as JournalPage
from hourhand.answers.runs import JournalRecord as JournalRecord
from hourhand.answers.runs import RedrivePlan as RedrivePlan
from hourhand.answers.runs import Step as Step
from hourhand.answers.runs import StepPage as StepPage
from hourhand.answers.schedules import Backfill as Backfill
from hourhand.answers.schedules import BackfillReport as BackfillReport
from hourhand.answers.schedules import Calendar as Calendar
from hourhand.answers.schedules import Fire as Fire
from hourhand.answers.schedules import Occurrence as Occurrence
from hourhand.answers.schedules import Preview as Preview
from hourhand.answers.schedules import PreviewedDay as PreviewedDay
from hourhand.answers.schedules import PreviewedFire as PreviewedFire
from hourhand.answers.schedules import RecentRun as RecentRun
from hourhand.answers.schedules import Schedule as Schedule
from hourhand.answers.schedules import ScheduleEffect as ScheduleEffect
from hourhand.answers.schedules import ScheduleKeep as ScheduleKeep
from hourhand.answers.schedules import ScheduleMisfire as ScheduleMisfire
from hourhand.answers.schedules import ScheduleRetry as ScheduleRetry
from hourhand.answers.system import Handler as Handler
from hourhand.answers.system import HandlerDebounce as HandlerDebounce
from hourhand.answers.system import HandlerLimit as HandlerLimit
from hourhand.answers.system import HandlerPause as HandlerPause
from hourhand.answers.system import HandlerPolicies as HandlerPolicies
from hourhand.answers.system import HandlerSchedule as HandlerSchedule
from hourhand.answers.system import HandlerUnique as HandlerUnique
from hourhand.answers.system import Health as Health
from hourhand.answers.system import LatenessStats as LatenessStats
from hourhand.answers.system import QueueStats as QueueStats
from hourhand.answers.system import Resweep as Resweep
from hourhand.answers.system import Stats as Stats
from hourhand.client._async_client import AsyncBatches as AsyncBatches
from hourhand.client._async_client import AsyncCalendars as AsyncCalendars
from hourhand.client._async_client import AsyncCallbacks as AsyncCallbacks
from hourhand.client._async_client import AsyncClient as AsyncClient
from hourhand.client._async_client import AsyncGraphs as AsyncGraphs
from hourhand.client._async_client import AsyncLimits as AsyncLimits
from hourhand.client._async_client import AsyncRuns as AsyncRuns
from hourhand.client._async_client import AsyncSchedules as AsyncSchedules
from hourhand.client._authorisation import Authorise as Authorise
from hourhand.client._authorisation import Bearer as Bearer
from hourhand.client._authorisation import NoAuth as NoAuth
from hourhand.client._authorisation import Signature as Signature
from hourhand.client._authorisation import Token as Token
from hourhand.client._awaiting import AsyncSubmitStream as AsyncSubmitStream
from hourhand.client._blocking import SubmitStream as SubmitStream
from hourhand.client._client import Batches as Batches
from hourhand.client._client import Calendars as Calendars
from hourhand.client._client import Callbacks as Callbacks
from hourhand.client._client import Client as Client
from hourhand.client._client import Graphs as Graphs
from hourhand.client._client import Limits as Limits
from hourhand.client._client import Runs as Runs
from hourhand.client._client import Schedules as Schedules
from hourhand.client._default import default_client as default_client
from hourhand.client._default import use as use
from hourhand.client._endpoint import Auth as Auth
from hourhand.client._endpoint import Endpoint as Endpoint
from hourhand.client._endpoint import find_authorisation as find_authorisation
from hourhand.client._endpoint import find_endpoint as find_endpoint
from hourhand.client._making import stand_in as stand_in
from hourhand.client._operations._bulk import BulkFailure as BulkFailure
from hourhand.client._operations._bulk import BulkReport as BulkReport
from hourhand.client._operations._jobs import KEEP as KEEP
from hourhand.client._operations._many import submitted_before as submitted_before
from hourhand.client._values import ClientError as ClientError
from hourhand.client._values import Conflict as Conflict
from hourhand.client._values import Fate as Fate
from hourhand.client._values import Invalid as Invalid
from hourhand.client._values import NotConfigured as NotConfigured
from hourhand.client._values import NotFound as NotFound
from hourhand.client._values import NotSent as NotSent
from hourhand.client._values import ServerFailed as ServerFailed
from hourhand.client._values import Submission as Submission
from hourhand.client._values import SubmitProgress as SubmitProgress
from hourhand.client._values import Submitted as Submitted
from hourhand.client._values import Throttled as Throttled
from hourhand.client._values import TooLarge as TooLarge
from hourhand.client._values import Unauthorised as Unauthorised
from hourhand.client._values import UnexpectedAnswer as UnexpectedAnswer
from hourhand.client._values import Unreachable as Unreachable
from hourhand.client._values import WaitTimedOut as WaitTimedOut
