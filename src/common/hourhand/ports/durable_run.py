"""What the context of a durable handler calls: the journal of its run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from hourhand.domain.durable.calls import (
    Failure,
    Place,
    Recorded,
    StepOptions,
    Suspension,
    TimedOut,
    Try,
    Value,
)
from hourhand.domain.durable.joins import ChildrenCall, JoinedCall
from hourhand.domain.jobs.job import ErrorInfo, Job
from hourhand.domain.jobs.parents import ChildSpec
from hourhand.domain.jobs.retry import RetryPolicy
from hourhand.domain.jobs.waiting import Reserved, TakenStart


class DurableRun(Protocol):
    """The journal of a run in one invocation. One call at a time; calls of branches take turns.

    Every method raises `RunEnds` where the run cannot go on, `RunLost` where another worker has
    it, and `Unavailable`.
    """

    @property
    def run_id(self) -> str:
        """The id of the run's job."""

    @property
    def segment(self) -> int:
        """How often the run restarted."""

    @property
    def api_url(self) -> str:
        """The URL of the API, without a slash at its end; empty where it is not known."""

    def path_of(self, path: str, aliases: tuple[str, ...]) -> str:
        """Return the path under which a call is recorded: its own, or that of an older name."""

    def step_key(self, path: str) -> str:
        """Return the idempotency key of a step."""

    def begin_step(
        self, path: str, options: StepOptions, *, fits: bool
    ) -> Value | Recorded | Failure | Try | Suspension:
        """Look a step up. ``fits``: whether the time that it may take is left.

        The first new call of an invocation runs in any case.
        """

    def result_of(self, path: str) -> Value:
        """Return the result of a step that is recorded."""

    def start_step(self, attempt: Try, options: StepOptions) -> Try | Value | Failure:
        """Record that the function of a step is about to be called, for one that needs it."""

    def end_step(self, attempt: Try, options: StepOptions, text: str) -> Value | Failure:
        """Record a result; return what is recorded, which may be that of another worker."""

    def fail_step(
        self,
        attempt: Try,
        options: StepOptions,
        error: ErrorInfo,
        *,
        policy: RetryPolicy,
        delay: timedelta | None,
        counts: bool,
        fits: bool,
        is_unknown: bool = False,
    ) -> Try | Suspension | Failure | Value:
        """Decide what follows a failed try, and record it where it must be.

        ``delay``: instead of that of the policy. ``counts``: whether the try is counted.
        ``is_unknown``: whether it may have had its effect.
        """

    def sleep(self, path: str, until: datetime | timedelta) -> timedelta | Suspension:
        """Return how long to sleep in place, 0 if the time is over, or that the run suspends.

        ``until``: a timedelta counts from the first call.
        """

    def take_start(
        self, path: str, limit: str, longest: timedelta, take: Callable[[Reserved], TakenStart]
    ) -> TakenStart | Suspension:
        """Take a start of a rate limit; or return that the run suspends, if ``longest`` is over.

        ``take``: takes one with the start that an earlier invocation reserved, or reserves one.
        """

    def wait_for_signal(
        self, path: str, name: str, timeout: timedelta | None, *, has_default: bool
    ) -> Value | TimedOut | Suspension:
        """Return the payload of the next signal of this name."""

    def open_callback(
        self, path: str, timeout: timedelta | None, heartbeat: timedelta | None
    ) -> str:
        """Return the token of a callback: the same in every replay."""

    def callback_result(self, path: str) -> Value | Failure | Suspension:
        """Return how a callback was completed."""

    def now(self, path: str) -> datetime:
        """Return the time that was recorded at the first call."""

    def replaying(self, call: Callable[[], Any]) -> Any:
        """Make a call of this run that may write nothing: it raises `RunLost` instead."""

    def open_branch(self, path: str) -> None:
        """Note that the handler came to a branch."""

    def version(self, path: str) -> int:
        """Return 1 if the run takes a change of the code, 0 if it was past it before."""

    def place(self, path: str) -> Place:
        """Return how far an iteration is."""

    def save_place(self, path: str, place: Place) -> None:
        """Save how far an iteration is."""

    def next_children(
        self,
        path: str,
        call: ChildrenCall,
        spec_of: Callable[[int], ChildSpec],
    ) -> JoinedCall:
        """Submit the next children of a call, a bounded number; return how far the call is.

        ``spec_of``: returns a child as a submission states it, by its index. Called again while the
        call has room.
        """

    def joined(self, path: str) -> JoinedCall:
        """Return how far a call is that submitted children."""

    def find_joined(self, path: str) -> JoinedCall | None:
        """Return how far a call is, in a run that may not have made it yet."""

    def members_total(self, path: str) -> int | None:
        """Return how many members a batch has that was open; ``None`` while it is open."""

    def is_recorded(self, path: str) -> bool:
        """Whether there is a record of this call."""

    def decisions(self, names: Sequence[str]) -> dict[str, str]:
        """Return the decisions in force on the nodes of a graph, as letters, in their order.

        ``names``: all nodes; the place of a name is the node's number.
        """

    def decide(self, names: Sequence[str], letters: Mapping[str, str]) -> None:
        """Record new decisions on nodes; those of another worker stand."""

    def child_ids(self, path: str) -> list[str]:
        """Return the ids of all children of a call, in their order."""

    def child_results(self, path: str, indexes: range) -> list[str | None]:
        """Return the results of children as JSON; ``None`` of those that did not succeed."""

    def child_failure(self, path: str, index: int) -> Failure:
        """Return why a child ended badly."""

    def end_of_wait(self, path: str) -> Value | Failure | None:
        """Return how a wait for several children ended, if that is recorded."""

    def end_wait(self, path: str, end: Value | Failure) -> Value | Failure:
        """Record how a wait for several children ended; return what is recorded."""

    def wait_until(
        self, path: str, timeout: timedelta, late: Failure
    ) -> Value | Failure | datetime:
        """Return until when a wait for children lasts, or how it ended: as ``late`` at that time.

        ``timeout`` counts from the first call in a round.
        """

    def cancel_children(self, path: str) -> None:
        """Cancel the children of a call that have not ended."""

    def children_total(self) -> int:
        """Return how many children the calls of the run ask for, ended ones included."""

    def live_children(self) -> int:
        """Return how many attached children of the run have not ended."""

    def before_restart(self) -> None:
        """Mark the signals that this segment consumed, for the next one."""

    def reverse(self, payload_text: str) -> ReversedRun | None:
        """Open the run that a compensation reverses; ``None``: there is nothing to reverse."""


Effect = tuple[str, str, str | None]
"""What a step may have done under one key: the path of its reversal, the key, and the result as
JSON; ``None``: the result is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReversedRun:
    """A run that ended, for its compensation.

    ``run`` replays its journal and writes nothing. ``effects``: of each step that may have to be
    reversed, by its path, the newest first.
    """

    job: Job
    payload_text: str
    run: DurableRun
    effects: Mapping[str, tuple[Effect, ...]]


class OpenedRun(DurableRun, Protocol):
    """The journal of a run in one invocation, and its progress."""

    @property
    def new_records(self) -> int:
        """How many records the invocation wrote, without starts."""

    @property
    def newest_token(self) -> int:
        """The token of the newest record: of this invocation, or one before; 0 without one."""


class OpensRuns(Protocol):
    """Opens the journals of durable runs."""

    def open(self, job: Job, keep_lease: Callable[[], None]) -> OpenedRun:
        """Return the journal of a RUNNING run, for its owner.

        ``keep_lease``: called again and again where that takes long; it may raise `RunLost`.
        Raises `RunEnds` for one whose time is over, `RunLost`, `WrittenByNewer`, `Unavailable`.
        """
