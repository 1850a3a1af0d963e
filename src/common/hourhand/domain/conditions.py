"""The conditions of writes, as data over the named fields of what is stored.

A store in memory asks `holds`; the DynamoDB stores compile the same values into a condition; the
contract suites prove that the two agree. Because a condition is data, a test can drop any one
clause of any write and show what breaks without it.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sized
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Path = str | tuple[str, str]
"""A field, or an entry of a field that is a map: ``"gate"``, ``("holders", "job-1")``."""

Sign = Literal["=", "<", "<=", ">", ">="]
_ORDERS = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Fields(Protocol):
    """What is stored: a job, or a side item."""

    def at(self, path: Path) -> Any:
        """Return what stands at ``path``, or ``None``."""


class Condition(ABC):
    """One part of the condition of a write, a clause."""

    @abstractmethod
    def holds(self, stored: Fields | None) -> bool:
        """Whether what is stored (``None``: nothing is) satisfies the clause."""


@dataclass(frozen=True, slots=True)
class NoItem(Condition):
    """Nothing is stored."""

    def holds(self, stored: Fields | None) -> bool:
        """Look for the item."""
        return stored is None


@dataclass(frozen=True, slots=True)
class Absent(Condition):
    """Nothing stands at the path, or nothing is stored."""

    path: Path

    def holds(self, stored: Fields | None) -> bool:
        """Look for a value."""
        return stored is None or stored.at(self.path) is None


@dataclass(frozen=True, slots=True)
class Compares(Condition):
    """A value of the type of ``value`` stands at the path, and compares with it by ``sign``."""

    path: Path
    sign: Sign
    value: Any

    def holds(self, stored: Fields | None) -> bool:
        """Compare; what is absent compares with nothing."""
        return self.orders(None if stored is None else stored.at(self.path))

    def orders(self, actual: Any) -> bool:
        """Whether the clause holds for a field with this value."""
        is_there = actual is not None and isinstance(actual, type(self.value))
        return is_there and bool(_ORDERS[self.sign](actual, self.value))


@dataclass(frozen=True, slots=True)
class OneOf(Condition):
    """The field has one of these values."""

    path: str
    values: frozenset[Any]

    def holds(self, stored: Fields | None) -> bool:
        """Look for the value among them."""
        return stored is not None and stored.at(self.path) in self.values


@dataclass(frozen=True, slots=True)
class Fewer(Condition):
    """The one number is less than the other one, of the same item."""

    path: str
    than: str

    def holds(self, stored: Fields | None) -> bool:
        """Compare two fields."""
        fewer, more = (None, None) if stored is None else map(stored.at, (self.path, self.than))
        return fewer is not None and more is not None and bool(fewer < more)


@dataclass(frozen=True, slots=True)
class SizeIs(Condition):
    """The field is a map or a list, and the number of its entries compares by ``sign``."""

    path: str
    sign: Sign
    entries: int

    def holds(self, stored: Fields | None) -> bool:
        """Count the entries; what is absent, or a text, has no size, not even 0."""
        actual = stored.at(self.path) if stored is not None else None
        if not isinstance(actual, Sized) or isinstance(actual, str):
            return False
        return bool(_ORDERS[self.sign](len(actual), self.entries))


@dataclass(frozen=True, slots=True)
class Either(Condition):
    """All clauses of at least one of the alternatives hold."""

    alternatives: tuple[tuple[Condition, ...], ...]

    def holds(self, stored: Fields | None) -> bool:
        """Try each."""
        return any(all_hold(clauses, stored) for clauses in self.alternatives)


def either(*alternatives: Condition | tuple[Condition, ...]) -> Either:
    """Return the clause that one of the alternatives holds: a clause, or several together."""
    return Either(tuple(a if isinstance(a, tuple) else (a,) for a in alternatives))


def equals(path: Path, value: Any) -> Compares:
    """Return the clause that exactly this value stands at the path."""
    return Compares(path, "=", value)


def all_hold(clauses: Iterable[Condition], stored: Fields | None) -> bool:
    """Whether what is stored satisfies every clause."""
    return all(clause.holds(stored) for clause in clauses)
