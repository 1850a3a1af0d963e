"""A jobs table that remembers every change of a base item, in order, and its side items."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from hourhand.aws.side_item_store import write_arguments
from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.transitions import Transition
from hourhand.domain.side_items import SideItemUpdate
from hourhand.memory import MemoryJobStore, MemorySideItemStore
from hourhand.ports.clock import Clock
from hourhand.ports.job_store import WriteResult
from hourhand.ports.side_item_store import SideItemWrite


@dataclass(frozen=True, slots=True)
class Change:
    """One applied write: the item before (``None``: put) and after, and by which move."""

    at: datetime
    name: str
    before: Job | None
    after: Job


class WatchedJobStore(MemoryJobStore):
    """A `MemoryJobStore` with the list of all its ``changes``.

    ``late_copies``: what a second copy of an earlier write would have changed, had it arrived only
    now. A client library that has no answer sends a request again, and the first copy may be late.
    """

    def __init__(self, clock: Clock, **options: Any) -> None:
        super().__init__(clock=clock, **options)
        self.changes: list[Change] = []
        self.late_copies: list[str] = []
        self._made: dict[str, list[tuple[datetime, Transition]]] = defaultdict(list)
        self._watch = clock

    def put(self, job: Job) -> WriteResult:
        before = self.get(job.id)
        result = super().put(job)
        self._note("put", before, job.id)
        return result

    def transition(self, move: Transition) -> WriteResult:
        before = self.get(move.job_id)
        result = super().transition(move)
        self._note(move.name, before, move.job_id)
        if self.get(move.job_id) != before:
            self._look_at_copies(move)
        return result

    def forget_copies(self) -> None:
        """Let no copy of what was written until now be late: no service wrote it."""
        self._made.clear()

    def _note(self, name: str, before: Job | None, job_id: str) -> None:
        after = self.get(job_id)
        if after is not None and after != before:
            self.changes.append(Change(self._watch.now(), name, before, after))

    def _look_at_copies(self, last: Transition) -> None:
        after, now = self.get(last.job_id), self._watch.now()
        assert after is not None
        # Time stands still here where on AWS a call would take some: what two writes of one
        # instant leave behind looks alike.
        made = [(at, move) for at, move in self._made[after.id] if at < now]
        self._made[after.id] = [*made, (now, last)]
        for _, copy in self._made[after.id]:
            if copy.name == "flag":
                # The run looks once more, and finds nothing new.
                continue
            if copy.is_allowed(after) and not _is_but_noted(copy.apply(after), after):
                self.late_copies.append(f"a copy of {copy.name} arrives after {last.name}")

    def moves_of(self, job_id: str) -> list[str]:
        """Return the names of the moves that a job made, in order."""
        return [change.name for change in self.changes if change.after.id == job_id]


def _is_but_noted(after: Job, before: Job) -> bool:
    """Whether nothing changed but the record: an entry filed anew where it lies is noted twice."""
    same = replace(after, history=before.history, history_dropped=before.history_dropped)
    return same == before


class StorableSideItems(MemorySideItemStore):
    """Side items in memory whose writes the table could make, too: each name has its letter."""

    def write_item(self, update: SideItemUpdate) -> SideItemWrite:
        write_arguments(update, 1)
        return super().write_item(update)
