"""What a call of a durable run asks for, and what it is answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hourhand.domain.jobs.job import ErrorInfo
from hourhand.domain.jobs.retry import RetryPolicy
from hourhand.domain.jobs.waiting import WaitKind
from hourhand.domain.runs.records import Record

IN_PLACE = timedelta(seconds=5)
"""The longest sleep or retry delay for which a run keeps its worker."""

DEFAULT_STEP_SECONDS = 60.0

ONCE = RetryPolicy(max_attempts=1)
"""How a step with ``once`` is retried by default: not at all."""


@dataclass(frozen=True, slots=True)
class On:
    """A retry policy of a step for errors of a name or class; subclasses are included."""

    error: str | type[BaseException]
    retry: RetryPolicy

    def fits(self, error: BaseException) -> bool:
        """Whether ``error`` is one of these."""
        if isinstance(self.error, str):
            return self.error in {base.__name__ for base in type(error).__mro__}
        return isinstance(error, self.error)


REPLAY_MISMATCH = "ReplayMismatch"
"""The error of a run whose code makes another kind of call under a name that has a record."""

NOT_DURABLE = ErrorInfo(
    type=REPLAY_MISMATCH,
    message="The run has a journal, and its handler is not durable any more: it would repeat every "
    "step. Make the handler durable again, then redrive.",
    retryable=False,
)

Retries = RetryPolicy | Sequence[On]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOptions:
    """How a step runs. ``is_lazy``: a replay does not read its result.

    ``effect_unknown``: errors after which the step may have had its effect.
    """

    retry: Retries | None = None
    timeout_seconds: float = DEFAULT_STEP_SECONDS
    is_once: bool = False
    is_compensated: bool = False
    is_private: bool = False
    is_lazy: bool = False
    effect_unknown: tuple[type[BaseException], ...] = ()

    @property
    def has_start(self) -> bool:
        """Whether its start is recorded before its function is called."""
        return self.is_once or self.is_compensated

    def leaves_unknown(self, error: BaseException) -> bool:
        """Whether the effect is not known after ``error``, or after one in the group that it is."""
        if isinstance(error, BaseExceptionGroup):
            return error.subgroup(self.effect_unknown) is not None
        return isinstance(error, self.effect_unknown)

    def policy_for(self, error: BaseException) -> RetryPolicy:
        """Return the policy by which ``error`` is retried: the first that fits."""
        standard = ONCE if self.is_once else RetryPolicy()
        if self.retry is None:
            return standard
        if isinstance(self.retry, RetryPolicy):
            return self.retry
        return next((on.retry for on in self.retry if on.fits(error)), standard)


@dataclass(frozen=True, slots=True)
class Value:
    """The call has this result, as JSON text."""

    text: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """The call has a result, which is not read yet."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The call failed permanently."""

    error: ErrorInfo


@dataclass(frozen=True, slots=True)
class Place:
    """How far an iteration is: behind the row of this cursor, as JSON, and whether it is over.

    ``names``: how often the rows before that used each name. A replay does not see these rows, and
    counts on from there: else the calls of the next row would have the paths of the first one.
    """

    cursor_text: str = "null"
    is_done: bool = False
    names: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The wait is over, and nothing came."""


@dataclass(frozen=True, slots=True)
class Try:
    """Run the function of a step now: its ``number``-th try.

    ``seen``: the record that stood; ``delay``: to be waited in place first.
    """

    path: str
    number: int
    key: str
    began_at: datetime
    seen: Record | None = None
    delay: timedelta = field(default=timedelta(0))


@dataclass(frozen=True, slots=True)
class Suspension:
    """The run must suspend. ``until`` absent: without a time; ``kind`` absent: it is due at once.

    ``name``: the signal, or the path of the call.
    """

    kind: WaitKind | None
    name: str = ""
    until: datetime | None = None


NOW = Suspension(None)
"""The time of the invocation is used up: the run goes on in another."""


def together(suspensions: Sequence[Suspension]) -> Suspension:
    """Return what a run waits for whose branches all wait: it is due at the earliest time."""
    if any(one.kind is None for one in suspensions):
        return NOW
    until = min((one.until for one in suspensions if one.until is not None), default=None)
    kinds = {one.kind for one in suspensions} - {WaitKind.TIME}
    # Children come last: a run that waits for nothing else may be in a deadlock with them.
    known = [kind for kind in kinds if kind is not None]
    kind = min(known, key=lambda one: (one is WaitKind.CHILDREN, one), default=WaitKind.TIME)
    # A signal and a callback may have one name, and each of them must wake the run.
    waits = {(one.kind, one.name) for one in suspensions}
    is_one = len(waits) == 1 or not kinds
    return Suspension(kind, suspensions[0].name if is_one else "", until)


class RunEnds(Exception):
    """The run cannot go on: it ends DEAD, whatever attempts are left."""

    def __init__(self, type_: str, message: str) -> None:
        """Take the type and the message of the job's error."""
        super().__init__(message)
        self.error = ErrorInfo(type=type_, message=message, retryable=False)


class RunLost(Exception):
    """Another worker has the run, or it ended: what this invocation does is not committed."""
