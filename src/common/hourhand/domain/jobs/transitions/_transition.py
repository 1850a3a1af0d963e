"""A conditional write on a job as a value, and how it keeps its record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any

from hourhand.domain.conditions import Condition, OneOf, SizeIs, all_hold, either, equals
from hourhand.domain.errors import IllegalTransition
from hourhand.domain.jobs.history import compact, history_budget, is_over_budget
from hourhand.domain.jobs.job import (
    EventKind,
    HistoryEvent,
    Job,
    JobStatus,
)
from hourhand.domain.jobs.states import require_legal
from hourhand.domain.jobs.transitions._parts import make_event
from hourhand.domain.ticks.buckets import Entry

_CONTENTS = frozenset({"run_at", "priority", "payload", "expires_at", "schedule_revision"})
"""What tells two writes of one kind apart."""


@dataclass(frozen=True, kw_only=True)
class Transition:
    """One conditional write on one job's item.

    ``to``: the state it leads to; absent where the state stays. ``expect``: the clauses, by
    name. ``sets``: new values of fields (``None`` removes a field). ``increments``: added to a
    number. ``defaults``: set only where absent. ``entry``: a new place in the ``run_at`` index;
    ``leaves_index``: the entry goes. ``events``: appended to the history, unless ``history``
    (the events that were read, compacted, with the new ones) replaces it.
    """

    name: str
    job_id: str
    expect: Mapping[str, Condition]
    to: JobStatus | None = None
    sets: Mapping[str, Any] = field(default_factory=dict)
    increments: Mapping[str, int] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    entry: Entry | None = None
    leaves_index: bool = False
    events: tuple[HistoryEvent, ...] = ()
    history: tuple[HistoryEvent, ...] | None = None
    history_dropped: int = 0
    claim_id: str | None = None

    def __post_init__(self) -> None:
        """Refuse to build a move that the table of states does not hold."""
        if self.to is None:
            return
        status = self.expect.get("status")
        if not isinstance(status, OneOf):
            raise IllegalTransition(f"The move {self.name} names no state that it expects.")
        require_legal(status.values, self.to)

    def is_allowed(self, job: Job) -> bool:
        """Whether every clause holds for the stored ``job``."""
        return all_hold(self.expect.values(), job)

    def made_by_me(self, job: Job) -> bool:
        """Whether the stored ``job`` shows that this very write was already applied."""
        if self.claim_id is not None:
            return job.lease is not None and job.lease.claim_id == self.claim_id
        if not self.events or self.events[-1] not in job.history:
            return False
        # Two callers of one name may write in one millisecond; what they set tells them apart.
        return job.generation != self.sets.get("generation", job.generation) or all(
            job.at(name) == self.sets[name] for name in _CONTENTS & self.sets.keys()
        )

    def on(self, job_id: str) -> Transition:
        """Return the same move on another job; they share all parts."""
        twin = object.__new__(Transition)
        twin.__dict__.update(self.__dict__, job_id=job_id)
        return twin

    def shares_all_with(self, other: Transition) -> bool:
        """Whether no part but the job's id is another object: what was made of one fits both."""
        mine, others = self.__dict__, other.__dict__
        return all(mine[part] is others[part] for part in _PARTS)

    def apply(self, job: Job) -> Job:
        """Return the job as it is after the move."""
        changes: dict[str, Any] = dict(self.sets)
        for name, by in self.increments.items():
            changes[name] = job.at(name) + by
        for name, value in self.defaults.items():
            if job.at(name) is None:
                changes[name] = value
        if self.to is not None:
            changes["status"] = self.to
        if self.entry is not None:
            changes["due_at"], changes["shard"] = self.entry.due_at, self.entry.shard
        if self.leaves_index:
            changes["due_at"] = changes["shard"] = None
        if self.history is not None:
            changes["history"], changes["history_dropped"] = self.history, self.history_dropped
        else:
            changes["history"] = job.history + self.events
        return job.with_values(changes)


_PARTS = tuple(part.name for part in fields(Transition) if part.name != "job_id")


def recorded(
    move: Transition,
    job: Job,
    kind: EventKind,
    now: datetime,
    actor: str,
    reason: str = "",
    *,
    is_of_attempt: bool = True,
) -> Transition:
    """Return ``move`` with what it is on record as: an event in the state that it leads to."""
    event = make_event(job, kind, now, move.to or job.status, actor, reason)
    if not is_of_attempt:
        event = replace(event, attempt=0, token=0)
    return recording(move, job, event)


def recording(
    move: Transition, job: Job, event: HistoryEvent, *earlier: HistoryEvent
) -> Transition:
    """Return ``move`` with ``event`` (after ``earlier`` ones) on record.

    Where the history of ``job`` as it was read would grow over its budget it is compacted in
    the same write, on the condition that nobody appended to it since.
    """
    events = (*earlier, event)
    failure = move.sets.get("last_failure", job.last_failure)
    if not is_over_budget((*job.history, *events), failure):
        return replace(move, events=events)
    history, dropped = compact(
        (*job.history, *events), job.history_dropped, budget_bytes=history_budget(failure)
    )
    # The length alone would not tell: a compaction drops an event for each one that it appends.
    # With the number of those dropped it does, since the sum of the two only grows.
    length, before = len(job.history), job.history_dropped
    as_read = either((SizeIs("history", "=", length), equals("history_dropped", before)))
    return replace(
        move,
        events=events,
        history=history,
        history_dropped=dropped,
        expect={**move.expect, "history_as_read": as_read},
    )
