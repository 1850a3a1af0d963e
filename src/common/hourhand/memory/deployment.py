"""A deployment that is as live as its creator says."""

from __future__ import annotations


class MemoryDeployment:
    """Implements the port `Deployment`. ``lives`` may be changed at any time."""

    def __init__(self, deployment_id: str = "", *, lives: bool | None = True) -> None:
        """Take the id of the code."""
        self.id = deployment_id
        self.lives = lives

    def is_live(self) -> bool | None:
        """Whether it lives; ``None``: that is not known."""
        return self.lives
