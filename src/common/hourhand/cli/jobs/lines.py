"""A file of jobs, one JSON object a line: read as it is sent, each line with a name of its own.

However long the file, a few lines at a time are in memory. A line that has neither ``id`` nor
``idempotency_key`` gets an id that follows from the run, the line's number and its text: sent
again in the same run, it is the same job.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from hourhand.domain.ids import json_integer

MAX_LINE_BYTES = 8_000_000
"""A job has at most 2.5 MB of payload, which escapes may make three times as long."""

_HASH_CHARACTERS = 8
"""Enough to tell a line from what was corrected in its place."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_TIMES_TO_RUN = ("run_at", "delay_seconds", "delay")


class LineProblem(Exception):
    """A line is no job."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the file: its number from 1, its text, and where in the file it ends."""

    number: int
    text: bytes
    end: int


def read_lines(source: BinaryIO) -> Iterator[Line]:
    """Yield the lines that are not blank; one that is too long is cut, so that it is no JSON."""
    number = position = 0
    while text := source.readline(MAX_LINE_BYTES):
        number += 1
        position += len(text)
        rest = text
        while rest and not rest.endswith(b"\n"):
            rest = source.readline(MAX_LINE_BYTES)
            position += len(rest)
        if number == 1:
            text = text.removeprefix(_BYTE_ORDER_MARK)
        if text.strip():
            yield Line(number, text, position)


def job_of(line: Line, run: str, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the job of a line, what it lacks taken from ``defaults``.

    A line of a file of failures is an object with the job in ``job``. Raises `LineProblem`.
    """
    job = _object(line)
    if isinstance(job.get("job"), dict) and "line" in job:
        job = job["job"]
    if any(name in job for name in _TIMES_TO_RUN):
        # One says when; a line's own word is stronger.
        defaults = {k: v for k, v in defaults.items() if k not in _TIMES_TO_RUN}
    job = {**defaults, **job}
    if job.get("id") is None and job.get("idempotency_key") is None:
        job["id"] = f"{run}-{line.number}-{_hash(job)}"
    return job


def text_of(line: Line) -> str:
    """Return a line that is no job, as it is told."""
    return line.text.decode("utf-8", "replace").rstrip("\r\n")


def _object(line: Line) -> dict[str, Any]:
    if len(line.text) >= MAX_LINE_BYTES:
        raise LineProblem(f"is longer than {MAX_LINE_BYTES:,} bytes")
    try:
        value = json.loads(line.text, parse_int=json_integer)
    except (ValueError, RecursionError) as error:
        raise LineProblem(f"is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise LineProblem('must be an object such as {"handler": "send-welcome", "payload": {}}')
    return value


def _hash(job: Mapping[str, Any]) -> str:
    text = json.dumps(job, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_CHARACTERS]
