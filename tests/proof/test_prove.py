"""`make prove`: what it takes for a part to hold, and the page that it writes."""

from __future__ import annotations

from pathlib import Path

from tests.proof.figures import Findings
from tests.proof.parts import PARTS, Part
from tests.proof.report import Ended, page

PART = Part(name="wire", title="Faults on the wire", about="All of them.", minutes=1)


def _findings(*violations: str) -> Findings:
    findings = Findings(part="wire", command="python -m tests.proof.wire")
    findings.count("calls", 12345)
    findings.violations.extend(violations)
    findings.notes.append("| call | fault |\n|---|---|\n| `PutItem` | throttled |")
    return findings


def _page(*ended: Ended) -> str:
    return page(ended, day="2026-11-21", machine="2 cores", seconds=3000)


def test_a_part_holds_only_if_it_says_so_and_leaves_its_findings() -> None:
    assert Ended(PART, 1, 0, _findings()).holds
    assert not Ended(PART, 1, 0, None).holds
    assert not Ended(PART, 1, 1, _findings()).holds
    assert not Ended(PART, 1, 0, _findings("a job was lost")).holds


def test_findings_are_read_as_they_were_written(tmp_path: Path) -> None:
    findings = _findings("a job was lost")
    findings.write(tmp_path / "findings.json")
    assert Findings.read(tmp_path / "findings.json") == findings


def test_the_page_shows_each_figure_with_its_command() -> None:
    text = _page(Ended(PART, 75, 0, _findings()))
    assert "**All 1 parts hold.** Run on 2026-11-21 on 2 cores; 50 minutes in all." in text
    assert "`python -m tests.proof.wire` (1 min 15 s)" in text
    assert "| calls | 12,345 |" in text
    assert "| violations | 0 |" in text
    assert "| `PutItem` | throttled |" in text


def test_the_page_says_what_was_violated() -> None:
    text = _page(Ended(PART, 75, 1, _findings("a job was lost")), Ended(PARTS[0], 1, 3, None))
    assert "**Violated: Faults on the wire, A long run.**" in text
    assert "- VIOLATED: a job was lost" in text
    assert "It ended with exit code 3." in text


def test_each_part_is_a_command_of_its_own() -> None:
    folder = Path(__file__).parent
    assert [part.name for part in PARTS if not (folder / part.name / "__main__.py").exists()] == []
    packages = {path.parent.name for path in folder.glob("*/__main__.py")}
    assert packages == {part.name for part in PARTS}
