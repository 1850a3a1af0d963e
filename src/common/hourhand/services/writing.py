"""Making a move against a job that others may change at the same time."""

from __future__ import annotations

from collections.abc import Callable

from hourhand.domain.clauses import HistoryLengthIs, all_hold
from hourhand.domain.model import Job
from hourhand.domain.moves import Move
from hourhand.ports import Applied, JobStore, Refused, WriteResult

MAX_REBUILDS = 5
"""Another writer appended to the history between our read and our write, five times in a row."""


def make_move(jobs: JobStore, job: Job, build: Callable[[Job], Move]) -> WriteResult:
    """Build a move from ``job`` and make it.

    Where it is refused for nothing but a history that grew since it was read, it is built anew
    from the item as it stands: the move itself is still allowed.
    """
    result: WriteResult = Refused(job)
    for _ in range(MAX_REBUILDS):
        move = build(job)
        result = jobs.transition(move)
        if isinstance(result, Applied) or not _only_history_moved(move, result.current):
            return result
        assert result.current is not None
        job = result.current
    return result


def _only_history_moved(move: Move, current: Job | None) -> bool:
    if current is None or "history_as_read" not in move.expect:
        return False
    others = [c for c in move.expect.values() if not isinstance(c, HistoryLengthIs)]
    return all_hold(others, current)
