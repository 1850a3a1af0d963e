"""The reads of occurrences: what became of past scheduled times, and the next ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from hourhand.domain.errors import NotFound
from hourhand.domain.jobs.job import EventKind, Job, JobStatus
from hourhand.domain.schedules.journal import fill_in
from hourhand.domain.schedules.nominal_times import (
    upcoming,
)
from hourhand.domain.schedules.rule import BadExpression, Work
from hourhand.domain.schedules.schedule import (
    JournalEntry,
    Keep,
    Schedule,
    ScheduleDefinition,
    SkipReason,
)
from hourhand.domain.times import to_ms
from hourhand.ports.clock import Clock
from hourhand.ports.job_store import JobStore
from hourhand.ports.schedule_store import ScheduleStore
from hourhand.services.cursors import seal, unseal
from hourhand.services.jobs.new_job import DerivedIds
from hourhand.services.schedules.compiled_rules import CompiledRules, definition_of

if TYPE_CHECKING:
    from hourhand.domain.schedules.recurrence import Recurrence

UPCOMING = 10

_TICK = timedelta(milliseconds=1)

MAX_WORK_A_HISTORY = 400_000
"""To find which times of skipped runs have jobs by now, about 0.2 s on a usual core."""

MAX_JOURNAL_PAGES = 2_000
"""More than a history of the largest `Keep` fills; older pages are not listed."""

ENTRIES_A_READ = 100
"""Entries whose jobs are looked up at a time: what one BatchGetItem takes."""

MAX_PAGES_OF_RECENT = 2
"""The newest page of a schedule's own entries, or one of a backfill and that."""

MAX_READS = 20
"""Lookups that one page of a history may cost; a page that needs more comes back short."""

_SKIPPED = frozenset(reason.value for reason in SkipReason)


@dataclass(frozen=True, slots=True)
class OccurrenceRecord:
    """One row of a history. ``job_id`` is absent where no job was made, ``job`` also once gone.

    ``job`` is absent, too, where a newer version wrote it. ``skipped_first``: why its time was
    skipped, before a backfill made the job.
    """

    entry: JournalEntry
    job: Job | None
    job_id: str | None
    skipped_first: SkipReason | None = None


@dataclass(frozen=True, slots=True)
class OccurrencePage:
    """Past nominal times, newest first, and the next ones.

    A page may be short or empty; only an absent ``next_cursor`` ends a history.
    """

    entries: tuple[OccurrenceRecord, ...]
    next_cursor: str | None
    upcoming: tuple[datetime, ...]


