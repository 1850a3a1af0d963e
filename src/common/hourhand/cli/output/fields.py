"""The fields of records that ``--fields id,retry.max_attempts`` picks by their names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from types import NoneType, UnionType
from typing import Annotated, Any, NoReturn, Union, get_args, get_origin, get_type_hints

import typer

from hourhand.answers.answered import Answered
from hourhand.cli.exits import WRONG_USAGE, CommandError
from hourhand.cli.output.times import NOTHING
from hourhand.json_dataclasses import json_name

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fields:
    """Which fields to print, in this order; each is the path of names to it."""

    paths: tuple[Path, ...]

    @property
    def names(self) -> list[str]:
        """The fields as they are typed."""
        return [".".join(path) for path in self.paths]

    def check_kinds(self, kinds: Iterable[type[Answered]]) -> None:
        """Raise `CommandError` for a field that no answer of these ``kinds`` has."""
        known: dict[str, Any] = {}
        for kind in kinds:
            known |= _members_of(kind)
        for path in self.paths:
            _check_hints(path, known)

    def check_record(self, record: Mapping[str, Any]) -> None:
        """Raise `CommandError` for a field that ``record`` does not have."""
        for path in self.paths:
            _check_values(path, record)

    def pick(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``record`` with these fields alone, nested as they were."""
        picked: dict[str, Any] = _picked(record, self.paths)
        return picked

    def cells(self, record: Mapping[str, Any]) -> list[str]:
        """Return the texts of these fields for one row of a table."""
        return [_text(_value_at(record, path)) for path in self.paths]


def read_fields(text: str) -> Fields:
    """Return the fields that a comma separates. Raises `typer.BadParameter`."""
    paths = [tuple(name.strip().split(".")) for name in text.split(",")]
    if not all(all(path) for path in paths):
        raise typer.BadParameter(f"must be names such as id,retry.max_attempts, not {text!r}")
    return Fields(tuple(dict.fromkeys(paths)))


def _check_hints(path: Path, known: Mapping[str, Any] | None) -> None:
    for depth, name in enumerate(path):
        if known is None:
            # Payloads, results and tags have the names that their authors gave.
            return
        if name not in known:
            _refuse(path, depth, known)
        known = _members_below(known[name])


def _check_values(path: Path, value: Any) -> None:
    for depth, name in enumerate(path):
        while isinstance(value, Sequence) and not isinstance(value, str):
            value = value[0] if value else None
        if value is None:
            return
        known = value if isinstance(value, Mapping) else {}
        if name not in known:
            _refuse(path, depth, known)
        value = known[name]


def _refuse(path: Path, depth: int, known: Iterable[str]) -> NoReturn:
    names, above = ", ".join(sorted(known)), ".".join(path[:depth])
    wrong = f"--fields: {'.'.join(path[: depth + 1])!r} is not a field."
    allowed = f"The fields of {above} are {names}." if above else f"The fields are {names}."
    if not names:
        allowed = f"{above} has no fields of its own."
    raise CommandError(f"{wrong} {allowed}", WRONG_USAGE)


def _members_of(kind: type[Answered]) -> Mapping[str, Any]:
    """Return the types of an answer's fields, by their names in JSON."""
    hints = get_type_hints(kind, include_extras=True)
    return {json_name(one.name, hints[one.name]): hints[one.name] for one in fields(kind)}


def _members_below(hint: Any) -> Mapping[str, Any] | None:
    """Return what a field's value has inside; ``None``: any names."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _members_below(arguments[0])
    if origin in {Union, UnionType}:
        inside = [_members_below(one) for one in arguments if one is not NoneType]
        merged: dict[str, Any] = {}
        for one in inside:
            if one is None:
                return None
            merged |= one
        return merged
    if origin is tuple:
        return _members_below(arguments[0])
    if hint is Any or origin is not None:
        return None
    return _members_of(hint) if issubclass(hint, Answered) else {}


def _picked(value: Any, paths: Sequence[Path]) -> Any:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_picked(one, paths) for one in value]
    if not isinstance(value, Mapping):
        return value
    return {
        name: value.get(name)
        if (name,) in paths
        else _picked(value.get(name), [path[1:] for path in paths if path[0] == name])
        for name in dict.fromkeys(path[0] for path in paths)
    }


def _value_at(value: Any, path: Path) -> Any:
    if not path:
        return value
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_value_at(one, path) for one in value]
    return _value_at(value.get(path[0]), path[1:]) if isinstance(value, Mapping) else None


def _text(value: Any) -> str:
    if value is None:
        return NOTHING
    if isinstance(value, str):
        return value
    if isinstance(value, list) and not any(isinstance(one, (dict, list)) for one in value):
        return ", ".join(map(_text, value))
    return json.dumps(value, ensure_ascii=False, default=dict)
