"""Compiles clauses into a condition on a stored item: of a job, or beside one.

UpdateItem and PartiQL say the same in slightly other words: a `Dialect` has those. A ``?`` stands
for each value. So the text depends on the shape of the clauses alone, and is the same for every
job. The contract suites prove that a compiled condition holds for an item exactly where its
clauses hold for what was stored.

What needs care: a field that equals its default is not stored, so that an absent attribute stands
for the default; a field without a value equals nothing and is neither below nor above anything,
which is what DynamoDB says of an absent attribute, too.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hourhand.aws.layout.jobs import PATH_CODECS, listing_sort_key
from hourhand.aws.layout.values import Codec, Value, number, read_time, text, time
from hourhand.aws.layout.versions import WRITTEN, Kind
from hourhand.domain.conditions import (
    Absent,
    Compares,
    Condition,
    Either,
    Fewer,
    NoItem,
    OneOf,
    Path,
    Sign,
    SizeIs,
)
from hourhand.domain.times import to_ms

_KEY = "p"
"""Each item has it: that it is absent never holds."""

_DUE_AT = Codec("due_at", "k", time, read_time)
"""For comparisons alone: it is written together with the shard."""

_KEPT_SHAPES = 512
"""More than the writes have, though what a change sets varies."""


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

    def __init__(
        self,
        dialect: Dialect,
        values: list[Value],
        codec_of: Callable[[Path], Codec] | None = None,
        key: str = _KEY,
    ) -> None:
        """Append to ``values``, which may have the values of earlier text.

        ``codec_of``: how a field is stored, by default one of a job. ``key``: the attribute that
        each item has.
        """
        self._dialect = dialect
        self._values = values
        self._codec_of = codec_of or job_codec
        self._key = key

    def all_of(self, clauses: Iterable[Condition], version: int | None) -> str:
        """Return what holds for a job's item of ``version`` where each clause holds for the job.

        Without a version it is the one that is written. Raises `ValueError` for a clause on what
        cannot be compared so: a mistake in Hourhand's own code.
        """
        # A clause may hold of nothing at all; the write must not then make an item. And the
        # attributes are those of one version: an item may have got another since it was read.
        is_there = self.compares("v", "=", number(version or WRITTEN[Kind.JOB]))
        return " AND ".join([is_there, *map(self.clause, clauses)])

    def clause(self, clause: Condition) -> str:
        """Return what holds for an item where a clause holds. Raises `ValueError`."""
        match clause:
            case NoItem():
                return self._absent(self._key)
            case Either((clauses,)):
                return self._together(clauses)
            case Either(alternatives):
                tests = [self._together(clauses) for clauses in alternatives]
                return f"({' OR '.join(tests)})" if tests else self._never(clause)
        return self._of_field(clause)

    def _of_field(self, clause: Condition) -> str:
        match clause:
            case Absent(path):
                codec = self._codec_of(path)
                is_optional = codec.default is None and not codec.is_always_stored
                return self._absent(codec.attribute) if is_optional else self._never(clause)
            case Compares("created_at", "=", datetime() as value):
                return self._created_at(value)
            case Compares(path, "=", value):
                return self._equals(self._codec_of(path), value)
            case Compares(path):
                return self._ordered(self._codec_of(path), clause)
            case OneOf(path, values):
                return self._one_of(self._codec_of(path), values)
            case Fewer(path, than):
                fewer, more = self._codec_of(path), self._codec_of(than)
                return f"{self._name(fewer.attribute)} < {self._name(more.attribute)}"
            case SizeIs(path, sign, entries):
                return self._size(self._codec_of(path), sign, entries)
        raise ValueError(f"There is no condition for the clause {clause!r}")

    def _together(self, clauses: tuple[Condition, ...]) -> str:
        # DynamoDB refuses redundant parentheses.
        tests = list(map(self.clause, clauses))
        return tests[0] if len(tests) == 1 else f"({' AND '.join(tests)})"

    def _size(self, codec: Codec, sign: Sign, entries: int) -> str:
        name = self._name(codec.attribute)
        if codec.is_always_stored:
            self._values.append(number(entries))
            return f"size({name}) {sign} ?"
        # DynamoDB takes the size of nothing for false; an emulator refuses to.
        self._values += (text("M"), number(entries))
        return f"(attribute_type({name}, ?) AND size({name}) {sign} ?)"

    def _created_at(self, value: datetime) -> str:
        """Compare the time alone: after it, and a dot, is the job's place in the millisecond.

        A slash is the character after the dot.
        """
        start = listing_sort_key(to_ms(value), "")
        after = self.compares("c", ">", text(start))
        return f"({after} AND {self.compares('c', '<', text(start[:-1] + '/'))})"

    def _equals(self, codec: Codec, value: Any) -> str:
        if value is None:
            return self._never(value)
        stored = codec.stored(value)
        if stored is None:
            # A default is never stored, so that absence is the only form it has.
            return self._absent(codec.attribute)
        return self.compares(codec.attribute, "=", stored)

    def _ordered(self, codec: Codec, clause: Compares) -> str:
        test = self.compares(codec.attribute, clause.sign, codec.write(clause.value))
        if codec.default is None or not clause.orders(codec.default):
            return test
        return f"({self._absent(codec.attribute)} OR {test})"

    def _one_of(self, codec: Codec, of: frozenset[Any]) -> str:
        values = _sorted_values(codec, of)
        if len(values) == 1:
            return self.compares(codec.attribute, "=", values[0])
        if not values:
            return self._never(of)
        self._values.extend(values)
        return self._dialect.one_of.format(codec.attribute, ", ".join("?" * len(values)))

    def compares(self, attribute: str, sign: str, value: Value) -> str:
        """Return the comparison of a stored attribute with a value."""
        self._values.append(value)
        return f"{self._name(attribute)} {sign} ?"

    def _never(self, what: object) -> str:
        """Return what holds for no item of a job. A write beside one may make its item."""
        if self._key != _KEY:
            raise ValueError(f"There is no condition for {what!r}, which never holds")
        return self._absent(_KEY)

    def _absent(self, attribute: str) -> str:
        return self._dialect.absent.format(attribute)

    def _name(self, attribute: str) -> str:
        return self._dialect.name.format(attribute)


@functools.cache  # Bounded by the sets that the transitions name.
def _sorted_values(codec: Codec, values: frozenset[Any]) -> tuple[Value, ...]:
    return tuple(codec.write(value) for value in sorted(values))


@functools.lru_cache(_KEPT_SHAPES)
def numbered(*texts: str) -> tuple[str, ...]:
    """Return texts with a numbered placeholder for each ``?``: once for all writes of a shape."""
    numbers = itertools.count()
    return tuple(re.sub(r"\?", lambda _: f":v{next(numbers)}", each) for each in texts)


def job_codec(path: Path) -> Codec:
    """Return how a field of a job is stored. Raises `ValueError` for one that is not compared."""
    codec = _DUE_AT if path == _DUE_AT.field else PATH_CODECS.get(str(path))
    if codec is None:
        raise ValueError(f"{path} cannot be compared in a condition")
    return codec
