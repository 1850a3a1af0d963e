"""What a scene plays in, and what it expects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from proof.wire.world import World
from tests.world.factories import make_job

ITEM_BYTES = 2_000
OBJECT_BYTES = 300_000
"""Sizes of a text that is kept beside its job, and in the bucket."""


@dataclass(slots=True)
class Stage:
    """A world to play in, and what is expected of it. ``number`` keeps the ids of plays apart.

    ``ends``: how each job ends. ``children``: how those of each run end.
    """

    world: World
    number: int
    ends: dict[str, str] = field(default_factory=dict)
    children: dict[str, list[str]] = field(default_factory=dict)
    windows: list[tuple[str, Any]] = field(default_factory=list)

    def name(self, name: str) -> str:
        return f"{name}-{self.number}"

    def submit(self, name: str, end: str, handler: str = "wire-greet", **body: Any) -> str:
        """Submit a job under an id of its own, so that it can be repeated; it shall end so."""
        job_id = self.name(name)
        self.world.api("POST", "/v1/jobs", {"id": job_id, "handler": handler, **body})
        self.ends[job_id] = end
        return job_id

    def put(self, name: str, end: str, **fields: Any) -> str:
        """Put a job as somebody left it who died."""
        job_id = self.name(name)
        self.world.jobs.put(make_job(id=job_id, handler="wire-greet", **fields))
        self.ends[job_id] = end
        return job_id


@dataclass(frozen=True, slots=True)
class Scene:
    """``needs_batches``: only where the store judges each statement of a batch."""

    name: str
    play: Callable[[Stage], None]
    needs_batches: bool = False
