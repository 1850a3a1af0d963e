"""Reads the files of ``hourhand batches``."""

from __future__ import annotations

from typing import Any

import typer

from hourhand.cli.reading import read_json
from hourhand.domain.durable.built_in import CALLBACKS, MEMBERS
from hourhand.domain.errors import unknown_field

FIELDS = (MEMBERS, *CALLBACKS, "id", "open", "tenant")


def read_batch(file: str) -> tuple[list[Any], dict[str, Any]]:
    """Return the jobs of a file, and the other fields of its batch. Raises `typer.BadParameter`."""
    value = _read(file)
    if isinstance(value, list):
        return value, {}
    fields = dict(value) if isinstance(value, dict) else {}
    jobs = fields.pop(MEMBERS, None)
    if not isinstance(jobs, list):
        raise _bad('must contain an array of jobs, or an object such as {"jobs": []}')
    unknown = next((name for name in fields if name not in FIELDS), None)
    if unknown is not None:
        raise _bad(f"has a field {unknown!r}, which {unknown_field(unknown, FIELDS)}")
    return jobs, fields


def read_jobs(file: str) -> list[Any]:
    """Return the jobs of a file. Raises `typer.BadParameter`."""
    value = _read(file)
    if not isinstance(value, list):
        raise _bad("must contain an array of jobs")
    return value


def _read(file: str) -> Any:
    return read_json(file if file == "-" else f"@{file}", "FILE")


def _bad(message: str) -> typer.BadParameter:
    return typer.BadParameter(message, param_hint="FILE")
