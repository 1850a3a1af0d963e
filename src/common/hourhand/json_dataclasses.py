"""Dataclasses as JSON and back, by a plan that is made once for each class, at its first use.

There are two forms:

| | answers of the API | records in the tables |
|---|---|---|
| time | RFC 3339 in UTC | milliseconds |
| ``None`` | null | no member |
| class with positional fields | object | array |
| one of several classes | not used | object with one member, named as the class |
| empty field that has a default | no member | written |

In the tables, the names of such classes and the order of positional fields cannot change.

Both are read alike. What is not known is ignored: a later version wrote it. What is absent is
``None`` where that is allowed, else the field's default. Without either, and for a value of
another type, `Misfit` names the place.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from hourhand.domain.ids import canonical_json
from hourhand.domain.times import from_ms, rfc3339, to_ms

Form = Literal["answer", "record"]
T = TypeVar("T")

RAW = "raw"
"""An attribute of this name, beside the fields, is set to the object as it was read."""

_UNIONS = (Union, UnionType)


class JsonName(str):
    """Names a field's member, in its `Annotated`, where that is a word of Python's."""

    __slots__ = ()


class Misfit(ValueError):
    """JSON that does not fit a class. ``place`` is where, from the outermost object on."""

    def __init__(self, wanted: str | None, value: object = None) -> None:
        """Say what was wanted instead of ``value``; ``None``: something that is not there."""
        self._wanted = wanted
        self._found = type(value).__name__
        self.place = ""
        super().__init__(wanted)

    def below(self, place: str) -> Misfit:
        """Add where the place itself is."""
        self.place = place + self.place
        return self

    def __str__(self) -> str:
        if self._wanted is None:
            return f"it lacks {self.place}"
        return f"{self.place} should be {self._wanted}, and is of type {self._found}"


def to_json(kind: type, source: object, /, **own: Any) -> dict[str, Any]:
    """Return the answer ``kind`` with the fields of ``source``, which may be of another class.

    ``own`` are the fields that the source does not have, or has otherwise. A part that is a
    ``dict`` is taken as it is: it was written before.
    """
    written: dict[str, Any] = _plan(kind, "answer").write_beside(source, own)
    return written


def from_json(kind: type[T], value: Any, place: str = "answer") -> T:
    """Return the answer that a JSON value holds; raise `Misfit` naming what does not fit."""
    return _read(kind, "answer", value, place)


def to_record(kind: type[T], value: T) -> Any:
    """Return a value of the type ``kind`` as JSON may hold it."""
    write = _codec(kind, "record").write
    return value if write is None else write(value)


def from_record(kind: type[T], record: Any) -> T:
    """Read what `to_record` made; raise `Misfit` naming what does not fit."""
    return _read(kind, "record", record, "record")


def record_text(kind: type[T], value: T) -> str:
    """Return a value of the type ``kind`` as JSON, the same text for equal values."""
    return canonical_json(to_record(kind, value))


def read_record(kind: type[T], text: str) -> T:
    """Read what `record_text` wrote. Raises `ValueError` for anything else."""
    return from_record(kind, json.loads(text))


def json_name(name: str, hint: Any) -> str:
    """Return the name of a field's member."""
    given = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return next((str(one) for one in given if isinstance(one, JsonName)), name)


Write = Callable[[Any], Any]
Read = Callable[[Any], Any]


class _Codec(NamedTuple):
    """How values of a type are written and read; absent: as they are. None is never written."""

    write: Write | None
    read: Read | None
    may_be_none: bool = False


