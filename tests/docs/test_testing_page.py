"""The page on testing holds a whole suite of tests of a user's; it passes."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "testing.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n# (\S+)\n(.*?)^```", PAGE, flags=re.M | re.S)


def test_each_block_names_its_file() -> None:
    assert len(BLOCKS) == PAGE.count("```python\n") >= 8


def test_the_tests_on_the_page_pass(tmp_path: Path) -> None:
    files: dict[str, str] = defaultdict(str)
    for name, code in BLOCKS:
        files[name] += code
    for name, code in files.items():
        (tmp_path / name).write_text(code, encoding="utf-8")

    # Without the plugins of this repository's own tests, which a user has not.
    command = [
        "-m",
        "pytest",
        "-q",
        "-W",
        "error",
        "-p",
        "no:schemathesis",
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run(
        [sys.executable, *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    expected = sum(len(re.findall(r"^ *def test_", code, re.M)) for code in files.values())
    assert expected >= 8
    assert f"{expected} passed" in done.stdout, done.stdout + done.stderr
