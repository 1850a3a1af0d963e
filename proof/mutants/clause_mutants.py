"""One mutant for every clause of every move: the same conditional write without it.

They are derived from the code's own list of clauses (`tests.unit.domain.condition_cases`), so
that a new clause asks for its killer by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from hourhand.domain.jobs.transitions import Transition
from proof.mutants.mutant import Patch
from tests.unit.domain.condition_cases import CASES, Case
from tests.unit.domain.job_samples import with_long_history

_MOVE = "hourhand.domain.jobs.transitions._transition"
_BUILT = '        """Refuse to build a move that the table of states does not hold."""\n'
_FURTHER_NAMES = {"retry_later": ("snooze",)}
"""What else a builder calls the same move."""


@dataclass(frozen=True, slots=True)
class ClausePair:
    """A clause of a move: of ``case`` (of the table of conditions) that ``clause``."""

    case: str
    clause: str

    @property
    def name(self) -> str:
        """The name of the mutant without the clause."""
        return f"{self.case} without {self.clause}"


def clause_pairs() -> list[ClausePair]:
    """Return every clause of every move, as the code builds them."""
    return [ClausePair(case.name, clause) for case in CASES for clause in _clauses(case)]


def without(pair: ClausePair) -> Patch:
    """Return the patch that takes the clause from the move as it is built.

    Where it names the states that the write expects, the table of states is not asked either:
    the condition alone is to be missed.
    """
    (case,) = (each for each in CASES if each.name == pair.case)
    move = case.build(case.ordinary)
    names = (move.name, *_FURTHER_NAMES.get(case.builder, ()))
    to = None if move.to is None else f"JobStatus.{move.to.name}"
    lines = [
        f"        if self.name in {names!r} and self.to is {to}:",
        f"            left = {{n: c for n, c in self.expect.items() if n != {pair.clause!r}}}",
        '            object.__setattr__(self, "expect", left)',
        *(["            return"] if pair.clause == "status" else []),
    ]
    return Patch(_MOVE, _BUILT, _BUILT + "\n".join(lines) + "\n")


def _clauses(case: Case) -> list[str]:
    compacting: Transition = case.build(with_long_history(case.ordinary))
    return list(dict.fromkeys((*case.build(case.ordinary).expect, *compacting.expect)))
