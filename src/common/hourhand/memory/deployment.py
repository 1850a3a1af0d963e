"""A deployment that is as live as a test says."""

from __future__ import annotations


class MemoryDeployment:
    """Implements the port `Deployment`. ``lives`` may be changed at any time."""

    def __init__(self, deployment_id: str = "", *, lives: bool = True) -> None:
        """Take the id of the code."""
        self.id = deployment_id
        self.lives = lives

    def is_live(self) -> bool:
        """Whether it lives."""
        return self.lives
