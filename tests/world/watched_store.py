"""A jobs table that remembers every change of a base item, in order."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hourhand.domain.model import Job
from hourhand.domain.moves import Move
from hourhand.ports import Clock, WriteResult
from hourhand.testing import MemoryJobStore


@dataclass(frozen=True, slots=True)
class Change:
    """One applied write: the item before (``None``: put) and after, and by which move."""

    at: datetime
    name: str
    before: Job | None
    after: Job


class WatchedJobStore(MemoryJobStore):
    """A `MemoryJobStore` with the list of all its ``changes``."""

    def __init__(self, clock: Clock, **options: Any) -> None:
        super().__init__(clock=clock, **options)
        self.changes: list[Change] = []
        self._watch = clock

    def put(self, job: Job) -> WriteResult:
        before = self.get(job.id)
        result = super().put(job)
        self._note("put", before, job.id)
        return result

    def transition(self, move: Move) -> WriteResult:
        before = self.get(move.job_id)
        result = super().transition(move)
        self._note(move.name, before, move.job_id)
        return result

    def _note(self, name: str, before: Job | None, job_id: str) -> None:
        after = self.get(job_id)
        if after is not None and after != before:
            self.changes.append(Change(self._watch.now(), name, before, after))

    def moves_of(self, job_id: str) -> list[str]:
        """Return the names of the moves that a job made, in order."""
        return [change.name for change in self.changes if change.after.id == job_id]
