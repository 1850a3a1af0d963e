"""What a run does with its child jobs: it submits, reads, redrives and cancels them.

The routes read the results of a run's children by `StoredResults`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol, TypeAlias

from hourhand.domain.errors import (
    CannotStart,
    Compensated,
    HourhandError,
    NotFound,
    Unavailable,
    WrongState,
)
from hourhand.domain.ids import canonical_json
from hourhand.domain.jobs.job import MAX_CONTENT_BYTES, ErrorInfo, EventKind, Job, JobStatus
from hourhand.domain.jobs.parents import (
    PARENT_ENDED,
    RUN,
    ChildSpec,
    ParentLink,
    cancel_reason,
    cancelled_in_round,
    child_id,
    midnight_after,
    with_results,
)
from hourhand.domain.jobs.submission import NewJob
from hourhand.domain.jobs.transitions import prolong_child
from hourhand.domain.runs.answers import RunEnds
from hourhand.domain.runs.joins import JoinedCall, JoinRecord, join_prefix, joined_calls
from hourhand.domain.runs.records import MAX_RECORDS
from hourhand.domain.times import to_ms
from hourhand.ports.clock import Clock
from hourhand.ports.job_store import Applied, JobDetails, JobStore
from hourhand.ports.side_item_store import SideItemStore
from hourhand.services.jobs.aspects import DONE, LEFT, Settled
from hourhand.services.jobs.due import DueJobs
from hourhand.services.jobs.new_job import Drafts
from hourhand.services.jobs.operations import OperationsService
from hourhand.services.jobs.payload_store import PayloadStore
from hourhand.services.jobs.quota_gate import QuotaGate
from hourhand.services.runs.members import require_child_handler

READ_TOGETHER = 100
"""Children that are read at a time: the keys of one BatchGetItem."""

MAX_LOST_RACES = 10
"""How often a child may change between the read and the write."""

ParseSubmission: TypeAlias = Callable[[Mapping[str, Any]], "NewJob"]
"""Reads a submission. Raises `InvalidInput`."""


class FindsDeadlocks(Protocol):
    """Finds children that could never start."""

    def refusal(self, run: Job, child: Job) -> str | None:
        """Return why an attached child of ``run`` could never start."""


@dataclass(frozen=True, slots=True)
class Children:
    """The child jobs of runs. Each is a job of its own: what is done here may be done twice.

    ``cancelled_together``: how many children of a run that ended are cancelled at a time. The sweep
    continues with the others.
    """

    jobs: JobStore
    side_items: SideItemStore
    contents: PayloadStore
    due: DueJobs
    operations: OperationsService
    drafts: Drafts
    clock: Clock
    parse: ParseSubmission
    deadlocks: FindsDeadlocks
    cancelled_together: int
    quotas: QuotaGate

    def put(self, children: Sequence[Job]) -> None:
        """Put children, each if it is absent, as many as the quotas of their tenants allow.

        Raises `Unavailable`, and for those that were not put `QuotaExceeded`.
        """
        tenants = {child.id: child.tenant for child in children}
        refused = self.quotas.refusals_of_new(tenants, RUN, self.jobs)
        accepted = [child for child in children if child.id not in refused]
        for result in (*self.due.put_many(accepted, RUN), *refused.values()):
            if isinstance(result, HourhandError):
                raise result

    def build(self, run: Job, link: ParentLink, spec: ChildSpec) -> Job:
        """Return the job of a child. It has the tenant of its run, unless it states one.

        Raises `InvalidInput`, `NoKeyedLimit`, `CannotStart`, `TooLarge` and `Unavailable`.
        """
        # A field that is null is not given, the tenant included.
        given = {name: value for name, value in spec.fields.items() if value is not None}
        request = self.parse({"tenant": run.tenant, **given})
        handler = require_child_handler(self.drafts.handlers, request.handler)
        job_id = child_id(link.run_id, link.segment, link.join_key, link.index)
        now = self.clock.now()
        job = self.drafts.draft(request, handler, job_id, now, RUN, run.trace_id)
        child = replace(job, parent=replace(link, reads_results=spec.reads_results))
        refusal = None if link.is_abandoned else self.deadlocks.refusal(run, child)
        if refusal is not None:
            raise CannotStart(refusal)
        return child

    def read(self, job_ids: Sequence[str]) -> dict[str, Job]:
        """Read children, those that exist. Raises `WrittenByNewer` and `Unavailable`."""
        found: dict[str, Job] = {}
        for start in range(0, len(job_ids), READ_TOGETHER):
            page = self.jobs.get_many(job_ids[start : start + READ_TOGETHER])
            page.require_all_known()
            found.update(page)
        return found

    def result_text(self, job: Job) -> str:
        """Return the result of a child that succeeded. Raises `RunEnds` if it is gone."""
        text = "null" if job.result is None else self.contents.read(job.id, job.result)
        if text is None:
            raise RunEnds("JournalExpired", f"The result of the child {job.id} is gone.")
        return text

    def result_or_null(self, job: Job | None) -> str:
        """Return the result of a child, null if it did not succeed. Raises `RunEnds`."""
        is_success = job is not None and job.status is JobStatus.SUCCEEDED
        return self.result_text(job) if job is not None and is_success else "null"

    def redrive(self, job: Job) -> None:
        """Redrive a child that ended badly, unless that was done. Raises `RunEnds`."""
        try:
            self.operations.redrive(job.id, actor=RUN)
        except (NotFound, WrongState):
            # It was redriven, or it succeeded since.
            return
        except Compensated as error:
            raise RunEnds("ChildCompensated", error.detail) from None

    def cancel(self, jobs: Iterable[Job], reason: str) -> None:
        """Cancel children that have not started, and ask those that run to stop.

        Raises `Unavailable`.
        """
        for job in jobs:
            # Decided again after a lost race: a child that was claimed meanwhile must not go on.
            with suppress(NotFound, WrongState):
                self.operations.cancel(job.id, actor=RUN, reason=reason)

    def settle(self, ended: JobDetails) -> Settled:
        """Cancel the live attached children of a run that ended: its outbox task.

        It is done once none is left that was not asked to stop. Raises `Unavailable`.
        """
        run, left = ended.job, self.cancelled_together
        reason = cancel_reason(PARENT_ENDED, run.round)
        for joined in calls_of(self.side_items, run):
            if joined.call.is_abandoned:
                continue
            open_ids = list(open_children(run, joined, joined.records))
            for start in range(0, len(open_ids), READ_TOGETHER):
                page = self.read(open_ids[start : start + READ_TOGETHER]).values()
                asked = [job for job in page if needs_cancel(job)]
                self.cancel(asked[:left], reason)
                left -= len(asked)
                if left < 0:
                    return LEFT
        return DONE

    def prolong(
        self,
        run: Job,
        joined: JoinedCall,
        keep_until: datetime,
        keep_lease: Callable[[], None],
    ) -> None:
        """Keep the children of a call, and their results, as long as a redriven run needs them.

        ``keep_lease``: called after each page of children. Raises `Unavailable`.
        """
        kept_until = midnight_after(keep_until)
        ids = [child_id(run.id, run.segment, joined.key, n) for n in range(joined.submitted)]
        for start in range(0, len(ids), READ_TOGETHER):
            for job in self.read(ids[start : start + READ_TOGETHER]).values():
                self._prolong_child(job, kept_until)
            keep_lease()

    def _prolong_child(self, job: Job, kept_until: datetime) -> None:
        # The link comes last, and says that all was done: an invocation may end in between.
        for _ in range(MAX_LOST_RACES):
            if job.parent is None or job.parent.kept_until >= kept_until:
                return
            if job.result is not None and job.result.item is not None:
                self.jobs.extend_text(job.id, job.result.item, kept_until)
            if job.status.is_final:
                self.contents.mark_finished(job, kept_until)
            result = self.jobs.transition(prolong_child(job, kept_until=kept_until))
            if isinstance(result, Applied) or result.current is None:
                return
            job = result.current
        raise Unavailable(f"The child {job.id} changed too often; the run is tried again.")


def calls_of(side_items: SideItemStore, run: Job) -> list[JoinedCall]:
    """Return the calls of a run's segment that submitted children."""
    items = side_items.query_items(run.id, prefix=join_prefix(run.segment), limit=MAX_RECORDS)
    return joined_calls(items, to_ms(run.created_at))


