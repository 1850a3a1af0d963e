"""Pydantic's errors in our own words: which field is wrong, and what is allowed there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from hourhand.api.requests._limits import MAX_FIELD_ERRORS, MAX_QUOTED_CHARACTERS
from hourhand.domain.errors import FieldError, InvalidInput, unknown_field

WHOLE_BODY = "body"
"""The name that errors give to the whole of what was sent."""

_NAMED_IN_SENTENCE = 5
_UNKNOWN = "extra_forbidden"

OTHER_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "args": "payload",
        "body": "payload",
        "countdown": "delay_seconds",
        "cron": "expression",
        "data": "payload",
        "eta": "run_at",
        "function": "handler",
        "input": "payload",
        "max_attempts": "retry.max_attempts",
        "params": "payload",
        "rate": "expression",
        "retries": "retry.max_attempts",
        "schedule": "expression",
        "task": "handler",
        "tz": "timezone",
    }
)
"""What other schedulers call a field of ours."""

_KEY_ITSELF = "[key]"
"""How pydantic marks an error about an entry's key, not its value."""

ONE, MANY, TEXT, RANGE = "[one]", "[many]", "[text]", "[range]"
"""How our unions mark which of their forms a value has; callers wrote no such thing."""

_NO_NAMES = frozenset({_KEY_ITSELF, ONE, MANY, TEXT, RANGE})

_MESSAGES = {
    "missing": "is required",
    "string_type": "must be a string",
    "string_unicode": "must be valid Unicode: it contains half of a surrogate pair",
    "string_pattern_mismatch": "must match {pattern}",
    "string_too_short": "must have at least {min_length} character(s)",
    "string_too_long": "must have at most {max_length} characters",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "dict_type": "must be a JSON object",
    "model_type": "must be a JSON object",
    "list_type": "must be a JSON array",
    "greater_than_equal": "must be at least {ge:,.0f}",
    "less_than_equal": "must be at most {le:,.0f}",
    "too_long": "must have at most {max_length} entries",
    "too_short": "must have at least {min_length} entries",
    "enum": "must be {expected}",
    "literal_error": "must be {expected}",
    "none_required": "must be null",
}

M = TypeVar("M", bound=BaseModel)


class _Nothing(BaseModel):
    model_config = ConfigDict(extra="forbid")


def require_empty(raw: object, *, what: str) -> None:
    """Raise `InvalidInput` if ``raw`` is no object or has any field: there none is known."""
    validate(_Nothing, raw, what=what)


def validate(model: type[M], raw: object, *, what: str) -> M:
    """Return ``raw`` as ``model``; raise `InvalidInput` that names every wrong field.

    ``what`` names the thing in the error's sentence: "job", "filter".
    """
    if not isinstance(raw, Mapping):
        raise invalid(what, [FieldError(WHOLE_BODY, "must be a JSON object")])
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        raise invalid(what, _field_errors(details[:MAX_FIELD_ERRORS], model)) from error


def invalid(what: str, errors: list[FieldError]) -> InvalidInput:
    """Return the error for an invalid ``what``, with its errors by field."""
    fields = list(dict.fromkeys(error.field for error in errors))
    named = ", ".join(fields[:_NAMED_IN_SENTENCE])
    more = " and more" if len(fields) > _NAMED_IN_SENTENCE else ""
    return InvalidInput(f"The {what} is invalid: see {named}{more}.", errors=tuple(errors))


def refusal(reason: str) -> PydanticCustomError:
    """Return the error that a validator raises to report ``reason`` unchanged."""
    return PydanticCustomError("refused", "{reason}", {"reason": reason})


def field_names(model: type[BaseModel]) -> list[str]:
    """Return the fields of ``model`` as callers write them."""
    return [field.alias or name for name, field in model.model_fields.items()]


def quoted(text: str) -> str:
    """Return a caller's own words, short and encodable, to be repeated in an answer."""
    safe = text.encode("utf-8", errors="replace").decode("utf-8")
    if len(safe) <= MAX_QUOTED_CHARACTERS:
        return safe
    return safe[: MAX_QUOTED_CHARACTERS - 3] + "..."


def _field_errors(details: Sequence[ErrorDetails], model: type[BaseModel]) -> list[FieldError]:
    """Return the errors in our words. The first unknown field lists all known ones."""
    first = next((detail["loc"] for detail in details if detail["type"] == _UNKNOWN), None)
    return [
        FieldError(
            quoted(_path(detail["loc"])) or WHOLE_BODY,
            _unknown_field(detail["loc"], model, lists_all=detail["loc"] == first)
            if detail["type"] == _UNKNOWN
            else _message(detail),
        )
        for detail in details
    ]


def _message(detail: ErrorDetails) -> str:
    context: dict[str, Any] = detail.get("ctx") or {}
    template = _MESSAGES.get(detail["type"])
    return detail["msg"] if template is None else template.format(**context)


def _unknown_field(
    location: tuple[int | str, ...], model: type[BaseModel], *, lists_all: bool
) -> str:
    *outer, name = location
    around = _model_at(outer, model)
    known = [] if around is None else field_names(around)
    words = {other: ours for other, ours in OTHER_WORDS.items() if ours.split(".")[0] in known}
    return unknown_field(str(name), known, words, lists_all=lists_all and around is not None)


def _model_at(location: Sequence[int | str], model: type[BaseModel]) -> type[BaseModel] | None:
    """Return the model of the object at a place within ``model``; ``None`` if there is none."""
    for part in location:
        fields = {one.alias or name: one for name, one in model.model_fields.items()}
        if part in fields:
            inner = next(_models_in(fields[part].annotation), None)
            if inner is None:
                return None
            model = inner
    return model


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def _path(location: tuple[int | str, ...]) -> str:
    """Return a field's place as callers would write it, such as ``exclude[2].from``."""
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part not in _NO_NAMES:
            path += f".{part}"
    return path.removeprefix(".")
