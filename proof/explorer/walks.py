"""Seeded random walks: many faults at once, far beyond what can be explored to its end.

They are not reduced: every call takes its turn, and time may move at any of them.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field

from proof.explorer.continuation import Continuation
from proof.explorer.effects import Widened
from proof.explorer.machine import Machine
from proof.explorer.scenario import Limits, Scenario
from proof.explorer.states import State, Step, Violation

MAX_STEPS = 400

MANY = Limits(
    crashes=3,
    expiries=6,
    throttles=2,
    lost_answers=2,
    stale=2,
    duplicates=2,
    losses=1,
    copies=2,
    liveness="all",
)

FAULTS = (
    *("kill", "time", "late", "lost", "hidden", "stale", "throttled", "purge", "deliver again"),
    *("copied", "copy"),
)
FAULT_WEIGHT = 0.2
"""So much less likely than going on is each fault: there are many of them at every step."""


@dataclass(slots=True)
class WalkResult:
    """What the walks of one scenario came to."""

    name: str
    seed: int
    limits: Limits = MANY
    walks: int = 0
    steps: int = 0
    seconds: float = 0.0
    violations: list[Violation] = field(default_factory=list)
    endings: set[tuple[object, ...]] = field(default_factory=set)

    def summary(self) -> str:
        """Return one line for people."""
        found = f", {len(self.violations)} VIOLATIONS" if self.violations else ""
        return (
            f"{self.name}: {self.walks:,} walks of seed {self.seed}, {self.steps:,} steps, "
            f"{self.seconds:.0f} s{found}"
        )


def walk(scenario: Scenario, walks: int, seed: int, limits: Limits = MANY) -> WalkResult:
    """Walk ``walks`` times from the beginning to an end, or to the first violation."""
    began = time.process_time()
    machine = Machine(scenario, limits, reduced=False)
    settled = Continuation(machine)
    result = WalkResult(scenario.name, seed, limits)
    for number in range(walks):
        violation = None
        for _ in range(100):
            try:
                violation = _walk(machine, settled, random.Random(f"{seed}.{number}"), result)
                break
            except Widened:
                machine.begin_anew()
        result.walks += 1
        if violation is not None:
            result.violations.append(shortened(scenario, limits, violation))
            break
    result.seconds = time.process_time() - began
    return result


def _walk(
    machine: Machine, settled: Continuation, chance: random.Random, result: WalkResult
) -> Violation | None:
    state, choices = machine.first(), []
    for _ in range(MAX_STEPS):
        steps = list(machine.steps(state))
        if not steps:
            break
        (step,) = chance.choices(steps, weights=[_weight(each) for each in steps])
        choices.append(step.choice)
        result.steps += 1
        if step.broke:
            return machine.violation(step.broke[0], choices)
        state = step.state
    broke = settled.judge(state)
    return machine.violation(broke[0], choices) if broke else None


def _weight(step: Step) -> float:
    return FAULT_WEIGHT if step.choice.startswith(FAULTS) else 1.0


def shortened(scenario: Scenario, limits: Limits, violation: Violation) -> Violation:
    """Leave out choice after choice, as long as the same rule is broken."""
    machine = Machine.for_replay(scenario, limits, violation)
    settled = Continuation(machine)
    choices = list(violation.choices)
    place = len(choices) - 1
    while place >= 0:
        tried = choices[:place] + choices[place + 1 :]
        kept = _kept(machine, settled, tried, violation.sentence)
        if kept is not None and len(kept) < len(choices):
            choices = kept
        place = min(place, len(choices)) - 1
    return machine.violation(violation.sentence, choices)


def _kept(
    machine: Machine, settled: Continuation, choices: list[str], sentence: str
) -> list[str] | None:
    """Follow the choices that are possible; return them up to the violation, if it is there."""
    for _ in range(100):
        try:
            return _follow(machine, settled, choices, sentence)
        except Widened:
            machine.begin_anew()
    return None


def _follow(
    machine: Machine, settled: Continuation, choices: list[str], sentence: str
) -> list[str] | None:
    state: State = machine.first()
    kept = []
    for choice in choices:
        step = next((s for s in machine.steps(state) if s.choice == choice), None)
        if step is None:
            continue
        kept.append(choice)
        if sentence in step.broke:
            return kept
        state = step.state
    return kept if sentence in settled.judge(state) else None
