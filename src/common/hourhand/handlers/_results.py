"""Encodes the result of a handler as the JSON text that is kept."""

from __future__ import annotations

import dataclasses
import sys
from datetime import date, time
from enum import Enum
from typing import Any
from uuid import UUID

from hourhand.domain.ids import json_text
from hourhand.domain.jobs.job import MAX_CONTENT_BYTES
from hourhand.handlers._errors import ResultNotJson, ResultTooLarge


def result_text(value: Any, *, what: str = "result") -> str:
    """Return ``value`` as JSON text; ``what`` names it in errors.

    Beside what JSON holds, a result may consist of pydantic models, dataclasses, enums, dates,
    times and UUIDs. Raises `ResultNotJson` for anything else, such as NaN, sets
    and cycles.
    """
    try:
        return json_text(_as_json(value))
    except Exception as error:
        raise ResultNotJson(f"The {what} is not JSON: {_reason(error)}") from error


def kept_text(value: Any, *, what: str = "result") -> str:
    """Return ``value`` as `result_text` does. Raises `ResultTooLarge` for what no record keeps."""
    text = result_text(value, what=what)
    size = len(text.encode())
    if size > MAX_CONTENT_BYTES:
        raise ResultTooLarge(
            f"The {what} is {size:,} bytes of JSON; at most {MAX_CONTENT_BYTES:,} are kept."
        )
    return text


def _as_json(value: Any) -> Any:
    """Replace values that `json` does not know by plain JSON values."""
    if isinstance(value, Enum):
        return _as_json(value.value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, dict):
        return _as_object(value)
    if isinstance(value, (list, tuple)):
        return [_as_json(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {field.name: _as_json(getattr(value, field.name)) for field in fields}
    return _as_text_or_model(value)


def _as_text_or_model(value: Any) -> Any:
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if _is_pydantic_model(value):
        return value.model_dump(mode="json")
    raise TypeError(f"it contains an object of type {type(value).__name__}")


def _as_object(value: dict[Any, Any]) -> dict[str, Any]:
    named = {_key(key): _as_json(item) for key, item in value.items()}
    if len(named) < len(value):
        raise TypeError("two of its keys are the same as text")
    return named


def _key(key: Any) -> str:
    plain = _as_json(key)
    if isinstance(plain, bool) or not isinstance(plain, (str, int)):
        raise TypeError(f"it has a key of type {type(key).__name__}; keys must be text")
    return str(plain)


def _is_pydantic_model(value: Any) -> bool:
    # A handler that returns a model has imported pydantic; others do not need the import.
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(value, pydantic.BaseModel)


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply, or contains itself"
    return str(error)
