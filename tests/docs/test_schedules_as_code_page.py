"""The declarations and the file on the page about schedules in code and files are right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from hourhand.api.requests.schedules import ScheduleInput
from hourhand.cli.schedules.files import read_schedules
from hourhand.handlers._schedule import MAX_DECLARED_SCHEDULES
from hourhand.services.schedules.declarations import UNDECLARED_NOTE
from tests.docs.blocks import ROOT, blocks_of

PAGE = ROOT / "docs" / "how-to" / "schedules-as-code.md"
DECLARED = """
from hourhand.handlers import describe, load_handlers
for info in describe(load_handlers("block")):
    print(info.name, info.schedule.expressions, info.schedule.timezone)
"""


def test_its_handlers_declare_schedules_that_packing_takes(tmp_path: Path) -> None:
    [block] = [block for block in blocks_of(PAGE) if block.language == "python"]
    (tmp_path / "block.py").write_text(block.text)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", DECLARED],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "nightly ('30 2 * * *',) Europe/Berlin",
        "watch-prices ('*/10 8-17 * * MON-FRI', '@hourly') UTC",
    ]


def test_its_file_holds_schedules_that_the_api_takes(tmp_path: Path) -> None:
    [block] = [block for block in blocks_of(PAGE) if block.language == "yaml"]
    (tmp_path / "reports.yaml").write_text(block.text)
    found = read_schedules([str(tmp_path)])

    assert [one.id for one in found] == ["weekly-report", "monthly-report"]
    for one in found:
        assert ScheduleInput.parse(dict(one.fields)).handler == "tenant-report"


def test_it_names_the_note_and_the_limit() -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert f'"{UNDECLARED_NOTE}"' in text
    assert f"At most {MAX_DECLARED_SCHEDULES:,} handlers" in text
