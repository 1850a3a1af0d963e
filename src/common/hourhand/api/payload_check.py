"""The check of a payload at submission, with pydantic's rules for its handler (ADR 28)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from pydantic_core import ErrorDetails, SchemaError, SchemaValidator, ValidationError

from hourhand.api.requests._errors import invalid, quoted
from hourhand.api.requests._limits import MAX_FIELD_ERRORS
from hourhand.domain.errors import FieldError, near_names, unknown_field
from hourhand.ports.handler_directory import HandlerDirectory, HandlerInfo
from hourhand.ports.telemetry import Telemetry

MAX_MESSAGE_CHARACTERS = 300
"""How much is said of one field: a choice of a thousand values is not listed."""

MAX_COUNTED_ERRORS = 1_000
"""A payload with more errors than these is refused as a whole: listing them takes memory."""

MAX_COMPARED_FIELDS = 100
"""How many unknown fields of an object are compared with one that is missing."""

PAYLOAD = "payload"
Check = Mapping[str, Any]
Path = tuple[str | int, ...]

_MISSING, _UNKNOWN = "missing", "extra_forbidden"
_SUBJECT = re.compile(r"^[A-Z][\w ]*? should ")
"""How pydantic's messages begin; here the name of the field comes before them."""


class PayloadChecks:
    """The checks of the handlers in ``handlers``. Each is built when its handler is first used."""

    def __init__(self, handlers: HandlerDirectory, telemetry: Telemetry) -> None:
        """Build nothing yet."""
        self._handlers = handlers
        self._telemetry = telemetry
        self._built: dict[str, tuple[Mapping[str, Any], SchemaValidator | None]] = {}

    def require_valid(self, handler: str, payload_text: str) -> None:
        """Raise `InvalidInput`, naming the fields, if ``handler`` cannot take the payload.

        ``payload_text`` is the JSON that its worker would read. An unknown handler takes all.
        """
        info = self._handlers.find(handler)
        if info is None or info.payload_check is None:
            return
        validator = self._validator(info, info.payload_check)
        if validator is None:
            return
        try:
            validator.validate_json(payload_text)
        except ValidationError as error:
            wrong = _wrong_fields(error, payload_text, info.payload_check)
        except Exception as error:  # noqa: BLE001 - a fault of the check must refuse no payload
            self._telemetry.warning(
                "The check of a handler's payload failed. The payload is accepted unchecked.",
                handler=handler,
                # Not its message, which could quote the payload.
                reason=type(error).__name__,
            )
            return
        else:
            return
        if wrong:
            raise invalid(PAYLOAD, wrong)

    def _validator(self, info: HandlerInfo, check: Mapping[str, Any]) -> SchemaValidator | None:
        known = self._built.get(info.name)
        if known is None or known[0] is not check:
            known = self._built[info.name] = (check, self._build(info.name, check))
        return known[1]

    def _build(self, handler: str, check: Mapping[str, Any]) -> SchemaValidator | None:
        try:
            return SchemaValidator(dict(check))
        except (SchemaError, KeyError, TypeError, ValueError) as error:
            self._telemetry.warning(
                "The check of a handler's payload cannot be used. Its payloads are accepted "
                "unchecked.",
                handler=handler,
                reason=str(error),
            )
            return None


def _wrong_fields(error: ValidationError, payload_text: str, check: Check) -> list[FieldError]:
    """Return what is wrong by fields; nothing if only this reader of JSON refuses the text."""
    count = error.error_count()
    if count > MAX_COUNTED_ERRORS:
        return [FieldError(PAYLOAD, f"does not fit its handler: it has {count:,} errors")]
    details = error.errors(include_url=False, include_context=False, include_input=False)
    if details[0]["type"] == "json_invalid":
        # A number or a character, which the handlers of some types accept.
        return []
    return _Words(check, json.loads(payload_text), details).field_errors()


