"""The journal of a schedule: what became of its nominal times, in as few entries as may be.

The newest entries are kept in the hot item, older ones in pages beside it. Entries lie in the
order of their first nominal time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING

from hourhand.domain.schedules.rule import LATEST, Fire, Work
from hourhand.domain.schedules.schedule import JournalEntry, SkipReason

if TYPE_CHECKING:
    from hourhand.domain.schedules.recurrence import Recurrence

_TICK = timedelta(milliseconds=1)

SETTLED_AFTER = timedelta(seconds=60)
"""Entries older than this cannot be taken back by a change, whatever clock it uses."""

RING_ENTRIES = 24
"""Settled entries kept in the hot item; more go to a page, so that it stays under 1 KB."""

RING_ENTRIES_LEFT = 8
"""What stays when a page is written: pages then hold enough to be worth a write."""


@dataclass(slots=True)
class Runs:
    """Journal entries in the making: neighbours that were skipped for one reason are one entry.

    What is not settled at ``now`` stands alone: a change of the schedule, by any component's clock,
    may take it back.
    """

    now: datetime
    entries: list[JournalEntry] = field(default_factory=list)
    _open: tuple[datetime, SkipReason] | None = None
    _last: datetime = LATEST
    _count: int = 0

    def skip(self, nominal: datetime, reason: SkipReason) -> None:
        """Note a nominal time without a job; it is later than all noted before."""
        if self._open is None or self._open[1] is not reason or nominal > self.now - SETTLED_AFTER:
            self.close()
            self._open = (nominal, reason)
        self._last = nominal
        self._count += 1

    def make(self, nominal: datetime) -> None:
        """Note a nominal time with a job."""
        self.close()
        self.entries.append(JournalEntry(first=nominal, last=nominal))

    def take(self, other: Runs) -> None:
        """Add what was noted apart."""
        other.close()
        if other.entries:
            self.close()
            self.entries += other.entries

    def close(self) -> None:
        """End the run under way; ``entries`` are then complete."""
        if self._open is not None:
            first, reason = self._open
            entry = JournalEntry(first=first, last=self._last, count=self._count, reason=reason)
            self.entries.append(entry)
        self._open, self._count = None, 0


def skipped_runs(
    fires: Iterable[Fire],
    until: datetime,
    work: Work,
    reason: SkipReason,
    made_before: Set[datetime] = frozenset(),
) -> tuple[JournalEntry, ...]:
    """Return the entries of nominal times up to ``until`` that no visit will decide any more.

    ``work``: that of ``fires``. ``made_before``: those that have jobs, made by a visit that died.
    """
    runs = Runs(until)
    for seen, fire in enumerate(fires):
        if seen and work.is_over:
            runs.close()
            # One with a job cannot stand for what is not counted: of these there are few.
            if runs.entries[-1].reason is not None:
                runs.entries[-1] = replace(runs.entries[-1], last=until, is_least=True)
                break
        if fire.at in made_before:
            runs.make(fire.at)
        else:
            runs.skip(fire.at, SkipReason.EXCLUDED if fire.is_excluded else reason)
    runs.close()
    return tuple(runs.entries)


def in_order(entries: Iterable[JournalEntry]) -> tuple[JournalEntry, ...]:
    """Return entries in the order of a journal."""
    return tuple(sorted(entries, key=lambda entry: entry.first))


def merge_runs(journal: Sequence[JournalEntry], now: datetime) -> tuple[JournalEntry, ...]:
    """Put entries in order, and join neighbours that were skipped for one reason.

    What a change may still take back, whatever clock it uses, stays apart.
    """
    settled = now - SETTLED_AFTER
    merged: list[JournalEntry] = []
    for entry in in_order(journal):
        before = merged[-1] if merged else None
        joins = before is not None and entry.reason is not None and before.reason is entry.reason
        if before is not None and joins and entry.last <= settled:
            merged[-1] = replace(
                before,
                last=entry.last,
                count=before.count + entry.count,
                is_least=before.is_least or entry.is_least,
            )
        else:
            merged.append(entry)
    return tuple(merged)


def split_journal(
    journal: tuple[JournalEntry, ...], now: datetime
) -> tuple[tuple[JournalEntry, ...], tuple[JournalEntry, ...]]:
    """Return what goes to a page, and what stays in the hot item.

    Only what is settled goes, oldest first, and enough of it to fill a page. A page that was
    written and whose schedule then was not is written again under its first entry's name, with
    the same entries or more.
    """
    settled = now - SETTLED_AFTER
    unsettled = (
        place
        for place, entry in enumerate(journal)
        if entry.last > settled and not entry.salt  # No change takes back what was made by hand.
    )
    count = next(unsettled, len(journal))
    if count <= RING_ENTRIES:
        return (), journal
    return journal[: count - RING_ENTRIES_LEFT], journal[count - RING_ENTRIES_LEFT :]


def fill_in(
    entries: Sequence[JournalEntry], recurrence: Recurrence | None, work: Work
) -> tuple[list[JournalEntry], dict[datetime, SkipReason]]:
    """Take the times that were skipped, and have a job by now, from the runs of skipped ones.

    Returns the entries, each nominal time in one of them, and by nominal time of a job why it was
    skipped first. ``recurrence`` says which times a run consists of, as far as ``work`` goes and
    as the rule is still the same; else no more than its first and its last are known.
    """
    made = sorted({entry.first for entry in entries if entry.reason is None and not entry.salt})
    left: list[JournalEntry] = []
    skipped_first: dict[datetime, SkipReason] = {}
    for entry in entries:
        inside = made[bisect_left(made, entry.first) : bisect_right(made, entry.last)]
        if entry.reason is None or not inside:
            left.append(entry)
            continue
        times = _times_of(entry, recurrence, work)
        filled = set(inside).intersection(times)
        skipped_first |= dict.fromkeys(filled, entry.reason)
        if len(times) == entry.count:
            left += _runs_of(entry, times, filled)
        else:
            left.append(replace(entry, count=entry.count - len(filled)))
    return left, skipped_first


def _times_of(
    entry: JournalEntry, recurrence: Recurrence | None, work: Work
) -> tuple[datetime, ...]:
    """Return the nominal times of a run of skipped ones: all, or its first and its last."""
    edges = (entry.first, entry.last)[: entry.count]
    if recurrence is None or entry.is_least or entry.count <= len(edges):
        return edges
    is_excluded = entry.reason is SkipReason.EXCLUDED
    times: list[datetime] = []
    for fire in recurrence.fires(entry.first - _TICK, entry.last, work):
        if work.is_over or len(times) > entry.count:
            return edges
        times += [fire.at] if fire.is_excluded is is_excluded else []
    return tuple(times) if len(times) == entry.count else edges


def _runs_of(
    entry: JournalEntry, times: Sequence[datetime], filled: Set[datetime]
) -> list[JournalEntry]:
    """Return the runs that are left of ``entry`` without the times that have jobs."""
    runs: list[JournalEntry] = []
    for is_filled, group in groupby(times, filled.__contains__):
        if not is_filled:
            run = list(group)
            runs.append(replace(entry, first=run[0], last=run[-1], count=len(run)))
    return runs


def job_times(entries: Iterable[JournalEntry]) -> list[datetime]:
    """Return the nominal times for which the schedule itself made jobs."""
    return [entry.first for entry in entries if entry.reason is None and not entry.salt]
