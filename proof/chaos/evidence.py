"""All that is known of a run of the chaos when it is over, for `rules` to judge.

Instants are seconds since 1970 by the machine's own clock, which nobody steps; only a job's
history tells the time by the clocks of those who wrote it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from hourhand.domain.jobs.job import EventKind, HistoryEvent, JobStatus
from hourhand.domain.ticks.timings import Timings
from proof.chaos.ledger import Run


class Kind(StrEnum):
    """The kinds of jobs in the mix."""

    IMMEDIATE = "immediate"
    DELAYED = "delayed"
    FLAKY = "fails at first"
    KEYED = "with a key"
    DROWSY = "snoozed"
    LONG = "longer than a lease"
    CANCELLED = "cancelled"
    HOPELESS = "always fails"
    REFUSED = "not retryable"
    ONCE = "on_lost: dead"
    LIMITED = "under a limit of its key"
    PACED = "under a rate"
    UNIQUE = "unique"
    OCCURRENCE = "of a schedule"


@dataclass(frozen=True, kw_only=True, slots=True)
class Cancel:
    """A cancel that was answered at ``answered_at`` with the job's status: ``None``, too late."""

    answered_at: float
    status: JobStatus | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Promise:
    """A job that the API accepted, and what was asked of it."""

    job_id: str
    kind: Kind
    run_at: float
    cancel: Cancel | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Ending:
    """A job as the table has it in the end. ``claims`` is its fencing token."""

    status: JobStatus
    claims: int
    history: tuple[HistoryEvent, ...]
    dropped_events: int = 0
    result_run: str | None = None
    finished_at: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Commit:
    """A worker's log says that it committed the outcome of an attempt."""

    job_id: str
    attempt: int
    outcome: str
    worker: str


class Trouble(StrEnum):
    """The kinds of faults."""

    KILL = "kill -9"
    PAUSE = "pause"
    CLOCK = "wrong clock"
    PURGE = "purge"


@dataclass(frozen=True, slots=True)
class Fault:
    """What the driver did, to whom and how long; ``seconds``: how far a clock was ahead.

    ``is_leader``: it held the leader's lease just then.
    """

    trouble: Trouble
    name: str
    pid: int
    began_at: float
    ended_at: float
    seconds: float = 0.0
    is_leader: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Demand:
    """What a run must have had to count: less of it shows less than it says.

    ``troubles``: the kinds of faults of which there must be one at least. ``pauses`` and
    ``audits``: whether so long a run must have had a process paused past its lease while it held
    one, and a wrong clock that an audit was to find.
    """

    jobs: int = 0
    kills: int = 0
    troubles: frozenset[Trouble] = frozenset()
    pauses: bool = False
    audits: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Tick:
    """A scheduler's tick that came to its end."""

    name: str
    began_at: float
    ended_at: float
    led: bool
    verdict: str


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Everything.

    ``names``: which place in the cloud a process had. ``settled``: how a job was when it was first
    seen final. ``other_problems``: what is wrong with schedules, in words. ``dropped``: how many
    faults of the plan found nobody to strike, by what they were. ``met``: how many submissions met
    a job that had their unique key.
    """

    timings: Timings
    promises: Mapping[str, Promise]
    endings: Mapping[str, Ending]
    runs: Sequence[Run]
    commits: Sequence[Commit] = ()
    faults: Sequence[Fault] = ()
    ticks: Sequence[Tick] = ()
    names: Mapping[int, str] = field(default_factory=dict)
    settled: Mapping[str, Ending] = field(default_factory=dict)
    dead_letters: Mapping[str, int] = field(default_factory=Counter)
    other_problems: Sequence[str] = ()
    demand: Demand = field(default_factory=Demand)
    dropped: Mapping[str, int] = field(default_factory=Counter)
    met: int = 0

    def runs_by_job(self) -> dict[str, list[Run]]:
        """Return the runs of each job, as they began."""
        by_job: dict[str, list[Run]] = defaultdict(list)
        for run in sorted(self.runs, key=lambda run: run.began_at):
            by_job[run.job_id].append(run)
        return by_job

    def clock_faults(self, begin: float, end: float) -> list[Fault]:
        """Return the wrong clocks of any process between two instants, however little."""
        return [
            fault
            for fault in self.faults
            if fault.trouble is Trouble.CLOCK and fault.began_at <= end and fault.ended_at >= begin
        ]

    def paused_seconds(self, pid: int, begin: float, end: float) -> float:
        """Return for how long a process was paused between two instants."""
        return sum(
            max(0.0, min(fault.ended_at, end) - max(fault.began_at, begin))
            for fault in self.faults
            if fault.trouble is Trouble.PAUSE and fault.pid == pid
        )


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that was broken, and by which job, if by one."""

    rule: str
    text: str
    job_id: str | None = None

    def __str__(self) -> str:
        return f"{self.rule}: {self.job_id or ''} {self.text}".replace("  ", " ")


def is_whole(ending: Ending) -> bool:
    """Whether the history has all that happened: none of it had to go for want of room."""
    return ending.dropped_events == 0


def has(ending: Ending, kind: EventKind) -> bool:
    """Whether the history has such an event."""
    return any(event.kind is kind for event in ending.history)
