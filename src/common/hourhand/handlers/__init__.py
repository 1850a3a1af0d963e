"""The interface for handlers: the decorator `job`, the context, and the exceptions to raise.

Importing this registers nothing and reads nothing; pydantic is imported only where a payload
has a type that needs it.
"""

from hourhand.domain.errors import InvalidDebounce, InvalidUnique
from hourhand.domain.limits.debounce import Debounce
from hourhand.domain.limits.declarations import Concurrency, Limit, Rate
from hourhand.domain.limits.keys import InvalidLimit
from hourhand.domain.limits.unique_keys import Unique
from hourhand.domain.runs.answers import On
from hourhand.handlers._context import JobContext, Occurrence, RateLimit, StopReason, StopSignal
from hourhand.handlers._errors import (
    CallbackFailed,
    ChildFailed,
    ChildTimeout,
    Deadlock,
    HandlersNotLoaded,
    InvalidCall,
    InvalidHandler,
    InvalidPayload,
    MapFailed,
    NestedStep,
    NoStepKey,
    NotRetryable,
    RateLimited,
    RateLimitTooLong,
    ResultNotJson,
    RetryLater,
    SignalTimeout,
    Snooze,
    StepFailed,
    StepInterrupted,
    StepTimeout,
    Suspended,
    TooManyChildren,
    UnknownHandler,
    UseBranch,
    is_suspension,
    message_of,
)
from hourhand.handlers._policy import Retry
from hourhand.handlers._registry import (
    Handler,
    Registry,
    default_registry,
    describe,
    job,
    load_handlers,
)
from hourhand.handlers._results import result_text
from hourhand.handlers._submission import (
    AsyncSubmitter,
    JobFunction,
    PlainJobFunction,
    SubmitOptions,
    SubmittedJob,
    Submitter,
    Submitters,
    current_submitters,
)
from hourhand.job_logger import JOB_LOGGER, JobLogger

__all__ = [
    "JOB_LOGGER",
    "AsyncSubmitter",
    "CallbackFailed",
    "ChildFailed",
    "ChildTimeout",
    "Concurrency",
    "Deadlock",
    "Debounce",
    "Handler",
    "HandlersNotLoaded",
    "InvalidCall",
    "InvalidDebounce",
    "InvalidHandler",
    "InvalidLimit",
    "InvalidPayload",
    "InvalidUnique",
    "JobContext",
    "JobFunction",
    "JobLogger",
    "Limit",
    "MapFailed",
    "NestedStep",
    "NoStepKey",
    "NotRetryable",
    "Occurrence",
    "On",
    "PlainJobFunction",
    "Rate",
    "RateLimit",
    "RateLimitTooLong",
    "RateLimited",
    "Registry",
    "ResultNotJson",
    "Retry",
    "RetryLater",
    "SignalTimeout",
    "Snooze",
    "StepFailed",
    "StepInterrupted",
    "StepTimeout",
    "StopReason",
    "StopSignal",
    "SubmitOptions",
    "SubmittedJob",
    "Submitter",
    "Submitters",
    "Suspended",
    "TooManyChildren",
    "Unique",
    "UnknownHandler",
    "UseBranch",
    "current_submitters",
    "default_registry",
    "describe",
    "is_suspension",
    "job",
    "load_handlers",
    "message_of",
    "result_text",
]
