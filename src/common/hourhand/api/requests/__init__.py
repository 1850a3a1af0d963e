"""The requests of callers, checked field by field."""

from hourhand.api.requests._errors import invalid, quoted, require_empty
from hourhand.api.requests._exclusions import is_calendar_name
from hourhand.api.requests._limits import (
    MAX_BATCH_BYTES,
    MAX_BATCH_JOBS,
    MAX_FIELD_ERRORS,
    MAX_NESTING,
    MAX_PAYLOAD_BYTES,
)
from hourhand.api.requests._times import parse_instant
from hourhand.api.requests.batches import BatchInput, CloseInput, MembersInput
from hourhand.api.requests.filters import (
    AuditRequest,
    BulkDiscard,
    BulkRequest,
    GroupsRequest,
    JobFilters,
    ListRequest,
    LogRequest,
)
from hourhand.api.requests.graphs import (
    REFUSED_OF_MEMBERS,
    GraphInput,
    RerunInput,
    parse_member,
)
from hourhand.api.requests.jobs import (
    NEVER_NULL,
    BatchRequest,
    JobPatch,
    JobSubmission,
    ResweepInput,
    RetryInput,
    payload_text,
)
from hourhand.api.requests.limits import FreeInput, LimitInput, LimitQuery, RetimeInput
from hourhand.api.requests.runs import (
    CallbackFailure,
    CallbackResult,
    ChildrenRequest,
    RedriveInput,
    SignalInput,
)
from hourhand.api.requests.schedule_operations import (
    BackfillInput,
    CalendarInput,
    GridRequest,
    HandlerPauseInput,
    NoteInput,
    PageRequest,
    PreviewInput,
    PutQuery,
    SchedulePageRequest,
)
from hourhand.api.requests.schedules import ScheduleInput

__all__ = [
    "MAX_BATCH_BYTES",
    "MAX_BATCH_JOBS",
    "MAX_FIELD_ERRORS",
    "MAX_NESTING",
    "MAX_PAYLOAD_BYTES",
    "NEVER_NULL",
    "REFUSED_OF_MEMBERS",
    "AuditRequest",
    "BackfillInput",
    "BatchInput",
    "BatchRequest",
    "BulkDiscard",
    "BulkRequest",
    "CalendarInput",
    "CallbackFailure",
    "CallbackResult",
    "ChildrenRequest",
    "CloseInput",
    "FreeInput",
    "GraphInput",
    "GridRequest",
    "GroupsRequest",
    "HandlerPauseInput",
    "JobFilters",
    "JobPatch",
    "JobSubmission",
    "LimitInput",
    "LimitQuery",
    "ListRequest",
    "LogRequest",
    "MembersInput",
    "NoteInput",
    "PageRequest",
    "PreviewInput",
    "PutQuery",
    "RedriveInput",
    "RerunInput",
    "ResweepInput",
    "RetimeInput",
    "RetryInput",
    "ScheduleInput",
    "SchedulePageRequest",
    "SignalInput",
    "invalid",
    "is_calendar_name",
    "parse_instant",
    "parse_member",
    "payload_text",
    "quoted",
    "require_empty",
]
