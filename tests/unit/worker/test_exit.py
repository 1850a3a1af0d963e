"""The end of a process, for once a real one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hourhand.worker import STUCK_EXIT_CODE

SCRIPT = """
import os, sys
from hourhand.aws.telemetry import PowertoolsTelemetry
from hourhand.worker import RunLimits
from tests.unit.worker.fakes import Worker

def spin(ctx):
    print("spinning", end="")
    while True:
        pass

worker = Worker(RunLimits(stop_grace=0, neighbour_grace=0, hand_back=0))
worker.add("spin", spin, timeout_seconds=0)
worker.runtime.end_process = os._exit
sys.setswitchinterval(0.001)
worker.process("spin")
print("the process goes on")
"""


@pytest.mark.timeout(60)
def test_a_spinning_handler_cannot_keep_its_process_alive() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )

    assert done.returncode == STUCK_EXIT_CODE, done.stderr
    assert "the process goes on" not in done.stdout
