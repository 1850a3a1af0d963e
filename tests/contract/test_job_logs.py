"""The contract of the port `JobLogs`: the lines of one job in a span, whatever else is there."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest

from hourhand.aws.clients import client_config
from hourhand.aws.job_logs import CloudWatchJobLogs
from hourhand.domain.jobs.log import LogLine, Span
from hourhand.domain.times import floor_ms, to_ms
from hourhand.memory import MemoryJobLogs
from hourhand.ports.job_logs import JobLogs
from tests.contract.conftest import Remote, Services
from tests.contract.fresh import new_id

SECOND = timedelta(seconds=1)
Log = Callable[[datetime, dict[str, Any] | str], None]
"""Writes a line of the worker: JSON, or what it printed."""


@pytest.fixture
def now() -> datetime:
    """CloudWatch Logs takes no line that is older than 14 days, or of the future."""
    return floor_ms(datetime.now(UTC)) - timedelta(minutes=5)


@pytest.fixture
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def made(kind: str, own_services: Services, remote: Remote) -> tuple[JobLogs, Log]:
    if kind == "memory":
        kept = remote(MemoryJobLogs())

        def keep(at: datetime, line: dict[str, Any] | str) -> None:
            # The local cloud hands over what it could read.
            if isinstance(line, dict):
                kept.add(line, at)

        return kept, keep
    own_services(kind, "dynamodb")
    client = boto3.client("logs", config=client_config())
    group = f"/aws/lambda/{new_id()}"
    client.create_log_group(logGroupName=group)
    client.create_log_stream(logGroupName=group, logStreamName="one")

    def put(at: datetime, line: dict[str, Any] | str) -> None:
        text = line if isinstance(line, str) else json.dumps(line)
        client.put_log_events(
            logGroupName=group,
            logStreamName="one",
            logEvents=[{"timestamp": to_ms(at), "message": text}],
        )

    return CloudWatchJobLogs(client, group), put


pytestmark = pytest.mark.parametrize("kind", ["memory", "moto"], indirect=True)


def worker_line(job_id: str, message: str, **fields: Any) -> dict[str, Any]:
    return {"level": "INFO", "message": message, "service": "s", "job_id": job_id, **fields}


def read(logs: JobLogs, job_id: str, start: datetime, end: datetime) -> list[LogLine]:
    found = logs.read(job_id, Span(start, end))
    assert found.is_whole
    return sorted(found.lines, key=lambda line: line.place)


def test_a_job_has_its_own_lines_and_no_others(made: tuple[JobLogs, Log], now: datetime) -> None:
    logs, log = made
    log(now, worker_line("one", "Begun.", attempt=1, handler="greet", rows=3))
    log(now + SECOND, worker_line("other", "Not mine."))
    log(now + SECOND, "printed by the handler of one")
    log(now + SECOND, {"level": "INFO", "message": "of no job", "service": "s"})
    log(now + 2 * SECOND, {**worker_line("one", "Late."), "level": "ERROR"})
    first, second = read(logs, "one", now, now + 3 * SECOND)
    assert (first.at, first.level, first.message, first.attempt) == (now, "INFO", "Begun.", 1)
    assert first.fields == {"rows": 3}
    assert (second.level, second.message, second.attempt) == ("ERROR", "Late.", None)
    assert read(logs, "nobody", now, now + 3 * SECOND) == []


def test_a_span_begins_with_its_start_and_ends_before_its_end(
    made: tuple[JobLogs, Log], now: datetime
) -> None:
    logs, log = made
    millisecond = timedelta(milliseconds=1)
    for number in range(5):
        log(now + number * millisecond, worker_line("one", str(number)))
    told = read(logs, "one", now + millisecond, now + 3 * millisecond)
    assert [line.message for line in told] == ["1", "2"]


def test_lines_of_one_moment_have_an_order_that_stays(
    made: tuple[JobLogs, Log], now: datetime
) -> None:
    logs, log = made
    for number in range(5):
        log(now, worker_line("one", str(number)))
    lines = read(logs, "one", now, now + SECOND)
    assert len({line.place for line in lines}) == 5
    assert read(logs, "one", now, now + SECOND) == lines


def test_an_id_with_a_dot_and_a_hyphen_is_found(made: tuple[JobLogs, Log], now: datetime) -> None:
    logs, log = made
    for job_id in ("k.abcdefghij234567abcdefghij234567", "a-b_c"):
        log(now, worker_line(job_id, job_id))
        assert [line.message for line in read(logs, job_id, now, now + SECOND)] == [job_id]
