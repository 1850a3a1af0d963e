"""Open batches: requests add members, until one closes the batch."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from hourhand.domain.errors import (
    BatchClosed,
    FieldError,
    InvalidInput,
    MembersMissing,
    NotFound,
    changed_too_often,
)
from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.parents import CHUNK, ChildSpec, ParentLink, join_key, midnight_after
from hourhand.domain.jobs.waiting import WaitKind
from hourhand.domain.runs.built_in import BATCH, CALLBACKS, MEMBERS
from hourhand.domain.runs.joins import (
    LOCKED,
    MAX_CHILDREN,
    ChildrenCall,
    JoinRecord,
    RootRecord,
    join_of,
    join_prefix,
    join_record_key,
    root_key,
    root_of,
)
from hourhand.domain.runs.open_batches import (
    confirm,
    end_opening,
    first_beyond,
    first_missing,
    lock,
    next_total,
    object_to_total,
    put_open_root,
    put_reserved,
    reserve,
    seal,
    state_total,
)
from hourhand.domain.runs.records import MAX_RECORDS, Journal
from hourhand.domain.runs.writes import Scope, report_full
from hourhand.domain.side_items import SideItemUpdate
from hourhand.domain.times import to_ms
from hourhand.services.jobs.payload_store import PayloadStore
from hourhand.services.runs.children import Children
from hourhand.services.runs.completions import Completer
from hourhand.services.runs.journals import DurableRuns
from hourhand.services.runs.members import MemberChecks, members_of_batch
from hourhand.services.runs.results import RunPorts
from hourhand.services.runs.signals import scope_at

MAX_LOST_RACES = 20
"""How often a batch may change between a read and a write before the request fails."""


@dataclass(frozen=True, slots=True)
class _Opening:
    """A batch that may be open: its job, the scope of its items, the key of its members."""

    job: Job
    scope: Scope
    key: str

    def link(self, index: int) -> ParentLink:
        """Return the link of a member to the batch."""
        return ParentLink(
            run_id=self.job.id,
            segment=self.job.segment,
            join_key=self.key,
            index=index,
            kept_until=midnight_after(self.scope.keep_until),
        )


@dataclass(frozen=True, slots=True)
class OpenBatches:
    """Adds members to open batches, and closes them.

    See `hourhand.domain.runs.open_batches` for the order of the writes, and why.
    """

    children: Children
    ports: RunPorts
    completer: Completer
    contents: PayloadStore
    members: MemberChecks

    def add(self, batch_id: str, first_index: int, specs: Sequence[Mapping[str, Any]]) -> Job:
        """Add members to an open batch, the first of them at ``first_index``.

        The same call again adds nothing. Raises `NotFound`, `BatchClosed`, `InvalidInput`,
        `Unavailable`: then it can be repeated.
        """
        job = self._require(batch_id)
        self._require_room(first_index + len(specs))
        # All of them first: a member that is refused must not take a place.
        self.members.require_valid("request", members_of_batch(specs))
        self._add_all(self._opening(job), first_index, specs)
        return job

    def close(self, batch_id: str, total: int | None) -> Job:
        """Let a batch end once all of its members have; ``total``: how many it must have.

        Closing again changes nothing. Raises `NotFound`, `MembersMissing` where a member is not
        there, or is there beyond the total, `BatchClosed` where another total stands or the batch
        ended before it was closed, and `Unavailable`: then it can be repeated.
        """
        job = self._require(batch_id)
        opening = self._opening(job)
        for _ in range(MAX_LOST_RACES):
            root = self._root(opening)
            records = self._records(opening)
            if root is None or not root.takes_members:
                if total is not None and total != self._total(job, records, root):
                    raise _closed(job)
            elif job.status.is_final:
                raise _closed(job)
            elif not self._lock(opening, root, records, total):
                continue
            self._seal(opening)
            # Also of a batch that is closed: the request that closed it may have died before this.
            self.completer.complete(job.id, WaitKind.CHILDREN, MEMBERS)
            return job
        raise changed_too_often(f"The batch {batch_id}")

    def _lock(
        self,
        opening: _Opening,
        root: RootRecord,
        records: Sequence[JoinRecord],
        total: int | None,
    ) -> bool:
        """Let the total of a batch stand; whether nothing changed meanwhile."""
        version = root.version
        wanted = max(next_total(records), root.total or 0) if total is None else total
        self._require_room(wanted)
        if root.total != wanted:
            statement = state_total(opening.scope, opening.key, wanted, version=version)
            if not self._is_applied(statement):
                return False
            version += 1
            records = self._records(opening)
            if total is None and next_total(records) > wanted:
                # A member came in between. Without a total of the caller, it belongs to the batch.
                return False
        _require_members(records, wanted)
        return self._is_applied(lock(opening.scope, opening.key, version=version))

    def _seal(self, opening: _Opening) -> None:
        """Seal the join records of a locked batch, then end its opening."""
        root = self._root(opening)
        if root is None or root.opening != LOCKED or root.total is None:
            return
        call = ChildrenCall(total=root.total, handler="")
        for record in self._records(opening):
            if record.number >= call.records:
                # A request that came too late reserved places in it.
                continue
            item = self.ports.side_items.write_item(seal(opening.scope, record, root.total)).item
            # Also where it was sealed: the request that did may have died before this.
            if item is not None and call.has_root and join_of(item).is_full:
                full = report_full(opening.job.id, opening.job.segment, join_of(item))
                self.ports.side_items.write_item(full)
        self.ports.side_items.write_item(end_opening(opening.scope, opening.key))

    def _opening(self, job: Job) -> _Opening:
        return _Opening(job, scope_at(job, self.ports), self._keys(job)[MEMBERS])

    def _add_all(
        self, opening: _Opening, first_index: int, specs: Sequence[Mapping[str, Any]]
    ) -> None:
        members = [
            self.children.build(opening.job, opening.link(first_index + n), ChildSpec(spec))
            for n, spec in enumerate(specs)
        ]
        indexes_of_all = range(first_index, first_index + len(specs))
        for number, indexes in groupby(indexes_of_all, lambda index: index // CHUNK):
            self._add(opening, number, {n % CHUNK: members[n - first_index] for n in indexes})

    def _add(self, opening: _Opening, number: int, members: Mapping[int, Job]) -> None:
        """Add the members of one join record, by their positions: reserve, put, confirm."""
        record = self._reserve(opening, number, list(members))
        missing = {p: job for p, job in members.items() if (record.added or {}).get(p) == 0}
        if not missing:
            return
        self.children.put(list(missing.values()))
        confirmed = confirm(opening.scope, opening.key, number, list(missing))
        if self.ports.side_items.write_item(confirmed).item is None:
            raise NotFound(f"There is no batch {opening.job.id} any more.")

    def _reserve(self, opening: _Opening, number: int, positions: Sequence[int]) -> JoinRecord:
        """Return a join record in which all of these places are reserved or taken."""
        for _ in range(MAX_LOST_RACES):
            record = self._record(opening, number)
            # Read after the places: a close that this read does not see finds them.
            root = self._root(opening)
            states = _states(record, positions)
            if record is not None and all(state == 1 for state in states.values()):
                return record
            if opening.job.status.is_final or root is None or not root.takes_members:
                raise _closed(opening.job)
            free = [position for position, state in states.items() if state is None]
            if free:
                last = number * CHUNK + max(free)
                if root.total is not None and last >= root.total:
                    raise _beyond(opening.job.id, last, root.total)
                self._take(opening, record, number, free)
            elif record is not None and (
                root.total is None
                or self._is_applied(
                    object_to_total(opening.scope, opening.key, version=root.version)
                )
            ):
                return record
        raise changed_too_often(f"The batch {opening.job.id}")

    def _take(
        self,
        opening: _Opening,
        record: JoinRecord | None,
        number: int,
        positions: Sequence[int],
    ) -> None:
        """Reserve places in a join record; the record is read again after this."""
        scope, key = opening.scope, opening.key
        if record is None:
            now_ms = to_ms(self.ports.clock.now())
            update = put_reserved(scope, MEMBERS, key, number, positions, now_ms=now_ms)
        else:
            update = reserve(scope, key, number, positions)
        self.ports.side_items.write_item(update)

    def _is_applied(self, update: SideItemUpdate) -> bool:
        return self.ports.side_items.write_item(update).is_applied

    def _root(self, opening: _Opening) -> RootRecord | None:
        """Return the root of a batch; ``None`` for a batch that never was open."""
        key = root_key(opening.job.id, opening.job.segment, opening.key)
        item = self.ports.side_items.read_item(key)
        if item is None and self._payload(opening.job).get("open"):
            # The request that submitted it died before this, or all of it runs again.
            item = self.ports.side_items.write_item(put_open_root(opening.scope, opening.key)).item
        return None if item is None else root_of(item)

    def _record(self, opening: _Opening, number: int) -> JoinRecord | None:
        key = join_record_key(opening.job.id, opening.job.segment, opening.key, number)
        item = self.ports.side_items.read_item(key)
        return None if item is None else join_of(item)

    def _records(self, opening: _Opening) -> tuple[JoinRecord, ...]:
        """Return the join records of the members of a batch."""
        prefix = f"{join_prefix(opening.job.segment)}{opening.key}."
        items = self.ports.side_items.query_items(opening.job.id, prefix=prefix, limit=MAX_RECORDS)
        return tuple(map(join_of, items))

    def _payload(self, job: Job) -> dict[str, Any]:
        payload: dict[str, Any] = json.loads(self.contents.read(job.id, job.payload) or "{}")
        return payload

    def _keys(self, job: Job) -> dict[str, str]:
        """Return the key of the children of each call: a call that was reset has other ones."""
        resets, _ = DurableRuns(self.ports).resets(job)
        journal = Journal((), round_=job.round, resets=resets)
        created_ms = to_ms(job.created_at)
        return {
            path: join_key(path, journal.reset_round(path), created_ms)
            for path in (MEMBERS, *CALLBACKS)
        }

    def _total(self, job: Job, members: Sequence[JoinRecord], root: RootRecord | None) -> int:
        if root is not None and root.total is not None:
            return root.total
        if members:
            return max(members[0].call.total, sum(one.expected for one in members))
        if root is not None:
            return 0
        return len(self._payload(job).get("jobs") or ())

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


def _require_members(records: Sequence[JoinRecord], total: int) -> None:
    missing = first_missing(records, total)
    if missing is not None:
        raise MembersMissing(
            f"The member {missing} of the batch is missing. Add it, then close the batch again."
        )
    beyond = first_beyond(records, total)
    if beyond is not None:
        raise MembersMissing(
            f"The batch has a member {beyond}, beyond the total of {total}. Close it again with a "
            "larger total."
        )


def _states(record: JoinRecord | None, positions: Sequence[int]) -> dict[int, int | None]:
    """Return of each place whether it is free (``None``), reserved (0) or taken (1)."""
    if record is None:
        return dict.fromkeys(positions)
    if record.added is None:
        return {position: 1 if position < record.expected else None for position in positions}
    return {position: record.added.get(position) for position in positions}


def _closed(job: Job) -> BatchClosed:
    state = job.status.value if job.status.is_final else "closed"
    return BatchClosed(f"The batch {job.id} is {state}; it takes no more jobs.")


def _beyond(batch_id: str, index: int, total: int) -> BatchClosed:
    return BatchClosed(
        f"A request to close the batch {batch_id} stated a total of {total:,}, so it takes no "
        f"member {index}. If that total is wrong, close it with a larger one, then add the jobs."
    )
