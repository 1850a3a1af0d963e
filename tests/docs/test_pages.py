"""The Python in the docs imports, registers its handlers and runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUN_ELSEWHERE = {"client", "testing", "tutorial", "project-layout", "web-frameworks"}
"""Pages whose blocks are files of one project: tests of their own run them."""

BLOCKS = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in sorted((ROOT / "docs").glob("*.md"))
    if page.stem not in RUN_ELSEWHERE
    for number, block in enumerate(
        re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.M | re.S), 1
    )
]
CHECK = """
import importlib, sys
from hourhand.handlers import describe, load_handlers
registry = load_handlers("block")
names = [info.name for info in describe(registry)]
assert names, "the block registers no handler"
print(*names)
"""


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_in_the_docs_registers_its_handlers(block: str, tmp_path: Path) -> None:
    (tmp_path / "block.py").write_text(block)

    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CHECK],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == set(re.findall(r'@job\("([^"]+)"', block))
