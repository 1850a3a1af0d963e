"""Overlap: what becomes of an occurrence that is due while others of its schedule still run.

It is a concurrency limit of its group, which a job meets when it is about to start:
`hourhand.domain.limits.job_limits.overlap_limit`.
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


NO_LIMIT = 1_000_000
"""A ``buffer_limit`` from which on any number of jobs may wait, and none is counted."""


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

    @property
    def is_in_order(self) -> bool:
        """Whether its jobs start in the order of their scheduled times, the oldest first."""
        return self.policy is OverlapPolicy.BUFFER_ALL and not self.newest_first
