"""Which job reverses the steps of a run, and which of its steps may have had their effect."""

from __future__ import annotations

from hourhand.domain.durable.calls import REPLAY_MISMATCH
from hourhand.domain.ids import content_hash

COMPENSATION = "hourhand.compensation"
"""The handler of compensations, which every worker has."""

NOT_REPLAYABLE = frozenset({REPLAY_MISMATCH, "JournalExpired", "JournalFull"})
"""Errors after which the code cannot replay the journal, so that nothing can be reversed."""

UNKNOWN_OUTCOMES = frozenset({"StepInterrupted", "StepTimeout"})
"""Failures of tries of a step that say nothing of the effect."""


def compensation_id(run_id: str, segment: int, round_: int) -> str:
    """Return the one job id of the compensation of a round."""
    return "c." + content_hash("compensation", run_id, str(segment), str(round_))
