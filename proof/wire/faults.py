"""What can befall a call between a client and AWS, and what each looks like on the wire."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

READ_TIMEOUT_SECONDS = 5.0
"""How long our clients wait for an answer (`hourhand.aws.clients`): what a timeout takes."""

SHORT_TIMEOUT_SECONDS = 0.25
"""What they really wait in the cells of timeouts; the virtual clocks are moved by the true one."""

HELD_SECONDS = 0.45
"""How long the proxy keeps what is not answered in time: longer than a timeout and its retry."""

SLOW_SECONDS = 4.0
"""Short of the read timeout; two of them are beyond the stall bound of a submission (5 s)."""


class Applied(StrEnum):
    """Whether AWS did what was asked all the same."""

    NEVER = "not applied"
    AT_ONCE = "applied"
    LATE = "applied late"


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """One thing that befalls one send of a call.

    ``error``: what is answered instead, by service (``*`` for all others): code and HTTP status.
    ``seconds``: what passes on every clock while it befalls. ``is_timeout``: the client gives up.
    ``is_reset``: the connection ends without an answer. ``keeps``: the part of the answer's body
    that arrives, as a fraction; ``breaks_off``: whether the connection ends after it.
    """

    name: str
    told: str
    applied: Applied = Applied.NEVER
    error: dict[str, tuple[str, int]] | None = None
    seconds: float = 0.0
    is_timeout: bool = False
    is_reset: bool = False
    keeps: float | None = None
    breaks_off: bool = False

    def error_of(self, service: str) -> tuple[str, int] | None:
        """Return the code and status that a service answers, ``None`` where it answers neither."""
        if self.error is None:
            return None
        return self.error.get(service) or self.error.get("*")


NONE = Fault(name="no-fault", told="none")

THROTTLED = Fault(
    name="throttled",
    told="throttled",
    error={
        "*": ("ThrottlingException", 400),
        "s3": ("SlowDown", 503),
        "lambda": ("TooManyRequestsException", 429),
    },
)
THROUGHPUT = Fault(
    name="throughput",
    told="over the table's throughput",
    error={"dynamodb": ("ProvisionedThroughputExceededException", 400)},
)
REQUEST_LIMIT = Fault(
    name="limit",
    told="over the account's request limit",
    error={"dynamodb": ("RequestLimitExceeded", 400), "sqs": ("RequestThrottled", 400)},
)
INTERNAL = Fault(
    name="internal",
    told="500",
    error={"*": ("InternalServerError", 500), "s3": ("InternalError", 500)},
)
UNAVAILABLE = Fault(name="unavailable", told="503", error={"*": ("ServiceUnavailable", 503)})
RESET = Fault(name="reset", told="connection reset", is_reset=True)
TIMEOUT = Fault(
    name="timeout", told="no answer in time", seconds=READ_TIMEOUT_SECONDS, is_timeout=True
)
LATE = Fault(
    name="late",
    told="no answer in time, applied late",
    applied=Applied.LATE,
    seconds=READ_TIMEOUT_SECONDS,
    is_timeout=True,
)
LOST = Fault(
    name="lost",
    told="applied, answer lost",
    applied=Applied.AT_ONCE,
    keeps=0.0,
    breaks_off=True,
)
BROKEN_OFF = Fault(
    name="broken",
    told="applied, answer broken off",
    applied=Applied.AT_ONCE,
    keeps=0.5,
    breaks_off=True,
)
GARBLED = Fault(
    name="garbled",
    told="applied, answer unreadable",
    applied=Applied.AT_ONCE,
    keeps=0.5,
)
SLOW = Fault(name="slow", told="slow", applied=Applied.AT_ONCE, seconds=SLOW_SECONDS)

FAULTS = (
    THROTTLED,
    THROUGHPUT,
    REQUEST_LIMIT,
    INTERNAL,
    UNAVAILABLE,
    RESET,
    TIMEOUT,
    LATE,
    LOST,
    BROKEN_OFF,
    GARBLED,
    SLOW,
)


DENIED = Fault(
    name="denied",
    told="denied",
    error={
        "cloudwatch": ("AccessDenied", 403),
        "dynamodb": ("AccessDeniedException", 400),
        "lambda": ("AccessDeniedException", 403),
        "sqs": ("AccessDenied", 403),
    },
)
INVALID = Fault(
    name="invalid",
    told="refused as invalid",
    error={
        "cloudwatch": ("ValidationError", 400),
        "dynamodb": ("ValidationException", 400),
        "lambda": ("InvalidRequestContentException", 400),
        "sqs": ("AWS.SimpleQueueService.UnsupportedOperation", 400),
    },
)

REFUSALS = (DENIED, INVALID)
"""What no retry and no wait helps, in every call: it befalls what a function can do without."""

OPTIONAL = frozenset(
    {
        ("api", "GetQueueAttributes", "queues"),
        ("scheduler", "DeleteMessage", "clock"),
        ("scheduler", "GetMetricData", "metrics"),
        ("scheduler", "GetQueueAttributes", "queues"),
        ("scheduler", "Invoke", "scheduler"),
        ("scheduler", "Query", "jobs (dead)"),
        ("scheduler", "ReceiveMessage", "clock"),
        ("scheduler", "SendMessage", "clock"),
    }
)
"""Function, operation and resource of each request that its work can do without."""


class Span(StrEnum):
    """How long a fault lasts: the first send of a call, or as long as the client tries it."""

    ONCE = "once"
    OUTLASTING = "outlasting"


OUTLASTING_FAULTS = (INTERNAL, LATE, LOST, SLOW)
"""One for each way in which a call ends that no retry helps: not applied, applied late, applied."""


READS = frozenset(
    {
        *("BatchGetItem", "FilterLogEvents", "GetItem", "GetMetricData", "GetObject"),
        *("GetQueueAttributes", "Query"),
    }
)
"""Operations that change nothing."""

WITHOUT_BODY = frozenset(
    {"ChangeMessageVisibility", "DeleteMessage", "Invoke", "PutObject", "PutObjectTagging"}
)
"""Operations that AWS answers with a head alone: it cannot break off in the middle."""


def can_befall(fault: Fault, service: str, operation: str) -> bool:
    """Whether a fault ever befalls an operation."""
    if fault.keeps and operation in WITHOUT_BODY:
        return False
    return fault.error is None or fault.error_of(service) is not None


def can_outlast(fault: Fault, operation: str) -> bool:
    """Whether it is worth a cell where it lasts as long as the client tries.

    A read that is done after the client gave up is to everybody as one whose answer was lost.
    """
    return fault in OUTLASTING_FAULTS and not (fault is LATE and operation in READS)


def is_beyond_the_proxy(fault: Fault, service: str, operation: str) -> bool:
    """Whether the proxy cannot do it as AWS does; then it is done at the client.

    It always sends an answer's head, and puts a namespace before SQS's codes that SQS does not.
    """
    if fault.keeps is not None and operation in WITHOUT_BODY:
        return True
    return service == "sqs" and fault.error is not None


HEADER = "x-hourhand-fault"
"""By it the proxy knows what a request is to suffer, and says that it was slow."""

INJECTED = "It was injected."
"""What errors say that AWS never said."""


def proxy_rules() -> list[dict[str, Any]]:
    """Return the rules of the proxy: one for each fault, by the name in the request's header."""
    rules = []
    for fault in (*FAULTS, *REFUSALS):
        services = fault.error if fault.error is not None else {"*": None}
        # The first rule that matches is the one: those of one service go before those of all.
        for service in sorted(services, reverse=True):
            rules.append(
                {"service": service, "headers": {HEADER: fault.name}, **_effect(fault, service)}
            )
    return rules


def _effect(fault: Fault, service: str) -> dict[str, Any]:
    error = fault.error_of(service)
    if error is not None:
        return {"error": {"code": error[0], "status": error[1], "message": INJECTED}}
    if fault.is_reset:
        return {"reset": True}
    if fault.is_timeout:
        kind = "latency" if fault.applied is Applied.LATE else "timeout_ms"
        return {kind: HELD_SECONDS * 1000}
    if fault.keeps is not None:
        kind = "abort_frac" if fault.breaks_off else "truncate_frac"
        return {"response": {kind: fault.keeps}}
    return {"latency": 1, "response": {"set_headers": {HEADER: fault.name}}}
