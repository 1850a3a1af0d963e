"""Batches, as callers submit and see them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hourhand.domain.errors import InvalidInput
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.jobs.parents import child_id
from hourhand.domain.jobs.submission import NewJob
from hourhand.domain.runs.built_in import BATCH, CALLBACKS, MEMBERS, BatchStatus
from hourhand.domain.runs.joins import (
    is_root,
    join_of,
    join_prefix,
    root_key,
    root_of,
    without_strays,
)
from hourhand.domain.runs.open_batches import put_open_root
from hourhand.domain.runs.records import MAX_RECORDS
from hourhand.ports.handler_directory import BUILT_IN_HANDLERS
from hourhand.services.jobs.submission import SubmissionService, Submitted
from hourhand.services.runs.members import members_of_batch
from hourhand.services.runs.open_batches import OpenBatches

_ENDS = {
    JobStatus.SUCCEEDED: BatchStatus.SUCCEEDED,
    JobStatus.DEAD: BatchStatus.FAILED,
    JobStatus.EXPIRED: BatchStatus.FAILED,
    JobStatus.CANCELLED: BatchStatus.CANCELLED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchView:
    """A batch. ``total``: its members so far. ``callbacks``: the ids of their jobs, once put."""

    job: Job
    status: BatchStatus
    total: int
    succeeded: int
    failed: int
    callbacks: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class BatchService(OpenBatches):
    """Submits batches and reads them. A batch is a durable run."""

    submission: SubmissionService

    def submit(
        self,
        request: NewJob,
        *,
        is_open: bool,
        actor: str,
        trace_id: str | None = None,
        first: Sequence[Mapping[str, Any]] = (),
    ) -> Submitted:
        """Accept a batch: ``request`` is that of its job, whose payload has the members.

        An open one takes its members by `add`; ``first``: those that are added at once. Raises
        `InvalidInput` naming the wrong fields of members and callbacks, and as
        `SubmissionService.submit`.
        """
        payload = json.loads(request.payload_text)
        callbacks = {n: payload[n] for n in CALLBACKS if n in payload}
        jobs = first if is_open else payload[MEMBERS]
        try:
            self.members.require_valid("batch", members_of_batch(jobs, callbacks))
        except InvalidInput:
            # Handlers and times may differ by now. But a repeated submission returns its job.
            if not self.submission.is_known(request):
                raise
        built_in = BUILT_IN_HANDLERS[BATCH]
        submitted = self.submission.submit(
            request, actor=actor, trace_id=trace_id, built_in=built_in
        )
        if is_open:
            # Also for a batch that exists: the request that put its job may have died before this.
            opening = self._opening(submitted.job)
            self.ports.side_items.write_item(put_open_root(opening.scope, opening.key))
            if first and not submitted.job.status.is_final:
                self._add_all(opening, 0, first)
        return submitted

    def show(self, batch_id: str) -> BatchView:
        """Return a batch. Raises `NotFound` and `Unavailable`."""
        return self.view(self._require(batch_id))

    def view(self, job: Job) -> BatchView:
        """Return the batch that a job is."""
        items = self.ports.side_items.query_items(
            job.id, prefix=join_prefix(job.segment), limit=MAX_RECORDS
        )
        keys = self._keys(job)
        records = [join_of(item) for item in items if not is_root(item)]
        members = without_strays([one for one in records if one.key == keys[MEMBERS]])
        of_members = root_key(job.id, job.segment, keys[MEMBERS])
        root = next((root_of(item) for item in items if item.key == of_members), None)
        is_open = root is not None and root.is_open
        put = {record.key for record in records}
        return BatchView(
            job=job,
            status=_ENDS.get(job.status) or (BatchStatus.OPEN if is_open else BatchStatus.RUNNING),
            total=self._total(job, members, root),
            succeeded=sum(one.succeeded for one in members),
            failed=sum(one.failed for one in members),
            callbacks={
                name: child_id(job.id, job.segment, keys[name], 0) if keys[name] in put else None
                for name in CALLBACKS
            },
        )
