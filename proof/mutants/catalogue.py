"""Every mutant there is, by area."""

from __future__ import annotations

from collections.abc import Mapping

from proof.mutants.conditions import clause_mutants, read_fates
from proof.mutants.mutant import Mutant
from proof.mutants.table import TABLES, read_table

CONDITIONS = "a clause of a condition"
FATES = read_fates((TABLES / "conditions.md").read_text())
_PAGES = ("jobs", "ticks", "schedules", "adapters", "limits", "runs", "children", "graphs")


def _by_area() -> Mapping[str, tuple[Mutant, ...]]:
    found: dict[str, tuple[Mutant, ...]] = {CONDITIONS: tuple(clause_mutants(FATES))}
    for page in _PAGES:
        for area, mutant in read_table((TABLES / f"{page}.md").read_text()):
            found[area] = (*found.get(area, ()), mutant)
    return found


AREAS = _by_area()

ALL: tuple[Mutant, ...] = tuple(mutant for area in AREAS.values() for mutant in area)


def chosen(names: list[str] | None) -> tuple[Mutant, ...]:
    """Return the mutants whose names contain one of ``names``; all without any."""
    if not names:
        return ALL
    return tuple(m for m in ALL if any(name in m.name for name in names))
