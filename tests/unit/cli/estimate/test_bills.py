"""Bills grow with what they should, and those of other ways are the benchmark's on paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from bench import cost_others
from hourhand.cli.estimate.fargate import LEAST_TASKS, fleet_for
from hourhand.cli.estimate.load import Load
from hourhand.cli.estimate.others import (
    WayOf,
    always_on,
    bare_queue,
    express_steps,
    own_scheduler,
    standard_steps,
)
from hourhand.cli.estimate.ours import hourhand_bill, reads_a_job, writes_a_job
from hourhand.cli.estimate.prices import dollars

MILLION = Load(jobs=1e6)
KINDS = {
    "immediate": MILLION,
    "delayed": replace(MILLION, delayed=1),
    "scheduled": replace(MILLION, scheduled=1),
    "retried": replace(MILLION, retried=1),
}
WAYS: Mapping[str, WayOf] = {
    cost_others.BARE: bare_queue,
    cost_others.OWN: own_scheduler,
    cost_others.STEPS: standard_steps,
    cost_others.EXPRESS: express_steps,
}
LEFT_OUT = {"log GB", "log GB-month", "table GB-month", "recovery GB-month"}
"""What the benchmark leaves out, on all sides."""


def _a_job(way_of: WayOf, load: Load) -> Mapping[str, float]:
    """Return what each further job uses: without polls and what else is there in any case."""
    one, two = way_of(load).bill, way_of(replace(load, jobs=2 * load.jobs)).bill
    assert one is not None
    assert two is not None
    used = {name: (two.usage[name] - one.usage[name]) / load.jobs for name in one.usage}
    return {name: amount for name, amount in used.items() if amount and name not in LEFT_OUT}


@pytest.mark.parametrize(
    "way", [way for way in cost_others.WAYS if way.who in WAYS], ids=lambda way: way.who + way.kind
)
def test_a_way_uses_for_a_job_what_the_benchmark_writes_out(way: cost_others.Way) -> None:
    used = _a_job(WAYS[way.who], KINDS[way.kind])

    assert used == pytest.approx({name: amount for name, amount in way.usage.items() if amount})


def test_workers_use_for_a_job_what_the_benchmark_writes_out() -> None:
    assert _a_job(always_on, MILLION) == pytest.approx(dict(cost_others.WORKER_USAGE))


@pytest.mark.parametrize("load", [replace(MILLION, delayed=0.1), replace(MILLION, scheduled=0.1)])
def test_a_bare_queue_can_neither_wait_long_nor_repeat(load: Load) -> None:
    way = bare_queue(load)

    assert way.bill is None
    assert "15 minutes" in way.lacks


def test_express_workflows_cannot_last_longer_than_five_minutes() -> None:
    assert express_steps(replace(MILLION, seconds=300)).bill is not None
    assert express_steps(replace(MILLION, seconds=301)).bill is None


def test_express_workflows_are_billed_by_a_tenth_of_a_second() -> None:
    bill = express_steps(replace(MILLION, seconds=0.11)).bill

    assert bill is not None
    assert bill.usage["express GB-s"] == pytest.approx(1e6 * 0.2 * 0.0625)


def test_a_result_too_large_for_a_record_is_in_s3_alone() -> None:
    record, beside = (
        own_scheduler(replace(MILLION, result_bytes=size)).bill for size in (2e5, 1e6)
    )

    assert record is not None
    assert beside is not None
    assert record.usage["write unit"] == pytest.approx(1e6 * (2 + 196))
    assert beside.usage["write unit"] == pytest.approx(3e6)
    assert (record.usage["s3 put"], beside.usage["s3 put"]) == (0, 1e6)


def test_a_fleet_has_a_spare_worker_and_grows_with_the_work() -> None:
    assert fleet_for(Load(jobs=1)).tasks == LEAST_TASKS
    assert fleet_for(Load(jobs=1e8, seconds=1)).tasks == 64


@pytest.mark.parametrize(
    ("memory_mb", "vcpu", "memory_gb"),
    [(128, 0.25, 0.5), (1024, 0.25, 1), (2049, 0.5, 3), (5000, 1, 5), (10_240, 2, 10)],
)
def test_a_fleet_has_the_smallest_tasks_that_hold_the_handlers(
    memory_mb: float, vcpu: float, memory_gb: float
) -> None:
    fleet = fleet_for(Load(jobs=1, memory_mb=memory_mb))

    assert (fleet.vcpu, fleet.memory_gb) == (vcpu, memory_gb)


def test_a_bill_is_the_sum_of_its_services_and_of_what_it_uses() -> None:
    bill = hourhand_bill(replace(MILLION, delayed=0.3, payload_bytes=2048))

    assert bill.dollars == pytest.approx(sum(bill.by_service.values()))
    assert bill.dollars == pytest.approx(dollars(bill.usage))


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

    assert hourhand_bill(more).dollars > hourhand_bill(MILLION).dollars


def test_jobs_of_schedules_are_not_submitted() -> None:
    assert hourhand_bill(replace(MILLION, scheduled=1)).by_service["API Gateway"] == 0


def test_a_wait_is_paid_for_jobs_that_are_not_due_at_once() -> None:
    def seconds(**kind: float | str) -> float:
        bill = hourhand_bill(Load(jobs=1e6, **kind))  # type: ignore[arg-type]  # by name
        return bill.usage_of("Lambda, workers")["lambda GB-s"] / 1e6

    at_once = seconds()
    assert seconds(delay_rounding="down") == at_once
    for kind in ("delayed", "scheduled"):
        waits = [seconds(**{kind: 1.0}, delay_rounding=r) for r in ("up", "nearest", "down")]
        assert waits[0] == pytest.approx(at_once)
        assert waits[0] < waits[1] < waits[2]


def test_batches_and_economy_cost_less() -> None:
    delayed = replace(MILLION, delayed=1)

    assert hourhand_bill(replace(MILLION, batch=500)).dollars < hourhand_bill(MILLION).dollars
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
