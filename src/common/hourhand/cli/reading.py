"""Reads what users type: durations, times, JSON, tags. Errors say what is allowed."""

from __future__ import annotations

import json
import re
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NewType

import typer

from hourhand.domain.ids import json_integer
from hourhand.domain.times import rfc3339

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|sec|m|min|h|d|w)?", re.IGNORECASE)
_SECONDS_IN = {
    "ms": 0.001,
    "s": 1,
    "sec": 1,
    "m": 60,
    "min": 60,
    "h": 3600,
    "d": 86_400,
    "w": 604_800,
}
MAX_SECONDS = 200 * 366 * 86_400
"""Longer ones cannot be added to a date; the API refuses them much sooner."""

Seconds = NewType("Seconds", float)
"""A duration."""


def read_duration(text: str) -> Seconds:
    """Return ``90``, ``90s``, ``5m``, ``1.5h``, ``2d`` or ``1w`` in seconds."""
    match = _DURATION.fullmatch(text.strip())
    seconds = float(match[1]) * _SECONDS_IN[(match[2] or "s").lower()] if match else -1
    if not 0 <= seconds <= MAX_SECONDS:
        raise typer.BadParameter(f"must be a duration such as 90s, 5m, 1.5h or 2d, not {text!r}")
    return Seconds(seconds)


def read_whole_duration(text: str) -> int:
    """Return a duration that the API takes in whole seconds."""
    seconds = read_duration(text)
    if not float(seconds).is_integer():
        raise typer.BadParameter(f"must be whole seconds, not {text!r}")
    return int(seconds)


def read_time(text: str) -> datetime:
    """Return a time; without an offset it is in the time zone of this machine."""
    try:
        return datetime.fromisoformat(text.strip()).astimezone()
    except (ValueError, OverflowError):
        raise typer.BadParameter(
            "must be a time such as 2027-01-31T09:00, 2027-01-31T09:00+01:00 or "
            f"2027-01-31T08:00Z, not {text!r}"
        ) from None


def read_anchor(text: str) -> str:
    """Return a time as the API takes it; without an offset it stays a local time."""
    time, written = read_time(text), datetime.fromisoformat(text.strip())
    return rfc3339(time) if written.tzinfo else written.isoformat()


def read_time_or_duration(text: str) -> datetime | timedelta:
    """Return a time, or for a duration such as ``2h`` a timedelta: how far it is from now."""
    if _DURATION.fullmatch(text.strip()):
        return timedelta(seconds=read_duration(text))
    try:
        return read_time(text)
    except typer.BadParameter:
        raise typer.BadParameter(
            "must be a duration such as 90s, 5m or 2h, or a time such as 2027-01-31T09:00, "
            f"not {text!r}"
        ) from None


def time_ago(typed: datetime | timedelta | None, now: datetime) -> datetime | None:
    """Return a time that was typed; for a duration, the time that long before ``now``."""
    return now - typed if isinstance(typed, timedelta) else typed


def read_json(text: str, name: str) -> Any:
    """Return the value of JSON: of ``text``, of the file after ``@``, or of stdin for ``-``.

    Raises `typer.BadParameter`, which names the argument ``name``.
    """
    source, content = _content(text, name)
    try:
        return json.loads(content, parse_int=json_integer, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        hint = "" if source else f"; {_hint(text)}"
        raise typer.BadParameter(
            f"{source or 'the value'} is not valid JSON: {error}{hint}", param_hint=name
        ) from None


def _hint(text: str) -> str:
    """Return what people most often miss in JSON that they type in a shell."""
    if text.lstrip().startswith(("{", "[")):
        return 'names and strings need double quotes: \'{"name": "text"}\''
    return "a string needs quotes of its own: '\"text\"'"


def read_tag(text: str) -> tuple[str, str]:
    """Return the key and the value of ``key:value``."""
    key, colon, value = text.partition(":")
    if not key or not colon:
        raise typer.BadParameter(f"must be key:value, not {text!r}")
    return key, value


def read_limit(text: str) -> dict[str, str]:
    """Return the limit that ``name`` or ``name=key`` names, as the API takes it."""
    name, equals, key = text.partition("=")
    if not name or (equals and not key):
        raise typer.BadParameter(f"must be name or name=key, not {text!r}")
    return {"name": name, "key": key} if equals else {"name": name}


def _content(text: str, name: str) -> tuple[str, str]:
    try:
        if text == "-":
            return "stdin", sys.stdin.read()
        if text.startswith("@"):
            return text[1:], Path(text[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"cannot be read: {error}", param_hint=name) from None
    return "", text


def _refuse_constant(constant: str) -> float:
    raise ValueError(f"{constant} is not a JSON number")
