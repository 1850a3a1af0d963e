"""`typing.TypedDict` as pydantic takes it on Python 3.11.

Before 3.12 the standard TypedDict forgets what its bases declared as required, so pydantic takes
only that of typing_extensions (its error ``typed-dict-version`` says so). Users should not have
to know: the same declaration is built anew there.
"""

from __future__ import annotations

import sys
import types
import typing
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict


def with_new_typed_dicts(annotation: Any) -> Any:
    """Return ``annotation`` with every old TypedDict in it rebuilt; on 3.12 as it is."""
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
    return typing_extensions.TypedDict(old.__name__, fields)  # type: ignore[operator]
