"""What ``hourhand init`` writes: its tests pass, its types fit, and ``hourhand dev`` runs it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.http_api import local_api
from tests.e2e.dev_process import DevProcess

COMMAND = (sys.executable, "-m", "hourhand.cli.main")
ENDS_WITHIN_SECONDS = 100


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("init") / "shop"
    run(*COMMAND, "init", str(folder), cwd=folder.parent)
    return folder


def run(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command, and return what it printed; it must succeed."""
    ran = subprocess.run(
        command,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=ENDS_WITHIN_SECONDS,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran


def test_its_tests_pass(project: Path) -> None:
    ran = run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=project)
    assert "3 passed" in ran.stdout


def test_its_tests_notice_a_handler_that_is_not_retried(project: Path, tmp_path: Path) -> None:
    shutil.copytree(project, tmp_path, dirs_exist_ok=True)
    handler = tmp_path / "jobs" / "reports.py"
    handler.write_text(
        handler.read_text().replace("Retry(max_attempts=5)", "Retry(max_attempts=1)")
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 failed, 2 passed" in ran.stdout


def test_the_handlers_of_a_module_that_is_added_are_found(project: Path, tmp_path: Path) -> None:
    shutil.copytree(project, tmp_path, dirs_exist_ok=True)
    (tmp_path / "jobs" / "bills.py").write_text(
        'from hourhand import job\n\n\n@job("send-bill")\ndef send_bill(ctx): ...\n'
    )
    names = "print([one.name for one in load_handlers('jobs')])"
    ran = run(
        sys.executable, "-c", f"from hourhand.handlers import load_handlers; {names}", cwd=tmp_path
    )
    assert ran.stdout.strip() == "['send-bill', 'send-report']"


def test_its_types_fit_and_its_style_does(project: Path) -> None:
    run(sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, "jobs", cwd=project)
    run(sys.executable, "-m", "ruff", "check", "--isolated", ".", cwd=project)


def test_dev_runs_its_handlers_without_a_flag_and_its_schedule_fits(project: Path) -> None:
    dev = DevProcess(["--workers", "1"], {**os.environ, "TMPDIR": str(project.parent)}, project)
    try:
        url = dev.url
        submit = ("jobs", "submit", "send-report", '{"to": "ada@example.org"}', "--json", "--watch")
        ran = run(*COMMAND, *submit, "--endpoint", url, cwd=project)
        ended = json.loads(ran.stdout.splitlines()[-1])
        assert ended["result"] == "Sent the report to ada@example.org."
        put = ("schedules", "put", "morning-report", "-f", "schedules/morning-report.json")
        run(*COMMAND, *put, "--endpoint", url, cwd=project)
        assert local_api(url).get("/v1/schedules/morning-report").body["handler"] == "send-report"
    finally:
        assert dev.end(signal.SIGTERM) == 0
