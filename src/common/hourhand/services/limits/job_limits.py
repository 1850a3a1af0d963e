"""The limits of stored jobs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from hourhand.domain.ids import is_json
from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.waiting import WaitKind
from hourhand.domain.limits.declarations import Limit, limit_names
from hourhand.domain.limits.job_limits import JobLimit, limits_of
from hourhand.domain.limits.keys import KeyFields, KeySource
from hourhand.ports.handler_directory import HandlerDirectory
from hourhand.services.jobs.payload_store import PayloadStore


@dataclass(frozen=True, slots=True)
class JobLimits:
    """Tells the limits of jobs by the manifest of this process, not by what a job or message says.

    So jobs that were submitted before a deployment added a limit keep to it, too.
    """

    handlers: HandlerDirectory
    contents: PayloadStore

    def of(self, job: Job) -> tuple[JobLimit, ...]:
        """Return the limits of a job, in the order in which every job takes them.

        Raises `Unavailable` where a key is in a payload that could not be read.
        """
        info = self.handlers.find(job.handler)
        if info is None or not info.limits:
            return ()
        fields = KeyFields(tenant=job.tenant, tags=job.tags, payload=lambda: self._payload(job))
        return limits_of(info.name, info.limits, fields, job.limit_keys)

    def waited_for(self, job: Job) -> tuple[str, Limit] | None:
        """Return the limit for which a job is parked, with its name. Reads nothing.

        ``None``: it is not parked for a slot, or its handler has that limit no longer.
        """
        waits_for, info = job.waits_for, self.handlers.find(job.handler)
        if waits_for is None or waits_for.kind is not WaitKind.SLOT or info is None:
            return None
        named = zip(limit_names(info.name, info.limits), info.limits, strict=True)
        by_position = {str(position): one for position, one in enumerate(named)}
        return by_position.get(waits_for.limit)

    def shown_key(self, job: Job, limit: JobLimit) -> str | None:
        """Return the key of a job's limit as it is shown.

        Of a key in the payload the job stores a digest, so the payload is read. ``None``: the limit
        has a single key, or the submission chose the key. Raises `Unavailable`.
        """
        path = limit.limit.path
        if limit.text is not None or path.source is not KeySource.PAYLOAD:
            return limit.text
        fields = KeyFields(tenant=job.tenant, tags=job.tags, payload=lambda: self._payload(job))
        value = path.value_of(fields)
        return path.text(value) if path.digest(limit.name, value) == limit.digest else None

    def _payload(self, job: Job) -> Any:
        text = self.contents.read(job.id, job.payload)
        return json.loads(text) if text is not None and is_json(text) else None
