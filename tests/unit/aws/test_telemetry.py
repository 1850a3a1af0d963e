"""Logs are JSON lines, metrics are few and safe to record from several threads."""

from __future__ import annotations

import ast
import importlib.util
import io
import json
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hourhand
from hourhand.aws.telemetry import (
    MAX_VALUES,
    MEASURED_BY,
    NAMESPACE,
    Metric,
    PowertoolsTelemetry,
    TracingNotInstalled,
    service_name,
    start_tracing,
)
from hourhand.handlers import JOB_LOGGER, JobLogger


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def telemetry(stream: io.StringIO) -> PowertoolsTelemetry:
    return PowertoolsTelemetry("worker", stream=stream)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


# --- logs ----------------------------------------------------------------------------------------


def test_a_log_is_a_fixed_sentence_with_fields(
    telemetry: PowertoolsTelemetry, stream: io.StringIO
) -> None:
    telemetry.info("A job was sent.", job_id="j1", attempt=2)
    telemetry.warning("A job was lost.", name="x")

    first, second = lines(stream)
    assert (first["level"], first["message"]) == ("INFO", "A job was sent.")
    assert (first["job_id"], first["attempt"], first["service"]) == ("j1", 2, "hourhand-worker")
    assert first["timestamp"].endswith("+00:00")
    assert first["location"].startswith("test_a_log_is_a_fixed_sentence_with_fields:")
    assert (second["level"], second["name_"]) == ("WARNING", "x")


def test_handlers_lines_go_the_way_of_the_workers_own(
    telemetry: PowertoolsTelemetry, stream: io.StringIO
) -> None:
    logger = JobLogger(logging.getLogger(JOB_LOGGER), {"job_id": "j1"})

    logger.info("Half way.", step=3)

    (line,) = lines(stream)
    assert (line["message"], line["job_id"], line["step"]) == ("Half way.", "j1", 3)


def test_a_line_is_written_once_however_often_a_function_is_wired(stream: io.StringIO) -> None:
    for _ in range(3):
        telemetry = PowertoolsTelemetry("worker", stream=stream)

    telemetry.info("Once.")

    assert len(lines(stream)) == 1


