"""Reads the payload's JSON text as the type of the handler's annotation."""

from __future__ import annotations

import functools
import inspect
import json
import sys
import types
import typing
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints, is_typeddict

from hourhand.handlers._errors import InvalidHandler, InvalidPayload

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Binder = Callable[[str], Any]

MAX_NAMED_ERRORS = 10
"""The wrong fields that one message names; the rest is counted."""

UNCHECKED = (inspect.Parameter.empty, Any, object)
"""Annotations of payloads that may be any JSON."""

JSON_TYPES: Mapping[Any, tuple[tuple[type, ...], str]] = {
    dict: ((dict,), "an object"),
    Mapping: ((dict,), "an object"),
    MutableMapping: ((dict,), "an object"),
    list: ((list,), "an array"),
    Sequence: ((list,), "an array"),
    str: ((str,), "a string"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
    bool: ((bool,), "true or false"),
    types.NoneType: ((types.NoneType,), "null"),
}
"""By the type of a payload: the types that its JSON may have, the plainest last, and their name."""
_BARE_ARGUMENTS = ((), (Any,), (str, Any))


@dataclass(slots=True)
class PayloadBinder:
    """Reads payloads for one parameter of ``function``; its type is resolved at the first use.

    Not before, so that a module can name types that it defines further down, and so that
    pydantic is imported only by a process that runs such a handler.
    """

    function: Callable[..., Any]
    annotation: Any
    _bind: Binder | None = None

    def __call__(self, payload_text: str) -> Any:
        """Return the payload. Raises `InvalidPayload`, or `InvalidHandler` for a bad type."""
        return self.binder()(payload_text)

    def binder(self) -> Binder:
        """Return what reads the payload; raise `InvalidHandler` if the type cannot be used."""
        if self._bind is None:
            self._bind = _binder_for(self.type())
        return self._bind

    def type(self) -> Any:
        """Return the type of the payload; raise `InvalidHandler` if it cannot be found."""
        return _resolve(self.function, self.annotation)


def _resolve(function: Callable[..., Any], annotation: Any) -> Any:
    """Return the type behind an annotation that may be a string."""
    if not isinstance(annotation, str):
        return annotation
    # Only this one annotation: others may name what exists for type checkers alone.
    holder = types.SimpleNamespace(__annotations__={"payload": annotation})
    try:
        hints = get_type_hints(holder, globalns=_globals_of(function), include_extras=True)
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        raise InvalidHandler(
            f"The type of the payload, {annotation}, cannot be read: {error}. "
            "It must be importable at the top of the handler's module."
        ) from error
    return hints["payload"]


def _globals_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the names that the module sees in which the function is written."""
    while isinstance(function, functools.partial):
        function = function.func
    written = function if hasattr(function, "__globals__") else type(function).__call__
    names: dict[str, Any] = getattr(written, "__globals__", {})
    return names


def _binder_for(annotation: Any) -> Binder:
    if annotation in UNCHECKED:
        return _read
    plain = plain_type(annotation)
    return _pydantic_binder(annotation) if plain is None else _plain_binder(plain)


def plain_type(annotation: Any) -> Any:
    """Return the type of JSON that an annotation names, such as ``dict``; ``None`` for others."""
    origin = types.NoneType if annotation is None else get_origin(annotation) or annotation
    is_plain = _is_hashable(origin) and origin in JSON_TYPES
    return origin if is_plain and get_args(annotation) in _BARE_ARGUMENTS else None


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _plain_binder(annotation: Any) -> Binder:
    accepted, wanted = JSON_TYPES[annotation]

    def bind(payload_text: str) -> Any:
        payload = _read(payload_text)
        is_stray_bool = isinstance(payload, bool) and annotation is not bool
        if is_stray_bool or not isinstance(payload, accepted):
            raise InvalidPayload(f"The payload must be {wanted}, not {_json_name(payload)}.")
        return payload

    return bind


def _read(payload_text: str) -> Any:
    try:
        return json.loads(payload_text)
    except (ValueError, RecursionError):
        # It was JSON when it was accepted; the message must not quote the payload.
        raise InvalidPayload("The stored payload is not JSON.") from None


def _json_name(value: Any) -> str:
    return JSON_TYPES[type(value)][1]


def type_adapter(annotation: Any) -> TypeAdapter[Any]:
    """Return what pydantic validates a type with; raise `InvalidHandler` where it cannot."""
    from pydantic import TypeAdapter  # noqa: PLC0415 - 0.04 s, only where needed
    from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError  # noqa: PLC0415

    try:
        return TypeAdapter(with_new_typed_dicts(annotation))
    except (PydanticUserError, PydanticUndefinedAnnotation, TypeError, NameError) as error:
        name = _name(annotation)
        raise InvalidHandler(f"Payloads of type {name} cannot be validated: {error}") from error


def _name(annotation: Any) -> str:
    return getattr(annotation, "__name__", None) or str(annotation)


def _pydantic_binder(annotation: Any) -> Binder:
    from pydantic import ValidationError  # noqa: PLC0415

    adapter, name = type_adapter(annotation), _name(annotation)

    def bind(payload_text: str) -> Any:
        try:
            return adapter.validate_json(payload_text)
        except ValidationError as error:
            # What is wrong, never the value: messages are logged, and payloads must not be.
            wrong = error.errors(include_url=False, include_context=False, include_input=False)
            raise InvalidPayload(_message(name, wrong)) from None

    return bind


def _message(name: str, wrong: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence that names the wrong fields and their errors."""
    named = [
        f"{'.'.join(str(part) for part in error['loc']) or 'payload'}: {error['msg']}"
        for error in wrong[:MAX_NAMED_ERRORS]
    ]
    if len(wrong) > MAX_NAMED_ERRORS:
        named.append(f"and {len(wrong) - MAX_NAMED_ERRORS} more")
    return f"The payload is not a valid {name}: {'; '.join(named)}."


def with_new_typed_dicts(annotation: Any) -> Any:
    """Return ``annotation`` with every old TypedDict in it rebuilt; on 3.12 as it is.

    Before 3.12 the standard TypedDict forgets what its bases declared as required, so pydantic
    takes only that of typing_extensions (its error ``typed-dict-version`` says so). Users should
    not have to know: the same declaration is built anew there.
    """
    if sys.version_info >= (3, 12):
        return annotation
    return _rebuild(annotation, frozenset())


def _rebuild(annotation: Any, outer: frozenset[Any]) -> Any:
    """``outer``: the declarations that this one stands in, to leave a recursive one alone."""
    if is_typeddict(annotation) and type(annotation).__module__ == "typing":
        return annotation if annotation in outer else _new_typed_dict(annotation, outer)
    arguments = get_args(annotation)
    rebuilt = tuple(_rebuild(argument, outer) for argument in arguments)
    if rebuilt == arguments:
        return annotation
    origin: Any = get_origin(annotation)
    # `X | Y` cannot be subscripted, `Union[X, Y]` can.
    return (Union if origin is types.UnionType else origin)[rebuilt]


def _new_typed_dict(old: Any, outer: frozenset[Any]) -> Any:
    import typing_extensions  # noqa: PLC0415 - comes with pydantic, which is imported lazily

    fields = {}
    for name, hint in get_type_hints(old, include_extras=True).items():
        # With postponed annotations `__required_keys__` misses what the field itself says.
        marker = get_origin(hint)
        if marker in (typing.Required, typing.NotRequired):
            bare = get_args(hint)[0]
        else:
            bare = hint
            is_required = name in old.__required_keys__
            marker = typing.Required if is_required else typing.NotRequired
        fields[name] = marker[_rebuild(bare, outer | {old})]
    # The name and the fields are data here, which no type checker can follow.
    typed_dict: Any = typing_extensions.TypedDict
    new = typed_dict(old.__name__, fields)
    if hasattr(old, "__pydantic_config__"):
        new.__pydantic_config__ = old.__pydantic_config__
    return new
