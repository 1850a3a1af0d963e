"""What happens between a read and a write: the form of such a story, and the states it leads to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hourhand.domain.jobs.job import Job, JobStatus, Lease
from tests.unit.domain.condition_cases import CASES, Case
from tests.unit.domain.condition_invariants import Invariant
from tests.unit.domain.job_samples import after

CASES_BY_NAME = {case.name: case for case in CASES}

NO_LEASE: Mapping[str, Any] = {"lease": None}
CLAIMED: Mapping[str, Any] = {
    "status": JobStatus.RUNNING,
    "attempt": 1,
    "token": 1,
    "lease": Lease(owner="worker-1", until=after(44), claim_id="claim-1"),
}
LOST_AND_DEAD: Mapping[str, Any] = {
    "status": JobStatus.DEAD,
    "finished_at": after(-1),
    **NO_LEASE,
}
NEXT_OWNER: Mapping[str, Any] = {
    "attempt": 2,
    "token": 2,
    "lease.owner": "worker-9",
    "lease.claim_id": "claim-9",
}


@dataclass(frozen=True, kw_only=True)
class Race:
    """A clause that is false when the write comes, why, and what would come of ignoring it.

    ``move``: the name of its case. ``reads``: how the job that was read differs from the ordinary
    one; ``meanwhile``: how the item that stands differs from the one that was read.
    """

    move: str
    clause: str
    story: str
    harm: Invariant
    reads: Mapping[str, Any] = field(default_factory=dict)
    meanwhile: Mapping[str, Any] = field(default_factory=dict)
    is_second_line: bool = False

    @property
    def case(self) -> Case:
        return CASES_BY_NAME[self.move]

    @property
    def read(self) -> Job:
        return self.case.ordinary.with_values(self.reads)

    @property
    def stored(self) -> Job:
        return self.read.with_values(self.meanwhile)
