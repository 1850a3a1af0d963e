"""What is said of a flag's value that Typer refuses: what is allowed, as of every other flag."""

from __future__ import annotations

from enum import Enum
from typing import Any

import typer

_FROM_A_VALIDATOR = "Value error, "


def sentence_of(error: typer.BadParameter) -> str:
    """Return what to say of a refused value in place of the words of Typer's own library."""
    # Typer has imported it to refuse the value; nobody else pays for it.
    from pydantic import ValidationError

    if error.param is None or not isinstance(error.__cause__, ValidationError):
        return error.message
    taken: Any = error.param.get_runtime_param()
    allowed = _allowed(taken.annotation, taken.parameter_info)
    if not allowed:
        return error.message.removeprefix(_FROM_A_VALIDATOR)
    return f"must be {allowed}, not {error.__cause__.errors()[0]['input']!r}"


def _allowed(annotation: Any, flag: Any) -> str:
    if flag.parser is not None:
        return ""
    if annotation is bool:
        return "true or false"
    if annotation in {int, float}:
        return _number("a whole number" if annotation is int else "a number", flag.min, flag.max)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        *others, last = (str(choice.value) for choice in annotation)
        return f"{', '.join(others)} or {last}" if others else last
    return ""


def _number(kind: str, least: float | None, most: float | None) -> str:
    if least is not None and most is not None:
        return f"{kind} from {least:,} to {most:,}"
    if least is not None:
        return f"{kind} of at least {least:,}"
    return kind if most is None else f"{kind} of at most {most:,}"
