"""Payloads to begin with, made of a JSON Schema: its own examples, defaults, and minimal values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

MAX_DEPTH = 12
"""Schemas within schemas; a deeper one, such as one that refers to itself, is left out."""

MAX_ITEMS = 20
"""Items of an array that a schema demands at least; a longer array is no example."""

Schema = Mapping[str, Any]

_TEXTS: Mapping[str, str] = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T09:00:00Z",
    "duration": "PT1H",
    "email": "ada@example.org",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "name-email": "Ada <ada@example.org>",
    "time": "09:00:00Z",
    "uri": "https://example.org/",
    "uuid": "9b2c9b0e-6f0b-4a3c-8d5e-0c1f2a3b4c5d",
    "uuid4": "9b2c9b0e-6f0b-4a3c-8d5e-0c1f2a3b4c5d",
}
_TEXT = "text"


class _NoExample(Exception):
    """This schema has no example that follows from its keywords."""


def likely_payloads(schema: Schema) -> Iterator[Any]:
    """Yield payloads that probably fit ``schema``, the best first: at most a handful.

    They are its own examples, then the fewest fields that it demands, then all fields.
    """
    own = schema.get("examples")
    yield from own if isinstance(own, list) else ()
    for wants_all in (False, True):
        try:
            yield _Maker(schema, wants_all).make(schema, 0)
        except _NoExample:
            continue


class _Maker:
    """Makes one payload; ``wants_all``: with the fields that may be absent, too."""

    def __init__(self, root: Schema, wants_all: bool) -> None:
        self._definitions = root.get("$defs", {})
        self._wants_all = wants_all

    def make(self, schema: Any, depth: int) -> Any:
        if depth > MAX_DEPTH or schema is False:
            raise _NoExample
        if not isinstance(schema, Mapping):
            return {}
        stated = _stated(schema)
        if stated:
            return stated[0]
        if "$ref" in schema:
            return self.make(self._definitions.get(schema["$ref"].rpartition("/")[2]), depth + 1)
        for several in ("anyOf", "oneOf", "allOf"):
            if several in schema:
                return self._first_of(schema[several], depth)
        return self._of_type(schema, depth)

    def _first_of(self, schemas: list[Schema], depth: int) -> Any:
        """Return the example of the first that has one, null if there is nothing else."""
        for schema in sorted(schemas, key=lambda one: one == {"type": "null"}):
            try:
                return self.make(schema, depth + 1)
            except _NoExample:
                continue
        raise _NoExample

    def _of_type(self, schema: Schema, depth: int) -> Any:
        kind = schema.get("type", "object")
        match kind[0] if isinstance(kind, list) else kind:
            case "string":
                return _text(schema)
            case "integer" | "number":
                return _number(schema)
            case "boolean":
                return False
            case "null":
                return None
            case "array":
                return self._array(schema, depth)
        return self._object(schema, depth)

    def _array(self, schema: Schema, depth: int) -> list[Any]:
        first = [self.make(one, depth + 1) for one in schema.get("prefixItems", ())]
        wanted = max(schema.get("minItems", 0), int(self._wants_all and "items" in schema))
        if wanted > MAX_ITEMS:
            raise _NoExample
        rest = wanted - len(first)
        return first + [self.make(schema.get("items", {}), depth + 1) for _ in range(rest)]

    def _object(self, schema: Schema, depth: int) -> dict[str, Any]:
        required = schema.get("required", ())
        made = {}
        for name, one in schema.get("properties", {}).items():
            if name in required:
                made[name] = self.make(one, depth + 1)
            elif self._wants_all:
                try:
                    made[name] = self.make(one, depth + 1)
                except _NoExample:
                    continue
        return made


def _stated(schema: Schema) -> list[Any]:
    """Return the value that the schema itself names, if it does."""
    if "const" in schema:
        return [schema["const"]]
    if schema.get("default") is not None:
        return [schema["default"]]
    named = schema.get("examples") or schema.get("enum")
    return named[:1] if isinstance(named, list) else []


def _text(schema: Schema) -> str:
    text = _TEXTS.get(schema.get("format", ""), _TEXT)
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength")
    if shortest > len(text):
        text = (text * (shortest // len(text) + 1))[:shortest]
    return text if longest is None else text[:longest]


def _number(schema: Schema) -> float:
    """Return 1 or 0 if the bounds allow it, else a number at a bound or between both."""
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    step = schema.get("multipleOf", 1)
    candidates = [step, 0]
    for bound in (low, high):
        if bound is not None:
            candidates += [bound, *((bound // step + number) * step for number in (-1, 0, 1))]
    if low is not None and high is not None:
        candidates.append((low + high) / 2)
    for number in candidates:
        if _allows(schema, number):
            return int(number) if float(number).is_integer() else number
    raise _NoExample


def _allows(schema: Schema, number: float) -> bool:
    """Whether a number is of the type and within the bounds of a schema."""
    return (
        (schema["type"] != "integer" or float(number).is_integer())
        and schema.get("minimum", number) <= number <= schema.get("maximum", number)
        and schema.get("exclusiveMinimum", number - 1) < number
        and number < schema.get("exclusiveMaximum", number + 1)
    )
