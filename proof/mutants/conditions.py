"""One mutant for every clause of every move: the same conditional write without it.

They are derived from the code's own list of clauses (`tests.unit.domain.condition_cases`), so that
a new clause asks for its killer by itself. The page ``tables/conditions.md`` has the fate of each:
a heading for each case of that list, and a row for each clause.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hourhand.domain.jobs.transitions import Transition
from proof.mutants.mutant import Change, How, Mutant
from proof.mutants.table import Fate, read_fate
from tests.unit.domain.condition_cases import CASES, Case
from tests.unit.domain.job_samples import with_long_history

_MOVE = "hourhand.domain.jobs.transitions._transition"
_BUILT = '"""Refuse to build a move that the table of states does not hold."""'
_FURTHER_NAMES = {"retry_later": ("snooze",)}
"""What else a builder calls the same move."""

_ROW = re.compile(r"- (\w+): (.+)")


def read_fates(page: str) -> Mapping[str, Fate]:
    """Return by the name of a mutant what must become of it."""
    fates: dict[str, Fate] = {}
    case = ""
    for line in page.splitlines():
        if line.startswith("## "):
            case = line.removeprefix("## ")
        elif row := _ROW.fullmatch(line):
            fates[_name(case, row[1])] = read_fate(row[2], page)
    return fates


def clause_mutants(fates: Mapping[str, Fate]) -> Iterator[Mutant]:
    """Yield the mutant of each clause of each move, as the code builds them. Raises `KeyError`."""
    for case in CASES:
        for clause in _clauses(case):
            fate = fates[_name(case.name, clause)]
            yield Mutant(
                name=_name(case.name, clause),
                rule=f"{case.name} expects `{clause}`.",
                changes=(_without(case, clause),),
                killers=fate.killers,
                equivalent=fate.equivalent,
                not_explored=fate.not_explored,
            )


def _name(case: str, clause: str) -> str:
    return f"{case} without {clause}"


def _without(case: Case, clause: str) -> Change:
    """Return the change that takes the clause from the move as it is built.

    Where it names the states that the write expects, the table of states is not asked either:
    the condition alone is to be missed.
    """
    move = case.build(case.ordinary)
    names = (move.name, *_FURTHER_NAMES.get(case.builder, ()))
    to = None if move.to is None else f"JobStatus.{move.to.name}"
    lines = [
        f"if self.name in {names!r} and self.to is {to}:",
        f"            left = {{n: c for n, c in self.expect.items() if n != {clause!r}}}",
        '            object.__setattr__(self, "expect", left)',
        *(["            return"] if clause == "status" else []),
    ]
    return Change(
        module=_MOVE,
        scope="Transition.__post_init__",
        how=How.ADD_AFTER,
        old=_BUILT,
        new="\n".join(lines),
    )


def _clauses(case: Case) -> list[str]:
    compacting: Transition = case.build(with_long_history(case.ordinary))
    return list(dict.fromkeys((*case.build(case.ordinary).expect, *compacting.expect)))
