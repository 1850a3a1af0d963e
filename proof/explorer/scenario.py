"""What is explored: who acts on which world, what may go wrong, and how far."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from hourhand.domain.jobs.parents import CHUNK
from hourhand.domain.limits.debounce import Debounce
from hourhand.domain.limits.declarations import Concurrency, Limit
from hourhand.domain.limits.unique_keys import OnConflict, Unique
from hourhand.domain.runs import joins
from hourhand.domain.ticks.timings import Timings
from hourhand.memory import MemoryHandlerDirectory
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.settings import DispatchMode
from tests.world.runs import Behaviour, succeed
from tests.world.world import World

if TYPE_CHECKING:
    from hourhand.api.routing import Services
    from proof.explorer.process import ScriptedProcess

SECOND = timedelta(seconds=1)
WEEK = 7 * 86_400

TIMINGS = Timings(first_look_back=timedelta(0))
"""The defaults, but that a new installation reads nothing older than itself."""

REDELIVERED = (TIMINGS.visibility - TIMINGS.job_lease + timedelta(milliseconds=1),)
"""How long after the end of a lease the message of its job is visible again, from which another
worker takes the job over."""


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One piece of work that one process does once, at any time: a submission, say.

    ``after``: the operations that must be over first, by name.
    """

    name: str
    act: Callable[[ScriptedProcess], object]
    after: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """How much may go wrong along one path, and how many states are looked at.

    ``expiries``: moves of time while somebody may be in the middle of something. ``stale``:
    writes that the ``run_at`` index does not show until its lag is over. ``duplicates``:
    deliveries of a message that another worker has. ``losses``: messages that are purged.
    ``copies``: writes of jobs of which a second copy arrives at any later time.
    ``only_leases``: while somebody is in the middle of something, time moves just past the end of a
    lease that a job is under, and to no other instant.
    ``liveness``: from which worlds a fair continuation is run: ``all`` (everybody who is in the
    middle of something dies first), ``rest`` (nobody is), ``none``.
    """

    crashes: int = 1
    expiries: int = 1
    throttles: int = 0
    lost_answers: int = 0
    stale: int = 0
    duplicates: int = 0
    losses: int = 0
    copies: int = 0
    only_leases: bool = False
    max_states: int = 2_000_000
    liveness: str = "all"


CRASH = Limits(crashes=1, expiries=0)
QUIET = Limits(crashes=0, expiries=0)


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A world and those who act on it. Everything else is the explorer's choice.

    ``arrange`` brings a world to where it begins. ``operations`` happen once each. ``ticks`` and
    ``deliveries``: how many there are in all; ``schedulers`` and ``workers``: how many at a time.
    ``handlers``: what a handler may do, by name; in the fair continuation it does the first.
    ``control``: ``real``; ``all lead``: the leader's lease counts for nothing, as if each took the
    other for dead (safety must not depend on it); ``still``: and no bucket is ever closed.
    ``rests``: whether time moves only while nobody is in the middle of something.
    ``stalls``: whether somebody may stand still between its start and its first call.
    ``skews``: how far the clock of an actor is ahead, by its label or the first word of it.
    ``audits``: whether schedulers are told the true time. ``bounded``: whether clocks are within
    the margin; beyond it somebody may take over early, and nothing else may happen.
    ``dispatch``: how what is sent is marked.
    ``sweeps``: whether ticks happen in the fair continuation; without them the messages alone
    must do. ``punctual``: how late a job may start in it that is due later than its first tick.
    ``nominals``: the times that its one schedule wants, each of which is made or skipped at the
    end. ``declared``: the limits of its handler, and of the ``others``; ``has_groups``: whether its
    jobs are of a group that one may run of; ``most_slots``: the largest ``max`` since slots above a
    lowered one were taken. ``in_order``: whether jobs get slots in the order of their ranks.
    ``unique``, ``debounce``: which of its jobs are one; ``is_durable``: its jobs are durable runs;
    ``acknowledged``: the submissions that were acknowledged before it all begins. ``offsets``:
    instants around the end of a lease at which time may stop. ``chunk``: the children of a join
    record. ``repeats``: what callers do again once all faults are over.
    """

    name: str
    about: str
    arrange: Callable[[World], object] = lambda _world: None
    operations: tuple[Operation, ...] = ()
    ticks: int = 0
    schedulers: int = 2
    deliveries: int = 0
    workers: int = 2
    handlers: Mapping[str, Behaviour] = field(default_factory=lambda: {"succeed": succeed})
    control: str = "still"
    rests: bool = False
    stalls: bool = False
    audits: bool = True
    bounded: bool = True
    skews: Mapping[str, timedelta] = field(default_factory=dict)
    timings: Timings = TIMINGS
    fan_out_entries: int = 0
    dispatch: DispatchMode = DispatchMode.SINGLE
    sweeps: bool = True
    punctual: timedelta | None = None
    nominals: tuple[datetime, ...] = ()
    settle_ticks: int = 60
    declared: tuple[Limit, ...] = ()
    others: tuple[str, ...] = ()
    has_groups: bool = False
    most_slots: int = 0
    in_order: bool = False
    unique: Unique | None = None
    debounce: Debounce | None = None
    is_durable: bool = False
    acknowledged: tuple[str, ...] = ()
    offsets: tuple[timedelta, ...] = (TIMINGS.clock_margin + timedelta(milliseconds=1),)
    instants: tuple[timedelta, ...] = ()
    chunk: int = CHUNK
    repeats: Callable[[Services], object] | None = None
    limits: Limits = field(default_factory=Limits)

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Let the constants of the code be as the scenario has them."""
        names = vars(joins)
        before, names["CHUNK"] = names["CHUNK"], self.chunk
        try:
            yield
        finally:
            names["CHUNK"] = before

    @property
    def directory(self) -> MemoryHandlerDirectory:
        """The handler, with its limits, and the others that share them."""
        return MemoryHandlerDirectory(
            HandlerInfo(
                name="greet",
                limits=self.declared,
                unique=self.unique,
                debounce=self.debounce,
                run_timeout_seconds=WEEK if self.is_durable else None,
            ),
            *(HandlerInfo(name=name, limits=self.declared) for name in self.others),
        )

    @property
    def has_limits(self) -> bool:
        """Whether its jobs need slots."""
        return self.has_groups or bool(self.declared)

    @property
    def largest_limit(self) -> int:
        """How many slots of a limit may be held at most."""
        numbers = (limit.max for limit in self.declared if isinstance(limit, Concurrency))
        return max(1, self.most_slots, *numbers)

    @property
    def key(self) -> Unique | None:
        """Which of its jobs are one and the same."""
        return self.unique if self.debounce is None else self.debounce.unique

    @property
    def supersedes(self) -> bool:
        """Whether a submission may replace the payload of an earlier one."""
        return self.key is not None and self.key.on_conflict is OnConflict.REPLACE


def scenarios_among(names: Mapping[str, object]) -> tuple[Scenario, ...]:
    """Return the scenarios among the names of a module, those in tuples included."""
    several = (value if isinstance(value, tuple) else (value,) for value in names.values())
    return tuple(each for values in several for each in values if isinstance(each, Scenario))
