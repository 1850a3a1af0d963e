"""What an estimate takes a job to use is what the benchmarks counted."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench import prices
from bench.lateness.scenes import ROUNDED_WORDS
from hourhand.aws.telemetry import MEASURED_BY
from hourhand.cli.estimate import counted
from hourhand.cli.estimate.bills import (
    hourhand_bill,
    reads_a_job,
    requests_a_job,
    total,
    writes_a_job,
)
from hourhand.cli.estimate.load import Load
from hourhand.settings import DelayRounding, MonitoringLevel

ROOT = Path(__file__).parents[4]
RESULT = json.loads((ROOT / "bench" / "results" / "cost.json").read_text())
COUNTED: Mapping[str, Any] = {each["life"]: each for each in RESULT["counted"]}
FLOW_RESULT = json.loads((ROOT / "bench" / "results" / "flow-units.json").read_text())
LATENESS = json.loads((ROOT / "bench" / "results" / "lateness-simulated.json").read_text())
IDLE = RESULT["idle_months"]
KB = 1024


LIVES = {
    "immediate": Load(jobs=1),
    "idempotency key": Load(jobs=1, keyed=1),
    "two heartbeats": Load(jobs=1, seconds=45),
    "one retry (4 + error 1)": Load(jobs=1, retried=1),
    "payload of 10 KB": Load(jobs=1, payload_bytes=10 * KB - 198),
    "result of 10 KB": Load(jobs=1, result_bytes=10 * KB - 198),
    "payload of 300 KB, in S3": Load(jobs=1, payload_bytes=300 * KB),
    "immediate, 500 a call": Load(jobs=500, batch=500),
    "delayed, 25 due at once": Load(jobs=25 * counted.TICKS, delayed=1),
    "an occurrence, overlap skip": Load(jobs=1, scheduled=1),
}
NOT_ESTIMATED = {"DEAD at once (2 + error 1)", "an occurrence, overlap allow"}
BESIDE = "payload of 10 KB"
"""Its read is counted by DynamoDB's documentation: the emulator's count does not know its size."""


def test_every_life_that_was_counted_is_compared() -> None:
    assert set(COUNTED) == set(LIVES) | NOT_ESTIMATED


@pytest.mark.parametrize("life", LIVES)
def test_units_and_requests_of_a_job_are_those_that_were_counted(life: str) -> None:
    usage, load = COUNTED[life]["usage"], LIVES[life]

    assert writes_a_job(load) == pytest.approx(usage["write unit"])
    assert requests_a_job(load) == pytest.approx(usage["sqs request"])


@pytest.mark.parametrize("life", sorted(set(LIVES) - {BESIDE, "payload of 300 KB, in S3"}))
def test_reads_of_a_job_are_those_that_were_counted(life: str) -> None:
    assert reads_a_job(LIVES[life]) == pytest.approx(COUNTED[life]["usage"]["read unit"])


def test_a_payload_beside_its_job_is_read_by_a_unit_for_each_four_kb() -> None:
    assert reads_a_job(LIVES[BESIDE]) == 3
    assert reads_a_job(LIVES[BESIDE]) >= COUNTED[BESIDE]["usage"]["read unit"]


def test_a_payload_in_s3_is_put_marked_and_read_as_was_counted() -> None:
    life = "payload of 300 KB, in S3"
    used = hourhand_bill(LIVES[life])["S3"]

    assert used["s3 put"] == COUNTED[life]["usage"]["s3 put"]
    assert used["s3 get"] == COUNTED[life]["usage"]["s3 get"]


FLOWS: Mapping[str, Mapping[str, float]] = {
    "plain": {},
    "limit of 1": {"limits": 1},
    "limit of 3": {"large-limits": 1},
    "limit of 1, one of two waits": {"limits": 1, "slot-waits": 1 / 2},
    "limit of 3, one of four waits": {"large-limits": 1, "large-slot-waits": 1 / 4},
    "rate": {"rates": 1},
    "rate, one of two waits": {"rates": 1, "rate-waits": 1 / 2},
    "unique key": {"unique-keys": 1},
    "unique key, submitted twice": {"unique-keys": 1, "unique-repeats": 1},
    "debounced": {"debounces": 1},
    "debounced, submitted twice": {"debounces": 1, "debounce-repeats": 1},
    "run": {"runs": 1},
    "run with 10 steps": {"runs": 1, "steps": 10},
    "run with a sleep": {"runs": 1, "sleeps": 1},
    "run with a signal": {"runs": 1, "signals": 1},
    "run with 10 steps, a sleep and a signal": {"runs": 1, "steps": 10, "sleeps": 1, "signals": 1},
    "run with a child": {"runs": 1, "child-calls": 1, "single-children": 1},
    "run with a map of 100": {"runs": 1, "child-calls": 1, "children": 100},
    "run with a map of 48, 16 at a time": {
        "runs": 1,
        "child-calls": 1,
        "children": 48,
        "chunks": 12,
    },
    "batch of 100": {"runs": 1, "child-calls": 1, "members": 100},
}
FLOW_ROWS = {row[0]: row[2:] for row in FLOW_RESULT["rows"]}


@pytest.mark.parametrize("name", sorted(FLOW_ROWS))
def test_limits_runs_and_children_are_priced_as_they_were_counted(name: str) -> None:
    writes, reads, requests, calls = FLOW_ROWS[name]
    load = Load(jobs=1, flows=FLOWS[name])
    workers = hourhand_bill(load)["Lambda, workers"]["lambda call"]
    taken = {
        "write unit": writes_a_job(load),
        "read unit": reads_a_job(load),
        "sqs request": requests_a_job(load),
        "lambda call": workers,
    }
    used = dict(zip(taken, (writes, reads, requests, calls), strict=True))
    assert prices.dollars(taken) == pytest.approx(prices.dollars(used), rel=0.05)
    for unit, amount in taken.items():
        assert amount == pytest.approx(used[unit], rel=0.05), unit


def test_every_flow_that_was_counted_is_compared_and_every_name_is_priced() -> None:
    assert set(FLOW_ROWS) == set(FLOWS)
    assert {flow for flows in FLOWS.values() for flow in flows} == set(counted.FLOWS)


def test_a_submission_that_meets_a_job_costs_a_call_of_the_api() -> None:
    once, twice = (Load(jobs=1e6, flows={"unique-repeats": n}) for n in (0, 1))
    for service, unit in (("API Gateway", "http api request"), ("Lambda, API", "lambda GB-s")):
        used = [hourhand_bill(load)[service][unit] for load in (once, twice)]
        assert used[1] == pytest.approx(2 * used[0])


def test_children_are_kept_and_run_as_their_runs_are() -> None:
    alone, family = (Load(jobs=1e6, flows=flows) for flows in ({}, {"children": 9}))
    kept, ran = "DynamoDB, storage", "Lambda, workers"
    bills = [hourhand_bill(load) for load in (alone, family)]
    assert bills[1][kept]["table GB-month"] == pytest.approx(10 * bills[0][kept]["table GB-month"])
    assert bills[1][ran]["lambda GB-s"] == pytest.approx(10 * bills[0][ran]["lambda GB-s"])


@pytest.mark.parametrize(("tenants", "share"), [(0.0, 0.0), (0.5, 0.5), (1.0, 1.0)])
def test_fair_queues_are_priced_for_jobs_of_a_tenant_alone(tenants: float, share: float) -> None:
    load = Load(jobs=1e6, tenants=tenants)
    used = hourhand_bill(load)["SQS"]

    assert used["fair queue request"] == pytest.approx(share * load.jobs * requests_a_job(load))


@pytest.mark.parametrize("life", ["immediate", "immediate, 500 a call"])
def test_the_way_in_is_that_of_the_benchmark(life: str) -> None:
    load, way_in = LIVES[life], COUNTED[life]["way_in"]
    bill = hourhand_bill(load)

    assert bill["API Gateway"]["http api request"] / load.jobs == pytest.approx(
        way_in["http api request"]
    )
    for name in ("lambda call", "lambda GB-s"):
        assert bill["Lambda, API"][name] / load.jobs == pytest.approx(way_in[name])


def test_the_workers_use_what_the_benchmark_takes_them_to_use() -> None:
    used, usage = hourhand_bill(Load(jobs=1))["Lambda, workers"], COUNTED["immediate"]

    for name in ("lambda call", "lambda GB-s"):
        assert used[name] == pytest.approx(usage["usage"][name])


@pytest.mark.parametrize("level", MonitoringLevel)
def test_a_month_without_jobs_costs_what_the_benchmark_says(level: MonitoringLevel) -> None:
    for pollers, name in (
        (False, "dollars"),
        (True, "dollars_with_five_polls_of_each_queue"),
    ):
        ceiling = pollers or level is MonitoringLevel.FULL
        load = Load(jobs=0, monitoring=level, has_ceiling=ceiling)
        assert total(hourhand_bill(load)) == pytest.approx(IDLE[level][name], abs=0.01)


def test_an_idle_month_of_the_stage_dev_costs_less_than_a_dollar() -> None:
    load = Load(jobs=0, monitoring=MonitoringLevel.BASIC, has_ceiling=False)

    assert total(hourhand_bill(load)) < 1.0


def test_without_full_monitoring_jobs_are_measured_by_no_metric() -> None:
    for level in (MonitoringLevel.BASIC, MonitoringLevel.NONE):
        bill = hourhand_bill(Load(jobs=1e6, monitoring=level))
        assert bill["CloudWatch, monitoring"]["metric-month"] == 0


def test_a_million_small_jobs_cost_what_the_page_on_deploying_says() -> None:
    page = (ROOT / "docs" / "how-to" / "deploy.md").read_text()
    table = page.split("**A million small jobs**")[1].split("**in all**")[1]
    said = re.search(r"\*\*([\d.]+)\*\*", table)
    busy, idle = hourhand_bill(Load(jobs=1e6)), hourhand_bill(Load(jobs=0))
    listed = {"http api request", "lambda call", "lambda GB-s", "write unit", "sqs request"}
    more = sum(
        prices.dollars({name: amount - idle[service][name]})
        for service, usage in busy.items()
        for name, amount in usage.items()
        if name in {*listed, "log GB"}
    )

    assert said is not None
    assert more == pytest.approx(float(said[1]), abs=0.01)


@pytest.mark.parametrize("level", MonitoringLevel)
def test_an_idle_tick_and_the_stack_are_as_counted(level: MonitoringLevel) -> None:
    tick, template = IDLE[level]["tick"], IDLE[level]["template"]

    assert tick["write units"] == counted.IDLE_TICK_WRITES
    assert tick["requests to SQS"] == counted.IDLE_TICK_REQUESTS
    assert template["event sources"] == counted.EVENT_SOURCES
    assert counted.WATCHING[level] == counted.Watching(
        calls=tick["calls"],
        reads=tick["read units"],
        metrics=len(tick["metrics"]),
        log_bytes=tick["log bytes"],
        alarm_metrics=template["alarm metrics"],
        dashboards=template["dashboards"],
    )


def test_metrics_of_jobs_are_measured_and_are_not_there_without_jobs() -> None:
    measured = set().union(*MEASURED_BY.values())

    assert set(counted.METRICS_OF_JOBS) <= measured
    assert not set(counted.METRICS_OF_JOBS) & set(IDLE["full"]["tick"]["metrics"])


def test_the_prices_are_those_of_the_benchmark() -> None:
    priced = {each["name"]: each for each in RESULT["prices"]}

    assert {each["name"]: each for each in prices.table()} == priced


@pytest.mark.parametrize(("rounding", "words"), ROUNDED_WORDS.items())
def test_a_wait_is_the_one_that_was_simulated_where_sqs_is_exact(
    rounding: DelayRounding, words: str
) -> None:
    (scene,) = (s for s in LATENESS["scenes"] if s["scene"] == f"delays rounded {words}, SQS exact")
    waited = counted.WAITED_SECONDS[rounding]
    assert waited == pytest.approx(scene["waited_ms_a_delayed_job"] / 1000, abs=0.001)
