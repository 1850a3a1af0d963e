"""The interface for handlers: the decorator `job`, the context, and the exceptions to raise.

Importing this registers nothing and reads nothing; pydantic is imported only where a payload
has a type that needs it.
"""

from hourhand.domain.errors import InvalidDebounce, InvalidUnique
from hourhand.domain.limits.debounce import Debounce
from hourhand.domain.limits.declarations import Concurrency, Limit, Rate
from hourhand.domain.limits.keys import InvalidLimit
from hourhand.domain.limits.unique_keys import Unique
from hourhand.handlers._context import JobContext, Occurrence, RateLimit, StopReason, StopSignal
from hourhand.handlers._errors import (
    HandlersNotLoaded,
    InvalidHandler,
    InvalidPayload,
    NotRetryable,
    RateLimited,
    RateLimitTooLong,
    ResultNotJson,
    RetryLater,
    Snooze,
    UnknownHandler,
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
    "Concurrency",
    "Debounce",
    "Handler",
    "HandlersNotLoaded",
    "InvalidDebounce",
    "InvalidHandler",
    "InvalidLimit",
    "InvalidPayload",
    "InvalidUnique",
    "JobContext",
    "JobFunction",
    "JobLogger",
    "Limit",
    "NotRetryable",
    "Occurrence",
    "PlainJobFunction",
    "Rate",
    "RateLimit",
    "RateLimitTooLong",
    "RateLimited",
    "Registry",
    "ResultNotJson",
    "Retry",
    "RetryLater",
    "Snooze",
    "StopReason",
    "StopSignal",
    "SubmitOptions",
    "SubmittedJob",
    "Submitter",
    "Submitters",
    "Unique",
    "UnknownHandler",
    "current_submitters",
    "default_registry",
    "describe",
    "job",
    "load_handlers",
    "result_text",
]