class _Plan:
    """How a class is written and read in one form."""

    def __init__(self, kind: Any, form: Form) -> None:
        hints = get_type_hints(kind, include_extras=True)
        members = fields(kind)
        codecs = {one.name: _codec(hints[one.name], form) for one in members}
        has_default = {
            one.name
            for one in members
            if one.default is not MISSING or one.default_factory is not MISSING
        }
        self._kind = kind
        self._is_record = form == "record"
        self._is_row = self._is_record and not any(one.kw_only for one in members)
        self._keeps_raw = hasattr(kind, RAW)
        self._names = {one.name: json_name(one.name, hints[one.name]) for one in members}
        self._members = tuple(self._names.values())
        self._writers = {name: codec.write for name, codec in codecs.items() if codec.write}
        self._empty = [] if self._is_record else [self._names[n] for n in has_default]
        self._readers = [
            (name, self._names[name], codec.read, codec.may_be_none, name in has_default)
            for name, codec in codecs.items()
        ]
        self._compiled: dict[tuple[str, ...], Callable[[object, Mapping[str, Any]], Any]] = {}

    def write(self, source: object) -> Any:
        """Return what is stored of ``source``, or answered."""
        if type(source) is dict:
            return source
        return self.write_beside(source, {})

    def write_beside(self, source: object, own: Mapping[str, Any]) -> Any:
        """Return every member, of ``own`` where it is there, else of ``source``."""
        names = tuple(own)
        written = (self._compiled.get(names) or self._compile(names))(source, own)
        if self._is_record and not self._is_row:
            return {name: value for name, value in written.items() if value is not None}
        for name in self._empty:
            if not written[name]:
                del written[name]
        return written

    def _compile(self, own: tuple[str, ...]) -> Callable[[object, Mapping[str, Any]], Any]:
        """Return what a hand would write: it takes half the time of a loop over the fields."""
        assert self._names.keys() >= {*own}, f"{self._kind.__name__} has not all of {own}"
        scope = {f"write_{name}": write for name, write in self._writers.items()}
        values = []
        for name in self._names:
            value = f"own[{name!r}]" if name in own else f"source.{name}"
            if name in self._writers:
                value = f"None if (value := {value}) is None else write_{name}(value)"
            values.append(value)
        if self._is_row:
            text = f"[{', '.join(values)}]"
        else:
            pairs = zip(self._members, values, strict=True)
            text = f"{{{', '.join(f'{member!r}: {value}' for member, value in pairs)}}}"
        # It consists of the names of fields, which are identifiers.
        self._compiled[own] = eval(f"lambda source, own: {text}", scope)  # noqa: S307
        return self._compiled[own]

    def read(self, value: Any) -> Any:
        """Return the instance that a JSON value holds."""
        if self._is_row:
            _require(value, list, "an array")
            value = dict(zip(self._members, value, strict=False))
        _require(value, dict, "an object")
        known = {}
        for name, member, read, may_be_none, has_default in self._readers:
            given = value.get(member, MISSING)
            if given is not MISSING:
                try:
                    known[name] = given if read is None else read(given)
                except Misfit as misfit:
                    raise misfit.below(f".{member}") from None
            elif may_be_none:
                known[name] = None
            elif not has_default:
                raise Misfit(None).below(f".{member}")
        made = self._kind(**known)
        if self._keeps_raw:
            made.__dict__[RAW] = value
        return made


_plan = cache(_Plan)


def _read(kind: type[T], form: Form, value: Any, place: str) -> T:
    read = _codec(kind, form).read
    try:
        found: T = value if read is None else read(value)
    except Misfit as misfit:
        raise misfit.below(place) from None
    return found


