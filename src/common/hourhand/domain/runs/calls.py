"""The calls of a durable run, as values: its context makes them, and its worker answers them.

``path``: where the call stands in the run. `RunCall` names the type of the answer. Every answer may
be replaced by `RunEnds` where the run cannot go on, `RunLost` where another worker has it, and
`Unavailable`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar, dataclass_transform

from hourhand.domain.jobs.job import ErrorInfo
from hourhand.domain.jobs.parents import ChildSpec
from hourhand.domain.jobs.retry import RetryPolicy
from hourhand.domain.jobs.waiting import Reserved, TakenStart
from hourhand.domain.runs.answers import (
    Failure,
    Place,
    Recorded,
    StepOptions,
    Suspension,
    TimedOut,
    Try,
    Value,
)
from hourhand.domain.runs.joins import ChildrenCall, JoinedCall

R_co = TypeVar("R_co", covariant=True)


@dataclass_transform(frozen_default=True)
class RunCall(Generic[R_co]):
    """A call whose answer is an ``R_co``. Each kind is a dataclass that stays as it is made."""

    def __init_subclass__(cls) -> None:
        """Make a kind of call. Less is made than of other values: a worker's start waits for it."""
        dataclass(eq=False, repr=False, match_args=False)(cls)


# --- steps ---


class PathOf(RunCall[str]):
    """Return the path under which a call is recorded: its own, or that of an older name."""

    path: str
    aliases: tuple[str, ...]


class BeginStep(RunCall[Value | Recorded | Failure | Try | Suspension]):
    """Look a step up. ``fits``: whether the time that it may take is left.

    The first new call of an invocation runs in any case.
    """

    path: str
    options: StepOptions
    fits: bool


class ResultOf(RunCall[Value]):
    """Return the result of a step that is recorded."""

    path: str


class StartStep(RunCall[Try | Value | Failure]):
    """Record that the function of a step is about to be called, for one that needs it."""

    attempt: Try
    options: StepOptions


class EndStep(RunCall[Value | Failure]):
    """Record a result; return what is recorded, which may be that of another worker."""

    attempt: Try
    options: StepOptions
    text: str


class FailStep(RunCall[Try | Suspension | Failure | Value]):
    """Decide what follows a failed try, and record it where it must be.

    ``delay``: instead of that of the policy. ``counts``: whether the try is counted.
    ``is_unknown``: whether it may have had its effect.
    """

    attempt: Try
    options: StepOptions
    error: ErrorInfo
    policy: RetryPolicy
    delay: timedelta | None
    counts: bool
    fits: bool
    is_unknown: bool = False


class RecordedNow(RunCall[datetime]):
    """Return the time that was recorded at the first call."""

    path: str


class OpenBranch(RunCall[None]):
    """Note that the handler came to a branch."""

    path: str


class VersionOf(RunCall[int]):
    """Return 1 if the run takes a change of the code, 0 if it was past it before."""

    path: str


class PlaceOf(RunCall[Place]):
    """Return how far an iteration is."""

    path: str


class SavePlace(RunCall[None]):
    """Save how far an iteration is."""

    path: str
    place: Place


class BeforeRestart(RunCall[None]):
    """Mark the signals that this segment consumed, for the next one."""


class Reverse(RunCall[Any]):
    """Open the run that a compensation reverses, a `ReversedRun` of `hourhand.ports.durable_run`.

    ``None``: there is nothing to reverse.
    """

    payload_text: str


# --- waits ---


class SleepUntil(RunCall[timedelta | Suspension]):
    """Return how long to sleep in place, 0 if the time is over, or that the run suspends.

    ``until``: a timedelta counts from the first call.
    """

    path: str
    until: datetime | timedelta


class TakeRateStart(RunCall[TakenStart | Suspension]):
    """Take a start of a rate limit; or return that the run suspends, if ``longest`` is over.

    ``take``: takes one with the start that an earlier invocation reserved, or reserves one.
    """

    path: str
    limit: str
    longest: timedelta
    take: Callable[[Reserved], TakenStart]


class WaitForSignal(RunCall[Value | TimedOut | Suspension]):
    """Return the payload of the next signal of this name."""

    path: str
    name: str
    timeout: timedelta | None
    has_default: bool


class OpenCallback(RunCall[str]):
    """Return the token of a callback: the same in every replay."""

    path: str
    timeout: timedelta | None
    heartbeat: timedelta | None


class CallbackResult(RunCall[Value | Failure | Suspension]):
    """Return how a callback was completed."""

    path: str


# --- children ---


class NextChildren(RunCall[JoinedCall]):
    """Submit the next children of a call, a bounded number; return how far the call is.

    ``spec_of``: returns a child as a submission states it, by its index. Made again while the call
    has room.
    """

    path: str
    children: ChildrenCall
    spec_of: Callable[[int], ChildSpec]


class JoinedAt(RunCall[JoinedCall]):
    """Return how far a call is that submitted children."""

    path: str


class FindJoined(RunCall[JoinedCall | None]):
    """Return how far a call is, in a run that may not have made it yet."""

    path: str


class MembersTotal(RunCall[int | None]):
    """Return how many members a batch has that was open; ``None`` while it is open."""

    path: str


class ChildIds(RunCall[list[str]]):
    """Return the ids of all children of a call, in their order."""

    path: str


class ChildResults(RunCall[list[str | None]]):
    """Return the results of children as JSON; ``None`` of those that did not succeed."""

    path: str
    indexes: range


class ChildFailure(RunCall[Failure]):
    """Return why a child ended badly."""

    path: str
    index: int


class EndOfWait(RunCall[Value | Failure | None]):
    """Return how a wait for several children ended, if that is recorded."""

    path: str


class EndWait(RunCall[Value | Failure]):
    """Record how a wait for several children ended; return what is recorded."""

    path: str
    end: Value | Failure


class WaitUntil(RunCall[Value | Failure | datetime]):
    """Return until when a wait for children lasts, or how it ended: as ``late`` at that time.

    ``timeout`` counts from the first call in a round.
    """

    path: str
    timeout: timedelta
    late: Failure


class CancelChildren(RunCall[None]):
    """Cancel the children of a call that have not ended: it ended without them."""

    path: str


class ChildrenTotal(RunCall[int]):
    """Return how many children the calls of the run ask for, ended ones included."""


class LiveChildren(RunCall[int]):
    """Return how many attached children of the run have not ended.

    Without those of an open batch: places in it may be reserved whose jobs never come.
    """


# --- graphs ---


class IsRecorded(RunCall[bool]):
    """Whether there is a record of this call."""

    path: str


class DecisionsOn(RunCall[dict[str, str]]):
    """Return the decisions in force on the nodes of a graph, as letters, in their order.

    ``names``: all nodes; the place of a name is the node's number.
    """

    names: Sequence[str]


class Decide(RunCall[None]):
    """Record new decisions on nodes; those of another worker stand."""

    names: Sequence[str]
    letters: Mapping[str, str]
