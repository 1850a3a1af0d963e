"""Opens the journal of a run for an invocation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from hourhand.domain.conditions import Compares
from hourhand.domain.errors import WrongState
from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.run_times import DEFAULT_RUN, journal_end, signals_end
from hourhand.domain.jobs.transitions import keep_journal
from hourhand.domain.runs.answers import RunEnds, RunLost
from hourhand.domain.runs.effects import earlier_effects
from hourhand.domain.runs.joins import joined_calls
from hourhand.domain.runs.records import (
    MAX_RECORDS,
    Journal,
    Record,
    RecordKind,
    journal_prefix,
    record_key,
    record_of,
    record_of_children,
)
from hourhand.domain.runs.writes import Scope
from hourhand.domain.side_items import SIGNAL_PREFIX, SideItem, SideItemKind, SideItemUpdate
from hourhand.domain.times import to_ms
from hourhand.ports.job_store import Applied
from hourhand.services.runs.invocation import Invocation
from hourhand.services.runs.results import RunPorts

PAGE = 200
"""Items that are given a later end between two reads; after each the lease may be renewed."""

MAX_PAGES = 5_000

_NO_RECORDS = frozenset({SideItemKind.RESET, SideItemKind.JOIN})
"""Items of a journal that are no records of calls by themselves."""


@dataclass(frozen=True, slots=True)
class DurableRuns:
    """Opens runs. Called by the owner of a run, after its claim or after it cleared the flag."""

    ports: RunPorts

    def open(self, job: Job, keep_lease: Callable[[], None]) -> Invocation:
        """Return an invocation over the journal of a RUNNING run.

        ``keep_lease``: called again and again where that takes long; it may raise `RunLost`.
        Raises `RunEnds` for one whose time is over, `RunLost`, `WrittenByNewer`, `Unavailable`.
        """
        now = self.ports.clock.now()
        deadline = job.run_deadline or now + DEFAULT_RUN
        if deadline <= now:
            raise RunEnds("RunTimeout", f"The run did not end by its deadline, {deadline}.")
        keep_until = journal_end(deadline, job)
        scope = scope_of(job, keep_until)
        if job.journal_ends is not None:
            if job.journal_ends <= now:
                raise RunEnds(
                    "JournalExpired",
                    "Records of the run may be gone, so a replay could repeat their effects. "
                    "Submit a new job, or redrive with fresh: true.",
                )
            self._prolong(job, keep_until, keep_lease)
        records = self.read(job)
        resets, keys = self.resets(job)
        journal = Journal(records, round_=job.round, resets=resets, keys=keys)
        return Invocation(self.ports, job, journal, scope)

    def show(self, job: Job) -> list[Record]:
        """Read the records for a caller. Raises `WrongState` beyond the largest journal."""
        try:
            return self.read(job)
        except RunEnds as ends:
            raise WrongState(ends.error.message) from None

    def read(self, job: Job) -> list[Record]:
        """Read the records of a run's segment. Raises `RunEnds` beyond the largest journal."""
        items = self.ports.side_items.query_items(
            job.id, prefix=journal_prefix(job.segment), limit=MAX_RECORDS + 1
        )
        if len(items) > MAX_RECORDS:
            raise RunEnds("JournalFull", f"The journal has more than {MAX_RECORDS:,} records.")
        created_ms = to_ms(job.created_at)
        joined = joined_calls((i for i in items if i.key.kind is SideItemKind.JOIN), created_ms)
        # A call that was reset has several under one path: the last one is in force. Members that
        # requests added have no order, so the rounds come first.
        calls = sorted(
            (record_of_children(call) for call in joined),
            key=lambda record: (record.round, record.order),
        )
        others = (i for i in items if i.key.kind not in _NO_RECORDS)
        return [
            *(record for record in map(record_of, others) if record.created_ms == created_ms),
            *{call.path: call for call in calls}.values(),
        ]

    def resets(self, job: Job) -> tuple[Mapping[str, int], Mapping[str, int]]:
        """Return the newest round in which each path was reset, and in which with new keys."""
        key = record_key(job.id, job.segment, RecordKind.RESET, job.reset or "")
        item = self.ports.side_items.read_item(key) if job.reset is not None else None
        if item is None:
            return {}, {}
        # Older code wrote no keys: each reset gave new ones.
        return item.numbers("resets"), item.numbers("keys") or item.numbers("resets")

    def _prolong(self, job: Job, keep_until: datetime, keep_lease: Callable[[], None]) -> None:
        """Give every item of a redriven run the end that follows from its new deadline."""
        ends = {
            journal_prefix(job.segment): keep_until,
            _value_prefix(job.segment): keep_until,
            SIGNAL_PREFIX: signals_end(self.ports.clock.now(), job),
        }
        for prefix, end in ends.items():
            after: str | None = None
            for _ in range(MAX_PAGES):
                items = self.ports.side_items.query_items(
                    job.id, prefix=prefix, after=after, limit=PAGE
                )
                for item in items:
                    self._prolong_item(item, end)
                keep_lease()
                if len(items) < PAGE:
                    break
                after = items[-1].key.sort
            else:
                raise RunEnds("JournalFull", "The run has more items than can be kept for longer.")
        for record in self.read(job):
            for one in (record, *earlier_effects(record).values()):
                if one is not None and one.place is not None and one.place.startswith("journal/"):
                    self.ports.objects.mark_finished(one.place, keep_until)
            if record.joined is not None:
                self.ports.children.prolong(job, record.joined, keep_until, keep_lease)
        if not isinstance(self.ports.jobs.transition(keep_journal(job)), Applied):
            raise RunLost

    def _prolong_item(self, item: SideItem, keep_until: datetime) -> None:
        # Not one that TTL deletes meanwhile, or that is of an earlier job of this id.
        created_ms = item.number("created_ms") or 0
        self.ports.side_items.write_item(
            SideItemUpdate(
                key=item.key,
                expect=(Compares("created_ms", "=", created_ms),),
                keep_until=keep_until,
            )
        )


def scope_of(job: Job, keep_until: datetime) -> Scope:
    """Return whose records the owner of a run writes."""
    return Scope(
        run_id=job.id,
        created_ms=to_ms(job.created_at),
        segment=job.segment,
        round=job.round,
        token=job.token,
        keep_until=keep_until,
    )


def _value_prefix(segment: int) -> str:
    return f"V{segment or ''}#"
