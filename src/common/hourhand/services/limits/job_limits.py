"""The limits of stored jobs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from hourhand.domain.ids import is_json
from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.waiting import WaitKind
from hourhand.domain.limits.declarations import Limit, limit_names
from hourhand.domain.limits.job_limits import (
    JobLimit,
    in_order,
    limits_of,
    overlap_limit,
    waits_for_group,
)
from hourhand.domain.limits.keys import KeyFields
from hourhand.ports.handler_directory import HandlerDirectory
from hourhand.services.jobs.payload_store import PayloadStore


@dataclass(frozen=True, slots=True)
class JobLimits:
    """Tells the limits of jobs by the manifest of this process, not by what a job or message says.

    So jobs that were submitted before a deployment added a limit keep to it, too. Only the limit of
    its group is what the job itself says: its schedule may have changed since.
    """

    handlers: HandlerDirectory
    contents: PayloadStore

    def of(self, job: Job) -> tuple[JobLimit, ...]:
        """Return the limits of a job, in the order in which every job takes them.

        Raises `Unavailable` where a key is in a payload that could not be read.
        """
        declared = self._declared(job)
        if job.overlap is None:
            return declared
        return in_order((*declared, overlap_limit(job.overlap)))

    def _declared(self, job: Job) -> tuple[JobLimit, ...]:
        info = self.handlers.find(job.handler)
        if info is None or not info.limits:
            return ()
        fields = KeyFields(tenant=job.tenant, tags=job.tags, payload=lambda: self._payload(job))
        return limits_of(info.name, info.limits, fields, job.limit_keys)

    def waited_for(self, job: Job) -> tuple[str, Limit] | None:
        """Return the limit for which a job is parked, with its name. Reads nothing.

        ``None``: it is not parked for a slot, or its handler has that limit no longer.
        """
        if job.overlap is not None and waits_for_group(job):
            limit = overlap_limit(job.overlap)
            return limit.name, limit.limit
        waits_for, info = job.waits_for, self.handlers.find(job.handler)
        if waits_for is None or waits_for.kind is not WaitKind.SLOT or info is None:
            return None
        named = zip(limit_names(info.name, info.limits), info.limits, strict=True)
        by_position = {str(position): one for position, one in enumerate(named)}
        return by_position.get(waits_for.limit)

    def _payload(self, job: Job) -> Any:
        text = self.contents.read(job.id, job.payload)
        return json.loads(text) if text is not None and is_json(text) else None
