"""Who notices a mutant: each a call that raises `AssertionError` where a rule is broken.

Imported only once the mutant is in its place: all of this runs on the code as it then is. A
killer's name is that of a piece of work and of what happens to it (``succeed / a death``, see
`grids`), or of a test (``crash: ...`` and ``contract: ...``, see `pytest_killers`), or of a
scenario of the explorer (``explorer: one-job``, or with other limits ``explorer: one-job,
crashes=0``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from proof.mutants.grids import grid_killer
from proof.mutants.pytest_killers import contract_killer, crash_killer

Killer = Callable[[], None]


def killer_of(name: str) -> Killer:
    """Return the killer of that name. Raises `KeyError` for one that does not exist."""
    if " / " in name:
        return grid_killer(name)
    kind, _, what = name.partition(": ")
    match kind:
        case "crash":
            return crash_killer(what)
        case "explorer":
            return partial(_explore, what)
        case "contract":
            return contract_killer(what)
        case _:
            raise KeyError(name)


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
