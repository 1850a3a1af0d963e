"""What callers send, checked field by field against API.md.

The shapes of answers are in `hourhand.schemas.responses`: only the OpenAPI document needs them,
so importing this package does not.
"""

from hourhand.schemas._errors import quoted, require_empty
from hourhand.schemas._exclusions import is_calendar_name
from hourhand.schemas._limits import MAX_BATCH_BYTES, MAX_BATCH_JOBS, MAX_NESTING, MAX_PAYLOAD_BYTES
from hourhand.schemas._times import parse_instant
from hourhand.schemas.filters import BulkRequest, JobFilters, ListRequest
from hourhand.schemas.requests import (
    NEVER_NULL,
    BatchRequest,
    JobPatch,
    JobSubmission,
    ResweepInput,
    RetryInput,
    payload_text,
)
from hourhand.schemas.schedule_requests import (
    BackfillInput,
    CalendarInput,
    NoteInput,
    PageRequest,
    PreviewInput,
)
from hourhand.schemas.schedules import ScheduleInput

__all__ = [
    "MAX_BATCH_BYTES",
    "MAX_BATCH_JOBS",
    "MAX_NESTING",
    "MAX_PAYLOAD_BYTES",
    "NEVER_NULL",
    "BackfillInput",
    "BatchRequest",
    "BulkRequest",
    "CalendarInput",
    "JobFilters",
    "JobPatch",
    "JobSubmission",
    "ListRequest",
    "NoteInput",
    "PageRequest",
    "PreviewInput",
    "ResweepInput",
    "RetryInput",
    "ScheduleInput",
    "is_calendar_name",
    "parse_instant",
    "payload_text",
    "quoted",
    "require_empty",
]
