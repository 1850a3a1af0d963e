"""The check of a payload at submission, with pydantic's rules for its handler (ADR 28)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import ErrorDetails, SchemaError, SchemaValidator, ValidationError

from hourhand.api.requests import MAX_FIELD_ERRORS, invalid, quoted
from hourhand.domain.errors import FieldError
from hourhand.ports.handler_directory import HandlerDirectory, HandlerInfo
from hourhand.ports.telemetry import Telemetry

MAX_MESSAGE_CHARACTERS = 300
"""How much is said of one field: a choice of a thousand values is not listed."""

MAX_COUNTED_ERRORS = 1_000
"""A payload with more errors than these is refused as a whole: listing them takes memory."""

PAYLOAD = "payload"

_MESSAGES = {"missing": "is required", "extra_forbidden": "is not a known field"}
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
            wrong = _wrong_fields(error, payload_text)
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


def _wrong_fields(error: ValidationError, payload_text: str) -> list[FieldError]:
    """Return what is wrong by fields; nothing if only this reader of JSON refuses the text."""
    count = error.error_count()
    if count > MAX_COUNTED_ERRORS:
        return [FieldError(PAYLOAD, f"does not fit its handler: it has {count:,} errors")]
    details = error.errors(include_url=False, include_context=False, include_input=False)
    if details[0]["type"] == "json_invalid":
        # A number or a character, which the handlers of some types accept.
        return []
    return _field_errors(details, json.loads(payload_text))


def _field_errors(details: Sequence[ErrorDetails], payload: Any) -> list[FieldError]:
    """Return one error for each field, which names all that it may be."""
    by_field: dict[str, list[str]] = {}
    for detail in details:
        field = quoted(_place(detail["loc"], payload, is_absent=detail["type"] == "missing"))
        messages = by_field.setdefault(field, [])
        message = _MESSAGES.get(detail["type"]) or _SUBJECT.sub("must ", detail["msg"])
        if message not in messages:
            messages.append(message)
        if len(by_field) > MAX_FIELD_ERRORS:
            break
    errors = [FieldError(field, _short(" or ".join(said))) for field, said in by_field.items()]
    return errors[:MAX_FIELD_ERRORS]


def _place(location: Sequence[str | int], payload: Any, *, is_absent: bool) -> str:
    """Return where an error is, as ``payload.lines[2].text``.

    Between the parts of a location stand names of a union's members, which are not in the payload.
    """
    place, value = PAYLOAD, payload
    for part in location:
        if isinstance(value, dict) and part in value:
            place, value = f"{place}.{part}", value[part]
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            place, value = f"{place}[{part}]", value[part]
    return f"{place}.{location[-1]}" if is_absent else place


def _short(message: str) -> str:
    if len(message) <= MAX_MESSAGE_CHARACTERS:
        return message
    return message[: MAX_MESSAGE_CHARACTERS - 3] + "..."