def _codec(hint: Any, form: Form) -> _Codec:
    """Return how values of the type ``hint`` are written and read."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _codec(arguments[0], form)
    if origin in _UNIONS:
        kinds = [one for one in arguments if one is not NoneType]
        codec = _codec(kinds[0], form) if len(kinds) == 1 else _one_of(kinds, form)
        if len(kinds) == len(arguments):
            return codec
        return _Codec(codec.write, _or_none(codec.read), may_be_none=True)
    if origin is tuple:
        return _many(_codec(arguments[0], form))
    if origin is Mapping:
        return _mapping(arguments[0], _codec(arguments[1], form))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _Codec(None, _parsed(hint, f"one of {', '.join(str(one.value) for one in hint)}"))
    if isinstance(hint, type) and is_dataclass(hint):
        plan = _plan(hint, form)
        return _Codec(plan.write, plan.read)
    return _PLAIN[form].get(hint) or _PLAIN_EVERYWHERE[hint]


def _one_of(kinds: list[Any], form: Form) -> _Codec:
    """Return the codec of values of several classes: each has a tag, the name of its class."""
    plans = {kind.__name__: _plan(kind, form) for kind in kinds}
    wanted = f"an object with one member of {', '.join(plans)}"

    def write(value: Any) -> dict[str, Any]:
        tag = type(value).__name__
        return {tag: plans[tag].write(value)}

    def read(value: Any) -> Any:
        _require(value, dict, wanted)
        tag = next(iter(value), "")
        if len(value) != 1 or tag not in plans:
            raise Misfit(wanted, value)
        return plans[tag].read(value[tag])

    return _Codec(write, read)


def _many(item: _Codec) -> _Codec:
    write_item, read_item = item.write, item.read

    def write(values: Any) -> list[Any]:
        return list(values) if write_item is None else [write_item(one) for one in values]

    def read(value: Any) -> tuple[Any, ...]:
        _require(value, list, "an array")
        if read_item is None:
            return tuple(value)
        found = []
        for index, one in enumerate(value):
            try:
                found.append(read_item(one))
            except Misfit as misfit:
                raise misfit.below(f"[{index}]") from None
        return tuple(found)

    return _Codec(write, read)


def _mapping(key: type, item: _Codec) -> _Codec:
    """Return the codec of a mapping; ``key`` is the type of its keys, made of their texts."""
    write_item, read_item = item.write, item.read

    def write(values: Mapping[Any, Any]) -> dict[Any, Any]:
        if write_item is None:
            return dict(values)
        return {name: write_item(one) for name, one in values.items()}

    def read(value: Any) -> dict[Any, Any]:
        _require(value, dict, "an object")
        found = {}
        for name, one in value.items():
            try:
                found[key(name)] = one if read_item is None else read_item(one)
            except Misfit as misfit:
                raise misfit.below(f".{name}") from None
            except ValueError:
                wanted = f"an object whose names are of type {key.__name__}"
                raise Misfit(wanted, value) from None
        return found

    return _Codec(write, read)


def _or_none(read: Read | None) -> Read | None:
    return None if read is None else lambda value: None if value is None else read(value)


def _parsed(parse: Read, wanted: str) -> Read:
    """Return what reads a value by ``parse``, which raises for what is not ``wanted``."""

    def read(value: Any) -> Any:
        try:
            return parse(value)
        except (TypeError, ValueError):
            raise Misfit(wanted, value) from None

    return read


def _plain(accepted: type | tuple[type, ...], wanted: str) -> Read:
    def read(value: Any) -> Any:
        # A truth value is an int in Python.
        is_truth = isinstance(value, bool)
        if is_truth != (accepted is bool) or not isinstance(value, accepted):
            raise Misfit(wanted, value)
        return value

    return read


def _require(value: Any, accepted: type, wanted: str) -> None:
    if not isinstance(value, accepted):
        raise Misfit(wanted, value)


def _aware(text: str) -> datetime:
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError(text)
    return instant


def _number(value: float) -> float | int:
    """Return 3 for 3.0, as people write it."""
    return int(value) if float(value).is_integer() else value


_read_int = _plain(int, "a whole number")
_read_float = _plain((int, float), "a number")
_PLAIN_EVERYWHERE: Mapping[Any, _Codec] = {
    Any: _Codec(None, None, may_be_none=True),
    str: _Codec(None, _plain(str, "a string")),
    int: _Codec(None, _read_int),
    bool: _Codec(None, _plain(bool, "true or false")),
    date: _Codec(date.isoformat, _parsed(date.fromisoformat, "a date")),
}
_PLAIN: Mapping[Form, Mapping[Any, _Codec]] = {
    "answer": {
        float: _Codec(_number, _read_float),
        datetime: _Codec(rfc3339, _parsed(_aware, "a time with an offset")),
    },
    "record": {
        float: _Codec(None, _read_float),
        datetime: _Codec(to_ms, lambda value: from_ms(_read_int(value))),
    },
}
