"""The protocol between a child process and the local cloud: one line of JSON for each message.

The child's own standard output must not run into that: user code prints. So a child puts its
replies on a private copy of descriptor 1, and points descriptor 1 itself at its log.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any

from hourhand.local.parent_death import end_with_parent

MAX_LINE_CHARACTERS = 16_000_000
"""An SQS event holds 2.5 MB at most, which JSON's escapes may make six times as long."""

STDIN, STDOUT, STDERR = 0, 1, 2


def take_over_streams() -> tuple[IO[str], IO[str]]:
    """Return the child's private streams to read from and to reply on; end with the parent.

    From then on whatever reads standard input finds it at its end, and whatever writes to
    standard output, a C library or a subprocess too, writes to the log.
    """
    end_with_parent()
    requests = os.fdopen(os.dup(STDIN), "r", encoding="utf-8")
    replies = os.fdopen(os.dup(STDOUT), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, STDIN)
    os.close(nothing)
    os.dup2(STDERR, STDOUT)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # a text file here
    return requests, replies


def write_line(stream: IO[str], message: dict[str, Any]) -> None:
    """Write one message and flush it. Raises `OSError` where the other side is gone."""
    stream.write(json.dumps(message) + "\n")
    stream.flush()


def read_lines(stream: IO[str]) -> Iterator[dict[str, Any]]:
    """Yield messages until the other side closes its end.

    A line cut off by the death of its writer ends the conversation too.
    """
    while line := stream.readline(MAX_LINE_CHARACTERS):
        if not line.endswith("\n"):
            return
        message = json.loads(line)
        assert isinstance(message, dict)
        yield message


@dataclass(slots=True)
class RestartDelay:
    """How long to wait before a child that died is started again: twice as long each time.

    A child that did some work, or lived for a while, starts from nothing again.
    """

    first_seconds: float = 0.1
    most_seconds: float = 10.0
    _deaths: int = field(default=0, init=False)

    def after_death(self, *, was_useful: bool) -> float:
        """Return the seconds to wait now."""
        self._deaths = 1 if was_useful else self._deaths + 1
        doublings = min(self._deaths - 1, 30)
        return min(self.first_seconds * 2.0**doublings, self.most_seconds)
