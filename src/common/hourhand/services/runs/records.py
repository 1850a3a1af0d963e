"""The records of one invocation of a durable run: found in its journal, or written there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeAlias, TypeVar

from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.runs.answers import REPLAY_MISMATCH, RunEnds, RunLost
from hourhand.domain.runs.calls import RunCall
from hourhand.domain.runs.records import (
    KIND_NAMES,
    MAX_JOURNAL_BYTES,
    MAX_RECORDS,
    SLEEP,
    TAKE,
    WARN_AT,
    Journal,
    Record,
    RecordKind,
    RecordOutcome,
    record_key,
    record_of,
)
from hourhand.domain.runs.signals import Signal
from hourhand.domain.runs.writes import Alternative, Scope, put_record
from hourhand.domain.side_items import Stored
from hourhand.domain.times import from_ms
from hourhand.services.runs.results import ReadAhead, RunPorts, Values

T = TypeVar("T")
Answers: TypeAlias = "Mapping[type[RunCall[Any]], Callable[[RunRecords, Any], Any]]"
"""What answers calls, by their types."""


@dataclass(slots=True)
class RunRecords:
    """Finds and writes the records of a run, which are side items of its job.

    ``replays_only``: it writes nothing, and ends at the first new call, as if the run was lost.
    ``new_records``: how many records it wrote, without starts. A run that has any made progress.
    ``index``: the number of the newest one. ``checked_calls``: the calls whose children it has
    looked at. ``children_total``: how many children all calls ask for, once that was counted.
    """

    ports: RunPorts
    job: Job
    journal: Journal
    scope: Scope
    replays_only: bool = False
    new_records: int = field(default=0, init=False)
    checked_calls: set[str] = field(default_factory=set, init=False)
    children_total: int | None = field(default=None, init=False)
    index: int = field(init=False)
    _was_warned: bool = field(default=False, init=False)
    _values: Values = field(init=False)
    _ahead: ReadAhead = field(init=False)

    def __post_init__(self) -> None:
        """Go on to count where a replay in place begins."""
        self.index = self.journal.newest_index(self.scope.token)
        self._values = Values(self.ports, self.scope)
        self._ahead = ReadAhead(self._values, self.journal)

    @property
    def run_id(self) -> str:
        """The id of the run's job."""
        return self.scope.run_id

    @property
    def segment(self) -> int:
        """How often the run restarted."""
        return self.scope.segment

    def find(
        self, kind: RecordKind, path: str, waits_for: str = "", *, drops_timeouts: bool = False
    ) -> Record | None:
        """Return the record in force of a call. Raises `RunEnds` if another kind of call has it.

        A failure of an older round counts as absent: the round runs it again.
        """
        record = self.journal.find(path)
        if record is None:
            return None
        is_older = record.round < self.scope.round
        fails = {RecordOutcome.FAILED} | ({RecordOutcome.TIMED_OUT} if drops_timeouts else set())
        if is_older and record.outcome in fails:
            return None
        if record.kind is not kind or record.waits_for != waits_for:
            raise RunEnds(
                REPLAY_MISMATCH,
                f"The call {path} is a {_what(kind, waits_for)} now, and its record is that of a "
                f"{_what(record.kind, record.waits_for)}. Fix the code, then redrive the run.",
            )
        return record

    def floor(
        self,
        kind: RecordKind,
        path: str,
        *,
        is_once: bool = False,
        drops_timeouts: bool = False,
    ) -> int:
        """Return the round below which a record counts as absent."""
        record = self.journal.stored(kind, path)
        dropped = {RecordOutcome.FAILED}
        if is_once:
            dropped.add(RecordOutcome.STARTED)
        if drops_timeouts:
            dropped.add(RecordOutcome.TIMED_OUT)
        if record is not None and record.outcome in dropped:
            return self.scope.round
        return self.journal.reset_round(path)

    def put(
        self,
        kind: RecordKind,
        path: str,
        values: Mapping[str, Stored | None],
        allowed: tuple[Alternative, ...],
    ) -> tuple[bool, Record]:
        """Write a record; return whether it stands as written, and the record that stands."""
        self.require_writable()
        self.require_room()
        index = self.index + 1
        update = put_record(self.scope, kind, path, index, values, allowed=allowed)
        written = self.ports.side_items.write_item(update)
        item = written.item
        if item is None:
            raise RunLost
        record = record_of(item)
        # A call whose answer was lost is repeated, and then meets its own record.
        is_ours = written.is_applied or record.order == (self.scope.token, index)
        if is_ours:
            self.index = index
            # A start is no progress: a step may kill its process each time.
            self.new_records += record.outcome is not RecordOutcome.STARTED
        self.journal.put(record)
        return is_ours, record

    def read_again(self, record: Record) -> Record:
        """Read a record once more. Raises `RunLost` if it is gone."""
        key = record_key(self.run_id, self.segment, record.kind, record.path)
        item = self.ports.side_items.read_item(key)
        if item is None:
            raise RunLost
        record = record_of(item)
        self.journal.put(record)
        return record

    def replaying(self, call: Callable[[], T]) -> T:
        """Make a call that may write nothing: it raises `RunLost` instead."""
        before, self.replays_only = self.replays_only, True
        try:
            return call()
        finally:
            self.replays_only = before

    def require_writable(self) -> None:
        """Raise `RunLost` in an invocation that only replays."""
        if self.replays_only:
            raise RunLost

    def require_own(self) -> None:
        """Raise `RunLost` unless this invocation still owns the job."""
        current = self.ports.jobs.get(self.run_id)
        if (
            current is None
            or current.status is not JobStatus.RUNNING
            or current.token != self.scope.token
        ):
            raise RunLost

    def require_room(self) -> None:
        """Raise `RunEnds` if the journal is full; warn once if it is large."""
        used = max(len(self.journal) / MAX_RECORDS, self.journal.size_bytes / MAX_JOURNAL_BYTES)
        if used >= 1:
            raise RunEnds(
                "JournalFull",
                f"The journal has {len(self.journal):,} records and {self.journal.size_bytes:,} "
                f"bytes; at most {MAX_RECORDS:,} and {MAX_JOURNAL_BYTES:,} are allowed in a "
                "segment. Call ctx.restart(payload) before that.",
            )
        if used >= WARN_AT and not self._was_warned:
            self._was_warned = True
            self.ports.telemetry.warning(
                "The journal of a run is large. Each replay reads it whole. Full, it ends the run.",
                job_id=self.run_id,
                records=len(self.journal),
                size_bytes=self.journal.size_bytes,
            )

    def time_to(self, until_ms: int | None) -> timedelta:
        """Return how long it is until a time, 0 if that is over."""
        rest = from_ms(until_ms or 0) - self.ports.clock.now()
        return max(rest, timedelta(0))

    def text_of(self, record: Record) -> str:
        """Return the result of a call. Raises `RunEnds` if it is gone."""
        text = self._ahead.text_of(record)
        if text is None:
            raise RunEnds("JournalExpired", f"The result of the call {record.path} is gone.")
        return text

    def kept(self, path: str, text: str) -> dict[str, Stored | None]:
        """Keep a result; return the attributes of the record that say where it is."""
        return self._values.keep(path, text)

    def kept_of(self, path: str, signal: Signal) -> dict[str, Stored | None]:
        """Return the attributes that keep the payload of a signal."""
        if signal.text is None:
            return {"place": signal.place}
        return self._values.keep(path, signal.text)


def _what(kind: RecordKind, waits_for: str) -> str:
    if kind is not RecordKind.WAIT:
        return KIND_NAMES[kind]
    if waits_for.startswith(TAKE):
        return f"take of the rate limit {waits_for[1:]}"
    return "sleep" if waits_for == SLEEP else f"wait for the signal {waits_for[1:]}"
