"""Noting jobs in a schedule's history: against others who write it, and never without end."""

from __future__ import annotations

from functools import partial

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.domain.schedules.changes import annotate
from hourhand.domain.schedules.schedule import Schedule
from hourhand.domain.ticks.timings import Timings
from hourhand.memory import START
from hourhand.services.schedules import history
from hourhand.services.schedules.history import ScheduleHistory
from tests.unit.services.schedule_bench import Bench, define
from tests.world.faults import Faults


@pytest.fixture
def bench() -> Bench:
    bench = Bench()
    bench.put(define())
    return bench


def note(bench: Bench, faults: Faults | None = None) -> None:
    """Note "noted" in the schedule, unless it says so."""

    def build(current: Schedule) -> Schedule | None:
        if current.note == "noted":
            return None
        return annotate(current, now=START, write_id="n", note="noted")

    store = (faults or Faults()).wrap(bench.schedules)
    ScheduleHistory(store, Timings(), bench.telemetry).note(bench.schedule(), build)


def test_a_line_is_written_once(bench: Bench) -> None:
    note(bench)
    assert (bench.schedule().note, bench.schedule().sequence) == ("noted", 2)
    note(bench)
    assert bench.schedule().sequence == 2


def test_a_schedule_that_changed_meanwhile_keeps_its_change(bench: Bench) -> None:
    note(bench, Faults().interrupt("write", partial(bench.change, zone_data="new")))
    assert (bench.schedule().note, bench.schedule().zone_data) == ("noted", "new")


def test_a_schedule_that_changes_all_the_time_is_given_up_and_told(bench: Bench) -> None:
    faults = Faults()
    for nth in range(1, history.MAX_RECORDINGS + 1):
        faults.interrupt("write", partial(bench.change, zone_data=str(nth)), nth=nth)
    note(bench, faults)
    [warning] = bench.telemetry.warnings
    assert warning.fields["reason"] == "it changed too often"
    assert bench.schedule().note == ""


@pytest.mark.parametrize("error", [Unavailable("throttled"), OSError("throttled")])
def test_a_store_that_does_not_answer_is_told(bench: Bench, error: Exception) -> None:
    note(bench, Faults().fail("write", error))
    [warning] = bench.telemetry.warnings
    assert warning.fields["reason"] == f"{type(error).__name__}: throttled"
