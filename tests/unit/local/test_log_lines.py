"""What the lines of our processes are taken for."""

from __future__ import annotations

import io

import pytest

from hourhand.aws.telemetry import PowertoolsTelemetry
from hourhand.local.events import Logged, Measured, Printed
from hourhand.local.log_lines import read_line


def lines_of() -> list[str]:
    stream = io.StringIO()
    telemetry = PowertoolsTelemetry("local-lines", stream=stream)
    telemetry.info("An attempt ended.", job_id="job-1", attempt=2)
    telemetry.warning("A heartbeat failed.", job_id="job-1")
    telemetry.count("ticks")
    telemetry.observe("lateness_ms", 12.5)
    telemetry.observe("lateness_ms", 7)
    telemetry.flush()
    return stream.getvalue().splitlines()


def test_a_sentence_is_read_with_its_fields() -> None:
    line = read_line("worker-1", lines_of()[0])
    assert isinstance(line, Logged)
    assert (line.name, line.sentence, line.is_warning) == ("worker-1", "An attempt ended.", False)
    assert line.fields == {"job_id": "job-1", "attempt": 2}


def test_a_warning_is_known_as_one() -> None:
    line = read_line("worker-1", lines_of()[1])
    assert isinstance(line, Logged)
    assert line.is_warning


def test_metrics_are_read_with_every_value() -> None:
    line = read_line("scheduler-1", lines_of()[2])
    assert line == Measured(
        name="scheduler-1", values={"ticks": (1.0,), "lateness_ms": (12.5, 7.0)}
    )


@pytest.mark.parametrize(
    "text", ["Hello", "", "{broken", '{"level": 3}', "[1]", '{"_aws": "no"}', '"text"']
)
def test_everything_else_was_printed_by_user_code(text: str) -> None:
    assert read_line("worker-1", text) == Printed(name="worker-1", line=text)
