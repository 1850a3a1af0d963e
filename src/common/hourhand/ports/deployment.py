"""The deployment that a process belongs to."""

from __future__ import annotations

from typing import Protocol


class Deployment(Protocol):
    """The deployment whose code runs here. Another one may run beside it for a while."""

    @property
    def id(self) -> str:
        """What tells its code from that of all others."""

    def is_live(self) -> bool | None:
        """Whether this is the deployment that callers are to reach, not one that it replaced.

        ``None``: that cannot be found out now.
        """
