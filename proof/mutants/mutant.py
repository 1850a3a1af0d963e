"""A mutant: one plausible mistake in the shipped code, the rule it breaks, and who must notice."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

EXPLORER = "explorer: "
"""How the names of killers begin that are scenarios of the explorer."""


class StaleMutant(Exception):
    """A mutant's fragment is not in its module exactly once: the code was changed since."""


@dataclass(frozen=True, slots=True)
class Patch:
    """One place in the code: ``old`` must occur exactly once in ``module``, and becomes ``new``."""

    module: str
    old: str
    new: str

    def apply(self, source: str) -> str:
        """Return ``source`` with the mistake in it. Raises `StaleMutant`."""
        found = source.count(self.old)
        if found != 1:
            raise StaleMutant(f"In {self.module} this occurs {found} times, not once:\n{self.old}")
        return source.replace(self.old, self.new)


@dataclass(frozen=True, kw_only=True, slots=True)
class Mutant:
    """A mistake and what must become of it.

    ``rule``: what it breaks, and where that is written. ``killers``: the names of those that
    notice it, each by itself (see `proof.mutants.killers`). ``equivalent``: why nothing
    that the rules promise changes with it; then nobody need notice.
    """

    name: str
    rule: str
    patches: tuple[Patch, ...]
    killers: tuple[str, ...] = ()
    equivalent: str = ""

    def __post_init__(self) -> None:
        """Refuse one that nobody is to notice without a reason."""
        if bool(self.killers) == bool(self.equivalent):
            raise ValueError(f"Say who kills the mutant '{self.name}', or why nobody need.")


def is_explorer(killer: str) -> bool:
    """Whether a killer is a scenario of the explorer."""
    return killer.startswith(EXPLORER)


def patched_sources(patches: tuple[Patch, ...]) -> dict[str, str]:
    """Return by module the source with all ``patches`` in it. Raises `StaleMutant`."""
    sources: dict[str, str] = {}
    for patch in patches:
        source = sources.get(patch.module) or source_of(patch.module)
        sources[patch.module] = patch.apply(source)
    return sources


def source_of(module: str) -> str:
    """Return the source of ``module`` as it is on disk. Raises `StaleMutant` if there is none."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise StaleMutant(f"There is no module {module}.")
    return Path(spec.origin).read_text()
