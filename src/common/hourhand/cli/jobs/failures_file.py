"""The file of the jobs that were refused: each with its line, the reason, and the job itself.

It can be submitted as it is once it is mended: ``hourhand jobs submit --file failed.ndjson``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from hourhand.cli.exits import CommandError


class FailuresFile:
    """Made at the first failure; a run that goes on adds to it."""

    def __init__(self, path: Path, *, after: int | None) -> None:
        """Open nothing yet. ``after``: a run goes on after this line; it judges later ones again.

        Raises `CommandError` where what is told of these cannot be taken out.
        """
        self.path = path
        self._mode = "w" if after is None else "a"
        if after is not None and path.is_file():
            self._forget_beyond(after)
        self._file: IO[str] | None = None

    def add(self, line: int, reason: str, job: Mapping[str, Any] | str) -> None:
        """Write one failure. Raises `CommandError` where that is not possible."""
        told = {"line": line, "reason": reason, "job" if isinstance(job, Mapping) else "text": job}
        try:
            self._write(json.dumps(told, default=datetime.isoformat) + "\n")
        except OSError as error:
            raise CommandError(f"{self.path} cannot be written: {error.strerror}.") from error

    def _forget_beyond(self, line: int) -> None:
        beside = self.path.with_name(self.path.name + ".new")
        try:
            with self.path.open(encoding="utf-8") as told, beside.open("w", encoding="utf-8") as to:
                to.writelines(text for text in told if _line_of(text) <= line)
            beside.replace(self.path)
        except OSError as error:
            raise CommandError(f"{self.path} cannot be written: {error.strerror}.") from error

    def _write(self, text: str) -> None:
        file = self._file or self.path.open(self._mode, encoding="utf-8")
        self._file = file
        file.write(text)
        file.flush()

    def close(self) -> None:
        """Close it."""
        if self._file is not None:
            self._file.close()


def _line_of(text: str) -> int:
    """Return whose line is told of; 0 for what we did not write, which stays as it is."""
    try:
        return int(json.loads(text)["line"])
    except (ValueError, TypeError, KeyError):
        return 0
