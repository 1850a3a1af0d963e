"""Compiles a `Transition` into a write on attributes: what must hold of the item, and what changes.

The result names attributes, not fields, but is still a value: `hourhand.aws.expressions` renders
it for UpdateItem, `hourhand.aws.partiql` for batches. The contract suite proves that a compiled
condition holds for an item exactly where its clauses hold for the job.

What needs care: a field that equals its default is not stored, so that an absent attribute stands
for the default; a field without a value equals nothing and is neither below nor above anything,
which is what DynamoDB says of an absent attribute, too.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from hourhand.aws.layout.jobs import (
    JOB_CODECS,
    RETRY_CODECS,
    dead_attribute,
    entry_attributes,
    events_value,
    field_attributes,
    listing_sort_key,
)
from hourhand.aws.layout.values import Codec, Value, number, read_time, text, time
from hourhand.aws.layout.versions import WRITTEN, Kind
from hourhand.domain.jobs.conditions import (
    Above,
    Absent,
    AnyOf,
    AtMost,
    AttemptsLeft,
    Below,
    Condition,
    HistoryLengthIs,
    Is,
    StatusIn,
)
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.jobs.transitions import Transition
from hourhand.domain.times import to_ms

Comparison = Literal["=", "<", "<=", ">"]


@dataclass(frozen=True, slots=True)
class Missing:
    """The item does not have the attribute."""

    attribute: str


@dataclass(frozen=True, slots=True)
class Compares:
    """The attribute is there and compares so with ``value``."""

    attribute: str
    comparison: Comparison
    value: Value


@dataclass(frozen=True, slots=True)
class OneOf:
    """The attribute has one of these values."""

    attribute: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Less:
    """One attribute of the item is less than another."""

    attribute: str
    than: str


@dataclass(frozen=True, slots=True)
class LengthIs:
    """The list has so many elements."""

    attribute: str
    length: int


@dataclass(frozen=True, slots=True)
class Either:
    """At least one of the tests holds."""

    tests: tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class Both:
    """Both tests hold."""

    first: Test
    second: Test


Test = Missing | Compares | OneOf | Less | LengthIs | Either | Both

NEVER = Missing("p")
"""Holds for no item: each has its key."""


@dataclass(frozen=True, slots=True)
class Sum:
    """A number is added to an attribute that is always there."""

    attribute: str
    by: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Write:
    """A conditional write on the hot item of one job.

    ``sets`` has an absent value for an attribute that goes. ``defaults`` are set where absent,
    ``appends`` are elements for the end of the history.
    """

    job_id: str
    tests: tuple[Test, ...]
    sets: dict[str, Value | None] = field(default_factory=dict)
    sums: tuple[Sum, ...] = ()
    defaults: dict[str, Value] = field(default_factory=dict)
    appends: tuple[Value, ...] = ()


def is_job_in(version: int) -> Test:
    """Return the test that a job is there and kept in ``version``: every job tells its own.

    Of the kinds this one alone had ``v`` from the start, so that a job without it is none of ours.
    """
    return Compares("v", "=", number(version))


def compile_transition(move: Transition, version: int | None = None) -> Write:
    """Return the write that makes ``move`` on an item of ``version``, else of the one we write.

    Raises `ValueError` for a move on a field that cannot be changed or compared so: a mistake in
    Hourhand's own code.
    """
    # A condition may hold of nothing at all; the write must not then make an item. And the
    # attributes below are those of one version: an item may have got another since it was read.
    is_there = is_job_in(WRITTEN[Kind.JOB] if version is None else version)
    tests = (is_there, *(_test(c) for c in move.expect.values()))
    return Write(
        job_id=move.job_id,
        tests=tests,
        sets=_sets(move),
        sums=tuple(Sum(_counter(name), by) for name, by in move.increments.items()),
        defaults=_defaults(move),
        appends=() if move.history is not None else tuple(events_value(move.events)["L"]),
    )


def _sets(move: Transition) -> dict[str, Value | None]:
    sets: dict[str, Value | None] = {}
    for name, value in move.sets.items():
        sets.update(field_attributes(move.job_id, name, value))
    if move.to is not None:
        sets.update(field_attributes(move.job_id, "status", move.to))
        if move.to is JobStatus.DEAD:
            sets["d"] = dead_attribute(move.job_id)
        elif _may_be_dead(move):
            sets["d"] = None
    if move.entry is not None:
        sets.update(entry_attributes(move.entry))
    if move.leaves_index:
        sets.update({"b": None, "k": None})
    if move.history is not None:
        for name in ("history", "history_dropped"):
            sets.update(field_attributes(move.job_id, name, getattr(move, name)))
    return sets


def depends_on_job(move: Transition) -> bool:
    """Whether the write of a move has more of its job's id in it than the key."""
    return move.to is JobStatus.DEAD or "trace_id" in move.sets


