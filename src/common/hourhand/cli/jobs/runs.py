"""The record of a file's submission, so that one that broke off goes on and does nothing twice.

It is a small file beside the file of jobs. It holds the run's name, from which the ids of the jobs
follow, and how many lines are dealt with; it is written before the first job is sent, and removed
once every line is dealt with. To submit the same file tomorrow is another run: other ids.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

from hourhand.cli.exits import WRONG_USAGE, CommandError
from hourhand.domain.times import rfc3339

SUFFIX = ".hourhand-run"
MAX_AGE = timedelta(hours=24)
"""So long the API surely knows the jobs of the run that broke off, and their ids with them."""

How = Literal["new", "resume"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One submission of a file, begun ``at``; ``lines`` of it are dealt with, ``refused`` badly.

    ``accepted`` and ``refused`` count these lines alone.
    ``size`` and ``modified_ns`` tell whether the file is as it was.
    """

    name: str
    at: str
    endpoint: str
    size: int
    modified_ns: int
    lines: int = 0
    accepted: int = 0
    refused: int = 0

    def is_of(self, other: Run) -> bool:
        """Whether the file is as it was, and sent to the same place."""
        return (self.size, self.modified_ns, self.endpoint) == (
            other.size,
            other.modified_ns,
            other.endpoint,
        )


class RunRecord:
    """The record beside a file of jobs."""

    def __init__(self, jobs_file: Path) -> None:
        """Read and write nothing yet."""
        self.path = jobs_file.with_name(jobs_file.name + SUFFIX)
        self._jobs_file = jobs_file

    def begin(self, name: str, endpoint: str, now: datetime, how: How | None) -> Run:
        """Return the run to go on with, or a new one under ``name``; it is on record then.

        ``how``: what the user asked for. Raises `CommandError` where the user must say it.
        """
        status = self._jobs_file.stat()
        new = Run(
            name=name,
            at=rfc3339(now),
            endpoint=endpoint,
            size=status.st_size,
            modified_ns=status.st_mtime_ns,
        )
        before = None if how == "new" else self._read()
        run = new if before is None else _continued(before, new, now, how, self._jobs_file)
        self.write(run)
        return run

    def write(self, run: Run) -> None:
        """Put the record in the place of the one before, whole or not at all."""
        beside = self.path.with_name(self.path.name + ".new")
        try:
            with beside.open("w", encoding="utf-8") as file:
                json.dump(asdict(run), file)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self.path)
        except OSError as error:
            message = (
                f"{self.path} cannot be written, by which a submission that breaks off goes on "
                f"({error.strerror}): copy the file of jobs to a folder of yours, or give it on "
                "stdin."
            )
            raise CommandError(message) from error

    def remove(self) -> None:
        """Remove it: every line is dealt with."""
        self.path.unlink(missing_ok=True)

    def _read(self) -> Run | None:
        try:
            return Run(**json.loads(self.path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError) as error:
            message = f"{self.path} is no record of a submission: remove it, or give --again new."
            raise CommandError(message, WRONG_USAGE) from error


def _continued(before: Run, new: Run, now: datetime, how: How | None, jobs_file: Path) -> Run:
    if before.is_of(new):
        if how == "resume" or now - datetime.fromisoformat(before.at) <= MAX_AGE:
            return before
        why = "that is long ago"
    elif before.endpoint != new.endpoint:
        why = f"it was to {before.endpoint}"
    else:
        why = "the file was changed since"
    if how == "resume":
        # Lines may stand elsewhere now: all are sent, and those that are as they were are known.
        return replace(new, name=before.name)
    message = (
        f"A submission of {jobs_file.name} broke off after {before.lines:,} lines, and {why}. "
        "--again resume goes on with it, so that unchanged lines are not submitted twice; --again "
        "new submits every line as a new job."
    )
    raise CommandError(message, WRONG_USAGE)
