"""Gives methods that are created from operations the signature of a written method."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar, get_args, get_type_hints

F = TypeVar("F", bound=Callable[..., Any])

_SELF = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)


def with_signature(
    operation: Callable[..., Any], returns: Callable[[str], str] = str
) -> Callable[[F], F]:
    """Return what gives a method the signature of ``operation``, with ``self`` for its session.

    ``returns`` makes of the name of what is returned or emitted that which the method returns.
    """

    def show(method: F) -> F:
        signature = inspect.signature(operation)
        _, *parameters = signature.parameters.values()
        told = re.sub(r"^(?:Operation|Stream)\[(.*)\]$", r"\1", str(signature.return_annotation))
        written_out = [one for given in parameters for one in _written_out(given, operation)]
        shown = signature.replace(parameters=[_SELF, *written_out], return_annotation=returns(told))
        vars(method)["__signature__"] = shown
        return method

    return show


def _written_out(
    parameter: inspect.Parameter, operation: Callable[..., Any]
) -> list[inspect.Parameter]:
    """Return the keywords that ``**fields: Unpack[...]`` stands for; else the parameter itself."""
    if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
        return [parameter]
    [fields] = get_args(get_type_hints(operation)[parameter.name])
    return [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint.__forward_arg__
        )
        for name, hint in fields.__annotations__.items()
    ]
