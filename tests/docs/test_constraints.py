"""The lists of packages to install: each version has its hashes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NEWEST = "constraints-boto3-newest.txt"
"""Asks for whatever is newest, which has no hash yet."""

LISTS = sorted(ROOT.glob("constraints*.txt"))


@pytest.mark.parametrize("path", LISTS, ids=[path.name for path in LISTS])
def test_each_version_has_its_hashes(path: Path) -> None:
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    pinned = [n for n, line in enumerate(lines) if not line.startswith(" ")]
    unhashed = [
        lines[n] for n in pinned if not re.search(r"--hash=sha256:", "".join(lines[n : n + 2]))
    ]
    assert unhashed == (["boto3"] if path.name == NEWEST else [])