@pytest.fixture
def root_lines() -> Iterator[io.StringIO]:
    """What the root logger's handler writes, as Lambda's runtime has one."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    logging.getLogger().addHandler(handler)
    yield written
    logging.getLogger().removeHandler(handler)


def test_users_loggers_are_not_silenced_for_their_names(
    telemetry: PowertoolsTelemetry, stream: io.StringIO, root_lines: io.StringIO
) -> None:
    telemetry.info("Ours.")
    logging.getLogger("billing.worker.mail").warning("Theirs.")

    assert root_lines.getvalue() == "Theirs.\n"
    assert "Theirs." not in stream.getvalue()


# --- metrics -------------------------------------------------------------------------------------


def test_metrics_are_written_at_the_end_with_the_service_as_their_only_dimension(
    telemetry: PowertoolsTelemetry, stream: io.StringIO
) -> None:
    telemetry.count("ticks")
    telemetry.count("ticks", 2)
    telemetry.observe("lateness_ms", 12.5)
    telemetry.observe("watermark_lag_s", 3, "Seconds")
    assert stream.getvalue() == ""

    telemetry.flush()

    (line,) = lines(stream)
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == NAMESPACE
    assert directive["Dimensions"] == [["service"]]
    assert {m["Name"]: m["Unit"] for m in directive["Metrics"]} == {
        "ticks": "Count",
        "lateness_ms": "Milliseconds",
        "watermark_lag_s": "Seconds",
    }
    assert (line["ticks"], line["lateness_ms"]) == ([1, 2], [12.5])
    assert line["service"] == service_name("hourhand", "worker") == "hourhand-worker"


def test_two_deployments_in_one_account_do_not_share_their_metrics(stream: io.StringIO) -> None:
    telemetry = PowertoolsTelemetry("worker", installation="hourhand-prod", stream=stream)

    telemetry.info("Ours.")
    logging.getLogger(JOB_LOGGER).info("The handler's.")
    telemetry.count("ticks")
    telemetry.flush()

    assert [line["service"] for line in lines(stream)] == ["hourhand-prod-worker"] * 3


def test_nothing_is_written_where_nothing_was_measured(
    telemetry: PowertoolsTelemetry, stream: io.StringIO
) -> None:
    telemetry.count("ticks")
    telemetry.flush()
    telemetry.flush()

    assert len(lines(stream)) == 1


def test_a_gauge_is_written_unless_it_is_zero(
    telemetry: PowertoolsTelemetry, stream: io.StringIO
) -> None:
    telemetry.gauge("dead_jobs", 0, "Count")
    telemetry.gauge("skew_ms", 0.0, "Milliseconds")
    telemetry.gauge("oldest_due_age_s", 0.5, "Seconds")
    # Not a gauge: a job that is not late is one of those that a percentile is taken of.
    telemetry.observe("lateness_ms", 0)
    telemetry.flush()

    (line,) = lines(stream)
    names = {one["Name"] for one in line["_aws"]["CloudWatchMetrics"][0]["Metrics"]}
    assert names == {"oldest_due_age_s", "lateness_ms"}


def test_without_metrics_nothing_is_written_that_cloudwatch_would_charge_for(
    stream: io.StringIO,
) -> None:
    telemetry = PowertoolsTelemetry("scheduler", writes_metrics=False, stream=stream)
    telemetry.count("ticks")
    telemetry.observe("lateness_ms", 12.5)
    telemetry.gauge("dead_jobs", 3, "Count")
    telemetry.warning("A shard could not be read.")
    telemetry.flush()

    (line,) = lines(stream)
    assert line["message"] == "A shard could not be read."
    assert "_aws" not in line


def test_every_line_of_metrics_stays_within_cloudwatchs_bounds(
    telemetry: PowertoolsTelemetry, stream: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(3 * MAX_VALUES + 1):
        telemetry.observe("lateness_ms", number)
    telemetry.flush()

    assert [len(line["lateness_ms"]) for line in lines(stream)] == [90, 90, 90, 1]
    assert capsys.readouterr().out == ""


def test_no_value_is_lost_between_threads(
    telemetry: PowertoolsTelemetry, stream: io.StringIO
) -> None:
    together = threading.Barrier(8)

    def measure() -> None:
        together.wait(20)
        for _ in range(500):
            telemetry.count("ticks")

    threads = [threading.Thread(target=measure) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    telemetry.flush()

    assert sum(len(line["ticks"]) for line in lines(stream)) == 8 * 500


def test_two_functions_do_not_share_their_metrics(stream: io.StringIO) -> None:
    one = PowertoolsTelemetry("api", stream=stream)
    other = PowertoolsTelemetry("worker", stream=stream)

    one.count("jobs_submitted")
    other.flush()
    one.flush()

    (line,) = lines(stream)
    assert line["service"] == "hourhand-api"


def test_a_stream_that_a_handler_closed_does_not_lose_the_metrics(
    telemetry: PowertoolsTelemetry, stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = io.StringIO()
    monkeypatch.setattr(sys, "__stderr__", other)
    telemetry.count("ticks")

    stream.close()
    telemetry.flush()

    assert lines(other)[0]["ticks"] == [1]


def _measured_in_the_source() -> set[str]:
    """Every name that the source passes to a telemetry's ``count``, ``observe`` or ``gauge``."""
    names: set[str] = set()
    for path in Path(hourhand.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            receiver = ast.unparse(node.func.value)
            if node.func.attr in {"count", "observe", "gauge"} and receiver.endswith("telemetry"):
                assert isinstance(node.args[0], ast.Constant), f"{path}: a metric without a name"
                names.add(str(node.args[0].value))
    return names


def test_every_metric_that_is_recorded_is_on_the_list_and_none_else() -> None:
    assert _measured_in_the_source() == set(Metric)


def test_every_metric_is_known_to_be_measured_by_some_function() -> None:
    # That no function measures any other is asserted in every test that has a `World`.
    assert set().union(*MEASURED_BY.values()) == set(Metric)


# --- tracing and imports -------------------------------------------------------------------------


@pytest.mark.skipif(
    importlib.util.find_spec("aws_xray_sdk") is not None, reason="the SDK is installed here"
)
def test_tracing_without_its_sdk_says_what_to_do() -> None:
    with pytest.raises(TracingNotInstalled, match="aws-xray-sdk is not installed"):
        start_tracing("worker")


def test_telemetry_loads_no_tracer_and_no_client() -> None:
    script = "import sys\nimport hourhand.aws.telemetry\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    loaded = set(done.stdout.split())
    assert not {"aws_xray_sdk", "boto3", "botocore.session", "pydantic", "asyncio"} & loaded


class Broken(io.StringIO):
    """A stream whose other end is gone."""

    def write(self, text: str, /) -> int:
        raise BrokenPipeError

    def mend(self) -> None:
        self.write = super().write  # type: ignore[method-assign]


def test_metrics_that_cannot_be_written_fail_no_work(capsys: pytest.CaptureFixture[str]) -> None:
    stream = Broken()
    telemetry = PowertoolsTelemetry("worker", stream=stream)
    telemetry.count("ticks", 3)
    telemetry.flush()
    stream.mend()
    telemetry.count("ticks", 4)
    telemetry.flush()
    (line,) = lines(stream)
    assert line["ticks"] == [4.0], "those before are lost, and not written twice"
    # The logger tells of its own failure, as the standard library has it.
    assert "BrokenPipeError" in capsys.readouterr().err
