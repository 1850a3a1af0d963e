"""Forty days of the virtual year, with clocks put forward and back; and its accountant.

The whole year: ``python -m proof.virtual_year --schedules 200 --days 365 --seed 1``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from hourhand.domain.schedules.schedule import JournalEntry, Schedule, SkipReason
from proof.virtual_year.audit import Audit
from proof.virtual_year.books import JobAccount
from proof.virtual_year.live import live
from proof.virtual_year.year import Plan, Year

FORTY_DAYS = Plan(
    schedules=40,
    days=40,
    # New York and Berlin put their clocks forward in these days, Santiago and Lord Howe back.
    start=datetime(2026, 3, 1, tzinfo=UTC),
    acts_per_schedule=12,
    outages=40,
)
THREE_DAYS = replace(FORTY_DAYS, schedules=12, days=3, acts_per_schedule=2, outages=2)


@pytest.mark.timeout(400)  # some 20 s on a free core, and many times that on busy ones
@pytest.mark.parametrize("seed", [2])
def test_each_nominal_time_is_exactly_once_a_job_or_a_reason(seed: int) -> None:
    _, verdict = live(replace(FORTY_DAYS, seed=seed))
    assert not verdict.violations, "\n".join(map(str, verdict.violations[:10]))
    happened = {
        *("nominal times", "jobs SUCCEEDED", "jobs withdrawn", "meetings"),
        *("reason: excluded", "reason: misfire", "reason: paused", "reason: replaced"),
        *("reason: window", "skipped at the claim: overlap"),
        *("deaths: ticks", "deaths: api", "deaths: deliveries"),
    }
    assert not [name for name in happened if not verdict.counts[name]], verdict.counts


# --- the accountant notices what is wrong ---


@pytest.fixture(scope="module")
def year() -> Year:
    lived, verdict = live(replace(THREE_DAYS, seed=1))
    assert not verdict.violations, verdict.violations
    return lived


def _forget(entry: JournalEntry) -> list[JournalEntry]:
    return []


def _move(entry: JournalEntry) -> list[JournalEntry]:
    second = timedelta(seconds=1)
    return [replace(entry, first=entry.first + second, last=entry.last + second)]


def _tell_twice(entry: JournalEntry) -> list[JournalEntry]:
    return [entry, replace(entry, reason=SkipReason.MISFIRE)]


def _with_reason(reason: SkipReason) -> Callable[[JournalEntry], list[JournalEntry]]:
    return lambda entry: [replace(entry, reason=reason)]


@pytest.mark.parametrize(
    ("tamper", "noticed"),
    [
        (_forget, "neither job nor reason"),
        (_move, "an entry that does not fit"),
        (_tell_twice, "accounted for twice"),
        (_with_reason(SkipReason.MISFIRE), "a job ran that was skipped"),
        (
            _with_reason(SkipReason.EXCLUDED),
            "the reason excluded does not fit: no write decided it",
        ),
    ],
)
def test_the_accountant_notices_a_journal_that_is_wrong(
    year: Year, tamper: Callable[[JournalEntry], list[JournalEntry]], noticed: str
) -> None:
    found = _audit(year, _some_success(year), tamper)
    assert any(what.startswith(noticed) for what in found), found


def test_the_accountant_notices_a_job_that_was_never_put_and_one_that_nobody_wanted(
    year: Year,
) -> None:
    account = _some_success(year)
    nominal = account.nominal
    account.nominal += timedelta(milliseconds=1)
    try:
        found = _audit(year, account, lambda entry: [entry])
    finally:
        account.nominal = nominal
    assert {"a job in the journal that was never put", "a job ran of no nominal time"} <= found


def _some_success(year: Year) -> JobAccount:
    accounts = year.books.accounts.values()
    return next(account for account in accounts if account.successes and not account.by_hand)


def _audit(
    year: Year, account: JobAccount, tamper: Callable[[JournalEntry], list[JournalEntry]]
) -> set[str]:
    """Audit with the journal's line for one job tampered with; return what was noticed."""

    class Tampered(Audit):
        def journal(self, schedule_id: str, final: Schedule) -> Iterator[JournalEntry]:
            for entry in super().journal(schedule_id, final):
                is_meant = (schedule_id, entry.first) == (account.schedule_id, account.nominal)
                yield from tamper(entry) if is_meant else [entry]

    try:
        Tampered(year.books, year.world.schedules, year.closed_at).run()
        return {violation.what for violation in year.books.violations}
    finally:
        year.books.violations.clear()
