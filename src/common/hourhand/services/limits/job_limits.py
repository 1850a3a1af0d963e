"""The limits of stored jobs, and the numbers of limits as one process knows them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from hourhand.domain.errors import did_you_mean
from hourhand.domain.ids import is_json
from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.waiting import WaitKind
from hourhand.domain.limits.declarations import Concurrency, Limit, Rate
from hourhand.domain.limits.job_limits import (
    JobLimit,
    NamedLimit,
    in_order,
    limits_of,
    overlap_limit,
    shared_limits,
    waits_for_group,
)
from hourhand.domain.limits.keys import InvalidLimit, KeyFields, KeySource
from hourhand.domain.limits.overrides import LimitOverride, LimitOverrides
from hourhand.ports.handler_directory import HandlerDirectory
from hourhand.services.jobs.known_pauses import KnownRecord
from hourhand.services.jobs.new_job import NAMED_LIMITS, named_limits
from hourhand.services.jobs.payload_store import PayloadStore


@dataclass(slots=True)
class KnownOverrides(KnownRecord[LimitOverrides]):
    """The overrides of limits. They are read only for jobs that have limits.

    A worker that knows an old number parks no job that was granted a slot by the new one: the job
    holds it, and its message names the shard. So no message needs to carry the revision.
    """

    def _read(self) -> LimitOverrides:
        return self.control.read_overrides()

    def max_of(self, limit: JobLimit, declared: int) -> int:
        """Return the present number of a limit. May raise `Unavailable`."""
        return self.current().max_of(limit, declared)

    def closed_shards(self, limit: JobLimit) -> int:
        """Return how many shards a limit had before it was lowered. May raise `Unavailable`."""
        override = self.current().limits.get(limit.id, LimitOverride())
        return override.closed_shards(self.clock.now())


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
        named = named_limits(self.handlers, job.handler, job.limits)
        found = limits_of(named, self.fields(job), job.limit_keys) if named else ()
        return found if job.overlap is None else in_order((*found, overlap_limit(job.overlap)))

    def has_rate(self, job: Job) -> bool:
        """Whether a rate limit counts the next start of a job that began. Reads nothing."""
        named = named_limits(self.handlers, job.handler, job.limits)
        return any(isinstance(one.limit, Rate) and one.limit.on != "take" for one in named)

    def may_block_others(self, job: Job) -> bool:
        """Whether other handlers may share slots that a job has. Reads nothing."""
        named = named_limits(self.handlers, job.handler, job.limits)
        return any(isinstance(one.limit, Concurrency) and one.limit.name for one in named)

    def shared(self, job: Job, name: str) -> JobLimit:
        """Return the shared rate limit of this name as a job has it.

        A job that has the limit keeps its key. Raises `InvalidLimit` for a name that is no shared
        rate limit, and `Unavailable`.
        """
        shared = shared_limits(info.limits for info in self.handlers.all())
        limit = shared.get(name)
        if not isinstance(limit, Rate):
            known = [each for each, one in shared.items() if isinstance(one, Rate)]
            what = "is a concurrency limit, no rate limit" if limit else "is no shared rate limit"
            listed = f"Shared rate limits: {', '.join(known[:NAMED_LIMITS]) or 'none'}."
            sentences = (f"{name!r} {what}.", did_you_mean(name, known), listed)
            raise InvalidLimit(" ".join(filter(None, sentences)))
        own = next((one for one in self.of(job) if one.name == name), None)
        if own is not None:
            return own
        (found,) = limits_of((NamedLimit(name, name, limit, limit.key),), self.fields(job), None)
        return found

    def waited_for(self, job: Job) -> tuple[str, Limit] | None:
        """Return the limit for which a job is parked, with its name. Reads nothing.

        ``None``: it is not parked for a slot, or that limit does not exist any more.
        """
        if job.overlap is not None and waits_for_group(job):
            limit = overlap_limit(job.overlap)
            return limit.name, limit.limit
        waits_for = job.waits_for
        if waits_for is None or waits_for.kind is not WaitKind.SLOT:
            return None
        named = named_limits(self.handlers, job.handler, job.limits)
        by_position = {str(position): (one.name, one.limit) for position, one in enumerate(named)}
        return by_position.get(waits_for.limit)

    def is_parked_for(self, job: Job | None, limit: JobLimit) -> bool:
        """Whether a job, maybe of another handler, is parked for a limit. Reads nothing."""
        waited_for = self.waited_for(job) if job is not None else None
        return waited_for is not None and waited_for[0] == limit.name

    def parked_for(self, job: Job) -> JobLimit | None:
        """Return the limit for which a job is parked; ``None`` as of `waited_for`.

        Raises `Unavailable`.
        """
        return next((one for one in self.of(job) if one.place_in_queue(job) is not None), None)

    def shown_key(self, job: Job, limit: JobLimit) -> str | None:
        """Return the key of a job's limit as it is shown.

        Of a key in the payload the job stores a digest, so the payload is read. ``None``: the limit
        has a single key, or the submission chose the key. Raises `Unavailable`.
        """
        path = limit.limit.path
        if limit.text is not None or path.source is not KeySource.PAYLOAD:
            return limit.text
        value = path.value_of(self.fields(job))
        return path.text(value) if path.digest(limit.id, value) == limit.digest else None

    def fields(self, job: Job) -> KeyFields:
        """Return what keys and costs are taken from. The payload is read at most once."""
        payload = cache(lambda: self._payload(job))
        return KeyFields(tenant=job.tenant, tags=job.tags, payload=payload)

    def _payload(self, job: Job) -> Any:
        text = self.contents.read(job.id, job.payload)
        return json.loads(text) if text is not None and is_json(text) else None
