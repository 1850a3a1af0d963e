"""Flags that several verbs share: named once, and told to a verb as the one value they come to."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any

Command = Callable[..., int | None]


def gathering(
    argument: str, flags: Mapping[str, Any], into: Callable[..., Any]
) -> Callable[[Command], Command]:
    """Let a function have ``flags`` where it has its parameter ``argument``.

    ``flags`` are types by the names of the parameters that Typer makes flags of; none has a
    default: what is not given is ``None``. The function gets what ``into`` returns for them, all
    by name.
    """

    def made(command: Command) -> Command:
        @wraps(command)
        def run(*arguments: Any, **given: Any) -> int | None:
            gathered = into(**{name: given.pop(name) for name in flags})
            return command(*arguments, **{argument: gathered}, **given)

        own = inspect.signature(command, eval_str=True)
        assert argument in own.parameters, f"the flags would take nobody's place: {argument}"
        parameters = list(_in_place(own.parameters, argument, flags))
        run.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]  # read by inspect
        return run

    return made


def _in_place(
    own: Mapping[str, inspect.Parameter], argument: str, flags: Mapping[str, Any]
) -> Iterator[inspect.Parameter]:
    for name, parameter in own.items():
        if name != argument:
            yield parameter
            continue
        for flag, kind in flags.items():
            yield inspect.Parameter(flag, parameter.kind, default=None, annotation=kind)