class _Words:
    """The errors of one payload, in words."""

    def __init__(self, check: Check, payload: Any, details: Sequence[ErrorDetails]) -> None:
        self._types = _Types(check)
        self._payload = payload
        self._details = details
        unknown = (_path_in(payload, one["loc"]) for one in details if one["type"] == _UNKNOWN)
        self._first_unknown = next(unknown, None)

    def field_errors(self) -> list[FieldError]:
        """Return one error for each field, which names all that it may be."""
        by_field: dict[str, list[str]] = {}
        for detail in self._details:
            path = _path_in(self._payload, detail["loc"])
            is_missing = detail["type"] == _MISSING
            place = (*path, detail["loc"][-1]) if is_missing else path
            messages = by_field.setdefault(quoted(_written(place)), [])
            message = self._message(detail, path)
            if message not in messages:
                messages.append(message)
            if len(by_field) > MAX_FIELD_ERRORS:
                break
        errors = [FieldError(field, _short(" or ".join(said))) for field, said in by_field.items()]
        return errors[:MAX_FIELD_ERRORS]

    def _message(self, detail: ErrorDetails, path: Path) -> str:
        match detail["type"]:
            case "missing":
                return f"is required{self._misspelt(str(detail['loc'][-1]), path)}"
            case "extra_forbidden":
                return self._unknown(path)
        return _SUBJECT.sub("must ", detail["msg"])

    def _unknown(self, path: Path) -> str:
        *around, name = path
        known = self._types.fields_at(tuple(around))
        if name in known:
            # Of one member of a union, where the other fields are of another.
            return "does not go with the other fields"
        lists_all = bool(known) and path == self._first_unknown
        return unknown_field(str(name), known, lists_all=lists_all)

    def _misspelt(self, missing: str, path: Path) -> str:
        """Return a question about the unknown field that is probably the missing one.

        Where unknown fields are refused, their own errors say so.
        """
        given = _value_at(self._payload, path)
        if self._first_unknown is not None or not isinstance(given, dict):
            return ""
        known = self._types.fields_at(path)
        unknown = islice((name for name in given if name not in known), MAX_COMPARED_FIELDS)
        near = near_names(missing, unknown)
        return f". Is {near[0]!r} a misspelling of it?" if near else ""


class _Types:
    """The types that the parts of a payload may have, by a check of `hourhand.handlers`."""

    def __init__(self, check: Check) -> None:
        self._check = check
        self._defined: dict[str, Check] = {}
        self._fields: dict[Path, list[str]] = {}

    def fields_at(self, path: Path) -> list[str]:
        """Return the fields that the object at ``path`` may have, as they are written."""
        if path not in self._fields:
            types = _once(self._plain(self._check))
            for part in path:
                types = _once(one for outer in types for one in self._parts(outer, part))
            named = (name for one in types for name in _fields(one))
            self._fields[path] = list(dict.fromkeys(named))
        return self._fields[path]

    def _plain(self, check: Check, seen: frozenset[str] = frozenset()) -> Iterator[Check]:
        """Yield the types within what surrounds them: references, unions and the like."""
        match check["type"]:
            case "definitions":
                self._defined.update({one["ref"]: one for one in check["definitions"]})
                yield from self._plain(check["schema"], seen)
            case "definition-ref" if check["schema_ref"] not in seen:
                name = check["schema_ref"]
                yield from self._plain(self._defined[name], seen | {name})
            case "nullable":
                yield from self._plain(check["schema"], seen)
            case "union":
                for choice in check["choices"]:
                    yield from self._plain(choice, seen)
            case "tagged-union":
                for choice in check["choices"].values():
                    yield from self._plain(choice, seen)
            case _:
                yield check

    def _parts(self, check: Check, part: str | int) -> Iterator[Check]:
        """Yield the types of one part of what has the type ``check``."""
        match check["type"]:
            case "typed-dict" if part in (fields := _fields(check)):
                yield from self._plain(fields[str(part)]["schema"])
            case "dict" if "values_schema" in check:
                yield from self._plain(check["values_schema"])
            case "list" | "set" | "frozenset" if "items_schema" in check:
                yield from self._plain(check["items_schema"])
            case "tuple" if isinstance(part, int) and (items := check["items_schema"]):
                yield from self._plain(items[min(part, len(items) - 1)])


def _once(types: Iterable[Check]) -> list[Check]:
    """Return each type once.

    The members of a union that refer to each other would be doubled at each level of a payload.
    """
    return list({id(one): one for one in types}.values())


def _fields(check: Check) -> dict[str, Check]:
    """Return the fields of an object by the names that callers write; empty for other types."""
    if check["type"] != "typed-dict":
        return {}
    found: dict[str, Check] = {}
    for name, field in check["fields"].items():
        # A later field of the same name only lets it be left unread.
        found.setdefault(_caller_name(name, field), field)
    return found


def _caller_name(name: str, field: Check) -> str:
    alias = field.get("validation_alias", name)
    # Of several aliases, and of the steps of a path, the first.
    while isinstance(alias, list):
        alias = alias[0]
    return str(alias)


def _path_in(payload: Any, location: Sequence[str | int]) -> Path:
    """Return the parts of an error's location that are in the payload.

    Between them stand names of a union's members, which are not.
    """
    path: list[str | int] = []
    value = payload
    for part in location:
        is_item = isinstance(value, list) and isinstance(part, int) and part < len(value)
        if is_item or (isinstance(value, dict) and part in value):
            path.append(part)
            value = value[part]
    return tuple(path)


def _value_at(payload: Any, path: Path) -> Any:
    for part in path:
        payload = payload[part]
    return payload


def _written(path: Path) -> str:
    """Return a path as ``payload.lines[2].text``."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join((PAYLOAD, *parts))


def _short(message: str) -> str:
    if len(message) <= MAX_MESSAGE_CHARACTERS:
        return message
    return message[: MAX_MESSAGE_CHARACTERS - 3] + "..."
