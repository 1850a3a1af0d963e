"""Moves that several tests make."""

from __future__ import annotations

from datetime import timedelta

from hourhand.domain.jobs.job import Job, Lease
from hourhand.domain.jobs.transitions import Transition, claim
from hourhand.memory import START
from tests.world.factories import make_message


def claim_of(job: Job, claim_id: str = "claim-1") -> Transition:
    """Return a worker's claim of ``job`` by its present message."""
    return claim(
        make_message(job),
        now=START,
        wait=timedelta(0),
        lease=Lease(owner="w-1", until=START + timedelta(seconds=45), claim_id=claim_id),
    )
