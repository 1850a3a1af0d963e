"""What happened in the virtual year, written down as the stores took it: no code of ours is asked.

The stores of the world are wrapped: each applied write of a schedule, a calendar or a job is noted
with its time. What must hold at the very moment of a write is checked there and then; all else is
for `proof.virtual_year.audit`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from hourhand.domain.groups.overlap import Overlap, OverlapPolicy
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.jobs.transitions import Transition
from hourhand.domain.limits.job_limits import overlap_limit
from hourhand.domain.limits.slot_shards import shard_count
from hourhand.domain.limits.slot_writes import limit_partition, read_slots, read_waiters
from hourhand.domain.schedules.journal import job_times
from hourhand.domain.schedules.schedule import Calendar, JournalEntry, Schedule, ScheduleDefinition
from hourhand.memory import MemoryJobStore, MemoryScheduleStore, MemorySideItemStore
from hourhand.ports.clock import Clock
from hourhand.ports.job_store import Applied, WriteResult
from hourhand.ports.schedule_store import JournalPage, Outdated, Written
from proof.virtual_year.nominal_times import Excluded
from proof.virtual_year.schedule_mix import Wish

TICK = timedelta(milliseconds=1)
NEAR = timedelta(minutes=7)
"""What lies nearer than this is worth a tick: the look-ahead, and a tick that may be lost."""

LONGEST_CALL = timedelta(minutes=5)
"""How long a process may stand still between what it reads and what it writes."""

WITHDRAWALS = {"paused", "replaced", "deleted"}


@dataclass(slots=True)
class JobAccount:
    """All that became of the job of one nominal time, its successors under the same id included."""

    job_id: str
    schedule_id: str
    nominal: datetime
    by_hand: bool
    put_at: datetime
    puts: int = 1
    starts: int = 0
    first_start: datetime | None = None
    successes: int = 0
    status: JobStatus = JobStatus.PENDING
    reason: str = ""


@dataclass(slots=True)
class Piece:
    """Nominal times that a write decided, from ``first`` to ``last``; no reason: for a job."""

    at: datetime
    first: datetime
    last: datetime
    reason: str | None


@dataclass(slots=True)
class Life:
    """The records of one schedule, in order: those that opened a revision, and the newest of all.

    ``forgotten``: the journals of records that TTL deleted, a month after the schedule was, and of
    incarnations before the last.
    """

    states: list[tuple[datetime, Schedule]] = field(default_factory=list)
    newest: Schedule | None = None
    forgotten: list[JournalEntry] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    hand_made: set[datetime] = field(default_factory=set)


def id_of(key: str) -> str:
    """Return the id of the schedule that a key names; see `Schedule.key`."""
    return key.partition(".")[0]


@dataclass(frozen=True)
class Violation:
    """A rule that was broken: which one, and what is known about it."""

    what: str
    at: datetime
    facts: dict[str, Any]

    def __str__(self) -> str:
        told = ", ".join(f"{name}={value}" for name, value in self.facts.items())
        return f"{self.what} (seen {self.at:%m-%d %H:%M:%S}): {told}"


@dataclass
class Books:
    """Everything that was written down."""

    clock: Clock
    lives: dict[str, Life] = field(default_factory=lambda: defaultdict(Life))
    wishes: dict[tuple[str, str], Wish] = field(default_factory=dict)
    definitions: dict[tuple[str, str], ScheduleDefinition] = field(default_factory=dict)
    calendars: dict[str, list[tuple[datetime, Excluded]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    accounts: dict[str, JobAccount] = field(default_factory=dict)
    running: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    last_ends: dict[str, datetime] = field(default_factory=dict)
    unfinished: dict[str, datetime] = field(default_factory=dict)
    next_visits: dict[str, datetime] = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    most_running: int = 0
    _meant: list[Any] = field(default_factory=list)

    @contextmanager
    def meaning(self, meant: Any) -> Iterator[None]:
        """Take what is put meanwhile as the wish, or the exclusions, given."""
        self._meant.append(meant)
        try:
            yield
        finally:
            self._meant.pop()

    @property
    def meant(self) -> Any:
        """What is being put at the moment."""
        return self._meant[-1]

    def violate(self, what: str, **facts: Any) -> None:
        """Note that something is wrong."""
        self.violations.append(Violation(what, self.clock.now(), facts))

    # --- schedules ---

    def note_schedule(self, before: Schedule | None, after: Schedule) -> None:
        now = self.clock.now()
        life = self.lives[after.id]
        is_same = before is not None and before.incarnation == after.incarnation
        if not is_same and life.newest is not None:
            life.forgotten += life.newest.journal
        life.newest = after
        self.next_visits.pop(after.id, None)
        if after.next_at is not None:
            self.next_visits[after.id] = after.next_at
        if before is None or before.revision != after.revision:
            life.states.append((now, after))
        known = before.journal if before is not None and is_same else ()
        for entry in after.journal:
            if entry.salt:
                life.hand_made.add(entry.first)
            elif entry not in known:
                life.pieces.append(_piece(now, entry, known))

    def note_page(self, current: Schedule | None, schedule_id: str, page: JournalPage) -> None:
        """What a write decides and has no room for goes to a page before the write."""
        if page.tag:
            return
        known = current.journal if current is not None else ()
        life, now = self.lives[id_of(schedule_id)], self.clock.now()
        life.pieces += [
            _piece(now, e, known) for e in page.entries if not e.salt and e not in known
        ]

    # --- jobs ---

    def note_put(self, job: Job) -> None:
        if job.schedule_id is None or job.occurrence is None:
            return
        self._note_unfinished(job)
        account = self.accounts.get(job.id)
        if account is not None:
            account.puts += 1
            account.status = job.status
            return
        self.accounts[job.id] = JobAccount(
            job_id=job.id,
            schedule_id=id_of(job.schedule_id),
            nominal=job.occurrence,
            by_hand=job.schedule_revision is None,
            put_at=self.clock.now(),
            status=job.status,
        )

    def note_move(self, before: Job, after: Job) -> None:
        account = self.accounts.get(after.id)
        if account is None:
            return
        self._note_unfinished(after)
        account.status = after.status
        if after.status is JobStatus.RUNNING and before.status is not JobStatus.RUNNING:
            account.starts += 1
            account.first_start = account.first_start or self.clock.now()
        if after.status is JobStatus.SUCCEEDED and before.status is not JobStatus.SUCCEEDED:
            account.successes += 1
            if account.successes > 1:
                self.violate("a job succeeded twice", job=after.id)
        if after.status is JobStatus.CANCELLED:
            account.reason = after.history[-1].reason
        if after.overlap is not None:
            group = self.running[after.overlap.group]
            (group.add if after.status is JobStatus.RUNNING else group.discard)(after.id)
            if after.status.is_final and account.starts:
                self.last_ends[after.overlap.group] = self.clock.now()

    def _note_unfinished(self, job: Job) -> None:
        """From when on a tick has something to do about a job: to send it, or to look after it."""
        if job.due_at is None:
            self.unfinished.pop(job.id, None)
        else:
            self.unfinished[job.id] = job.due_at if job.is_sent else job.due_at - NEAR


class BookedScheduleStore(MemoryScheduleStore):
    """A schedules table that writes down what is stored."""

    def __init__(self, books: Books, **options: Any) -> None:
        super().__init__(**options)
        self._books = books

    def write(self, schedule: Schedule, *, previous: int | None) -> Written | Outdated:
        before = self.get(schedule.id)
        answer = super().write(schedule, previous=previous)
        if isinstance(answer, Written) and before != schedule:
            self._books.note_schedule(before, schedule)
        return answer

    def put_definition(self, schedule_id: str, name: str, definition: ScheduleDefinition) -> None:
        super().put_definition(schedule_id, name, definition)
        self._books.wishes[schedule_id, name] = self._books.meant
        self._books.definitions[schedule_id, name] = definition

    def put_journal_page(self, schedule_id: str, page: JournalPage) -> None:
        self._books.note_page(self.get(id_of(schedule_id)), schedule_id, page)
        super().put_journal_page(schedule_id, page)

    def put_calendar(self, calendar: Calendar, *, previous: int | None) -> bool:
        before = self.get_calendar(calendar.name)
        stands = super().put_calendar(calendar, previous=previous)
        if stands and before != calendar:
            now = self._books.clock.now()
            self._books.calendars[calendar.name].append((now, self._books.meant))
        return stands


class BookedJobStore(MemoryJobStore):
    """A jobs table that writes down what becomes of schedules' jobs, and checks each start."""

    def __init__(
        self,
        books: Books,
        schedules: MemoryScheduleStore,
        side_items: MemorySideItemStore,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._books = books
        self._schedules = schedules
        self._side_items = side_items

    def put(self, job: Job) -> WriteResult:
        result = super().put(job)
        if isinstance(result, Applied) and result.job == job:
            self._books.note_put(job)
        return result

    def transition(self, move: Transition) -> WriteResult:
        before = self.get(move.job_id)
        result = super().transition(move)
        after = self.get(move.job_id)
        if before is not None and after is not None and after != before:
            self._check(before, after)
            self._books.note_move(before, after)
        return result

    def _check(self, before: Job, after: Job) -> None:
        if after.schedule_id is None:
            return
        if after.status is JobStatus.RUNNING and before.status is not JobStatus.RUNNING:
            self._check_start(after)
        if after.status is JobStatus.CANCELLED and before.status.is_waiting:
            self._check_cancel(before, after)

    def _check_start(self, job: Job) -> None:
        books, now = self._books, self._books.clock.now()
        assert job.occurrence is not None
        # Several triggers of one millisecond have nominal times one after the other.
        due_at = job.run_at if job.schedule_revision is None else max(job.run_at, job.occurrence)
        if now < due_at:
            books.violate("a job started before its time", job=job, now=now)
        if job.overlap is not None:
            others = books.running[job.overlap.group] - {job.id}
            books.most_running = max(books.most_running, len(others) + 1)
            if len(others) + 1 > job.overlap.max_running:
                books.violate("too many run", job=job.id, others=others, overlap=job.overlap)
        is_first = job.token == 1 and job.schedule_revision is not None
        if is_first:
            self._check_first_start(job, job.occurrence)

    def _check_first_start(self, job: Job, nominal: datetime) -> None:
        schedule = self._schedules.get(job.schedule_id or "")
        facts = {"job": job.id, "nominal": nominal, "schedule": job.schedule_id}
        if schedule is None:
            self._books.violate("a job of no schedule started", **facts)
        elif schedule.paused_at is not None and nominal > schedule.paused_at:
            self._books.violate("a job of a paused schedule started", **facts)
        elif schedule.deleted_at is not None and nominal > schedule.deleted_at:
            self._books.violate("a job of a deleted schedule started", **facts)
        elif (
            job.schedule_revision != schedule.revision
            and nominal >= schedule.effective_from
            and not self._was_noted_by_the_change(schedule, nominal)
        ):
            self._books.violate("a job of an older revision started", **facts)

    def _was_noted_by_the_change(self, schedule: Schedule, nominal: datetime) -> bool:
        """Whether the change that opened the revision found the job of a visit that had died."""
        opened_at, opened = self._books.lives[schedule.id].states[-1]
        return nominal <= opened_at and nominal in job_times(opened.journal)

    def _has_had(self, schedule_id: str | None, policy: OverlapPolicy) -> bool:
        definitions = self._books.definitions.items()
        return any(one.overlap is policy for (owner, _), one in definitions if owner == schedule_id)

    def _check_cancel(self, before: Job, after: Job) -> None:
        reason, overlap = after.history[-1].reason, after.overlap
        facts = {"job": after.id, "reason": reason, "overlap": overlap}
        policies = {
            "overlap": {OverlapPolicy.SKIP, OverlapPolicy.CANCEL_OTHER},
            "buffer full": {OverlapPolicy.BUFFER_ONE, OverlapPolicy.BUFFER_ALL},
        }.get(reason)
        if policies is None:
            if reason not in WITHDRAWALS:
                self._books.violate("a job was cancelled for no reason of ours", **facts)
        elif reason == "overlap" and before.token > 0:
            # It held a place, which a job under another definition took from it.
            if not self._has_had(after.schedule_id, OverlapPolicy.CANCEL_OTHER):
                self._books.violate("a job lost its place to no other", **facts)
        elif overlap is None or overlap.policy not in policies:
            self._books.violate("a reason that its policy does not have", **facts)
        elif not self._has_company(before, overlap):
            self._books.violate("skipped, though nobody else was there", **facts)

    def _has_company(self, job: Job, overlap: Overlap) -> bool:
        """Whether another job of its group runs, was admitted, or waits; or did so just now.

        Whoever was looked up may have ended before the cancel that follows from it.
        """
        ended_at = self._books.last_ends.get(overlap.group)
        if ended_at is not None and self._books.clock.now() - ended_at < LONGEST_CALL:
            return True
        digest = overlap_limit(overlap).digest16
        shards = shard_count(overlap.max_running)
        items = [
            item
            for shard in range(shards)
            for item in self._side_items.query_items(limit_partition(digest, shard), limit=1_000)
        ]
        named = {*read_slots(items).holders, *(waiter.job_id for waiter in read_waiters(items))}
        others = self.get_many([job_id for job_id in named if job_id != job.id])
        return any(not other.status.is_final for other in others.values())


def _piece(now: datetime, entry: JournalEntry, known: tuple[JournalEntry, ...]) -> Piece:
    """What is new in an entry: one of a run that went on tells of its older part once more."""
    first = entry.first
    for old in known:
        if old.reason is entry.reason and not old.salt and entry.first <= old.first <= entry.last:
            first = max(first, old.last + TICK)
    return Piece(now, first, entry.last, entry.reason and str(entry.reason))
