"""One mutant before its killers, in a process of its own: ``python -m proof.mutants.trial``.

Reads an order from its input and writes what came of it to its output, both as JSON. Nothing of
`hourhand` may be imported here before the mutant is in its place.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

from proof.mutants.loading import MutantFinder, install
from proof.mutants.mutant import Change, How

TOLD_CHARACTERS = 160
"""How much of each line of an error is told."""


class Outcome(StrEnum):
    """What became of a mutant before one killer."""

    KILLED = "killed"
    SURVIVED = "survived"
    STILLBORN = "stillborn"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one killer said, and how long it took in CPU seconds."""

    killer: str
    outcome: Outcome
    told: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be tried. Without ``changes`` the code as it is meets the killers."""

    changes: Sequence[Change]
    killers: Sequence[str]

    def to_json(self) -> str:
        """Return it as the text that `read_order` reads."""
        return json.dumps(asdict(self))


def read_order(text: str) -> Order:
    """Read what `Order.to_json` wrote."""
    stored = json.loads(text)
    changes = [Change(**{**each, "how": How(each["how"])}) for each in stored["changes"]]
    return Order(changes, stored["killers"])


def try_out(order: Order) -> list[Verdict]:
    """Put the mutant in and ask each killer in turn."""
    finder = install(order.changes)
    return [_ask(killer, finder) for killer in order.killers]


def _ask(name: str, finder: MutantFinder) -> Verdict:
    from proof.mutants.killers import killer_of  # noqa: PLC0415 - the mutant comes first

    killer = killer_of(name)
    began = time.process_time()
    outcome, told = _outcome(killer)
    missing = finder.modules - finder.loaded
    if missing:
        outcome, told = Outcome.STILLBORN, f"Nobody imports {', '.join(sorted(missing))}."
    return Verdict(name, outcome, told, round(time.process_time() - began, 2))


def _outcome(killer: object) -> tuple[Outcome, str]:
    from hourhand.domain.errors import HourhandError  # noqa: PLC0415 - the mutant comes first

    assert callable(killer)
    try:
        killer()
    except (AssertionError, HourhandError, ValueError) as error:
        # The stores in memory refuse what no real one could keep, by a ValueError.
        return Outcome.KILLED, _told(error)
    except Exception as error:  # noqa: BLE001 - told: it is no use to have died of a slip
        return Outcome.STILLBORN, _told(error)
    return Outcome.SURVIVED, ""


def _told(error: Exception) -> str:
    lines = [*str(error).splitlines()[:1], *getattr(error, "__notes__", ())]
    return f"{type(error).__name__}: {'; '.join(line[:TOLD_CHARACTERS] for line in lines)}"


def main() -> None:
    """Carry out the order on the standard input."""
    verdicts = try_out(read_order(sys.stdin.read()))
    sys.stdout.write(json.dumps([asdict(verdict) for verdict in verdicts]))


if __name__ == "__main__":
    main()