def open_children(
    run: Job, joined: JoinedCall, records: Iterable[JoinRecord]
) -> dict[str, tuple[JoinRecord, int]]:
    """Return the ids of the children that have not ended, with their places."""
    return {
        child_id(run.id, run.segment, joined.key, record.first_index + position): (record, position)
        for record in records
        for position in record.open_positions()
    }


def needs_cancel(job: Job) -> bool:
    """Whether a child is live and was not asked to stop."""
    return not job.status.is_final and job.cancel_requested_at is None


def was_cancelled_before(job: Job, round_: int) -> bool:
    """Whether an end of the run in an older round cancelled a child, in the child's last round."""
    if job.status is not JobStatus.CANCELLED:
        return False
    for event in reversed(job.history):
        if event.kind is EventKind.REDRIVEN:
            break
        found = cancelled_in_round(event.reason)
        if found is not None:
            return found < round_
    return False


def failure_of(job: Job | None) -> ErrorInfo:
    """Return why a child failed: its last error, or its final status."""
    if job is None:
        return ErrorInfo(type="Deleted", message="The child does not exist.", retryable=False)
    kind, _, message = (job.last_failure or "").partition(": ")
    if job.status is not JobStatus.DEAD or not kind:
        kind, message = job.status.value, f"The child {job.id} is {job.status}."
    return ErrorInfo(type=kind, message=message, retryable=False)


@dataclass(frozen=True, slots=True)
class StoredResults:
    """Replaces what stands for results of other children of the same run."""

    children: Children

    def resolve(self, job: Job, payload_text: str) -> str:
        """Return the payload of a child with the results in it.

        Raises `RunEnds` if a result is gone, or the payload is too large with them; `Unavailable`.
        """
        assert job.parent is not None, "only a child reads results"
        reading = _Reading(self.children, job.parent)
        text = canonical_json(with_results(json.loads(payload_text), reading.result))
        _require_size(len(text.encode()))
        return text


@dataclass(slots=True)
class _Reading:
    """Reads results, until they are more than a payload may have."""

    children: Children
    link: ParentLink
    size: int = 0

    def result(self, stored: Mapping[str, Any]) -> Any:
        """Return a result of children, or the list of their results."""
        ids = [
            child_id(self.link.run_id, self.link.segment, stored["key"], index)
            for index in range(stored["total"])
        ]
        values = []
        for start in range(0, len(ids), READ_TOGETHER):
            some = ids[start : start + READ_TOGETHER]
            found = self.children.read(some)
            values += [self._value(found.get(job_id)) for job_id in some]
        return values if stored["is_list"] else values[0]

    def _value(self, job: Job | None) -> Any:
        text = self.children.result_or_null(job)
        self.size += len(text.encode())
        _require_size(self.size)
        return json.loads(text)


def _require_size(size: int) -> None:
    if size > MAX_CONTENT_BYTES:
        raise RunEnds(
            "PayloadTooLarge",
            f"The payload has {size:,} bytes of JSON or more with the results that it names; at "
            f"most {MAX_CONTENT_BYTES:,} are allowed.",
        )
