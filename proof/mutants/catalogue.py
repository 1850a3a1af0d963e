"""Every mutant there is, by theme."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from proof.mutants import (
    of_adapters,
    of_clauses,
    of_economy,
    of_ends,
    of_schedules,
    of_sending,
    of_sweep,
    of_watermark,
    of_work,
)
from proof.mutants.explored import BY_EXPLORER
from proof.mutants.mutant import Mutant


def _explored(mutant: Mutant) -> Mutant:
    """Return the mutant with the scenario of the explorer that kills it, too, if there is one."""
    if mutant.name not in BY_EXPLORER:
        return mutant
    return replace(mutant, killers=(*mutant.killers, f"explorer: {BY_EXPLORER[mutant.name]}"))


_BY_THEME: Mapping[str, tuple[Mutant, ...]] = {
    "a clause of a condition": of_clauses.clause_mutants(),
    "submission, filing, dispatch, shard map": of_sending.MUTANTS,
    "what the tick reads and decides": (*of_sweep.MUTANTS, *of_economy.MUTANTS),
    "watermark, clocks, leaders": of_watermark.MUTANTS,
    "attempts": of_work.MUTANTS,
    "recovery, letters, people, keys": of_ends.MUTANTS,
    "schedules and places": of_schedules.MUTANTS,
    "adapters to AWS": of_adapters.MUTANTS,
}

THEMES: Mapping[str, tuple[Mutant, ...]] = {
    theme: tuple(map(_explored, mutants)) for theme, mutants in _BY_THEME.items()
}

ALL: tuple[Mutant, ...] = tuple(mutant for theme in THEMES.values() for mutant in theme)


def chosen(names: list[str] | None) -> tuple[Mutant, ...]:
    """Return the mutants whose names contain one of ``names``; all without any."""
    if not names:
        return ALL
    return tuple(m for m in ALL if any(name in m.name for name in names))
