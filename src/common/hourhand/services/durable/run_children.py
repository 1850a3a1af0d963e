"""The child jobs of one invocation of a durable run: submitted, joined, redriven with their run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from hourhand.domain.durable.calls import REPLAY_MISMATCH, Failure, RunEnds, RunLost, Value
from hourhand.domain.durable.joins import (
    ChildrenCall,
    JoinedCall,
    JoinRecord,
    join_of,
    put_join,
    put_root,
    require_rounds,
    root_key,
    root_of,
)
from hourhand.domain.durable.records import CHILDREN, RecordKind, RecordOutcome, error_text
from hourhand.domain.durable.writes import wait_allowed
from hourhand.domain.errors import InvalidInput, TooLarge
from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.parents import (
    MAX_LEVELS,
    NOT_NEEDED,
    ChildSpec,
    ParentLink,
    cancel_reason,
    child_id,
    join_key,
    midnight_after,
)
from hourhand.domain.side_items import SideItem, Stored
from hourhand.domain.times import from_ms, to_ms
from hourhand.services.durable.children import (
    READ_TOGETHER,
    failure_of,
    needs_cancel,
    open_children,
    was_cancelled_before,
)
from hourhand.services.durable.run_waits import RunWaits

MAX_LOST_RACES = 20
"""How often a join record may change between a read and a write of ours."""

ROUNDS_TOGETHER = 25
"""Children that one write requires a later round of: DynamoDB takes 4 KB of condition."""


@dataclass(slots=True)
class RunChildren(RunWaits):
    """Implements what the port `DurableRun` has of children."""

    _checked: set[str] = field(default_factory=set, init=False)
    _total: int | None = field(default=None, init=False)

    @property
    def _level(self) -> int:
        """How many runs are above a child of this one."""
        return 1 if self.job.parent is None else self.job.parent.level + 1

    # --- submission ---

    def next_children(
        self, path: str, call: ChildrenCall, spec_of: Callable[[int], ChildSpec]
    ) -> JoinedCall:
        """Submit the next children of a call, up to `GROUP`; return how far the call is.

        The join records precede their children. Those of the next group follow only once all
        children of this one are there. So the journal is the progress, and a replay looks again at
        one group.
        """
        joined = self._joined(path, call)
        if joined is None:
            joined = self._submit_group(path, self._key_of(path), call, (), spec_of)
            self._checked.add(joined.key)
            return joined
        if joined.key not in self._checked and not self.replays_only:
            joined = self._repair(joined, spec_of)
            self._checked.add(joined.key)
        if joined.has_room:
            joined = self._submit_group(path, joined.key, joined.call, joined.records, spec_of)
        return joined

    def _joined(self, path: str, call: ChildrenCall) -> JoinedCall | None:
        """Return a call as it is recorded. Raises `RunEnds` if the code makes another one."""
        record = self._find(RecordKind.CHILD, path)
        joined = record.joined if record is not None else None
        if joined is not None and joined.call.total != call.total:
            raise RunEnds(
                REPLAY_MISMATCH,
                f"The call {path} has {call.total} children now, and its record has "
                f"{joined.call.total}. Fix the code, then redrive the run.",
            )
        return joined

    def _key_of(self, path: str) -> str:
        return join_key(path, self.journal.reset_round(path), self.scope.created_ms)

    def _submit_group(
        self,
        path: str,
        key: str,
        call: ChildrenCall,
        records: tuple[JoinRecord, ...],
        spec_of: Callable[[int], ChildSpec],
    ) -> JoinedCall:
        self._require_writable()
        if self._level > MAX_LEVELS:
            raise RunEnds(
                "TooManyLevels",
                f"The call {path} submits a child with more than {MAX_LEVELS} runs above it: "
                f"{self.job.handler} is itself a child at level {MAX_LEVELS}.",
            )
        joined = JoinedCall(key, records)
        numbers = joined.next_numbers(call)
        # Built first: a child that is refused leaves no record that waits for it.
        children = [
            self._build(key, call, number * call.chunk + position, spec_of)
            for number in numbers
            for position in range(call.expected(number))
        ]
        if not records and call.has_root:
            self.ports.side_items.write_item(put_root(self.scope, key, call))
        for number in numbers:
            joined = joined.with_record(self._put_join(path, key, number, call))
        self.journal.put(joined.as_record())
        if not records and self._total is not None:
            self._total += call.total
        self.ports.children.put(children)
        return joined

    def _build(
        self, key: str, call: ChildrenCall, index: int, spec_of: Callable[[int], ChildSpec]
    ) -> Job:
        link = ParentLink(
            run_id=self.run_id,
            segment=self.segment,
            join_key=key,
            index=index,
            chunk=call.chunk,
            is_abandoned=call.is_abandoned,
            level=self._level,
            kept_until=midnight_after(self.scope.keep_until),
        )
        spec = spec_of(index)
        try:
            return self.ports.children.build(self.job, link, spec)
        except (InvalidInput, TooLarge) as refused:
            raise type(refused)(_naming_fields(refused), errors=refused.errors) from refused

    def _put_join(self, path: str, key: str, number: int, call: ChildrenCall) -> JoinRecord:
        self._require_room()
        order = self._index + 1
        now_ms = to_ms(self.ports.clock.now())
        update = put_join(self.scope, path, key, number, call, order=order, now_ms=now_ms)
        record = _standing(self.ports.side_items.write_item(update).item)
        if (record.token, record.order) == (self.scope.token, order):
            self._index = order
            self.new_records += 1
        if record.call != call:
            # Another owner put it, whose code makes another call: that one stands.
            raise RunLost
        return record

    # --- what a crash, or an older round, left ---

    def _repair(self, joined: JoinedCall, spec_of: Callable[[int], ChildSpec]) -> JoinedCall:
        """Put children that a lost worker did not, and redrive those that failed before."""
        if not joined.call.is_abandoned:
            for record in joined.records:
                joined = joined.with_record(self._require_rounds(record))
            self.journal.put(joined.as_record())
            self._redrive_required(joined)
        # An invocation goes on behind the puts of a group: its next record says that they are done.
        group = joined.last_group
        if group[-1].token == self.scope.token or self.journal.is_followed(joined):
            return joined
        places = open_children(self.job, joined, group)
        found = self.ports.children.read(list(places))
        missing = [
            self._build(joined.key, joined.call, record.first_index + position, spec_of)
            for job_id, (record, position) in places.items()
            if job_id not in found
        ]
        if missing:
            self.ports.children.put(missing)
        return joined

    def _require_rounds(self, record: JoinRecord) -> JoinRecord:
        """Let only later ends of those children count that an older round of the run had."""
        for _ in range(MAX_LOST_RACES):
            rounds = self._rounds_to_require(record)
            if not rounds and record.round >= self.scope.round:
                return record
            first = dict(list(rounds.items())[:ROUNDS_TOGETHER])
            is_last = len(first) == len(rounds)
            scope = self.scope if is_last else replace(self.scope, round=record.round)
            written = self.ports.side_items.write_item(require_rounds(scope, record, first))
            record = _standing(written.item)
        raise RunLost

    def _rounds_to_require(self, record: JoinRecord) -> dict[int, int]:
        """Return from which round on the ends of failed children count, by their positions."""
        failed = {position: code for position, code in record.ends.items() if code > 0}
        if record.round >= self.scope.round:
            # A late cancellation by an older round of the run is no failure in this one.
            failed = self._cancelled_before(record, failed) if self.scope.round > 1 else {}
        return {position: code + 1 for position, code in failed.items()}

    def _cancelled_before(self, record: JoinRecord, failed: Mapping[int, int]) -> dict[int, int]:
        ids = {self._id_of(record.key, record.first_index + n): n for n in failed}
        found = self.ports.children.read(list(ids))
        return {
            ids[job_id]: failed[ids[job_id]]
            for job_id, job in found.items()
            if was_cancelled_before(job, self.scope.round)
        }

    def _redrive_required(self, joined: JoinedCall) -> None:
        """Redrive the children of which a later round is required, if they ended before it."""
        required = {
            self._id_of(joined.key, record.first_index + position): -code
            for record in joined.records
            for position, code in record.ends.items()
            if code < 0
        }
        for job_id, job in self.ports.children.read(list(required)).items():
            if job.status.is_final and job.round < required[job_id]:
                self.ports.children.redrive(job)

    # --- ends ---

    def child_results(self, path: str, indexes: range) -> list[str | None]:
        """Return the results of children as JSON; ``None`` of those that did not succeed."""
        joined = self._require_joined(path)
        only = joined.records[0].result_text
        if only is not None and joined.call.total == 1:
            return [only]
        wanted = [self._id_of(joined.key, n) for n in indexes if joined.end_of(n) == 0]
        found = self.ports.children.read(wanted)
        texts = {job_id: self.ports.children.result_text(job) for job_id, job in found.items()}
        if len(texts) < len(wanted):
            raise RunEnds("JournalExpired", f"A result of the children of {path} is gone.")
        return [texts.get(self._id_of(joined.key, n)) for n in indexes]

    def child_failure(self, path: str, index: int) -> Failure:
        """Return why a child ended badly."""
        job_id = self._id_of(self._require_joined(path).key, index)
        return Failure(failure_of(self.ports.children.read([job_id]).get(job_id)))

    def child_ids(self, path: str) -> list[str]:
        """Return the ids of all children of a call, in their order."""
        joined = self._require_joined(path)
        return [self._id_of(joined.key, index) for index in range(joined.call.total)]

    def joined(self, path: str) -> JoinedCall:
        """Return how far the children of a call are."""
        return self._require_joined(path)

    def find_joined(self, path: str) -> JoinedCall | None:
        """Return how far a call is, in a run that may not have made it yet."""
        # Without a check of its kind: a map without items is recorded as a step.
        record = self.journal.find(path)
        return None if record is None else record.joined

    def members_total(self, path: str) -> int | None:
        """Return how many members a batch has that was open; ``None`` while it is open."""
        item = self.ports.side_items.read_item(
            root_key(self.run_id, self.segment, self._key_of(path))
        )
        root = None if item is None else root_of(item)
        return None if root is None or root.is_open else root.total

    def children_total(self) -> int:
        """Return how many children the calls of the run ask for, ended ones included."""
        if self._total is None:
            # Counted once: a run may make tens of thousands of calls, one after the other.
            self._total = sum(joined.call.total for joined in self.journal.children())
        return self._total

    def live_children(self) -> int:
        """Return how many attached children of the run have not ended.

        Without those of an open batch: places in it may be reserved whose jobs never come.
        """
        return sum(
            joined.live
            for joined in self.journal.children()
            if not joined.call.is_abandoned and not joined.is_open
        )

    def end_of_wait(self, path: str) -> Value | Failure | None:
        """Return how a wait for several children ended, if that is recorded."""
        record = self._find(RecordKind.WAIT, path, CHILDREN)
        if record is None or record.outcome is RecordOutcome.WAITING:
            return None
        if record.outcome is RecordOutcome.FAILED:
            return Failure(record.error)
        return Value(self.text_of(record))

    def wait_until(
        self, path: str, timeout: timedelta, late: Failure
    ) -> Value | Failure | datetime:
        """Return until when a wait lasts, or how it ended; see the port."""
        record = self._find(RecordKind.WAIT, path, CHILDREN)
        if record is None or record.round < self.scope.round:
            # A redrive runs the children again that failed, and gives them their time again.
            record = self._set_deadline(path, CHILDREN, timeout, self.scope.round)
        if not record.is_settled and self._time_to(record.until_ms) > timedelta(0):
            return from_ms(record.until_ms or 0)
        return self.end_of_wait(path) or self.end_wait(path, late)

    def end_wait(self, path: str, end: Value | Failure) -> Value | Failure:
        """Record how a wait for several children ended; return what is recorded."""
        kept: dict[str, Stored | None]
        if isinstance(end, Failure):
            outcome, kept = RecordOutcome.FAILED, {"text": error_text(end.error)}
        else:
            outcome, kept = RecordOutcome.SUCCEEDED, self._kept(path, end.text)
        values: dict[str, Stored | None] = {
            "outcome": outcome.value,
            "waits_for": CHILDREN,
            "ended_ms": to_ms(self.ports.clock.now()),
            **kept,
        }
        floor = self._floor(RecordKind.WAIT, path)
        self._put(RecordKind.WAIT, path, values, wait_allowed(self.scope, floor))
        return self.end_of_wait(path) or end

    def cancel_children(self, path: str) -> None:
        """Cancel the children of a call that have not ended: it ended without them."""
        joined = self._require_joined(path)
        if self.replays_only:
            return
        job_ids = list(open_children(self.job, joined, joined.records))
        reason = cancel_reason(NOT_NEEDED, self.scope.round)
        for start in range(0, len(job_ids), READ_TOGETHER):
            found = self.ports.children.read(job_ids[start : start + READ_TOGETHER])
            asked = [job for job in found.values() if needs_cancel(job)]
            self.ports.children.cancel(asked, reason)

    def _require_joined(self, path: str) -> JoinedCall:
        record = self.journal.stored(RecordKind.CHILD, path)
        joined = record.joined if record is not None else None
        assert joined is not None, "next_children comes first"
        return joined

    def _id_of(self, key: str, index: int) -> str:
        return child_id(self.run_id, self.segment, key, index)


def _naming_fields(refused: InvalidInput | TooLarge) -> str:
    """Return why a child is refused. The error of a run has one sentence, and no list of fields."""
    missing = [one for one in refused.errors if one.message not in refused.detail]
    if not missing:
        return refused.detail
    return f"The child is invalid: {'; '.join(f'{one.field} {one.message}' for one in missing)}."


def _standing(item: SideItem | None) -> JoinRecord:
    """Return a join record after a write. Raises `RunLost` if it is gone."""
    if item is None:
        raise RunLost
    return join_of(item)
