"""What the context of a durable handler calls: the journal of its run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from hourhand.domain.jobs.job import Job

if TYPE_CHECKING:
    # A worker without durable runs starts without the classes of their calls.
    from hourhand.domain.runs.calls import RunCall

R = TypeVar("R")


class DurableRun(Protocol):
    """The journal of a run in one invocation. One call at a time; calls of branches take turns."""

    @property
    def run_id(self) -> str:
        """The id of the run's job."""

    @property
    def segment(self) -> int:
        """How often the run restarted."""

    @property
    def api_url(self) -> str:
        """The URL of the API, without a slash at its end; empty where it is not known."""

    def answer(self, call: RunCall[R]) -> R:
        """Answer a call; see `hourhand.domain.runs.calls`.

        Raises `RunEnds` where the run cannot go on, `RunLost` where another worker has it, and
        `Unavailable`.
        """

    def replaying(self, call: Callable[[], Any]) -> Any:
        """Make a call of this run that may write nothing: it raises `RunLost` instead."""


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
