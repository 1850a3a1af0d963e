"""Breadth first through every state: the first violation found has the shortest trace."""

from __future__ import annotations

import time
from array import array
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from proof.explorer.continuation import Continuation
from proof.explorer.effects import Widened
from proof.explorer.machine import Machine
from proof.explorer.scenario import Limits, Scenario
from proof.explorer.states import State, Violation

PROGRESS_EVERY = 100_000
MAX_WIDENINGS = 200
KEY_BITS = 40
"""More than there can be different values of a field."""


@dataclass(slots=True)
class Result:
    """What an exploration came to. ``is_complete``: every state within the limits was seen."""

    name: str
    limits: Limits
    states: int = 0
    steps: int = 0
    histories: int = 0
    runs: int = 0
    worlds: int = 0
    seconds: float = 0.0
    is_complete: bool = False
    violations: list[Violation] = field(default_factory=list)
    endings: set[tuple[object, ...]] = field(default_factory=set)

    def summary(self) -> str:
        """Return one line for people."""
        ended = "all" if self.is_complete else "NOT ALL"
        found = f", {len(self.violations)} VIOLATIONS" if self.violations else ""
        return (
            f"{self.name}: {ended} {self.states:,} states, {self.steps:,} steps, "
            f"{self.worlds:,} worlds run on, {self.seconds:.0f} s{found}"
        )


class Search:
    """The states that were seen, each with the one it came from.

    Of a state that was seen its key alone is kept: tens of millions of them must fit into memory.
    """

    def __init__(self, machine: Machine) -> None:
        """Begin at the first state."""
        first = machine.first()
        self._keys: dict[Hashable, int] = {}
        self._seen = {self._key(first)}
        self._parents = array("q", [-1])
        self._choices = array("q", [0])
        self._names: dict[str, int] = {"": 0}
        self.queue: deque[tuple[int, State]] = deque([(0, first)])

    def __len__(self) -> int:
        """Return how many states were seen."""
        return len(self._parents)

    def add(self, parent: int, choice: str, state: State) -> bool:
        """Note a state; whether it is new."""
        key = self._key(state)
        if key in self._seen:
            return False
        self._seen.add(key)
        self.queue.append((len(self._parents), state))
        self._parents.append(parent)
        self._choices.append(self._names.setdefault(choice, len(self._names)))
        return True

    def trace(self, number: int, *last: str) -> tuple[str, ...]:
        """Return the choices that lead to a state, and one more."""
        names = list(self._names)
        choices: list[str] = []
        while number > 0:
            choices.append(names[self._choices[number]])
            number = self._parents[number]
        return (*reversed(choices), *last)

    def _key(self, state: State) -> int:
        """Return a number that no other state has: those of its fields, side by side."""
        numbers = self._keys
        key = 0
        for value in state:
            key = key << KEY_BITS | numbers.setdefault(value, len(numbers))
        return key


def explore(
    scenario: Scenario,
    limits: Limits | None = None,
    *,
    reduced: bool = True,
    stop_at_first: bool = True,
    progress: Callable[[str], None] | None = None,
) -> Result:
    """Look at every state of ``scenario`` within ``limits`` (its own, if none are given).

    Stops at the first violation, unless told to collect one of each kind.
    """
    with scenario.in_force():
        return _explore_all(scenario, limits or scenario.limits, reduced, stop_at_first, progress)


def _explore_all(
    scenario: Scenario,
    limits: Limits,
    reduced: bool,
    stop_at_first: bool,
    progress: Callable[[str], None] | None,
) -> Result:
    began = time.process_time()
    machine = Machine(scenario, limits, reduced=reduced)
    for _ in range(MAX_WIDENINGS):
        try:
            result = _explore(machine, limits, stop_at_first, progress)
        except Widened:
            machine.begin_anew()
            continue
        result.seconds = time.process_time() - began
        return result
    raise AssertionError("the world moves in more and more places")


def _explore(
    machine: Machine,
    limits: Limits,
    stop_at_first: bool,
    progress: Callable[[str], None] | None,
) -> Result:
    result = Result(machine.scenario.name, limits)
    search = Search(machine)
    settled = Continuation(machine)
    told: set[str] = set()

    def violate(sentence: str, number: int, *last: str) -> None:
        if sentence not in told:
            told.add(sentence)
            result.violations.append(machine.violation(sentence, search.trace(number, *last)))

    while search.queue and len(search) < limits.max_states:
        number, state = search.queue.popleft()
        is_end = True
        for step in machine.steps(state):
            is_end = False
            result.steps += 1
            for sentence in step.broke:
                violate(sentence, number, step.choice)
            is_new = not step.broke and search.add(number, step.choice, step.state)
            if is_new and progress and len(search) % PROGRESS_EVERY == 0:
                progress(f"{machine.scenario.name}: {len(search):,} states")
        if is_end:
            result.endings.add(_essence(machine, state))
        for sentence in settled.judge(state):
            violate(sentence, number)
        if result.violations and stop_at_first:
            break
    result.states = len(search)
    result.histories, result.runs = len(machine.histories), machine.histories.runs
    result.worlds = settled.worlds
    result.is_complete = not search.queue and not result.violations
    return result


def _essence(machine: Machine, state: State) -> tuple[object, ...]:
    jobs = machine.effects.jobs(state.parts[0])
    return tuple((job.id, job.status, job.token, job.generation) for job in jobs)
