"""Overlap: what becomes of an occurrence that is due while others of its schedule still run.

It is judged when a job is about to start, by a conditional write on the slots of its group. The
slots name jobs; whether one of them still holds its place, that job's own item says.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias


class OverlapPolicy(StrEnum):
    """What to do with a job that is due while its group runs as many jobs as it may."""

    SKIP = "skip"
    ALLOW = "allow"
    BUFFER_ONE = "buffer_one"
    BUFFER_ALL = "buffer_all"
    CANCEL_OTHER = "cancel_other"


OverlapChoice: TypeAlias = (
    OverlapPolicy | Literal["skip", "allow", "buffer_one", "buffer_all", "cancel_other"]
)
"""What callers write for it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Overlap:
    """How a job is judged against others of its group when it is about to start.

    ``group`` names the set of jobs that are counted together: the schedule's id, or a backfill of
    its own. ``newest_first``: which of several that wait goes first.
    """

    group: str
    policy: OverlapPolicy = OverlapPolicy.SKIP
    max_running: int = 1
    buffer_limit: int = 100
    newest_first: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Slots:
    """Which jobs of a group run, and which wait for room, by their ids.

    A holder whose job ended holds nothing: a job that needs its place looks that job up, so that a
    run that died blocks no other for longer than its own recovery takes. ``waiting`` holds (rank,
    job id), lowest rank first. ``sequence`` counts the writes: each is conditional on the one
    before, and ``write_id`` identifies a writer's own write.
    """

    group: str
    sequence: int = 0
    write_id: str = ""
    holders: tuple[str, ...] = ()
    waiting: tuple[tuple[int, str], ...] = ()
