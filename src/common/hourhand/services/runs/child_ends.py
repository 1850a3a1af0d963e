"""The end of a child, as its run is notified of it."""

from __future__ import annotations

from dataclasses import dataclass

from hourhand.domain.jobs.job import Content, Job, JobStatus
from hourhand.domain.jobs.parents import ParentLink
from hourhand.domain.jobs.waiting import WaitKind
from hourhand.domain.runs.joins import (
    INLINE_RESULT_BYTES,
    JoinRecord,
    RootRecord,
    join_of,
    root_of,
    wakes_run,
)
from hourhand.domain.runs.writes import (
    report_failure,
    report_failures,
    report_full,
    report_success,
)
from hourhand.domain.side_items import SideItemUpdate
from hourhand.ports.job_store import JobDetails
from hourhand.ports.side_item_store import SideItemStore
from hourhand.services.jobs.aspects import DONE, Settled
from hourhand.services.runs.completions import Completer


@dataclass(frozen=True, slots=True)
class ChildEnds:
    """Records the ends of children and wakes their runs: an outbox task, which may be repeated.

    The record comes first, then the read of the run. So either the run finds the end in its
    journal, or this component finds the run waiting.
    """

    side_items: SideItemStore
    completer: Completer

    def settle(self, ended: JobDetails) -> Settled:
        """Record the end of a child, and wake its run if that has to look.

        Does nothing if the run is gone. Raises `Unavailable`.
        """
        job = ended.job
        link = job.parent
        assert link is not None, "only a child has a run to be notified"
        result = job.result or Content(size_bytes=4, text="null")
        result_text = result.text or ended.texts.get(result.item or "")
        written = self.side_items.write_item(_report(job, link, result_text))
        if written.item is None:
            return DONE
        record = join_of(written.item)
        root = self._report_to_root(link, record)
        # Also after a refused write: the component that recorded the end may have died before this.
        if wakes_run(record, root):
            self.completer.complete(link.run_id, WaitKind.CHILDREN, record.path)
        return DONE

    def _report_to_root(self, link: ParentLink, record: JoinRecord) -> RootRecord | None:
        """Record what the root of the call counts; return the root, ``None`` if there is none."""
        if not record.call.has_root:
            return None
        update: SideItemUpdate | None = None
        if record.is_full:
            update = report_full(link.run_id, link.segment, record)
        elif _is_counted(record):
            update = report_failures(link.run_id, link.segment, record)
        if update is None:
            return RootRecord(record.call.records)
        item = self.side_items.write_item(update).item
        return RootRecord(record.call.records) if item is None else root_of(item)


def _is_counted(record: JoinRecord) -> bool:
    """Whether the root is to know how many children of a record ended badly.

    At 1, 2, 4 and so on, so that the root is not written for each. The run decides by the join
    records, and may be woken up to a record late.
    """
    failed = record.failed
    return record.call.most_failures is not None and failed > 0 and failed & (failed - 1) == 0


def _report(job: Job, link: ParentLink, result_text: str | None) -> SideItemUpdate:
    if job.status is not JobStatus.SUCCEEDED:
        return report_failure(link, job.round)
    is_kept = (
        link.chunk == 1
        and result_text is not None
        and len(result_text.encode()) <= INLINE_RESULT_BYTES
    )
    return report_success(link, result_text if is_kept else None)
