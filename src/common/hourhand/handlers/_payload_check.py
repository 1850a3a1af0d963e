"""The check of a payload at submission: pydantic's rules without the code of the handler.

pydantic compiles a type into a *core schema*, of which its engine, pydantic-core, makes the
validator. That schema refers to classes and functions. Here it becomes plain JSON, which the API
gives to the same engine (ADR 28). What cannot be written as JSON is replaced by something that
accepts more, so no payload is refused that the handler accepts. The one exception is a field that a
dataclass or a TypedDict does not have: the handler would ignore it, and a submission refuses it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

from hourhand.handlers._payload_recursion import bound_recursion, names_read

Check = dict[str, Any]

_ANY: Mapping[str, Any] = {"type": "any"}
_BOUNDS = ("gt", "ge", "lt", "le", "multiple_of")
_LENGTHS = ("min_length", "max_length")
_URL = (
    *("max_length", "allowed_schemes", "host_required"),
    *("default_host", "default_port", "default_path"),
)

_KEPT: Mapping[str, tuple[str, ...]] = {
    "any": (),
    "none": (),
    "bool": (),
    "int": _BOUNDS,
    "float": (*_BOUNDS, "allow_inf_nan"),
    "decimal": (*_BOUNDS, "allow_inf_nan", "max_digits", "decimal_places"),
    "fraction": _BOUNDS,
    "complex": (),
    "str": (
        *(*_LENGTHS, "pattern", "ascii_only"),
        *("strip_whitespace", "to_lower", "to_upper", "coerce_numbers_to_str"),
    ),
    "bytes": _LENGTHS,
    # Not `now_op`: the job runs at another time than it is submitted.
    "date": _BOUNDS,
    "time": (*_BOUNDS, "tz_constraint", "microseconds_precision"),
    "datetime": (*_BOUNDS, "tz_constraint", "microseconds_precision"),
    "timedelta": (*_BOUNDS, "microseconds_precision"),
    "uuid": ("version",),
    "url": _URL,
    "multi-host-url": _URL,
    "list": _LENGTHS,
    "set": _LENGTHS,
    "frozenset": _LENGTHS,
    "tuple": (*_LENGTHS, "variadic_item_index"),
    "dict": _LENGTHS,
}
"""The kinds of schemas that are written, and what is kept of each beside ``strict``."""

_CONFIG = (
    *("strict", "extra_fields_behavior", "typed_dict_total", "allow_inf_nan", "val_json_bytes"),
    *("str_max_length", "str_min_length", "str_strip_whitespace", "str_to_lower", "str_to_upper"),
    *("coerce_numbers_to_str", "validate_by_alias", "validate_by_name", "val_temporal_unit"),
)
"""What is kept of the configuration of a model."""

_SETS = frozenset({"set", "frozenset"})
_COLLECTIONS = frozenset({"list", "tuple", "dict", *_SETS})
_EXACT = frozenset(_KEPT) - _COLLECTIONS
"""The kinds whose values are equal here, and can be hashed, if they are so in the worker."""

_KEYS = _EXACT | {"literal"}
_PARTS = ("items_schema", "keys_schema", "values_schema")
_INNER = frozenset({"function-after", "custom-error", "json-or-python", "lax-or-strict", "chain"})
_RECORDS = frozenset({"model", "dataclass", "typed-dict"})
_PYTHON_RE = "python-re"


def check_of(core_schema: Mapping[str, Any]) -> Check:
    """Return the check of a core schema, as JSON that `pydantic_core.SchemaValidator` takes."""
    check = _Writer().write(core_schema, {})
    bound_recursion(check)
    return check


class _Writer:
    """Writes one core schema. A schema inside a model is under the configuration of that model."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._defined: dict[str, Mapping[str, Any]] = {}

    def write(self, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Check:
        kind = schema["type"]
        if kind in _KEPT:
            return self._plain(schema, config)
        if kind in _RECORDS:
            return self._record(schema)
        if kind in _INNER:
            return self.write(_inner(schema), config)
        write: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any]], Check]] = {
            "literal": self._literal,
            "enum": self._enum,
            "nullable": self._nullable,
            "default": self._default,
            "json": self._json,
            "union": self._union,
            "tagged-union": self._tagged_union,
            "function-wrap": self._wrap,
            "definitions": self._definitions,
            "definition-ref": self._reference,
        }
        return write[kind](schema, config) if kind in write else dict(_ANY)

    def _plain(self, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Check:
        schema = self._countable(schema)
        kind = schema["type"]
        written = {"type": kind, **_portable(schema, ("strict", *_KEPT[kind]))}
        if _PYTHON_RE in {schema.get("regex_engine"), config.get("regex_engine")}:
            # Such a pattern may take for ever, and other engines do not read it.
            written.pop("pattern", None)
        if kind in _COLLECTIONS:
            # A long list of wrong items must not become a long list of errors.
            written["fail_fast"] = True
        if kind == "tuple":
            items = schema["items_schema"]
            if any(_may_be_left_out(item) for item in items):
                return dict(_ANY)
            written["items_schema"] = [self.write(item, config) for item in items]
            return written
        for part in _PARTS:
            if part in schema:
                written[part] = self.write(schema[part], config)
        if "keys_schema" in written and written["keys_schema"]["type"] not in _KEYS:
            # A key may be JSON in a text, of which only the worker makes what can be hashed.
            written["keys_schema"] = dict(_ANY)
        return written

    def _countable(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a collection so that the number and the hashes of its items refuse no payload.

        Items that differ here may be equal after the handler's own validators, or left out. And an
        item that the worker can hash, such as a frozen dataclass, is a dictionary here.
        """
        kind = schema["type"]
        if kind in _SETS and schema.get("items_schema", _ANY)["type"] not in _EXACT:
            return {**_without(schema, "max_length"), "type": "list"}
        if kind == "dict" and schema.get("keys_schema", _ANY)["type"] not in _EXACT:
            return _without(schema, *_LENGTHS)
        item = schema.get("values_schema" if kind == "dict" else "items_schema", _ANY)
        if kind in {"list", "dict"} and self._has_default(item):
            # `OnErrorOmit` leaves out a wrong item.
            return _without(schema, "max_length")
        return schema

    def _record(self, schema: Mapping[str, Any]) -> Check:
        """Write a model, a dataclass or a TypedDict as a typed dictionary.

        None of them takes over the configuration of what surrounds it.
        """
        config = schema.get("config", {})
        if schema["type"] == "typed-dict":
            return self._typed_dict(schema, schema["fields"], config)
        is_model = schema["type"] == "model"
        inner = schema["schema"]
        while inner["type"] == "function-after":
            inner = inner["schema"]
        if schema.get("custom_init") or inner["type"] not in {"model-fields", "dataclass-args"}:
            # The configuration of a root model holds for its root, which has no place for it.
            is_root = schema.get("root_model") and not _portable(config, _CONFIG)
            return self.write(inner, {}) if is_root else dict(_ANY)
        fields = inner["fields"]
        if inner["type"] == "dataclass-args":
            fields = {field["name"]: field for field in fields}
        return self._typed_dict(inner, fields, config, is_model=is_model)

    def _typed_dict(
        self,
        schema: Mapping[str, Any],
        fields: Mapping[str, Mapping[str, Any]],
        config: Mapping[str, Any],
        *,
        is_model: bool = False,
    ) -> Check:
        total = schema.get("total", config.get("typed_dict_total", True))
        written: Check = {
            "type": "typed-dict",
            "fields": {name: self._field(field, config, total) for name, field in fields.items()},
            "config": _portable(config, _CONFIG),
            **_portable(schema, ("strict",)),
        }
        extra = _stated_extra_behavior(schema, config, is_model=is_model)
        if extra is None:
            # The type has no such field, so one in a payload is a mistake of the caller.
            extra = "forbid"
            written["fields"].update(_names_left_unread(fields, config))
        if extra != config.get("extra_fields_behavior", "ignore"):
            written["extra_behavior"] = extra
        if "extras_schema" in schema:
            written["extras_schema"] = self.write(schema["extras_schema"], config)
        return written

    def _field(self, field: Mapping[str, Any], config: Mapping[str, Any], total: bool) -> Check:
        # A field of a dataclass with `init=False` is not read from a payload.
        schema = field["schema"] if field.get("init", True) else _ANY
        is_required = field.get("required", total) and field.get("init", True)
        written: Check = {
            "type": "typed-dict-field",
            "schema": self.write(schema, config),
            "required": is_required and not self._has_default(schema),
        }
        if "validation_alias" in field:
            written["validation_alias"] = field["validation_alias"]
        return written

    def _has_default(self, schema: Mapping[str, Any]) -> bool:
        """Whether a field may be absent, wherever among its wrappers the default is."""
        seen: set[str] = set()
        while True:
            if _may_be_left_out(schema):
                return True
            if schema["type"] == "definition-ref" and schema["schema_ref"] not in seen:
                seen.add(schema["schema_ref"])
                schema = self._defined[schema["schema_ref"]]
            elif "schema" in schema and schema["type"] not in {*_RECORDS, "json"}:
                schema = schema["schema"]
            else:
                return False

    def _literal(self, schema: Mapping[str, Any], _: Mapping[str, Any]) -> Check:
        expected = schema["expected"]
        if not all(type(value) in {str, int, bool, type(None)} for value in expected):
            return dict(_ANY)
        return {"type": "literal", "expected": list(expected)}

    def _enum(self, schema: Mapping[str, Any], _: Mapping[str, Any]) -> Check:
        values = [member.value for member in schema["members"]]
        if "missing" in schema or _reads_other_values(schema["cls"]):
            return dict(_ANY)
        if all(type(value) is str for value in values):
            return {"type": "literal", "expected": values}
        # "1" and 1.0 name the member of 1 as well.
        return {"type": "int"} if all(type(value) is int for value in values) else dict(_ANY)

    def _nullable(self, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Check:
        return {"type": "nullable", "schema": self.write(schema["schema"], config)}

    def _default(self, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Check:
        if schema.get("on_error", "raise") != "raise":
            return dict(_ANY)
        return self.write(schema["schema"], config)

    def _json(self, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Check:
        if "schema" not in schema:
            return {"type": "json"}
        return {"type": "json", "schema": self.write(schema["schema"], config)}

    def _union(self, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Check:
        choices = [one[0] if isinstance(one, tuple) else one for one in schema["choices"]]
        return {"type": "union", "choices": [self.write(one, config) for one in choices]}

    def _tagged_union(self, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Check:
        discriminator = schema["discriminator"]
        choices = {
            tag.value if isinstance(tag, Enum) else tag: choice
            for tag, choice in schema["choices"].items()
        }
        written = {tag: self.write(choice, config) for tag, choice in choices.items()}
        if isinstance(discriminator, str) and all(type(tag) is str for tag in choices):
            return {"type": "tagged-union", "discriminator": discriminator, "choices": written}
        return {"type": "union", "choices": list(written.values())}

    def _wrap(self, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Check:
        inner = schema["schema"]
        module = getattr(schema["function"]["function"], "__module__", None)
        if inner["type"] in {"url", "multi-host-url"} and module == "pydantic.networks":
            # Its wrapper only makes the text an object.
            return self.write(inner, config)
        return dict(_ANY)

    def _definitions(self, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Check:
        for number, one in enumerate(schema["definitions"], start=len(self._names) + 1):
            # The name that pydantic gives differs in each process.
            self._names[one["ref"]] = f"type-{number}"
            self._defined[one["ref"]] = one
        definitions = [
            {**self.write(one, config), "ref": self._names[one["ref"]]}
            for one in schema["definitions"]
        ]
        inner = self.write(schema["schema"], config)
        return {"type": "definitions", "schema": inner, "definitions": definitions}

    def _reference(self, schema: Mapping[str, Any], _: Mapping[str, Any]) -> Check:
        return {"type": "definition-ref", "schema_ref": self._names[schema["schema_ref"]]}


def states_extra_fields(schema: Mapping[str, Any]) -> bool:
    """Whether the type of a schema states itself what becomes of fields that it does not have."""
    return "extra_fields_behavior" in schema.get("config", {})


def _stated_extra_behavior(
    schema: Mapping[str, Any], config: Mapping[str, Any], *, is_model: bool
) -> str | None:
    """Return what becomes of fields that the type does not have: allow, ignore or forbid.

    A model that states nothing ignores them, as pydantic documents. A dataclass or a TypedDict may
    state nothing, which is ``None``.
    """
    stated: str | None = config.get("extra_fields_behavior")
    if is_model:
        return str(schema.get("extra_behavior", stated or "ignore"))
    # pydantic writes "ignore" for a TypedDict that states nothing.
    own = str(schema.get("extra_behavior", "ignore"))
    return own if own != "ignore" else stated


def _names_left_unread(fields: Mapping[str, Any], config: Mapping[str, Any]) -> Check:
    """Return a field of any value for each name that is read only if another one is absent.

    Beside that other name it would be called unknown, though the type has it.
    """
    names: list[str] = []
    by_name = bool(config.get("validate_by_name"))
    for name, field in fields.items():
        alias = field.get("validation_alias")
        if isinstance(alias, list) or (alias is not None and by_name):
            names += [*names_read(name, field), *([name] if by_name else [])]
    ignored = {"type": "typed-dict-field", "schema": _ANY, "required": False}
    return {f"also {one}": {**ignored, "validation_alias": one} for one in names}


def _without(schema: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    return {key: value for key, value in schema.items() if key not in keys}


def _inner(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema that sees the payload first."""
    inner: Mapping[str, Any]
    match schema["type"]:
        case "json-or-python":
            inner = schema["json_schema"]
        case "lax-or-strict":
            # In strict mode, the strict one would: it may accept what the lax one does not.
            both = [schema["lax_schema"], schema["strict_schema"]]
            inner = {"type": "union", "choices": both}
        case "chain":
            inner = schema["steps"][0]
        case _:
            inner = schema["schema"]
    return inner


def _reads_other_values(kind: type[Enum]) -> bool:
    """Whether an enum has code of its own for values that no member has."""
    own, usual = (getattr(one._missing_, "__func__", None) for one in (kind, Enum))
    return own is not usual


def _may_be_left_out(schema: Mapping[str, Any]) -> bool:
    return bool(schema["type"] == "default")


def _portable(source: Mapping[str, Any], keys: tuple[str, ...]) -> Check:
    """Return the values of ``keys`` that JSON can hold, or a text that pydantic reads as such."""
    found = {key: _as_json(source[key]) for key in keys if key in source}
    return {key: value for key, value in found.items() if value is not None}


def _as_json(value: Any) -> Any:
    """Return a value as JSON; ``None`` where that is not possible, so the rule is dropped."""
    if isinstance(value, Enum) or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Fraction) or (isinstance(value, Decimal) and value.is_finite()):
        return str(value)
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, timedelta) and not value.microseconds:
        return value // timedelta(seconds=1)
    is_texts = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return value if is_texts else None
