"""Batches, as callers submit, fill, close and see them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hourhand.domain.durable.built_in import BATCH, CALLBACKS, MEMBERS, BatchStatus
from hourhand.domain.durable.joins import (
    MAX_CHILDREN,
    JoinRecord,
    RootRecord,
    is_root,
    join_of,
    join_prefix,
    report_full,
    root_key,
    root_of,
)
from hourhand.domain.durable.open_batches import (
    close_root,
    confirm,
    end_opening,
    first_beyond,
    first_missing,
    give_back,
    next_total,
    put_open_join,
    put_open_root,
    reserve,
    seal,
)
from hourhand.domain.durable.records import MAX_RECORDS
from hourhand.domain.durable.writes import Scope
from hourhand.domain.errors import (
    BatchClosed,
    FieldError,
    InvalidInput,
    MembersMissing,
    NotFound,
    Unavailable,
)
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.jobs.parents import (
    CHUNK,
    ChildSpec,
    ParentLink,
    child_id,
    join_key,
    midnight_after,
)
from hourhand.domain.jobs.waiting import WaitKind
from hourhand.domain.side_items import SideItemUpdate
from hourhand.domain.times import to_ms
from hourhand.ports.handler_directory import BUILT_IN_HANDLERS
from hourhand.services.durable.children import Children
from hourhand.services.durable.completions import Completer
from hourhand.services.durable.members import MemberChecks, members_of_batch
from hourhand.services.durable.signals import scope_at
from hourhand.services.durable.values import RunPorts
from hourhand.services.jobs.payload_store import PayloadStore
from hourhand.services.jobs.submission import SubmissionService, Submitted

if TYPE_CHECKING:
    from hourhand.api.requests import JobSubmission

MAX_LOST_RACES = 20
"""How often a batch may change between a read and a write before the request fails."""


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
class _Opened:
    """The root and the join records of the members of a batch, as they stand."""

    root: RootRecord | None
    records: tuple[JoinRecord, ...]


@dataclass(frozen=True, slots=True)
class BatchService:
    """Submits batches, adds members and closes them. A batch is a durable run."""

    submission: SubmissionService
    children: Children
    ports: RunPorts
    completer: Completer
    contents: PayloadStore
    members: MemberChecks

    def submit(
        self,
        request: JobSubmission,
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
        callbacks = {n: request.payload[n] for n in CALLBACKS if n in request.payload}
        jobs = first if is_open else request.payload[MEMBERS]
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
            scope = scope_at(submitted.job, self.ports)
            self.ports.side_items.write_item(put_open_root(scope, _key(submitted.job)))
            if first and not submitted.job.status.is_final:
                self._add_all(submitted.job, 0, first)
        return submitted

    def show(self, batch_id: str) -> BatchView:
        """Return a batch. Raises `NotFound` and `Unavailable`."""
        return self.view(self._require(batch_id))

    def view(self, job: Job) -> BatchView:
        """Return the batch that a job is."""
        items = self.ports.side_items.query_items(
            job.id, prefix=join_prefix(job.segment), limit=MAX_RECORDS
        )
        created_ms = to_ms(job.created_at)
        items = tuple(item for item in items if item.number("cr") == created_ms)
        own = [join_of(item) for item in items if not is_root(item)]
        members = [one for one in own if one.path == MEMBERS]
        root = next((root_of(item) for item in items if is_root(item)), None)
        paths = {one.path: one.key for one in own}
        is_open = root is not None and root.is_open
        status = _ENDS.get(job.status)
        return BatchView(
            job=job,
            status=status or (BatchStatus.OPEN if is_open else BatchStatus.RUNNING),
            total=self._total(job, members, root),
            succeeded=sum(one.succeeded for one in members),
            failed=sum(one.failed for one in members),
            callbacks={
                name: child_id(job.id, job.segment, paths[name], 0) if name in paths else None
                for name in CALLBACKS
            },
        )

    def add(self, batch_id: str, first_index: int, specs: Sequence[Mapping[str, Any]]) -> Job:
        """Add members to an open batch, the first of them at ``first_index``.

        The same call again adds nothing. Raises `NotFound`, `BatchClosed`, `InvalidInput`,
        `Unavailable`: then it can be repeated.
        """
        job = self._require(batch_id)
        self._require_room(first_index + len(specs))
        self.members.require_valid("request", members_of_batch(specs))
        if job.status.is_final:
            raise _closed(batch_id)
        self._add_all(job, first_index, specs)
        return job

    def close(self, batch_id: str, total: int | None) -> Job:
        """Let a batch end once all of its members have; ``total``: how many it must have.

        Closing again changes nothing. Raises `NotFound`, `MembersMissing` where a member is not
        there, or is there beyond the total, and `Unavailable`: then it can be repeated.
        """
        job = self._require(batch_id)
        scope, key = scope_at(job, self.ports), _key(job)
        for _ in range(MAX_LOST_RACES):
            opened = self._opened(job, key)
            root = opened.root
            if root is None or not root.is_open:
                if total is not None and total != self._total(job, opened.records, root):
                    raise _closed(batch_id)
                return job
            wanted = (
                total if total is not None else max(next_total(opened.records), root.total or 0)
            )
            self._require_room(wanted)
            if root.total != wanted:
                update = close_root(scope, key, wanted, seen=root.total)
                if not self.ports.side_items.write_item(update).is_applied:
                    continue
                # Members may have come since they were read; none does from here on.
                opened = self._opened(job, key)
            _require_members(opened.records, wanted)
            if self._seal(scope, key, opened.records, wanted):
                self.completer.complete(job.id, WaitKind.CHILDREN, MEMBERS)
                return job
        raise Unavailable(f"The batch {batch_id} changed too often during the request; try again.")

    def _seal(self, scope: Scope, key: str, records: Sequence[JoinRecord], total: int) -> bool:
        """Seal the join records of a batch, then end its opening; whether all was done."""
        for record in records:
            if not record.is_open:
                continue
            sealed = self._written(seal(scope, record, total))
            if sealed is None or sealed.is_open:
                return False
            if sealed.is_full and sealed.call.has_root:
                self.ports.side_items.write_item(report_full(scope.run_id, scope.segment, sealed))
        return self.ports.side_items.write_item(end_opening(scope, key, total)).is_applied

    def _add_all(self, job: Job, first_index: int, specs: Sequence[Mapping[str, Any]]) -> None:
        scope, key = scope_at(job, self.ports), _key(job)
        if self.ports.side_items.read_item(root_key(job.id, job.segment, key)) is None:
            # It never was open: its run puts the join records.
            raise _closed(job.id)
        for number, indexes in _by_record(range(first_index, first_index + len(specs))):
            self._add(job, scope, key, number, indexes, first_index, specs)

    def _add(
        self,
        job: Job,
        scope: Scope,
        key: str,
        number: int,
        indexes: Sequence[int],
        first_index: int,
        specs: Sequence[Mapping[str, Any]],
    ) -> None:
        """Add the members of one join record: reserve, put, confirm."""
        now_ms = to_ms(self.ports.clock.now())
        self.ports.side_items.write_item(put_open_join(scope, MEMBERS, key, number, now_ms=now_ms))
        positions = [index % CHUNK for index in indexes]
        record = self._reserve(job, scope, key, number, positions)
        added = record.added or {}
        missing = [index for index in indexes if added.get(index % CHUNK) == 0]
        if not missing:
            return
        links = [
            ParentLink(
                run_id=job.id,
                segment=job.segment,
                join_key=key,
                index=index,
                kept_until=midnight_after(scope.keep_until),
            )
            for index in missing
        ]
        children = [
            self.children.build(job, link, ChildSpec(specs[index - first_index]))
            for link, index in zip(links, missing, strict=True)
        ]
        self.children.put(children)
        places = [index % CHUNK for index in missing]
        if self._written(confirm(scope, key, number, places)) is None:
            raise _gone(job.id)

    def _reserve(
        self, job: Job, scope: Scope, key: str, number: int, positions: Sequence[int]
    ) -> JoinRecord:
        """Return a join record in which all of these places are taken, by this call or before."""
        for _ in range(MAX_LOST_RACES):
            record = self._record(scope, key, number)
            free = [p for p in positions if p not in (record.added or {})]
            if not record.is_open:
                if all(position < record.expected for position in positions):
                    return record
                raise _closed(job.id)
            if not free:
                return record
            self._require_open(job, scope, key, number, free)
            written = self.ports.side_items.write_item(reserve(scope, key, number, free))
            if written.is_applied:
                # Read after the write: a close states its total first, and reads the places after.
                self._require_open(job, scope, key, number, free, gives_back=True)
        raise Unavailable(f"The batch {job.id} changed too often during the request; try again.")

    def _require_open(
        self,
        job: Job,
        scope: Scope,
        key: str,
        number: int,
        positions: Sequence[int],
        *,
        gives_back: bool = False,
    ) -> None:
        """Refuse new members of a batch whose total was stated."""
        item = self.ports.side_items.read_item(root_key(job.id, job.segment, key))
        root = None if item is None else root_of(item)
        if root is not None and root.is_open and root.total is None:
            return
        last = number * CHUNK + max(positions)
        if root is not None and root.total is not None and last < root.total:
            # A member that the close misses.
            return
        if gives_back:
            self.ports.side_items.write_item(give_back(scope, key, number, positions))
        raise _closed(job.id)

    def _record(self, scope: Scope, key: str, number: int) -> JoinRecord:
        items = self._opened_items(scope.run_id, scope.segment, key)
        record = next((one for one in items if one.number == number), None)
        if record is None:
            raise _gone(scope.run_id)
        return record

    def _opened(self, job: Job, key: str) -> _Opened:
        item = self.ports.side_items.read_item(root_key(job.id, job.segment, key))
        root = None if item is None else root_of(item)
        return _Opened(root, self._opened_items(job.id, job.segment, key))

    def _opened_items(self, run_id: str, segment: int, key: str) -> tuple[JoinRecord, ...]:
        items = self.ports.side_items.query_items(
            run_id, prefix=f"{join_prefix(segment)}{key}.", limit=MAX_RECORDS
        )
        return tuple(map(join_of, items))

    def _written(self, update: SideItemUpdate) -> JoinRecord | None:
        item = self.ports.side_items.write_item(update).item
        return None if item is None else join_of(item)

    def _total(self, job: Job, members: Sequence[JoinRecord], root: RootRecord | None) -> int:
        if root is not None and root.total is not None:
            return root.total
        if members:
            return max(members[0].call.total, sum(one.expected for one in members))
        if root is not None:
            return 0
        text = self.contents.read(job.id, job.payload)
        return len(json.loads(text or "{}").get("jobs") or ())

    def _require(self, batch_id: str) -> Job:
        job = self.ports.jobs.get(batch_id)
        if job is None or job.handler != BATCH:
            raise NotFound(f"There is no batch {batch_id}.")
        return job

    def _require_room(self, total: int) -> None:
        if total > MAX_CHILDREN:
            message = (
                f"would give the batch {total:,} members; at most {MAX_CHILDREN:,} are allowed"
            )
            raise InvalidInput(f"The request {message}.", errors=(FieldError("jobs", message),))


def _key(job: Job) -> str:
    return join_key(MEMBERS, 0, to_ms(job.created_at))


def _by_record(indexes: range) -> list[tuple[int, list[int]]]:
    """Return the indexes by the number of their join record."""
    numbers: dict[int, list[int]] = {}
    for index in indexes:
        numbers.setdefault(index // CHUNK, []).append(index)
    return list(numbers.items())


def _require_members(records: Sequence[JoinRecord], total: int) -> None:
    missing = first_missing(records, total)
    if missing is not None:
        raise MembersMissing(
            f"The member {missing} of the batch is missing: repeat the request that adds it, then "
            "close the batch again."
        )
    beyond = first_beyond(records, total)
    if beyond is not None:
        raise MembersMissing(
            f"The batch has a member {beyond}, beyond the total of {total}. Close it again with a "
            "larger total."
        )


def _closed(batch_id: str) -> BatchClosed:
    return BatchClosed(f"The batch {batch_id} is closed; it takes no more jobs.")


def _gone(batch_id: str) -> NotFound:
    return NotFound(f"There is no batch {batch_id} any more.")
