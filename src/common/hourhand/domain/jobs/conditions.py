"""The predicates that conditions are made of, as data that every store can evaluate.

The in-memory store calls `holds`; the DynamoDB store compiles the same values into a
``ConditionExpression``; the contract suite proves that the two agree. Because a condition is
data, a test can drop any one clause of any move and show what breaks without it.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from hourhand.domain.jobs.job import Job, JobStatus

_ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt}


class Condition(ABC):
    """One named part of a condition on the stored job."""

    @abstractmethod
    def holds(self, job: Job) -> bool:
        """Whether the stored ``job`` satisfies the clause."""


@dataclass(frozen=True, slots=True)
class StatusIn(Condition):
    """The job is in one of these states."""

    statuses: frozenset[JobStatus]

    def holds(self, job: Job) -> bool:
        """Compare the status."""
        return job.status in self.statuses


@dataclass(frozen=True, slots=True)
class Is(Condition):
    """The field is exactly ``value``."""

    field: str
    value: Any

    def holds(self, job: Job) -> bool:
        """Compare for equality; an absent field equals nothing."""
        actual = getattr(job, self.field)
        return actual is not None and bool(actual == self.value)


@dataclass(frozen=True, slots=True)
class Absent(Condition):
    """The field has no value."""

    field: str

    def holds(self, job: Job) -> bool:
        """Look for a value."""
        return getattr(job, self.field) is None


@dataclass(frozen=True, slots=True)
class Ordered(Condition):
    """The field has a value, and that compares with ``value`` by ``sign``."""

    field: str
    value: Any
    sign: ClassVar[Literal["<", "<=", ">"]]

    def holds(self, job: Job) -> bool:
        """Compare; an absent field is neither below nor above anything."""
        actual = getattr(job, self.field)
        return actual is not None and self.orders(actual)

    def orders(self, actual: Any) -> bool:
        """Whether the clause holds for a field with this value."""
        return bool(_ORDERS[self.sign](actual, self.value))


class Below(Ordered):
    """The field has a value less than ``value``."""

    __slots__ = ()
    sign = "<"


class AtMost(Ordered):
    """The field has a value of at most ``value``."""

    __slots__ = ()
    sign = "<="


class Above(Ordered):
    """The field has a value greater than ``value``."""

    __slots__ = ()
    sign = ">"


@dataclass(frozen=True, slots=True)
class AttemptsLeft(Condition):
    """Fewer attempts were begun in this round than the policy allows."""

    def holds(self, job: Job) -> bool:
        """Compare two fields of the same item."""
        return job.attempt < job.retry.max_attempts


@dataclass(frozen=True, slots=True)
class HistoryLengthIs(Condition):
    """Nothing was appended to the history since it was read.

    The length alone would not tell: a compaction drops an event for each one that it appends.
    With the number of those dropped it does, since the sum of the two only grows.
    """

    length: int
    dropped: int

    def holds(self, job: Job) -> bool:
        """Count the events, and those that had to go."""
        return (len(job.history), job.history_dropped) == (self.length, self.dropped)


@dataclass(frozen=True, slots=True)
class AnyOf(Condition):
    """At least one of the clauses holds."""

    conditions: tuple[Condition, ...]

    def holds(self, job: Job) -> bool:
        """Try each."""
        return any(clause.holds(job) for clause in self.conditions)


def all_hold(conditions: Collection[Condition], job: Job) -> bool:
    """Whether ``job`` satisfies every clause."""
    return all(clause.holds(job) for clause in conditions)
