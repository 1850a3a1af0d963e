"""The helpers of the benchmarks of schedules count what they say, on loads that take no time."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from bench.schedule_rig import HANDLER, Rig, SharedLedger
from bench.schedule_size import EVERYDAY, sizes_of_visits
from bench.schedules_outage import CASES
from bench.schedules_outage import measure as measure_outage
from bench.schedules_pace import Rush, play
from bench.schedules_scale import BEFORE, DUE_AT, Load, Measured, growth
from bench.schedules_scale import measure as measure_load
from bench.schedules_spread import Spread
from hourhand.domain.schedules.schedule import ScheduleDefinition
from hourhand.memory import MemoryClock

HOURLY = ScheduleDefinition(expressions=("0 * * * *",), handler=HANDLER)


def test_a_call_that_takes_many_costs_the_requests_that_aws_needs() -> None:
    clock = MemoryClock()
    ledger = SharedLedger(clock, seconds_a_request=0.5, shares={"queues.send": 0.1})
    ledger.pay("schedules.get_many", [range(101)])
    ledger.pay("queues.send", [range(20)])
    ledger.pay("jobs.put", [object()])
    assert ledger.calls == {"schedules.get_many": 1, "queues.send": 1, "jobs.put": 1}
    assert ledger.requests == {"schedules.get_many": 2, "queues.send": 2, "jobs.put": 1}
    assert clock.monotonic() == pytest.approx(2 * 0.5 + 2 * 0.05 + 0.5)


def test_a_rig_visits_what_is_due_and_says_when_its_message_was_sent() -> None:
    rig = Rig(BEFORE)
    rig.put("due", HOURLY, next_at=DUE_AT)
    rig.put("idle", HOURLY, next_at=DUE_AT + timedelta(hours=1))
    visited, _ = rig.visit_due()
    [job] = rig.jobs.jobs().values()
    assert (visited, job.schedule_id, job.run_at) == (1, "due", DUE_AT)
    assert rig.ledger.sent == {job.id: BEFORE}
    assert rig.visit_due()[0] == 0


@pytest.mark.parametrize("own_rules", [False, True])
def test_a_load_makes_one_job_for_each_schedule_that_is_due(own_rules: bool) -> None:
    load = Load(30, 25, own_rules)
    measured = measure_load(load)
    assert measured.requests["jobs.put"] == measured.requests["schedules.write"] == 25


def test_growth_is_told_of_the_largest_over_the_smallest() -> None:
    def measured(stored: int, due: int, requests: int) -> Measured:
        one = measure_load(Load(1, 1))
        one.requests.clear()
        one.requests["jobs.put"] = requests
        return replace(one, load=Load(stored, due), cpu_seconds=1.0)

    grown = growth(
        [
            measured(100_000, 0, 10),
            measured(1_000, 1_000, 3_000),
            measured(100_000, 1_000, 6_000),
            measured(100_000, 100, 310),
            measured(100_000, 10_000, 90_010),
        ]
    )
    assert grown["requests, 100 times as many stored"] == 2.0
    assert grown["requests per due, 100 times as many due"] == 3.0


def test_a_small_rush_is_in_time_and_an_endless_one_is_not() -> None:
    quick = play(Rush(3, 900.0))
    assert (quick.late, quick.others_late, quick.ahead > 200) == (0, 0, True)
    lost = play(Rush(3, 900.0, loses_tick=True))
    assert quick.ahead - lost.ahead == pytest.approx(60, abs=1)
    slow = play(Rush(3, 900.0, round_trip_seconds=60.0))
    assert slow.late > 0
    assert slow.others_late > 0


def test_a_spread_that_is_not_even_is_told() -> None:
    even = Spread(10.0, tuple(number / 100 for number in range(1_000)))
    assert even.bins == [100] * 10
    assert even.is_even
    assert not Spread(10.0, even.after[:500] * 2).is_even
    assert not Spread(10.0, (*even.after[1:], 10.0)).is_even
    assert Spread(0.0, (0.0,) * 1_000).is_even


def test_every_nominal_time_of_an_outage_is_accounted_for() -> None:
    by_name = {case.name: case for case in CASES}
    measured = measure_outage(by_name["all, within a year"])
    assert (measured.jobs, measured.accounted, measured.is_through) == (1_050, 1_050, False)


def test_a_visit_that_finds_nothing_due_writes_nothing() -> None:
    twice = replace(EVERYDAY, every=timedelta(seconds=30), visits=8)
    sizes = list(sizes_of_visits(twice))
    assert {size.made for size in sizes[1:]} == {0, 1}
    assert all((size.units > 0) == (size.made > 0) for size in sizes[1:])
