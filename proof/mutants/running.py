"""Trying mutants out, some at a time, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from proof.mutants.mutant import Mutant, is_explorer
from proof.mutants.trial import Order, Outcome, Verdict

LIMIT_SECONDS = 300
"""How long one process may take; most need two or three seconds."""

KILLERS_A_PROCESS = 12
"""Killers that meet the code as it is in one process: none leaves anything behind."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A mutant and what its killers said; ``mutant`` is absent for the code as it is."""

    mutant: Mutant | None
    verdicts: tuple[Verdict, ...]

    @property
    def name(self) -> str:
        """Whom it is about."""
        return "the code as it is" if self.mutant is None else self.mutant.name

    @property
    def violations(self) -> list[str]:
        """What is not as it should be, in sentences."""
        wanted = Outcome.SURVIVED if self.mutant is None else Outcome.KILLED
        return [
            f"'{self.name}' before '{verdict.killer}': {verdict.outcome}. {verdict.told}"
            for verdict in self.verdicts
            if verdict.outcome is not wanted
        ]


def try_mutant(mutant: Mutant) -> Trial:
    """Let the killers of ``mutant`` look for it."""
    return Trial(mutant, _run(Order(mutant.changes, mutant.killers)))


def try_code(killers: Sequence[str]) -> Trial:
    """Let killers look at the code as it is: they must find nothing."""
    return Trial(None, _run(Order((), killers)))


def try_all(
    mutants: Iterable[Mutant], processes: int, told: Callable[[Trial], None]
) -> list[Trial]:
    """Try every mutant that has killers, and each of the killers on the code as it is.

    But for the explorer: it has its own part of the proof, in which it finds nothing. ``told``
    hears of each as it ends.
    """
    with_killers = [mutant for mutant in mutants if mutant.killers]
    named = {killer for mutant in with_killers for killer in mutant.killers}
    killers = sorted(killer for killer in named if not is_explorer(killer))
    shares = [killers[i : i + KILLERS_A_PROCESS] for i in range(0, len(killers), KILLERS_A_PROCESS)]
    work = [partial(try_code, share) for share in shares]
    work += [partial(try_mutant, mutant) for mutant in with_killers]
    trials = []
    with ThreadPoolExecutor(processes) as pool:
        for trial in pool.map(lambda each: each(), work):
            told(trial)
            trials.append(trial)
    return trials


def _run(order: Order) -> tuple[Verdict, ...]:
    command = [sys.executable, "-m", "proof.mutants.trial"]
    try:
        done = subprocess.run(
            command,
            input=order.to_json(),
            text=True,
            capture_output=True,
            timeout=LIMIT_SECONDS,
            check=True,
        )
    except subprocess.TimeoutExpired:
        return _all(order, f"It was not decided within {LIMIT_SECONDS} s.")
    except subprocess.CalledProcessError as error:
        return _all(order, error.stderr.strip().splitlines()[-1])
    return tuple(
        Verdict(each["killer"], Outcome(each["outcome"]), each["told"], each["seconds"])
        for each in json.loads(done.stdout)
    )


def _all(order: Order, told: str) -> tuple[Verdict, ...]:
    return tuple(Verdict(killer, Outcome.STILLBORN, told, 0.0) for killer in order.killers)
