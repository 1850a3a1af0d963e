"""The protocol between a child process and the local cloud: one line of JSON for each message.

The child's own standard output must not run into that: user code prints. So a child puts its
replies on a private copy of descriptor 1, and points descriptor 1 itself at its log.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from collections.abc import Iterator
from typing import IO, Any

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


PR_SET_PDEATHSIG = 1
"""Of prctl(2): the signal that a process gets when the thread that started it ends."""


def end_with_parent() -> None:
    """Let the kernel kill this process when its parent ends, however that comes about.

    More exactly: when the thread ends that started it, which `ChildProcess` keeps for as long. A
    child ends with its standard input, too, but only between two bytecodes of a handler, which may
    hold the interpreter's lock. Where the kernel is not Linux, the parent kills its children when
    it ends in good order; if it is killed itself, a worker that holds the lock ends with the lease
    of its job (`hourhand.worker`).
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
