"""What a manifest says of a handler's payload: its JSON Schema, examples, and its check."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from hourhand.handlers._binding import (
    JSON_TYPES,
    UNCHECKED,
    PayloadBinder,
    plain_type,
    type_adapter,
)
from hourhand.handlers._payload_check import check_of, states_extra_fields
from hourhand.handlers._payload_examples import likely_payloads

MAX_EXAMPLES = 3
MAX_EXAMPLE_BYTES = 4_096
"""A larger example is none to begin with."""

MAX_CANDIDATES = 10


@dataclass(frozen=True)
class PayloadType:
    """The type of a handler's payload, described without running the handler.

    Each property is empty where the payload may be any JSON, and where pydantic cannot say more:
    then only the worker validates.
    """

    binder: PayloadBinder

    @property
    def takes_any(self) -> bool:
        """Whether the payload may be any JSON."""
        return self._annotation in UNCHECKED

    @cached_property
    def schema(self) -> Mapping[str, Any] | None:
        """The JSON Schema of the payload as it is sent."""
        if self._adapter is None:
            return None
        from pydantic.json_schema import GenerateJsonSchema  # noqa: PLC0415

        class Generator(GenerateJsonSchema):
            """Describes what it can; for the rest any value may come."""

            ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

            def handle_invalid_for_json_schema(self, *_: Any) -> dict[str, Any]:
                return {}

            def dataclass_schema(self, schema: Any) -> dict[str, Any]:
                return _closed(super().dataclass_schema(schema), schema)

            def typed_dict_schema(self, schema: Any) -> dict[str, Any]:
                return _closed(super().typed_dict_schema(schema), schema)

        try:
            schema = self._adapter.json_schema(schema_generator=Generator)
        except Exception:  # noqa: BLE001 - a hook of the user's type may raise anything
            return None
        return schema if size_bytes(schema) is not None else None

    @cached_property
    def check(self) -> Mapping[str, Any] | None:
        """What a submission is checked with (`hourhand.handlers._payload_check`)."""
        if self._adapter is None:
            return None
        try:
            check = check_of(self._adapter.core_schema)
        except LookupError:
            # A later pydantic may compile types into what is not known here.
            return None
        if plain_type(self._annotation) is not None:
            # The binder converts nothing for these.
            check = {"type": check["type"], "strict": True}
        return check if _can_be_built(check) else None

    @cached_property
    def examples(self) -> tuple[Any, ...]:
        """Payloads that the handler accepts; the type's own validators run for that."""
        if self.schema is None:
            return ()
        found: list[Any] = []
        for payload in islice(likely_payloads(self.schema), MAX_CANDIDATES):
            if payload not in found and self._accepts(payload):
                found.append(payload)
        return tuple(found[:MAX_EXAMPLES])

    def _accepts(self, payload: Any) -> bool:
        size = size_bytes(payload)
        if size is None or size > MAX_EXAMPLE_BYTES:
            return False
        try:
            self.binder(json.dumps(payload))
        except Exception:  # noqa: BLE001 - a validator of the user's may raise anything
            return False
        return True

    @cached_property
    def _annotation(self) -> Any:
        return self.binder.type()

    @cached_property
    def _adapter(self) -> Any:
        try:
            if self.takes_any:
                return None
            plain = plain_type(self._annotation)
            return type_adapter(self._annotation if plain is None else JSON_TYPES[plain][0][-1])
        except Exception:  # noqa: BLE001 - whatever it is, the worker reports it with the job
            return None


def size_bytes(value: Any) -> int | None:
    """Return how much JSON a value is; ``None`` for what is not JSON."""
    try:
        return len(json.dumps(value, allow_nan=False, separators=(",", ":")).encode())
    except (TypeError, ValueError, RecursionError):
        return None


def _closed(generated: dict[str, Any], core_schema: Mapping[str, Any]) -> dict[str, Any]:
    """Say in the JSON Schema of a dataclass or TypedDict that it has no other fields."""
    if generated.get("type") == "object" and not states_extra_fields(core_schema):
        generated.setdefault("additionalProperties", False)
    return generated


def _can_be_built(check: Mapping[str, Any]) -> bool:
    """Whether a check does what it is for after a way through JSON."""
    from pydantic_core import SchemaError, SchemaValidator  # noqa: PLC0415

    try:
        SchemaValidator(json.loads(json.dumps(check, allow_nan=False)))
    except (SchemaError, KeyError, TypeError, ValueError):
        return False
    return True
