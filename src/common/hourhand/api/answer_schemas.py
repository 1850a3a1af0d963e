"""JSON schemas of the answers, and the texts beside their fields."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from datetime import date, datetime
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from hourhand.answers.answered import Answered, Example
from hourhand.json_dataclasses import JsonName, json_name

REFERENCE = "#/components/schemas/"

_PLAIN: Mapping[Any, Mapping[str, str]] = {
    Any: {},
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    NoneType: {"type": "null"},
}


def schemas_of(kinds: Iterable[type[Answered]]) -> dict[str, dict[str, Any]]:
    """Return the schemas of answers, and of all that they consist of, by name."""
    schemas: dict[str, dict[str, Any]] = {}
    for kind in kinds:
        _schema(kind, schemas)
    return schemas


def texts_of(kind: type[Answered]) -> dict[str, str]:
    """Return what is said of fields, by their names in JSON."""
    return {
        json_name(name, hint): text
        for name, hint in _hints(kind).items()
        if get_origin(hint) is Annotated
        for text in get_args(hint)[1:]
        if type(text) is str
    }


def _hints(kind: type[Answered]) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {one.name: hints[one.name] for one in fields(kind)}


def _schema(hint: Any, schemas: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the schema of a type; what it refers to is added to ``schemas``."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _annotated(arguments[0], arguments[1:], schemas)
    if origin in (Union, UnionType):
        return {"anyOf": [_schema(one, schemas) for one in arguments]}
    if origin is tuple:
        return {"type": "array", "items": _schema(arguments[0], schemas)}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _schema(arguments[1], schemas)}
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    if hint.__name__ not in schemas:
        # What refers to itself ends here.
        schemas[hint.__name__] = {}
        schemas[hint.__name__] = {
            "description": inspect.getdoc(hint),
            **(_enumerated(hint) if issubclass(hint, Enum) else _object(hint, schemas)),
        }
    return {"$ref": REFERENCE + hint.__name__}


def _annotated(
    hint: Any, added: tuple[Any, ...], schemas: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """Return the schema of what the document is to say instead of the type, if it is to."""
    said = [one for one in added if type(one) not in {str, JsonName, Example}]
    examples = [str(one) for one in added if isinstance(one, Example)]
    if not said:
        return {**_schema(hint, schemas), **({"examples": examples} if examples else {})}
    (instead,) = said
    if not isinstance(instead, tuple):
        return _schema(instead, schemas)
    return {"type": "string", **_names(instead)}


def _names(names: tuple[str, ...]) -> dict[str, Any]:
    return {"enum": list(names)} if len(names) > 1 else {"const": names[0]}


def _enumerated(kind: type[Enum]) -> dict[str, Any]:
    return {"type": "string", "enum": [one.value for one in kind]}


def _object(kind: type[Answered], schemas: dict[str, dict[str, Any]]) -> dict[str, Any]:
    hints = _hints(kind)
    names = {name: json_name(name, hint) for name, hint in hints.items()}
    return {
        "type": "object",
        "properties": {names[name]: _schema(hint, schemas) for name, hint in hints.items()},
        "required": [names[one.name] for one in fields(kind) if one.default is MISSING],
    }
