"""Compiles the clauses of a `Transition` into a condition on its job's item.

UpdateItem and PartiQL say the same in slightly other words: a `Dialect` has those. A ``?`` stands
for each value. So the text depends on the shape of the clauses alone, and is the same for every
job. The contract suite proves that a compiled condition holds for an item exactly where its
clauses hold for the job.

What needs care: a field that equals its default is not stored, so that an absent attribute stands
for the default; a field without a value equals nothing and is neither below nor above anything,
which is what DynamoDB says of an absent attribute, too.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hourhand.aws.layout.jobs import JOB_CODECS, RETRY_CODECS, listing_sort_key
from hourhand.aws.layout.values import Codec, Value, number, read_time, text, time
from hourhand.aws.layout.versions import WRITTEN, Kind
from hourhand.domain.jobs.conditions import (
    Absent,
    AnyOf,
    AttemptsLeft,
    Condition,
    HistoryLengthIs,
    Is,
    Ordered,
    StatusIn,
)
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.times import to_ms

_KEY = "p"
"""Each item has it: that it is absent never holds."""

_DUE_AT = Codec("due_at", "k", time, read_time)
"""For comparisons alone: it is written together with the shard."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a language of DynamoDB's names an attribute, and the tests that it has own words for."""

    name: str
    absent: str
    one_of: str


EXPRESSION = Dialect(name="{}", absent="attribute_not_exists({})", one_of="{} IN ({})")
"""The expressions of UpdateItem. None of our attributes is a reserved word."""

PARTIQL = Dialect(name='"{}"', absent='"{}" IS MISSING', one_of='"{}" IN [{}]')


class ConditionText:
    """Says clauses in a dialect; ``values`` are those that the ``?`` stand for, in their order."""

    def __init__(self, dialect: Dialect, values: list[Value]) -> None:
        """Append to ``values``, which may have the values of earlier text."""
        self._dialect = dialect
        self._values = values

    def all_of(self, clauses: Iterable[Condition], version: int | None) -> str:
        """Return what holds for a job's item of ``version`` where each clause holds for the job.

        Without a version it is the one that is written. Raises `ValueError` for a clause on what
        cannot be compared so: a mistake in Hourhand's own code.
        """
        # A clause may hold of nothing at all; the write must not then make an item. And the
        # attributes are those of one version: an item may have got another since it was read.
        is_there = self._compares("v", "=", number(version or WRITTEN[Kind.JOB]))
        return " AND ".join([is_there, *(self._clause(clause) for clause in clauses)])

    def _clause(self, clause: Condition) -> str:
        match clause:
            case StatusIn(statuses):
                return self._one_of("t", _status_values(statuses))
            case Is("created_at", value):
                return self._created_at(value)
            case Is(name, value):
                return self._equals(_codec(name), value)
            case Absent(name):
                codec = _codec(name)
                is_optional = codec.default is None and not codec.is_always_stored
                return self._absent(codec.attribute if is_optional else _KEY)
            case Ordered():
                return self._ordered(clause)
            case AttemptsLeft():
                begun, most = JOB_CODECS["attempt"], RETRY_CODECS["max_attempts"]
                return f"{self._name(begun.attribute)} < {self._name(most.attribute)}"
            case HistoryLengthIs(length, dropped):
                self._values.append(number(length))
                size = f"size({self._name(JOB_CODECS['history'].attribute)}) = ?"
                return f"({size} AND {self._equals(_codec('history_dropped'), dropped)})"
            case AnyOf(clauses):
                return self._any_of(clauses)
        raise ValueError(f"There is no condition for the clause {clause!r}")

    def _any_of(self, clauses: tuple[Condition, ...]) -> str:
        tests = [self._clause(clause) for clause in clauses]
        if len(tests) > 1:
            return f"({' OR '.join(tests)})"
        return tests[0] if tests else self._absent(_KEY)

    def _created_at(self, value: datetime) -> str:
        """Compare the time alone: after it, and a dot, is the job's place in the millisecond.

        A slash is the character after the dot.
        """
        start = listing_sort_key(to_ms(value), "")
        after = self._compares("c", ">", text(start))
        return f"({after} AND {self._compares('c', '<', text(start[:-1] + '/'))})"

    def _equals(self, codec: Codec, value: Any) -> str:
        if value is None:
            return self._absent(_KEY)
        stored = codec.stored(value)
        if stored is None:
            # A default is never stored, so that absence is the only form it has.
            return self._absent(codec.attribute)
        return self._compares(codec.attribute, "=", stored)

    def _ordered(self, clause: Ordered) -> str:
        codec = _codec(clause.field)
        test = self._compares(codec.attribute, clause.sign, codec.write(clause.value))
        if codec.default is None or not clause.orders(codec.default):
            return test
        return f"({self._absent(codec.attribute)} OR {test})"

    def _one_of(self, attribute: str, values: tuple[Value, ...]) -> str:
        if len(values) == 1:
            return self._compares(attribute, "=", values[0])
        if not values:
            return self._absent(_KEY)
        self._values.extend(values)
        return self._dialect.one_of.format(attribute, ", ".join("?" * len(values)))

    def _compares(self, attribute: str, sign: str, value: Value) -> str:
        self._values.append(value)
        return f"{self._name(attribute)} {sign} ?"

    def _absent(self, attribute: str) -> str:
        return self._dialect.absent.format(attribute)

    def _name(self, attribute: str) -> str:
        return self._dialect.name.format(attribute)


@functools.cache  # Bounded by the sets of states that the transitions name.
def _status_values(statuses: frozenset[JobStatus]) -> tuple[Value, ...]:
    return tuple(text(status) for status in sorted(statuses))


def _codec(name: str) -> Codec:
    codec = _DUE_AT if name == "due_at" else JOB_CODECS.get(name)
    if codec is None:
        raise ValueError(f"{name} cannot be compared in a condition")
    return codec
