"""Which jobs a schedule withdraws before they begin, and which it leaves alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hourhand.domain.groups.admission import (
    Verdict,
    judge_occurrence,
    may_be_missed,
    must_ask_pages,
)
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.jobs.outbox import is_pausing
from hourhand.domain.jobs.waiting import WaitKind, WaitsFor
from hourhand.domain.limits.job_limits import OVERLAP_POSITION
from hourhand.domain.schedules.schedule import MISFIRE_GRACE, JournalEntry, Schedule, SkipReason
from hourhand.memory import START
from tests.world.factories import make_job

SECOND = timedelta(seconds=1)
NOMINAL = START


def _schedule(**overrides: Any) -> Schedule:
    """Return a schedule whose second revision took effect a minute before the nominal time."""
    fields: dict[str, Any] = {
        "id": "nightly",
        "sequence": 9,
        "revision": 2,
        "write_id": "w",
        "definition": "d",
        "created_at": START - 9 * SECOND,
        "updated_at": START,
        "effective_from": NOMINAL - 60 * SECOND,
        "cursor": NOMINAL - 60 * SECOND,
        "next_at": NOMINAL - 60 * SECOND,
        "zone_data": "2026a",
        **overrides,
    }
    return Schedule(**fields)


def _job(**overrides: Any) -> Job:
    fields: dict[str, Any] = {
        "status": JobStatus.ENQUEUED,
        "schedule_id": "nightly",
        "schedule_revision": 1,
        "occurrence": NOMINAL,
        **overrides,
    }
    return make_job(**fields)


PAUSED = _schedule(paused_at=START)
DELETED = _schedule(deleted_at=START)
PASSED = _schedule(cursor=NOMINAL)


VERDICTS: dict[str, list[tuple[Job, Schedule | None, Verdict | SkipReason]]] = {
    "of the present revision it runs": [(_job(schedule_revision=2), _schedule(), Verdict.RUN)],
    "of an older revision it waits until the new one decided its time": [
        (_job(), _schedule(), Verdict.WAIT),
        (_job(), _schedule(cursor=NOMINAL - timedelta(milliseconds=1)), Verdict.WAIT),
        (_job(), _schedule(next_at=NOMINAL), Verdict.WAIT),
    ],
    "that the new revision passed without adopting it, it is replaced": [
        (_job(), PASSED, SkipReason.REPLACED)
    ],
    "it waits for no visit that comes after its time": [
        (_job(), _schedule(next_at=None), SkipReason.REPLACED),
        (_job(), _schedule(next_at=NOMINAL + SECOND), SkipReason.REPLACED),
    ],
    "of a schedule that was paused before its time it is withdrawn": [
        (_job(), PAUSED, SkipReason.PAUSED)
    ],
    "of a schedule that was deleted or forgotten it is withdrawn": [
        (_job(), DELETED, SkipReason.DELETED),
        (_job(), None, SkipReason.DELETED),
        (_job(schedule_revision=None), DELETED, SkipReason.DELETED),
    ],
    "made by hand it is not withdrawn by a pause or a change": [
        (_job(schedule_revision=None), PAUSED, Verdict.RUN),
        (_job(schedule_revision=None), PASSED, Verdict.RUN),
    ],
    "that its schedule took back into service it can be withdrawn again": [
        (_job(round=2), PAUSED, SkipReason.PAUSED)
    ],
}


@pytest.mark.parametrize("cases", VERDICTS.values(), ids=VERDICTS)
def test_a_job(cases: list[tuple[Job, Schedule | None, Verdict | SkipReason]]) -> None:
    for job, schedule, verdict in cases:
        assert judge_occurrence(job, schedule) is verdict


def test_a_job_for_a_time_that_is_on_record_as_skipped_does_not_run() -> None:
    """Its visit stood still until another had counted the time as missed."""
    missed = JournalEntry(
        first=NOMINAL - SECOND, last=NOMINAL + SECOND, count=3, reason=SkipReason.MISFIRE
    )
    elsewhere = replace(missed, first=NOMINAL + SECOND)
    by_hand = replace(missed, salt="trigger")
    noted = JournalEntry(first=NOMINAL, last=NOMINAL)
    job = _job(schedule_revision=2)
    for is_late in (False, True):
        for skipped in ([missed], [elsewhere, missed]):
            schedule = replace(PASSED, journal=tuple(skipped))
            assert judge_occurrence(job, schedule, is_late=is_late) is SkipReason.MISFIRE
        for wanted in ([], [elsewhere], [by_hand], [noted]):
            schedule = replace(PASSED, journal=tuple(wanted))
            assert judge_occurrence(job, schedule, is_late=is_late) is Verdict.RUN
    told = judge_occurrence(job, PASSED, paged=[missed], is_late=True)
    assert told is SkipReason.MISFIRE


def test_a_late_job_that_is_not_on_record_waits_for_the_visit_that_notes_it() -> None:
    job = _job(schedule_revision=2)
    assert judge_occurrence(job, _schedule(), is_late=True) is Verdict.WAIT
    assert judge_occurrence(job, _schedule(), is_late=False) is Verdict.RUN
    assert judge_occurrence(job, _schedule(next_at=None), is_late=True) is Verdict.RUN
    assert judge_occurrence(job, PASSED, is_late=True) is Verdict.RUN


def test_a_job_may_be_missed_from_the_moment_when_a_visit_may_think_so() -> None:
    job, margin = _job(run_at=NOMINAL + SECOND), 2 * SECOND
    last = NOMINAL + SECOND + MISFIRE_GRACE - margin
    assert not may_be_missed(job, last - timedelta(milliseconds=1), margin)
    assert may_be_missed(job, last, margin)


def test_a_job_whose_time_had_come_by_the_change_runs() -> None:
    moment = PASSED.effective_from - timedelta(milliseconds=1)
    due_then, entry = _job(occurrence=moment), JournalEntry(first=moment, last=moment)
    assert judge_occurrence(due_then, replace(PASSED, journal=(entry,))) is Verdict.RUN
    assert judge_occurrence(due_then, PASSED, paged=[entry]) is Verdict.RUN
    due_after = _job(occurrence=PASSED.effective_from)
    assert judge_occurrence(due_after, PASSED) is SkipReason.REPLACED


def test_a_deleted_schedule_starts_nothing_any_more() -> None:
    moment = DELETED.effective_from - timedelta(milliseconds=1)
    entry = JournalEntry(first=moment, last=moment)
    due_then, schedule = _job(occurrence=moment), replace(DELETED, journal=(entry,))
    assert judge_occurrence(due_then, schedule) is SkipReason.DELETED


def test_a_paused_schedule_starts_only_what_was_due_by_then() -> None:
    moment = PAUSED.effective_from - SECOND
    schedule = replace(PAUSED, journal=(JournalEntry(first=moment, last=moment),))
    due_then = _job(occurrence=moment, due_at=START)
    assert judge_occurrence(due_then, schedule) is Verdict.RUN
    # Its jitter was not over yet, or it waited for a slot of its schedule.
    due_later = _job(occurrence=moment, due_at=START + SECOND)
    assert judge_occurrence(due_later, schedule) is SkipReason.PAUSED
    parked = replace(due_then, waits_for=WaitsFor(WaitKind.SLOT, str(OVERLAP_POSITION), 0, 1))
    assert judge_occurrence(parked, schedule) is SkipReason.PAUSED


@pytest.mark.parametrize(
    "changes",
    [{"reason": SkipReason.PAUSED}, {"first": START - 3600 * SECOND}],
    ids=["skipped", "another"],
)
def test_a_job_that_no_revision_has_on_record_does_not_run(changes: dict[str, Any]) -> None:
    moment = PASSED.effective_from - timedelta(milliseconds=1)
    other = replace(JournalEntry(first=moment, last=moment), **changes)
    schedule = replace(PASSED, journal=(other,))
    assert judge_occurrence(_job(occurrence=moment), schedule) is SkipReason.REPLACED


def test_a_job_that_a_change_found_and_noted_is_the_schedules_own() -> None:
    """A visit died after it had made the job; the change that came next decided the time."""
    own = JournalEntry(first=NOMINAL, last=NOMINAL)
    by_hand = replace(own, salt="trigger")
    assert judge_occurrence(_job(), replace(PASSED, journal=(own,))) is Verdict.RUN
    assert judge_occurrence(_job(), PASSED, paged=[own]) is Verdict.RUN
    assert judge_occurrence(_job(), replace(PASSED, journal=(by_hand,))) is SkipReason.REPLACED

    paused = replace(PASSED, journal=(own,), paused_at=NOMINAL)
    assert judge_occurrence(_job(due_at=NOMINAL), paused) is Verdict.RUN
    assert judge_occurrence(_job(due_at=NOMINAL + SECOND), paused) is SkipReason.PAUSED


def test_a_job_from_before_all_that_the_journal_still_tells_runs() -> None:
    moment = PASSED.effective_from - SECOND
    by_hand = JournalEntry(first=moment - SECOND, last=moment - SECOND, salt="trigger")
    later = JournalEntry(first=moment + SECOND / 2, last=moment + SECOND / 2)
    schedule = replace(PASSED, journal=(by_hand, later))
    assert judge_occurrence(_job(occurrence=moment), schedule) is Verdict.RUN


def test_a_failure_stops_nothing_that_was_asked_for_by_hand() -> None:
    failed = make_job(
        status=JobStatus.DEAD,
        pauses_schedule=True,
        schedule_id="nightly",
        finished_at=START - SECOND,
    )
    by_hand = _job(schedule_revision=None, pauses_schedule=True)
    assert judge_occurrence(by_hand, PAUSED, [failed]) is Verdict.RUN


def test_the_pages_are_asked_only_for_what_lies_before_the_ring() -> None:
    moment = PAUSED.effective_from - SECOND
    old = _job(occurrence=moment)
    ring = JournalEntry(first=moment, last=moment)
    by_hand = replace(ring, salt="trigger")
    later = JournalEntry(first=moment + SECOND / 2, last=moment + SECOND / 2)

    assert must_ask_pages(old, PAUSED)
    assert must_ask_pages(old, replace(PAUSED, journal=(by_hand, later)))
    assert not must_ask_pages(old, replace(PAUSED, journal=(ring, later)))
    assert not must_ask_pages(old, None)
    assert not must_ask_pages(replace(old, schedule_revision=2), PAUSED)
    assert not must_ask_pages(replace(old, token=1), PAUSED)
    assert not must_ask_pages(_job(), PAUSED)
    assert must_ask_pages(_job(), PASSED)

    present = replace(old, schedule_revision=2)
    assert must_ask_pages(present, PASSED, is_late=True)
    assert not must_ask_pages(present, replace(PASSED, journal=(ring,)), is_late=True)
    assert not must_ask_pages(replace(present, schedule_revision=None), PASSED, is_late=True)


@pytest.mark.parametrize(
    "schedule", [PAUSED, DELETED, PASSED, None], ids=["paused", "deleted", "replaced", "gone"]
)
@pytest.mark.parametrize(
    "fields",
    [
        {"status": JobStatus.RETRYING},
        {"token": 1},
        {"round": 2, "schedule_revision": None},
    ],
    ids=["retried", "handed back", "redriven by hand"],
)
def test_a_job_that_began_or_was_sent_round_again_runs_whatever_becomes_of_its_schedule(
    schedule: Schedule | None, fields: dict[str, Any]
) -> None:
    assert judge_occurrence(_job(**fields), schedule) is Verdict.RUN


# --- after a failure ----------------------------------------------------------------------------


def _failed(**overrides: Any) -> Job:
    fields = {
        "id": "before",
        "status": JobStatus.DEAD,
        "schedule_id": "nightly",
        "pauses_schedule": True,
        "finished_at": START,
        **overrides,
    }
    return make_job(**fields)


def _next(**overrides: Any) -> Job:
    return _job(schedule_revision=2, pauses_schedule=True, **overrides)


STILL_OWING = _failed(due_at=START, shard=0)


def test_after_a_failure_the_next_job_waits_until_its_schedule_is_paused() -> None:
    assert is_pausing(STILL_OWING)
    assert judge_occurrence(_next(), _schedule(), [STILL_OWING]) is Verdict.WAIT
    for job in (_job(schedule_revision=2), _next(round=2, token=1)):
        # Its own failure would pause nothing, or it was sent round again by hand.
        assert judge_occurrence(job, _schedule(), [STILL_OWING]) is Verdict.RUN


def test_after_a_failure_what_was_due_before_the_pause_is_withdrawn_too() -> None:
    paused = _schedule(
        revision=3, paused_at=START + 30 * SECOND, effective_from=START + 30 * SECOND
    )
    assert judge_occurrence(_next(), paused, [_failed()]) is SkipReason.PAUSED


@pytest.mark.parametrize(
    ("earlier", "schedule"),
    [
        ([_failed()], _schedule()),
        ([_failed()], _schedule(paused_at=START - SECOND)),
        ([_failed(finished_at=None)], PAUSED),
        ([_failed(status=JobStatus.SUCCEEDED)], PAUSED),
        ([_failed(pauses_schedule=False, due_at=START)], PAUSED),
        ([], PAUSED),
    ],
    ids=["resumed", "paused earlier", "no end known", "succeeded", "another rule", "first"],
)
def test_without_a_pause_for_a_failure_the_next_job_is_judged_as_any_other(
    earlier: list[Job], schedule: Schedule
) -> None:
    assert judge_occurrence(_next(), schedule, earlier) is Verdict.RUN
