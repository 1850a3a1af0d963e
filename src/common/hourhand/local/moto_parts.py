"""Replaces parts of moto, where moto is what the replacement was written for."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Part:
    """A function or property of one of moto's classes, and what is to stand in its place.

    ``parameters`` are those of moto's function, by name; for a property there are none.
    """

    owner: Any
    name: str
    ours: Any
    parameters: str = ""

    def __str__(self) -> str:
        """Return its name, as moto's sources have it."""
        return f"{self.owner.__name__}.{self.name}"

    @property
    def fits(self) -> bool:
        """Whether moto has a part of this name that is called in this way; or ours is there."""
        found = inspect.getattr_static(self.owner, self.name, None)
        if found is self.ours:
            return True
        if not inspect.isfunction(found):
            return isinstance(found, property) and not self.parameters
        return " ".join(inspect.signature(found).parameters) == self.parameters


def replace_parts(parts: Sequence[Part]) -> bool:
    """Replace all ``parts``, as often as one likes; none of them, and say so, if one is not known.

    Returns whether they were replaced. Without them moto answers alike, but in time that grows
    with all that it holds.
    """
    unknown = ", ".join(str(part) for part in parts if not part.fits)
    if unknown:
        _log.warning("This moto differs in %s: it will be slow with many jobs.", unknown)
        return False
    for part in parts:
        setattr(part.owner, part.name, part.ours)
    return True