def _may_be_dead(move: Transition) -> bool:
    status = move.expect.get("status")
    return not isinstance(status, StatusIn) or JobStatus.DEAD in status.statuses


def _defaults(move: Transition) -> dict[str, Value]:
    defaults: dict[str, Value] = {}
    for name, value in move.defaults.items():
        codec = _optional(name)
        if value is not None:
            defaults[codec.attribute] = codec.write(value)
    return defaults


def _counter(name: str) -> str:
    codec = JOB_CODECS.get(name)
    if codec is None or not codec.is_always_stored:
        raise ValueError(f"{name} cannot be added to: it is not always stored")
    return codec.attribute


def _optional(name: str) -> Codec:
    codec = JOB_CODECS.get(name)
    if codec is None or codec.is_always_stored or codec.default is not None:
        raise ValueError(f"{name} is never without a value")
    return codec


# --- conditions ---------------------------------------------------------------------------------

_DUE_AT = Codec("due_at", "k", time, read_time)
"""For comparisons alone: it is written together with the shard."""

_ORDERS: dict[type[Condition], tuple[Comparison, Callable[[Any, Any], bool]]] = {
    Below: ("<", operator.lt),
    AtMost: ("<=", operator.le),
    Above: (">", operator.gt),
}


@functools.lru_cache(maxsize=1024)
def _test(clause: Condition) -> Test:
    """Return the test that holds for an item where ``clause`` holds for its job.

    Kept, since most moves of a sweep have the same clauses.
    """
    match clause:
        case StatusIn(statuses):
            return _one_of("t", [text(status) for status in sorted(statuses)])
        case Is("created_at", value):
            return _created_at(value)
        case Is(name, value):
            return _equals(_compared(name), value)
        case Absent(name):
            codec = _compared(name)
            is_optional = codec.default is None and not codec.is_always_stored
            return Missing(codec.attribute) if is_optional else NEVER
        case Below(name, value) | AtMost(name, value) | Above(name, value):
            return _ordered(_compared(name), type(clause), value)
        case AttemptsLeft():
            return Less(JOB_CODECS["attempt"].attribute, RETRY_CODECS["max_attempts"].attribute)
        case HistoryLengthIs(length, dropped):
            kept = LengthIs(JOB_CODECS["history"].attribute, length)
            return Both(kept, _equals(_compared("history_dropped"), dropped))
        case AnyOf(conditions):
            return _either([_test(each) for each in conditions])
    raise ValueError(f"There is no condition for the clause {clause!r}")


def _created_at(value: datetime) -> Test:
    """Compare the time alone: after it, and a dot, stands the job's place within the millisecond.

    A slash is the character after the dot.
    """
    time_and_dot = listing_sort_key(to_ms(value), "")
    return Both(
        Compares("c", ">", text(time_and_dot)),
        Compares("c", "<", text(time_and_dot[:-1] + "/")),
    )


def _compared(name: str) -> Codec:
    codec = _DUE_AT if name == "due_at" else JOB_CODECS.get(name)
    if codec is None:
        raise ValueError(f"{name} cannot be compared in a condition")
    return codec


def _equals(codec: Codec, value: Any) -> Test:
    if value is None:
        return NEVER
    stored = codec.stored(value)
    if stored is None:
        # A default is never stored, so that absence is the only form it has.
        return Missing(codec.attribute)
    return Compares(codec.attribute, "=", stored)


def _ordered(codec: Codec, kind: type[Condition], value: Any) -> Test:
    comparison, compare = _ORDERS[kind]
    test = Compares(codec.attribute, comparison, codec.write(value))
    if codec.default is not None and compare(codec.default, value):
        return Either((Missing(codec.attribute), test))
    return test


def _one_of(attribute: str, values: list[Value]) -> Test:
    if not values:
        return NEVER
    if len(values) == 1:
        return Compares(attribute, "=", values[0])
    return OneOf(attribute, tuple(values))


def _either(tests: list[Test]) -> Test:
    if not tests:
        return NEVER
    return tests[0] if len(tests) == 1 else Either(tuple(tests))
