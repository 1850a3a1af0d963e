from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hourhand.cli.doctor.findings import Status
from hourhand.cli.doctor.ticking import (
    BOTOCORE,
    judge_dead,
    judge_tick,
    judge_watermark,
    ticking_looks,
)
from hourhand.domain.jobs.job import Priority
from hourhand.domain.ticks.buckets import bucket_of
from hourhand.domain.ticks.timings import Timings
from hourhand.domain.ticks.watermark import Resweep, Watermark
from hourhand.memory import START
from hourhand.ports.control_store import TickRecord
from hourhand.services.jobs.puts import THROTTLED_SHARD
from tests.unit.cli.doctor.fakes import DEPLOYMENT, Answer, client_error, fake_aws, found, statuses

RECORD = TickRecord(at=START, holder="h-1", epoch=7)
SECOND = timedelta(seconds=1)


def judged(record: TickRecord | None, seconds_later: float = 30) -> list[Status]:
    return statuses(judge_tick(record, START + seconds_later * SECOND, Timings()))


@pytest.mark.parametrize(
    ("seconds_later", "status"),
    [
        (-61, Status.FAILED),
        (-60, Status.OK),
        (0, Status.OK),
        (180, Status.OK),
        (181, Status.FAILED),
    ],
)
def test_a_tick_is_neither_two_ticks_old_nor_of_the_future(
    seconds_later: float, status: Status
) -> None:
    assert judged(RECORD, seconds_later) == [status, Status.OK]


def test_the_last_tick_is_told_with_its_leader() -> None:
    tick = next(judge_tick(RECORD, START + 30 * SECOND, Timings()))
    assert tick.seen == "30 s ago, led by h-1 (epoch 7)"


def test_an_installation_without_a_tick_failed_until_its_first() -> None:
    assert judged(None) == [Status.FAILED]


@pytest.mark.parametrize(
    ("version", "expected"),
    [("1.39.17", [Status.WARNING]), ("1.40.0", [Status.OK]), ("1.44.5", [Status.OK]), ("", [])],
)
def test_the_schedulers_botocore_is_judged_by_the_oldest_that_is_supported(
    version: str, expected: list[Status]
) -> None:
    findings = list(judge_tick(replace(RECORD, botocore=version), START, Timings()))
    of_botocore = [finding for finding in findings if finding.check == BOTOCORE]
    assert statuses(of_botocore) == expected
    assert all(version in finding.seen for finding in of_botocore)
    assert all("1.40" in finding.seen for finding in of_botocore)


def test_jobs_that_are_due_and_do_not_start_are_a_warning() -> None:
    late = replace(RECORD, oldest_due_seconds={Priority.HIGH: 60.0, Priority.LOW: 61.0})
    findings = list(judge_tick(late, START, Timings()))
    assert statuses(findings) == [Status.OK, Status.WARNING, Status.OK]
    assert findings[1].seen.endswith("low 61 s")


@pytest.mark.parametrize(("seconds", "status"), [(3600.0, Status.WARNING), (3601.0, Status.FAILED)])
def test_jobs_that_start_an_hour_late_are_a_failure(seconds: float, status: Status) -> None:
    late = replace(RECORD, oldest_due_seconds={Priority.HIGH: 61.0, Priority.LOW: seconds})
    assert judged(late)[1] == status


@pytest.mark.parametrize(
    ("skew_ms", "status"),
    [
        (1000, Status.OK),
        (1001, Status.WARNING),
        (-1001, Status.WARNING),
        (30_001, Status.FAILED),
    ],
)
def test_the_scheduler_s_clock_is_judged_as_it_judges_itself(skew_ms: int, status: Status) -> None:
    assert judged(replace(RECORD, skew_ms=skew_ms))[1] == status


def test_a_watermark_that_stays_behind_is_a_warning() -> None:
    def at(minutes: int) -> Watermark:
        return Watermark(low=bucket_of(START - timedelta(minutes=minutes)))

    assert statuses([judge_watermark(at(3), START)]) == [Status.OK]
    assert statuses([judge_watermark(at(15), START)]) == [Status.OK]
    assert statuses([judge_watermark(at(16), START)]) == [Status.WARNING]
    assert statuses([judge_watermark(None, START)]) == [Status.WARNING]


def test_a_resweep_explains_a_watermark_that_is_far_behind() -> None:
    low = bucket_of(START - timedelta(days=2))
    running = Watermark(low=low, resweep=Resweep("r", low - 60, low + 2000))
    finding = judge_watermark(running, START)
    assert finding.status is Status.WARNING
    assert finding.seen.startswith("a resweep is under way, with 2,000 minutes left to read; ")
    over = Watermark(low=bucket_of(START), resweep=Resweep("r", low, bucket_of(START) - 5))
    assert judge_watermark(over, START).status is Status.OK


def test_dead_jobs_are_counted_as_far_as_they_are_read() -> None:
    assert statuses([judge_dead(0, None, more=False)]) == [Status.OK]
    assert judge_dead(2, "j-9", more=False).seen == "2 unresolved; one of the newest is j-9"
    assert judge_dead(100, "j-9", more=True).seen.startswith("100 or more unresolved")
    assert statuses([judge_dead(1, "j-9", more=False)]) == [Status.WARNING]


def test_a_control_table_that_may_not_be_read_hides_no_dead_jobs() -> None:
    def query(**arguments: Any) -> dict[str, Any]:
        is_first = arguments["ExpressionAttributeValues"][":partition"]["S"] == "dead.0"
        item = {"p": {"S": "j-9"}, "c": {"S": "1767603600000.x"}}
        return {"Items": [item] if is_first else []}

    script: dict[str, Answer] = {
        "dynamodb.get_item": client_error("AccessDeniedException"),
        "dynamodb.query": query,
        "logs.filter_log_events": client_error("ResourceNotFoundException"),
    }
    findings = found(ticking_looks(fake_aws(script), DEPLOYMENT))
    assert statuses(findings) == [Status.FAILED, Status.FAILED, Status.WARNING, Status.OK]
    assert "lacks dynamodb:GetItem" in findings[0].seen
    assert findings[2].seen == "1 unresolved; one of the newest is j-9"


def test_the_shard_that_throttles_most_is_named_by_the_lines_of_the_logs() -> None:
    asked: list[dict[str, Any]] = []

    def events(**arguments: Any) -> dict[str, Any]:
        asked.append(arguments)
        if "nextToken" not in arguments:
            return {"events": [], "nextToken": "more"}
        shards = (3, 1, 3) if arguments["logGroupName"].endswith("-api") else ()
        return {"events": [{"message": json.dumps({"shard": shard})} for shard in shards]}

    script: dict[str, Answer] = {
        "dynamodb.get_item": client_error("AccessDeniedException"),
        "dynamodb.query": {"Items": []},
        "logs.filter_log_events": events,
    }
    finding = found(ticking_looks(fake_aws(script), DEPLOYMENT))[-1]
    assert finding.status is Status.WARNING
    assert finding.seen == "DynamoDB throttled new jobs in shard 3 in 2 calls of the last hour"
    assert "hourhand shards set" in finding.fix
    assert [each["logGroupName"][-6:] for each in asked] == ["ev-api"] * 2 + ["worker"] * 2
    assert {each["filterPattern"] for each in asked} == {f'"{THROTTLED_SHARD}"'}
