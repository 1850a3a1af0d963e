"""The names of recorded calls: a call is identified by its path, never by its position."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hourhand.domain.ids import content_hash

MAX_NAME = 64
MAX_PATH = 200
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
PATH = re.compile(r"[A-Za-z0-9_./:-]{1,200}")
"""Between names there are only ``.`` (a repetition), ``/`` (a branch) and ``:`` (an item)."""

SIGNAL_ID = re.compile(r"[A-Za-z0-9_.:-]{1,128}")

MAP_END = ":end"
"""What follows the path of a map in the path of the record that says how it ended early."""

IN_TIME = ":timeout"
"""What follows the path of a call in the path of the record that its ``timeout`` needs."""


def name_problem(name: object) -> str | None:
    """Return why a text cannot be the name of a call; ``None`` if it can."""
    if isinstance(name, str) and NAME.fullmatch(name):
        return None
    return f"must be 1 to {MAX_NAME} of the characters A-Z a-z 0-9 _ -, not {name!r}"


class PathNames:
    """Names the calls of one context: ``charge``, ``charge.2``, in the order of their use.

    ``branch``: the path of the branch, and a slash; empty at the root. Every kind of call counts
    the same names.
    """

    def __init__(self, branch: str = "") -> None:
        """Start to count."""
        self.branch = branch
        self._used: dict[str, int] = {}

    def next(self, name: str) -> str:
        """Return the path of the next call of this name. Raises `ValueError`."""
        problem = name_problem(name)
        if problem is not None:
            raise ValueError(f"The name of a call {problem}.")
        self._used[name] = count = self._used.get(name, 0) + 1
        path = self.branch + (name if count == 1 else f"{name}.{count}")
        if len(path) > MAX_PATH:
            raise ValueError(f"The path {path} is longer than {MAX_PATH} characters.")
        return path

    def counts(self) -> dict[str, int]:
        """Return how often each name was used."""
        return dict(self._used)

    def used_since(self, before: Mapping[str, int]) -> dict[str, int]:
        """Return how often each name was used in all, of those used since ``before``."""
        return {name: count for name, count in self._used.items() if count != before.get(name, 0)}

    def count_on(self, counts: Mapping[str, int]) -> None:
        """Count on from these, for calls that a replay does not come to."""
        self._used |= {name: max(count, self._used.get(name, 0)) for name, count in counts.items()}


def branch_of(path: str) -> str:
    """Return the branch of a call, with its slash; empty at the root."""
    return path[: path.rfind("/") + 1]


def renamed(path: str, old_name: str) -> str:
    """Return the path that the call had when its name was ``old_name``."""
    branch = branch_of(path)
    _, dot, count = path[len(branch) :].partition(".")
    return f"{branch}{old_name}{dot}{count}"


def is_below(path: str, reset: str) -> bool:
    """Whether a reset of ``reset`` includes ``path``: itself, or what a branch or map holds."""
    return path == reset or path.startswith((f"{reset}/", f"{reset}:"))


def step_key(run_id: str, segment: int, path: str, key_round: int) -> str:
    """Return the idempotency key of a step: the same over tries, invocations and redrives."""
    return content_hash("step", run_id, str(segment), path, str(key_round))
