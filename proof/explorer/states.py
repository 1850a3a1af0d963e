"""The states of a scenario: the parts of the world, those who act, and what may still go wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from hourhand.domain.jobs.job import Job
from hourhand.memory import START
from proof.explorer.effects import HANDLER, JOBS, Effects
from proof.explorer.histories import Histories, History, Root
from proof.explorer.process import worker_name
from proof.explorer.rules import Bounds, Run, Writer
from proof.explorer.scenario import Limits, Scenario
from proof.explorer.script import MILLISECOND, Call

FIRST_TICK, FIRST_DELIVERY, FIRST_SWEEP = 100, 200, 300
"""The numbers of processes, which decide their names and ids: one for each operation."""


class Budget(NamedTuple):
    """What may still go wrong."""

    crashes: int
    expiries: int
    throttles: int
    lost_answers: int
    stale: int
    duplicates: int
    losses: int
    copies: int


class Counts(NamedTuple):
    """What was begun: ticks, deliveries, sweeps of others' shards, operations; and what is over."""

    ticks: int
    deliveries: int
    sweeps: int
    begun: int
    over: int


class State(NamedTuple):
    """One state of the whole. ``shown``: the jobs as the index shows them, and until when.

    ``actors``: the histories of those in the middle of an operation, in the order of their starts.
    ``left``: the jobs that some wrote who died then, in the middle of an operation.
    ``flying``: the writes of which another copy is on its way: call, name and label of the writer.
    ``acknowledged``: the submissions that were, where one may supersede another.
    """

    now_ms: int
    parts: tuple[int, ...]
    shown: tuple[int, int] | None
    actors: tuple[int, ...]
    counts: Counts
    budget: Budget
    left: tuple[str, ...] = ()
    flying: tuple[tuple[int, str, str], ...] = ()
    acknowledged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that was broken, and the choices that lead there.

    The choices are read with what was known to change (``moving``), and with whether calls that
    nobody can change took a turn (``reduced``).
    """

    sentence: str
    choices: tuple[str, ...]
    moving: tuple[str, ...] = ()
    reduced: bool = True


class Step(NamedTuple):
    """What may happen next, by name, and what comes of it; ``broke``: which rules."""

    choice: str
    state: State
    broke: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ground:
    """What all who work out steps stand on: the scenario, its effects, and where actors are."""

    scenario: Scenario
    limits: Limits
    reduced: bool
    effects: Effects
    histories: Histories
    bounds: Bounds
    skews: Mapping[str, timedelta]
    start_ms: int

    def call(self, history: History) -> Call:
        """Return the call that an actor makes next."""
        call: Call = self.effects.calls.value(history.call or 0)
        return call

    def value(self, state: State, port: int) -> Any:
        """Return a part of the world as it is in a state."""
        return self.effects.value(port, state.parts[port])

    def jobs(self, state: State) -> tuple[Job, ...]:
        """Return the jobs as they are in a state."""
        return self.effects.jobs(state.parts[JOBS])

    def runs(self, state: State) -> tuple[Run, ...]:
        """Return the handlers that run in a state."""
        runs: tuple[Run, ...] = self.value(state, HANDLER)
        return runs

    def with_runs(self, state: State, runs: tuple[Run, ...]) -> State:
        """Return the state in which these handlers run."""
        ordered = tuple(sorted(runs, key=lambda run: (run.job_id, run.token, run.label)))
        number = self.effects.parts[HANDLER].number(ordered)
        return with_part(state, HANDLER, number)

    def writer(self, root: Root) -> Writer:
        """Return who it is that writes."""
        worker = root.worker
        return Writer(worker, self.skews.get(worker, timedelta(0)))


def with_part(state: State, port: int, number: int) -> State:
    """Return the state with another part of the world."""
    return state._replace(parts=(*state.parts[:port], number, *state.parts[port + 1 :]))


def with_actor(state: State, place: int, number: int) -> State:
    """Return the state in which an actor has gone on."""
    actors = state.actors
    return state._replace(actors=(*actors[:place], number, *actors[place + 1 :]))


def without_actor(state: State, place: int, root: Root) -> State:
    """Return the state in which an actor is gone; its operation is over."""
    actors = (*state.actors[:place], *state.actors[place + 1 :])
    counts = state.counts
    if root.number < FIRST_TICK:
        counts = counts._replace(over=counts.over | 1 << (root.number - 1))
    return state._replace(actors=actors, counts=counts)


def ms_of(instant: datetime) -> int:
    """Return an instant in ms since `START`."""
    return (instant - START) // MILLISECOND


def skews_of(scenario: Scenario) -> dict[str, timedelta]:
    """Return how far the clocks of processes are ahead, by the names of the processes."""
    return {
        worker_name(number): skew
        for label, skew in scenario.skews.items()
        for number in _numbers(scenario, label)
    }


def _numbers(scenario: Scenario, label: str) -> range:
    kind, _, ordinal = label.partition(" ")
    first = {"tick": FIRST_TICK, "worker": FIRST_DELIVERY, "sweeper": FIRST_SWEEP}.get(kind)
    if first is None:
        names = [operation.name for operation in scenario.operations]
        return range(names.index(label) + 1, names.index(label) + 2)
    return (
        range(first + int(ordinal), first + int(ordinal) + 1)
        if ordinal
        else range(first + 1, first + 100)
    )
