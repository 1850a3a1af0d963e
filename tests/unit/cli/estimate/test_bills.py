"""Bills grow with what they should, and the alternatives use what the benchmark writes out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from bench import cost_others
from hourhand.cli.estimate.bills import (
    Alternative,
    event_bridge,
    hourhand_bill,
    reads_a_job,
    step_functions,
    total,
    writes_a_job,
)
from hourhand.cli.estimate.load import Load

MILLION = Load(jobs=1e6)
KINDS = {
    "immediate": MILLION,
    "delayed": replace(MILLION, delayed=1),
    "scheduled": replace(MILLION, scheduled=1),
    "retried": replace(MILLION, retried=1),
}
WAYS: Mapping[str, Callable[[Load], Alternative]] = {
    cost_others.OWN: event_bridge,
    cost_others.STEPS: step_functions,
}
LEFT_OUT = {"log GB", "log GB-month", "table GB-month", "recovery GB-month"}
"""What the benchmark leaves out, on all sides."""


def _a_job(way_of: Callable[[Load], Alternative], load: Load) -> Mapping[str, float]:
    """Return what each further job uses: without polls and what else is there in any case."""
    one, two = way_of(load).bill, way_of(replace(load, jobs=2 * load.jobs)).bill
    used: defaultdict[str, float] = defaultdict(float)
    for service, usage in two.items():
        for name, amount in usage.items():
            used[name] += (amount - one[service][name]) / load.jobs
    return {name: amount for name, amount in used.items() if amount and name not in LEFT_OUT}


@pytest.mark.parametrize(
    "way", [way for way in cost_others.WAYS if way.who in WAYS], ids=lambda way: way.who + way.kind
)
def test_a_way_uses_for_a_job_what_the_benchmark_writes_out(way: cost_others.Way) -> None:
    used = _a_job(WAYS[way.who], KINDS[way.kind])

    assert used == pytest.approx({name: amount for name, amount in way.usage.items() if amount})


def test_a_result_too_large_for_a_record_is_in_s3_alone() -> None:
    record, beside = (event_bridge(replace(MILLION, result_bytes=size)).bill for size in (2e5, 1e6))

    assert record["DynamoDB, writes"]["write unit"] == pytest.approx(1e6 * (2 + 196))
    assert beside["DynamoDB, writes"]["write unit"] == pytest.approx(3e6)
    assert (record["S3"]["s3 put"], beside["S3"]["s3 put"]) == (0, 1e6)


@pytest.mark.parametrize(
    "dearer",
    [
        {"jobs": 2e6},
        {"delayed": 0.3},
        {"scheduled": 0.3, "delayed": 0.3},
        {"retried": 0.1},
        {"keyed": 0.5},
        {"payload_bytes": 300},
        {"payload_bytes": 1e6},
        {"result_bytes": 4096},
        {"result_bytes": 1e6},
        {"seconds": 0.2},
        {"memory_mb": 2048},
        {"retention_days": 30},
    ],
)
def test_more_of_anything_costs_more(dearer: Mapping[str, float]) -> None:
    more = replace(MILLION, **dearer)  # type: ignore[arg-type]  # fields of numbers

    assert total(hourhand_bill(more)) > total(hourhand_bill(MILLION))


def test_jobs_of_schedules_are_not_submitted() -> None:
    assert hourhand_bill(replace(MILLION, scheduled=1))["API Gateway"] == {"http api request": 0}


def test_a_wait_is_paid_for_jobs_that_are_not_due_at_once() -> None:
    def seconds(**kind: float | str) -> float:
        bill = hourhand_bill(Load(jobs=1e6, **kind))  # type: ignore[arg-type]  # by name
        return bill["Lambda, workers"]["lambda GB-s"] / 1e6

    at_once = seconds()
    assert seconds(delay_rounding="down") == at_once
    for kind in ("delayed", "scheduled"):
        waits = [seconds(**{kind: 1.0}, delay_rounding=r) for r in ("up", "nearest", "down")]
        assert waits[0] == pytest.approx(at_once)
        assert waits[0] < waits[1] < waits[2]


def test_batches_and_economy_cost_less() -> None:
    delayed = replace(MILLION, delayed=1)

    assert total(hourhand_bill(replace(MILLION, batch=500))) < total(hourhand_bill(MILLION))
    assert writes_a_job(replace(delayed, economy=True)) == writes_a_job(delayed) - 1


def test_a_batch_holds_no_more_than_a_call_may() -> None:
    assert replace(MILLION, batch=500, payload_bytes=99_800).jobs_a_call == 25
    assert replace(MILLION, batch=500, payload_bytes=2_500_000).jobs_a_call == 1


def test_every_run_of_a_job_reads_a_payload_that_lies_beside_it() -> None:
    load = replace(MILLION, payload_bytes=4096)

    assert reads_a_job(load) == 1
    assert reads_a_job(replace(load, retried=1)) == 3


@pytest.mark.parametrize(("seconds", "heartbeats"), [(0.1, 0), (15, 0), (15.1, 1), (45, 2)])
def test_a_run_beats_every_fifteen_seconds_of_its_life(seconds: float, heartbeats: int) -> None:
    assert replace(MILLION, seconds=seconds).heartbeats == heartbeats
