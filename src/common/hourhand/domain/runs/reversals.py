"""Which job reverses the steps of a run, and which of its steps may have had their effect."""

from __future__ import annotations

from hourhand.domain.ids import content_hash
from hourhand.domain.jobs.job import Job
from hourhand.domain.runs.answers import REPLAY_MISMATCH
from hourhand.domain.times import to_ms

COMPENSATION = "hourhand.compensation"
"""The handler of compensations, which every worker has."""

NOT_REPLAYABLE = frozenset({REPLAY_MISMATCH, "JournalExpired"})
"""Errors after which the code cannot replay the journal, so that nothing can be reversed."""


def compensation_id(run: Job, segment: int, round_: int) -> str:
    """Return the one job id of the compensation of a round of a run.

    By when the run was created, too: an id may be used again once its run is gone, before the
    compensation of that run is.
    """
    created_ms = str(to_ms(run.created_at))
    return "c." + content_hash("compensation", run.id, created_ms, str(segment), str(round_))


GIVEN_UP = "fresh."
"""How the paths of the records begin of segments that a redrive from the top gave up."""


def given_up_path(segment: int) -> str:
    """Return the path of the record that a compensation of such a segment reads."""
    return f"{GIVEN_UP}{segment}"
