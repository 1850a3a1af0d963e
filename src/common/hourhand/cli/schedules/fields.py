"""A schedule's fields: from flags, from a file, and from one that the API told of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import typer

from hourhand.cli.reading import read_json, read_time

TOLD_ALONE = frozenset(
    {
        "id",
        "status",
        "revision",
        "created_at",
        "updated_at",
        "paused_at",
        "next_at",
        "broken_reason",
        "last_occurrence",
        "occurrences_made",
        "backfills",
    }
)
"""What the API tells of a schedule and does not take: what `show --json` printed can be put."""

AS_GIVEN = (
    *("timezone", "start_at", "end_at", "anchor", "max_occurrences", "dst_gap", "dst_fold"),
    *("handler", "priority", "tenant", "overlap", "max_running", "buffer_limit"),
    *("pause_on_failure", "on_lost", "paused", "note"),
)
"""Flags that are fields of the same name."""

PARTS: Mapping[str, Mapping[str, str]] = {
    "misfire": {"policy": "misfire", "window_seconds": "misfire_window"},
    "keep": {"succeeded": "keep_succeeded", "failed": "keep_failed"},
    "retry": {
        "max_attempts": "max_attempts",
        "backoff": "backoff",
        "base_seconds": "retry_base",
        "max_delay_seconds": "retry_max_delay",
        "jitter": "retry_jitter",
    },
}
"""Fields that are objects, by the flags of their parts."""

WHOLE = frozenset({"timeout", "retention", "misfire_window"})
"""Durations that the API takes in whole seconds."""

RANGE = ".."
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def fields_given(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return the API's fields for what was given; flags that are ``None`` were not.

    Raises `typer.BadParameter` naming the flag.
    """
    flags = {name: _whole(name, value) for name, value in flags.items() if value is not None}
    fields = {name: flags[name] for name in AS_GIVEN if name in flags}
    for field, parts in PARTS.items():
        present = {part: flags[flag] for part, flag in parts.items() if flag in flags}
        if present:
            fields[field] = present
    for flag, field in (
        ("jitter", "jitter_seconds"),
        ("timeout", "timeout_seconds"),
        ("retention", "retention_seconds"),
    ):
        if flag in flags:
            fields[field] = flags[flag]
    if flags.get("expression"):
        texts = flags["expression"]
        fields["expression"] = texts[0] if len(texts) == 1 else list(texts)
    if flags.get("exclude"):
        fields["exclude"] = [read_exclusion(text) for text in flags["exclude"]]
    if flags.get("tag"):
        fields["tags"] = dict(flags["tag"])
    if "payload" in flags:
        fields["payload"] = read_json(flags["payload"], "--payload")
    return fields


def together(before: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields with those of ``given`` in their place, object by object in `PARTS`."""
    made = dict(before)
    for name, value in given.items():
        known = made.get(name)
        is_object = name in PARTS and isinstance(known, Mapping)
        made[name] = {**known, **value} if is_object and known is not None else value
    return made


def putable(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return of a schedule that the API told of, or of a file, what can be put."""
    fields = {name: value for name, value in told.items() if name not in TOLD_ALONE}
    # Null means in both directions that a field is not given; in a payload it is a value.
    return {name: value for name, value in fields.items() if value is not None or name == "payload"}


def read_object(text: str, flag: str) -> dict[str, Any]:
    """Return the JSON object of the file ``text``, or of stdin for ``-``.

    Raises `typer.BadParameter`.
    """
    value = read_json(text if text == "-" else f"@{text}", flag)
    if not isinstance(value, dict):
        raise typer.BadParameter("must hold one JSON object", param_hint=flag)
    return value


def read_exclusion(text: str) -> str | dict[str, Any]:
    """Return an exclusion as the API takes it: a range where it is written ``FROM..TO``."""
    start, dots, end = (part.strip() for part in text.partition(RANGE))
    if not dots:
        return text.strip()
    if DATE.fullmatch(start) and DATE.fullmatch(end):
        return {"from": start, "to": end}
    try:
        return {"from": read_time(start), "to": read_time(end)}
    except typer.BadParameter as error:
        raise typer.BadParameter(f"{error.message}", param_hint="--exclude") from None


def _whole(name: str, value: Any) -> Any:
    if name not in WHOLE:
        return value
    if not float(value).is_integer():
        flag = f"--{name.replace('_', '-')}"
        raise typer.BadParameter("must be whole seconds", param_hint=flag)
    return int(value)
