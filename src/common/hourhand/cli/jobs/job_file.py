"""A file of jobs, one JSON object on each line, and the file of its rejected lines.

Only a few lines are in memory at a time. A line without an ``id`` or ``idempotency_key`` gets an ID
that is derived from the name of the submission, the line's number and its content: sent again in
the same submission, it is the same job.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any, BinaryIO

from hourhand.cli.exits import CommandError
from hourhand.domain.ids import json_integer

MAX_LINE_BYTES = 8_000_000
"""A payload has at most 2.5 MB; JSON escapes can make it three times as long."""

_HASH_CHARACTERS = 8
"""Enough to distinguish a line from a corrected one."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_DUE = ("run_at", "delay_seconds", "delay")


class LineProblem(Exception):
    """The line does not contain a job."""


@dataclass(frozen=True, slots=True)
class FileLine:
    """A line of the file: its number from 1, its text, and its end as a position in the file."""

    number: int
    text: bytes
    end: int


def read_lines(source: BinaryIO) -> Iterator[FileLine]:
    """Yield the lines that are not blank. A line that is too long is cut, so it is not JSON."""
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
            yield FileLine(number, text, position)


def job_of(line: FileLine, run: str, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the job of a line, with ``defaults`` for the fields that it lacks.

    A line of a file of rejected lines has the job in ``job``. Raises `LineProblem`.
    """
    if len(line.text) >= MAX_LINE_BYTES:
        raise LineProblem(f"is longer than {MAX_LINE_BYTES:,} bytes")
    try:
        job = json.loads(line.text, parse_int=json_integer)
    except (ValueError, RecursionError) as error:
        raise LineProblem(f"is not valid JSON: {error}") from None
    if not isinstance(job, dict):
        raise LineProblem('must be an object such as {"handler": "send-welcome", "payload": {}}')
    if isinstance(job.get("job"), dict) and "line" in job:
        job = job["job"]
    if any(name in job for name in _DUE):
        # The API takes only one of them, and the line takes precedence.
        defaults = {name: value for name, value in defaults.items() if name not in _DUE}
    job = {**defaults, **job}
    if job.get("id") is None and job.get("idempotency_key") is None:
        content = json.dumps(job, sort_keys=True, default=str).encode()
        digest = hashlib.sha256(content).hexdigest()[:_HASH_CHARACTERS]
        job["id"] = f"{run}-{line.number}-{digest}"
    return job


class FailuresFile:
    """The rejected lines: number, reason and job of each. It is created for the first one.

    Once corrected, it can be submitted as it is: ``hourhand jobs submit --file failed.ndjson``.
    """

    def __init__(self, path: Path, *, is_continued: bool) -> None:
        """Open nothing yet. ``is_continued``: add to the lines of an interrupted submission."""
        self.path = path
        self._mode = "a" if is_continued else "w"
        self._file: IO[str] | None = None

    def add(self, line: FileLine, reason: str, job: Mapping[str, Any] | None) -> None:
        """Write a line, with its text if it has no job. Raises `CommandError`."""
        text = line.text.decode("utf-8", "replace").rstrip("\r\n")
        content = {"text": text} if job is None else {"job": job}
        entry = {"line": line.number, "reason": reason, **content}
        try:
            self._file = self._file or self.path.open(self._mode, encoding="utf-8")
            self._file.write(json.dumps(entry, default=datetime.isoformat) + "\n")
            self._file.flush()
        except OSError as error:
            raise CommandError(f"{self.path} cannot be written: {error.strerror}.") from error

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
