"""Gives methods that are created from operations the signature and traceback of written ones."""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar, get_args, get_type_hints

from hourhand.client._values import ClientError

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
T = TypeVar("T")

DEBUG_VARIABLE = "HOURHAND_DEBUG"
"""If it is set, the traceback of an error has the client's own frames."""

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


def raising_at_caller(method: Callable[P, T]) -> Callable[P, T]:
    """Let the traceback of an error end at the line that called ``method``.

    The frames below it, and the errors that led to this one, are the client's own: the sentence
    of the error has what a caller can use.
    """

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(*args, **kwargs)
        except ClientError as error:
            if os.environ.get(DEBUG_VARIABLE):
                raise
            raise error.with_traceback(None) from None

    return call


def raising_at_awaiter(
    method: Callable[P, Coroutine[Any, Any, T]],
) -> Callable[P, Coroutine[Any, Any, T]]:
    """Do the same for a method that is awaited."""

    @functools.wraps(method)
    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await method(*args, **kwargs)
        except ClientError as error:
            if os.environ.get(DEBUG_VARIABLE):
                raise
            raise error.with_traceback(None) from None

    return call
