"""What a cold start imports and tells, by the real wiring."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hourhand.aws.handler_manifest import write_manifest
from hourhand.aws.lambda_init import INITIALIZATION_TYPE
from hourhand.domain.ticks.timings import Timings
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.settings import Settings, settings_environment

SCRIPT = """
import json, sys
from hourhand.local.entry_points import load_entry_point
load_entry_point(sys.argv[1])
print(json.dumps({"loaded": sorted(sys.modules)}))
"""

HANDLERS = """
from hourhand import job

@job("greet")
def greet(ctx, payload):
    return None
"""


def start(function: str, folder: Path, **changes: Any) -> tuple[list[dict[str, Any]], set[str]]:
    """Start a function as Lambda does; return the lines that it logs, and what it imported."""
    manifest = folder / "manifest.json"
    write_manifest(manifest, [HandlerInfo(name="greet")])
    (folder / "own_handlers.py").write_text(HANDLERS)
    settings = Settings(
        installation="hourhand-test",
        jobs_table="jobs",
        control_table="control",
        idempotency_table="idempotency",
        schedules_table="schedules",
        bucket="bucket",
        queue_high="https://queues/high",
        queue_medium="https://queues/medium",
        queue_low="https://queues/low",
        dead_letter_queue="https://queues/dead",
        clock_queue="https://queues/clock",
        handlers="own_handlers",
        manifest=str(manifest),
    )
    path = os.pathsep.join([str(folder), *sys.path])
    environment = {
        **os.environ,
        **settings_environment(replace(settings, **changes)),
        INITIALIZATION_TYPE: "on-demand",
        "PYTHONPATH": path,
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, function],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *lines, last = map(json.loads, done.stdout.splitlines())
    return lines, set(last["loaded"])


SPARED_BY_ALL = {"aws_xray_sdk", "boto3", "croniter", "httpx", "hourhand.client", "s3transfer"}


@pytest.mark.parametrize(
    ("function", "spared"),
    [
        ("api", SPARED_BY_ALL | {"asyncio", "hourhand.handlers"}),
        (
            "scheduler",
            SPARED_BY_ALL
            | {
                "asyncio",
                "pydantic",
                "hourhand.answers",
                "hourhand.domain.schedules.recurrence",
                "hourhand.api.requests",
            }
            | {"hourhand.handlers", "hourhand.services.schedules.operations"}
            # What visits schedules is loaded once one is due.
            | {"hourhand.services.schedules.visit", "hourhand.services.schedules.occurrence_jobs"}
            | {"hourhand.services.jobs.operations", "hourhand.services.schedules.failure_pauses"}
            # The rates of jobs are loaded once a worker or an operator asks for them.
            | {"hourhand.services.limits.rate_admission", "hourhand.services.limits.rate_limiters"}
            | {"hourhand.ports.idempotency_store"},
        ),
        (
            "worker",
            SPARED_BY_ALL
            | {
                "pydantic",
                "hourhand.answers",
                "hourhand.api",
                "hourhand.domain.schedules.recurrence",
                "hourhand.api.requests",
            },
        ),
    ],
)
def test_a_function_imports_only_what_it_needs_and_no_tracer_unless_asked(
    function: str, spared: set[str], tmp_path: Path
) -> None:
    lines, loaded = start(function, tmp_path)
    assert lines == []
    assert "hourhand.wiring.functions" in loaded
    assert ("own_handlers" in loaded) == (function == "worker")
    assert spared & loaded == set()


def test_a_look_ahead_that_outlasts_no_lost_tick_is_told_once_a_cold_start(tmp_path: Path) -> None:
    short = replace(Timings(), look_ahead=timedelta(seconds=180))
    (line,), _ = start("scheduler", tmp_path, timings=short)
    assert (line["level"], line["service"]) == ("WARNING", "hourhand-test-scheduler")
    assert line["message"].startswith("The look-ahead is too short to outlast a lost tick")
    assert line["look_ahead_seconds"] == 180