@dataclass(frozen=True, slots=True)
class OccurrenceQueries:
    """Reads for the API; changes nothing."""

    schedules: ScheduleStore
    jobs: JobStore
    recurrences: CompiledRules
    clock: Clock
    ids: DerivedIds

    def history(self, schedule_id: str, *, limit: int, cursor: str | None) -> OccurrencePage:
        """Return a page of what became of past nominal times, newest first, and the next ten.

        It lists as many ended jobs as the schedule's `Keep` says. Raises `NotFound`,
        `InvalidInput` for a cursor that is not one of this schedule's history, `Unavailable`.
        """
        position = _read_position(cursor, schedule_id) if cursor else None
        schedule = self.schedules.get(schedule_id)
        if schedule is None:
            raise NotFound(f"There is no schedule {schedule_id}.")
        definition = definition_of(self.schedules, schedule)
        now = self.clock.now()
        recurrence = self._recurrence(definition)
        found = [entry for entry in self._entries(schedule) if entry.first <= now]
        entries, skipped_first = fill_in(found, recurrence, Work(MAX_WORK_A_HISTORY))
        entries.sort(key=_place, reverse=True)
        records, end = self._page(schedule.key, entries, definition.keep, position, limit)
        return OccurrencePage(
            entries=tuple(
                replace(record, skipped_first=skipped_first.get(record.entry.first))
                if record.entry.reason is None and not record.entry.salt
                else record
                for record in records
            ),
            next_cursor=None if end is None else _write_position(end, schedule_id),
            upcoming=upcoming(schedule, definition, recurrence, now=now, count=UPCOMING)
            if recurrence is not None
            else (),
        )

    def recent(
        self, schedules: Sequence[Schedule], *, count: int
    ) -> Mapping[str, tuple[OccurrenceRecord, ...]]:
        """Return the newest ``count`` past entries of each schedule's history, newest first.

        It reads the jobs of all schedules together. A schedule whose own item has fewer entries
        costs one query more. Raises `Unavailable`.
        """
        now = self.clock.now()
        newest = {
            schedule.key: [e for e in self._newest(schedule, count) if e.first <= now][:count]
            for schedule in schedules
        }
        found = self._jobs_of(newest)
        return {
            schedule.id: tuple(
                self._record(schedule.key, entry, found) for entry in newest[schedule.key]
            )
            for schedule in schedules
        }

    def _newest(self, schedule: Schedule, count: int) -> list[JournalEntry]:
        in_item = sum(1 for entry in schedule.journal if entry.reason is None)
        has_older = in_item < schedule.made and len(schedule.journal) < count
        return self._entries(schedule, pages=MAX_PAGES_OF_RECENT if has_older else 0)

    def _recurrence(self, definition: ScheduleDefinition) -> Recurrence | None:
        try:
            return self.recurrences.of(definition)
        except BadExpression:
            # The schedule is broken, and says so where it is shown itself.
            return None

    def _entries(self, schedule: Schedule, pages: int = MAX_JOURNAL_PAGES) -> list[JournalEntry]:
        """Return the entries of the item and of the newest ``pages``, newest first, each once.

        A page whose writer died may hold what was decided otherwise later: of what the schedule
        itself decided only that counts which lies before the next newer page, or before the hot
        item's entries, and before the cursor. What was made by hand counts wherever it lies.
        """
        found = list(schedule.journal)
        end = min((e.first for e in found if not e.salt), default=schedule.cursor + _TICK)
        read = self.schedules.read_journal(schedule.key, before=None, limit=pages) if pages else ()
        for page in read:
            decided = [e for e in page.entries if not (page.tag or e.salt) and e.first < end]
            found += decided
            found += (e for e in page.entries if page.tag or e.salt)
            end = min((entry.first for entry in decided), default=end)
        by_place = {_place(entry): entry for entry in found}
        return [by_place[place] for place in sorted(by_place, reverse=True)]

    def _page(
        self,
        key: str,
        entries: Sequence[JournalEntry],
        keep: Keep,
        position: _Position | None,
        limit: int,
    ) -> tuple[tuple[OccurrenceRecord, ...], _Position | None]:
        """Return up to ``limit`` records after ``position``, and where the next page starts."""
        at = position or _Position()
        left = [e for e in entries if position is None or _place(e) < position.place]
        records: list[OccurrenceRecord] = []
        for start in range(0, min(len(left), MAX_READS * ENTRIES_A_READ), ENTRIES_A_READ):
            chunk = left[start : start + ENTRIES_A_READ]
            for record in self._with_jobs(key, chunk):
                if len(records) == limit:
                    return tuple(records), at
                at = at.after(record)
                if at.succeeded <= keep.succeeded and at.failed <= keep.failed:
                    records.append(record)
                else:
                    at = at.at_most(keep)
        is_end = len(left) <= MAX_READS * ENTRIES_A_READ
        return tuple(records), None if is_end else at

    def _with_jobs(self, key: str, entries: Iterable[JournalEntry]) -> list[OccurrenceRecord]:
        listed = list(entries)
        found = self._jobs_of({key: listed})
        return [self._record(key, entry, found) for entry in listed]

    def _jobs_of(self, entries: Mapping[str, Sequence[JournalEntry]]) -> Mapping[str, Job]:
        """Return the jobs of entries, which are given by the key of their schedule."""
        wanted = [
            job_id
            for key, listed in entries.items()
            for entry in listed
            if (job_id := self._job_id(key, entry)) is not None
        ]
        return self.jobs.get_many(wanted) if wanted else {}

    def _record(self, key: str, entry: JournalEntry, found: Mapping[str, Job]) -> OccurrenceRecord:
        job_id = self._job_id(key, entry)
        return OccurrenceRecord(entry, found.get(job_id) if job_id else None, job_id)

    def _job_id(self, key: str, entry: JournalEntry) -> str | None:
        if entry.reason is not None:
            return None
        return self.ids.of_occurrence(key, entry.first, entry.salt)


_Place = tuple[int, str, str]
"""The order of entries: nominal time, then what distinguishes several of one time."""


def _place(entry: JournalEntry) -> _Place:
    return to_ms(entry.first), entry.salt, entry.reason or ""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Position:
    """A place in a history, and how many ended jobs were listed before it."""

    place: _Place = (0, "", "")
    succeeded: int = 0
    failed: int = 0

    def after(self, record: OccurrenceRecord) -> _Position:
        """Return the place right after ``record``, with its job counted."""
        return replace(
            self,
            place=_place(record.entry),
            succeeded=self.succeeded + _counts_as_succeeded(record),
            failed=self.failed + _counts_as_failed(record.job),
        )

    def at_most(self, keep: Keep) -> _Position:
        """Return the same place without the last one that was counted."""
        return replace(
            self,
            succeeded=min(self.succeeded, keep.succeeded),
            failed=min(self.failed, keep.failed),
        )


def _counts_as_succeeded(record: OccurrenceRecord) -> bool:
    """Whether a job succeeded, or ended so long ago that its outcome is unknown."""
    if record.job is None:
        return record.job_id is not None
    return record.job.status is JobStatus.SUCCEEDED


def _counts_as_failed(job: Job | None) -> bool:
    """Whether a job ended otherwise; one that its schedule skipped did not run, so nor fail."""
    if job is None or not job.status.is_final or job.status is JobStatus.SUCCEEDED:
        return False
    cancels = [event.reason for event in job.history if event.kind is EventKind.CANCELLED]
    is_skipped = job.status is JobStatus.CANCELLED and bool(cancels) and cancels[-1] in _SKIPPED
    return not is_skipped


def _write_position(position: _Position, schedule_id: str) -> str:
    parts = (*position.place, position.succeeded, position.failed)
    return seal(parts, _fingerprint(schedule_id))


def _read_position(cursor: str, schedule_id: str) -> _Position:
    kinds = (int, str, str, int, int)
    at, salt, reason, succeeded, failed = unseal(cursor, _fingerprint(schedule_id), kinds)
    return _Position(place=(at, salt, reason), succeeded=succeeded, failed=failed)


def _fingerprint(schedule_id: str) -> str:
    return f"occurrences of {schedule_id}"
