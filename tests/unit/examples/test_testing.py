"""The tests that the example shows pass, and they notice when its code breaks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from hourhand.local.entry_points import examples_path

EXAMPLE = examples_path() / "examples" / "testing.py"
FAULTS = {
    "raise NotRetryable": "raise ValueError",
    "days=12)": "days=13)",
    "base_seconds=60": "base_seconds=600",
    "0 9 1 * *": "0 9 2 * *",
}
"""A fault for each of its tests."""


def run(file: Path, folder: Path) -> str:
    """Run the tests in a file as the example says, without this repository's own plugins."""
    command = ["-m", "pytest", "-q", "-p", "hourhand.testing.fixtures", "-p", "no:schemathesis"]
    command += ["-p", "no:cacheprovider", str(file)]
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def test_the_tests_of_the_example_pass() -> None:
    assert "4 passed" in run(EXAMPLE, EXAMPLE.parents[1])


def test_each_test_of_the_example_notices_a_fault(tmp_path: Path) -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    for code, broken in FAULTS.items():
        assert code in text
        text = text.replace(code, broken, 1)
    copy = tmp_path / "test_copy.py"
    copy.write_text(text, encoding="utf-8")

    assert f"{len(FAULTS)} failed" in run(copy, tmp_path)
