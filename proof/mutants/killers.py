"""Who notices a mutant: each a call that raises `AssertionError` where a rule is broken.

Imported only once the mutant is in its place: all of this runs on the code as it then is. A
killer's name is that of a piece of work and of what happens to it (``succeed / a death``), or of
a simulation (``time: a message is lost`` is `dramas_time.a_message_is_lost`), or of a scenario of
the explorer (``explorer: one-job``, or ``explorer: one-job, crashes=0`` with other limits), or of
a test of the contract suite over moto (``contract:``, see `contract_killers`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

from proof.mutants.grids import FAULTS, At, Beside, Undisturbed
from proof.mutants.mutant import is_explorer

Killer = Callable[[], None]

AT_NO_COST = ", at no cost"


def killer_of(name: str) -> Killer:
    """Return the killer of that name. Raises `KeyError` for one that does not exist."""
    if " / " in name:
        return _on_a_grid(name)
    theme, _, what = name.partition(": ")
    if is_explorer(name):
        return partial(_explore, what)
    if theme == "contract":
        from proof.mutants.contract_killers import contract_killer  # noqa: PLC0415 - moto is slow

        return contract_killer(what)
    module = import_module(f"proof.mutants.dramas_{theme}")
    killer: Killer | None = getattr(module, what.replace(" ", "_"), None)
    if killer is None:
        raise KeyError(name)
    return killer


def _explore(what: str) -> None:
    """Explore a scenario, within its own limits but for those named, until something is found."""
    from proof.explorer.scenarios import ALL  # noqa: PLC0415 - only where it is asked
    from proof.explorer.search import explore  # noqa: PLC0415

    name, _, named = what.partition(", ")
    limits = dict(each.split("=") for each in named.split())
    scenario = ALL[name]
    counts: dict[str, Any] = {limit: int(count) for limit, count in limits.items()}
    result = explore(scenario, replace(scenario.limits, **counts))
    for violation in result.violations:
        raise AssertionError(f"{violation.sentence}, after {len(violation.choices)} choices")


def _on_a_grid(name: str) -> Killer:
    work, _, what = name.partition(" / ")
    if what == "undisturbed":
        return Undisturbed(work)
    fault = what.removesuffix(AT_NO_COST)
    if fault in FAULTS:
        return At(work, fault, costs_nothing=what.endswith(AT_NO_COST))
    return Beside(work, what)
