"""What ``hourhand init`` writes, deployed to the emulator by the commands that its README names."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.deployed.account import Account
from tests.deployed.command_line import CDK, CommandLine
from tests.deployed.emulator import PYTHON, Emulator

pytestmark = pytest.mark.timeout(900)

COMMAND = (sys.executable, "-m", "hourhand.cli.main")
INSTALLATION = "hourhand-init"
COMMAND_SECONDS = 600
JOB_SECONDS = 120


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not pytest's own folder, which is kept: it would be 100 MB each time.
    folder = Path(tempfile.mkdtemp(prefix="hourhand-init-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def emulator(folder: Path) -> Iterator[Emulator]:
    assert CDK.exists(), f"{CDK} is not there: run make e2e"
    assert PYTHON.exists(), f"{PYTHON} is not there: run make e2e"
    emulator = Emulator.start(folder, enforces_iam=False)
    yield emulator
    emulator.end()


def test_a_new_project_is_deployed_and_runs_its_job(folder: Path, emulator: Emulator) -> None:
    project = folder / "shop"
    run(*COMMAND, "init", str(project), cwd=folder, emulator=emulator)
    CommandLine(emulator=emulator, folder=folder).bootstrap()
    settings = ("-c", "pack_for=this-machine", "-c", f"installation={INSTALLATION}")
    deployed = run(*COMMAND, "deploy", "--yes", "--json", *settings, cwd=project, emulator=emulator)
    answer = json.loads(deployed.splitlines()[-1])
    assert answer["stack"] == INSTALLATION
    account = Account(emulator=emulator)
    api = account.api(answer["outputs"]["ApiUrl"])
    assert "send-report" in [each["name"] for each in api.get("/v1/handlers").body["handlers"]]
    sent = api.post("/v1/jobs", {"handler": "send-report", "payload": {"to": "ada@example.org"}})
    assert sent.status == 201
    target = f"/v1/jobs/{sent.body['id']}"
    job = wait_until_ended(lambda: api.get(target).body)
    assert job["status"] == "SUCCEEDED"
    assert job["result"] == "Sent the report to ada@example.org."


def wait_until_ended(look: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    until = time.monotonic() + JOB_SECONDS
    while time.monotonic() < until:
        job = look()
        if job["finished_at"] is not None:
            return job
        time.sleep(1)
    raise AssertionError(job)


def run(*command: str, cwd: Path, emulator: Emulator) -> str:
    """Run a command on the emulator, and return what it printed; it must succeed."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    ran = subprocess.run(
        command,
        cwd=cwd,
        env={**inherited, **emulator.client_environment(), "CDK_HOME": str(cwd / ".cdk-home")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr[-4000:]}\n{emulator.log_tail()}"
    return ran.stdout
