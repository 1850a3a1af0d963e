"""The code on the how-to pages about jobs runs: each page is a project with tests of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "how-to"
LONGEST_PAGE_LINES = 250
CONFTEST = 'pytest_plugins = ["hourhand.testing.fixtures"]\n'

WITH_TESTS = {"unique-work": 3, "unique-jobs": 3, "fan-out": 1, "long-work": 2, "durable-runs": 1}
WITH_TESTS |= {"batches": 2, "graphs": 2, "coming-from-other-flows": 1}
"""Pages that show tests, and how many files of tests each has."""

OURS = {"celery": "shop", "sidekiq": "mailer", "bullmq": "videos", "apscheduler": "office"}
OURS |= {"eventbridge": "weekly", "crontab": "imports"}
"""What `coming-from-other-schedulers` shows of Hourhand: a module for each other system."""

START_EACH = """
import importlib
import pytest

@pytest.mark.parametrize("name", {names!r})
def test_what_is_started_succeeds(hourhand_jobs, name):
    client = hourhand_jobs.client
    importlib.import_module(name).start(client)
    schedules = list(client.schedules.list())
    assert schedules or hourhand_jobs.submitted()
    hourhand_jobs.advance(days=8)
    for one in schedules:
        client.schedules.pause(one.id)
    for job in hourhand_jobs.submitted():
        if job.run_at > hourhand_jobs.now:
            hourhand_jobs.run(job)
    jobs = list(client.list())
    assert jobs
    assert {{job.status for job in jobs}} - {{"CANCELLED"}} == {{"SUCCEEDED"}}
"""

CANARY = """
from jobs import invoices, smoke

def test_a_share_of_the_invoices_is_rendered_by_the_new_handler(hourhand_jobs):
    for number in range(200):
        invoices.submit(str(number))
    smoke.smoke.submit()
    hourhand_jobs.run_due()
    assert {run.outcome for run in hourhand_jobs.runs} == {"SUCCEEDED"}
    assert 1 <= len(hourhand_jobs.submitted("render-invoice-next")) <= 30
"""


def page(name: str) -> str:
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


def python_files(name: str) -> dict[str, str]:
    """Return the Python of a page by the name of its file, which each block begins with."""
    text = page(name)
    blocks = re.findall(r"^```python\n# (\S+)\n(.*?)^```", text, re.M | re.S)
    assert len(blocks) == text.count("```python\n")
    files: dict[str, str] = defaultdict(str)
    for file, code in blocks:
        files[file] += code
    return dict(files)


def run_tests(folder: Path, files: dict[str, str]) -> str:
    """Write a project and run its tests, as a user would; return what pytest prints."""
    for name, code in {"conftest.py": CONFTEST, **files}.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(code, encoding="utf-8")
    # Without the plugins of this repository's own tests, which a user has not.
    options = ["-q", "-W", "error", "-p", "no:schemathesis", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", WITH_TESTS)
def test_the_tests_on_the_page_pass(name: str, tmp_path: Path) -> None:
    files = python_files(name)
    tests = [code for file, code in files.items() if file.startswith("test_")]
    expected = sum(len(re.findall(r"^def test_", code, re.M)) for code in tests)

    assert len(tests) == WITH_TESTS[name]
    assert f"{expected} passed" in run_tests(tmp_path, files)


def test_what_stands_beside_other_schedulers_runs(tmp_path: Path) -> None:
    files = python_files("coming-from-other-schedulers")

    assert set(files) == {f"{module}.py" for module in OURS.values()}
    files["test_start.py"] = START_EACH.format(names=sorted(OURS.values()))
    assert f"{len(OURS)} passed" in run_tests(tmp_path, files)


def test_the_python_of_other_schedulers_is_python() -> None:
    blocks = re.findall(r"^```py\n(.*?)^```", page("coming-from-other-schedulers"), re.M | re.S)

    assert len(blocks) == 2
    for block in blocks:
        compile(block, "coming-from-other-schedulers.md", "exec")


def test_the_handlers_of_the_pipeline_run(tmp_path: Path) -> None:
    files = {**python_files("ci-cd"), "test_canary.py": CANARY}

    assert "1 passed" in run_tests(tmp_path, files)


@pytest.mark.parametrize("name", [*WITH_TESTS, "coming-from-other-schedulers", "ci-cd"])
def test_a_page_is_short_and_its_links_lead_to_headings(name: str) -> None:
    text = page(name)
    assert len(text.splitlines()) <= LONGEST_PAGE_LINES
    for target in re.findall(r"\]\((?!https?://)([^)]+)\)", text):
        file, _, anchor = target.partition("#")
        there = text if not file else (FOLDER / file).read_text(encoding="utf-8")
        titles = re.findall(r"^#+ (.+)$", there, re.M)
        anchors = {re.sub(r"[^\w\- ]", "", title).lower().replace(" ", "-") for title in titles}
        assert not anchor or anchor in anchors, target
