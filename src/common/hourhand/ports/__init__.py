"""What the services need of the world, as protocols; ``aws`` and ``memory`` implement them.

A port, its adapter and its memory twin have the same file name. Every method may raise
`hourhand.domain.errors.Unavailable`: AWS did not answer, or throttled beyond the client's own
retries. A write was then applied or not, and the caller must assume neither. A lost race is a
value (`Refused`, `Outdated`), never an exception.

No store reads or changes a record of a newer version of Hourhand. A read of one, and a write,
raise `hourhand.domain.errors.WrittenByNewer`. A read of many returns `Found`, and logs and counts
what it leaves out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from hourhand.domain.errors import WrittenByNewer

K = TypeVar("K")
V = TypeVar("V")


class Found(dict[K, V]):
    """What a read of many found, by key. Beside it, what it left to a newer version.

    ``left``: the error that a read of these alone raises; ``None``: there are none.
    """

    __slots__ = ("left",)

    def __init__(
        self, known: Mapping[K, V] | None = None, left: WrittenByNewer | None = None
    ) -> None:
        """Take what is known, and what is left."""
        super().__init__(known or {})
        self.left = left

    @property
    def newer(self) -> frozenset[str]:
        """The ids of what a newer version wrote."""
        return frozenset() if self.left is None else self.left.ids

    def require_all_known(self) -> None:
        """Raise `WrittenByNewer` if anything is left out: for decisions that depend on all."""
        if self.left is not None:
            raise self.left
