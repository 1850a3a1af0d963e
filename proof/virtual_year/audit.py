"""The accountant of the virtual year: each nominal time is a job or a reason, exactly once.

It knows when a schedule should fire from `proof.virtual_year.nominal_times` and what was
wanted from the requests, and compares with the journal (its pages and the ring of the hot item)
and with every job that was ever put.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.schedules.schedule import JournalEntry, Schedule, incarnation_key
from hourhand.memory import MemoryScheduleStore
from proof.virtual_year.books import Books, JobAccount, Life
from proof.virtual_year.in_force import Nominal, Pause, Span, pauses_of, spans_of
from proof.virtual_year.nominal_times import Clockwork, Cron, FireTable, nominal_times
from proof.virtual_year.reasons import Reasons

MAX_PAGES = 100_000
ENDS = {JobStatus.SUCCEEDED, JobStatus.DEAD, JobStatus.CANCELLED}


@dataclass
class Audit:
    """The look at all books once the year is over. ``closed_at``: what lies later is not asked."""

    books: Books
    schedules: MemoryScheduleStore
    closed_at: datetime
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.table = FireTable()
        self.reasons = Reasons(self.books, self.table)

    def run(self) -> Counter[str]:
        """Audit every schedule; what is wrong goes to the books' violations."""
        spans = {sid: list(spans_of(self.books, sid, self.closed_at)) for sid in self.books.lives}
        self.table.prepare(self._crons(spans))
        accounts: dict[str, list[JobAccount]] = defaultdict(list)
        for account in self.books.accounts.values():
            if not account.by_hand:
                accounts[account.schedule_id].append(account)
        for schedule_id, life in self.books.lives.items():
            self._audit(schedule_id, life, spans[schedule_id], accounts[schedule_id])
        return self.counts

    def _crons(
        self, spans: dict[str, list[Span]]
    ) -> Iterator[tuple[Cron, Clockwork, datetime, datetime]]:
        for span in (one for of_schedule in spans.values() for one in of_schedule):
            contents = [span.beat.excluded]
            contents += [e for c in span.beat.calendars for _, e in self.books.calendars[c]]
            excluded = [cron for content in contents for cron in content.crons]
            for cron in (*span.beat.crons, *excluded):
                yield cron, span.beat.clockwork, span.start, span.end

    def _audit(
        self, schedule_id: str, life: Life, spans: list[Span], accounts: list[JobAccount]
    ) -> None:
        final = life.newest
        assert final is not None
        nominals = [
            Nominal(at, span)
            for span in spans
            for at in nominal_times(span.beat, span.anchor, span.start, span.end, self.table)
        ]
        times = [nominal.at for nominal in nominals]
        for entry in self.journal(schedule_id, final):
            if not entry.salt and entry.first <= self.closed_at:
                self._enter(schedule_id, entry, _between(nominals, times, entry.first, entry.last))
        for piece in life.pieces:
            for nominal in _between(nominals, times, piece.first, piece.last):
                if piece.reason in nominal.reasons or not (piece.reason or nominal.reasons):
                    nominal.decided_at = piece.at
                    in_force = [span for span in spans if span.start <= piece.at]
                    nominal.decided_in = in_force[-1] if in_force else None
        self._require_each_once(schedule_id, final, nominals, spans)
        self._require_fitting(schedule_id, nominals, list(pauses_of(life)))
        self._require_jobs(schedule_id, nominals, accounts, life)

    # --- the journal ---

    def journal(self, schedule_id: str, final: Schedule) -> Iterator[JournalEntry]:
        """Every entry once, oldest first: a page may tell of what the ring holds still."""
        # The count begins anew once TTL has deleted the record of a deleted schedule.
        most = max(state.incarnation for _, state in self.books.lives[schedule_id].states)
        keys = [incarnation_key(schedule_id, n) for n in range(most, -1, -1)]
        pages = [
            page
            for key in keys
            for page in self.schedules.read_journal(key, before=None, limit=MAX_PAGES)
        ]
        told = [e for page in reversed(pages) if not page.tag for e in page.entries]
        forgotten = self.books.lives[schedule_id].forgotten
        yield from dict.fromkeys([*told, *forgotten, *final.journal])

    def _enter(self, schedule_id: str, entry: JournalEntry, found: Sequence[Nominal]) -> None:
        is_exact = len(found) == entry.count and not entry.is_least and found[0].at == entry.first
        if not is_exact and entry.last <= self.closed_at:
            self._tell("an entry that does not fit", schedule_id, entry.first, entry, of=len(found))
        for nominal in found:
            if entry.reason is None:
                nominal.jobs += 1
            else:
                nominal.reasons.append(entry.reason)

    def _require_each_once(
        self, schedule_id: str, final: Schedule, nominals: list[Nominal], spans: list[Span]
    ) -> None:
        left = {
            span: span.definition.max_occurrences
            for span in spans
            if span.definition.max_occurrences is not None
        }
        for nominal in nominals:
            # What nobody decided, a later definition may have passed over that is used up.
            later = (span for span in spans if span.start >= nominal.span.start)
            ruling = [nominal.ruling] if nominal.told else later
            is_used_up = any(left.get(span, 1) <= 0 for span in ruling)
            if nominal.ruling in left:
                left[nominal.ruling] -= nominal.jobs
            excuse = None if nominal.told else self._excuse(nominal, final, is_used_up=is_used_up)
            if excuse is not None:
                self.counts[excuse] += 1
            elif is_used_up:
                self._tell("told of after max_occurrences", schedule_id, nominal.at, nominal)
            elif nominal.told == 0:
                self._tell("neither job nor reason", schedule_id, nominal.at)
            elif nominal.told > 1:
                self._tell("accounted for twice", schedule_id, nominal.at, nominal)
            else:
                self.counts["nominal times"] += 1

    def _excuse(self, nominal: Nominal, final: Schedule, *, is_used_up: bool) -> str | None:
        """Say why a nominal time need not be accounted for (yet)."""
        if is_used_up:
            return "after the last of max_occurrences"
        if nominal.at <= final.cursor:
            return None
        if final.paused_at is not None:
            return "undecided, since paused at the end"
        is_left = final.next_at is None or final.next_at > self.closed_at
        if is_left and self.reasons.may_be_excluded(nominal, wanted=True):
            # Its schedule is visited next for a later one, or not at all.
            return "excluded, and no visit since"
        return None

    def _require_fitting(
        self, schedule_id: str, nominals: list[Nominal], pauses: list[Pause]
    ) -> None:
        for index, nominal in enumerate(nominals):
            if nominal.jobs and not self.reasons.may_be_excluded(nominal, wanted=False):
                self._tell("a job for an excluded time", schedule_id, nominal.at)
            for reason in nominal.reasons:
                self.counts[f"reason: {reason}"] += 1
                wrong = self.reasons.misfit(reason, index, nominals, pauses)
                if wrong:
                    what = f"the reason {reason} does not fit: {wrong}"
                    self._tell(what, schedule_id, nominal.at, decided_at=nominal.decided_at)

    # --- jobs ---

    def _require_jobs(
        self,
        schedule_id: str,
        nominals: list[Nominal],
        accounts: list[JobAccount],
        life: Life,
    ) -> None:
        own = {account.nominal: account for account in accounts}
        for nominal in nominals:
            account = own.pop(nominal.at, None)
            if nominal.jobs:
                self._require_end(schedule_id, nominal, account, life)
            elif account is not None and _ran(account):
                self._tell("a job ran that was skipped", schedule_id, nominal.at, account, nominal)
        for account in own.values():
            if account.nominal <= self.closed_at:
                self.counts["jobs withdrawn"] += 1
                if _ran(account):
                    what = "a job ran of no nominal time"
                    self._tell(what, schedule_id, account.nominal, account)

    def _require_end(
        self, schedule_id: str, nominal: Nominal, account: JobAccount | None, life: Life
    ) -> None:
        if account is None:
            self._tell("a job in the journal that was never put", schedule_id, nominal.at)
            return
        if account.status not in ENDS:
            self._tell("a job that did not end", schedule_id, nominal.at, account)
        if account.status is JobStatus.CANCELLED and account.starts == 0:
            self.counts[f"skipped at the claim: {account.reason}"] += 1
            if not _fits_at_the_claim(account.reason, nominal, life):
                what = "a job that was due was withdrawn"
                self._tell(what, schedule_id, nominal.at, account)
        else:
            self.counts[f"jobs {account.status.value}"] += 1

    def _tell(
        self, what: str, schedule_id: str, at: datetime, *seen: object, **facts: object
    ) -> None:
        told = {"seen": seen} if seen else {}
        self.books.violate(what, schedule=schedule_id, nominal=at, **told, **facts)


def _fits_at_the_claim(reason: str, nominal: Nominal, life: Life) -> bool:
    """Whether a job that its schedule made may have been refused at its start for this reason.

    A deleted schedule starts nothing any more, and a paused one nothing that waited when the pause
    began: for room, for its jitter, or after a failure.
    """
    if reason == "deleted":
        ends = (state.deleted_at for _, state in life.states)
        return any(end is not None and end >= nominal.at for end in ends)
    if reason == "paused":
        is_after_failure = nominal.span.definition.pause_on_failure
        return is_after_failure or any(pause.start >= nominal.at for pause in pauses_of(life))
    return reason in {"overlap", "buffer full"}


def _ran(account: JobAccount) -> bool:
    return account.starts > 0 or account.status is not JobStatus.CANCELLED


def _between(
    nominals: list[Nominal], times: list[datetime], first: datetime, last: datetime
) -> list[Nominal]:
    return nominals[bisect_left(times, first) : bisect_right(times, last)]
