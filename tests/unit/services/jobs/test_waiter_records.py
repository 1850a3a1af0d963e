"""Waiter records: positions, and their deletion in bounded steps."""

from __future__ import annotations

from datetime import timedelta

from hourhand.domain.jobs.pauses import wait_for_resume
from hourhand.domain.jobs.waiting import MAX_POSITION, WaitKind, WaitsFor
from hourhand.memory import START, MemorySideItemStore, RecordingTelemetry
from hourhand.services.jobs.waiter_records import RECORDS_A_READ, WaiterRecords
from tests.world.factories import make_job


def filled(number: int) -> WaiterRecords:
    """Return the records of so many jobs, due a second after each other."""
    records = WaiterRecords(MemorySideItemStore(), RecordingTelemetry())
    for second in range(number):
        job = make_job(id=f"job-{second}", due_at=START + timedelta(seconds=second))
        records.put(job, wait_for_resume(job), START)
    return records


def test_a_position_is_shown_up_to_the_hundredth() -> None:
    records = filled(MAX_POSITION + 1)
    positions = [records.position(make_job(id=f"job-{n}")) for n in (0, 41, 99, 100, 999)]
    assert positions == [1, 42, 100, None, None]


def test_records_are_deleted_in_steps_until_none_is_left() -> None:
    records = filled(RECORDS_A_READ + 1)
    assert records.delete_all("greet", RECORDS_A_READ, lambda: True) is False
    assert len(records.page("greet")) == 1
    assert records.delete_all("greet", RECORDS_A_READ, lambda: False) is False
    assert records.delete_all("greet", 2 * RECORDS_A_READ, lambda: True) is True
    assert records.page("greet") == ()


def test_only_what_a_pause_parked_has_such_a_record() -> None:
    records = filled(1)
    for waits_for in (None, WaitsFor(WaitKind.SLOT, "0"), WaitsFor(WaitKind.TIME)):
        records.forget(make_job(id="job-0", due_at=START, waits_for=waits_for))
    assert len(records.page("greet")) == 1
    job = make_job(id="job-0", due_at=START)
    records.forget(make_job(id="job-0", due_at=START, waits_for=wait_for_resume(job)))
    assert records.page("greet") == ()
