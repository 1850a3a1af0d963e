"""`make prove`: what it takes for a part to hold, and the page that it writes."""

from __future__ import annotations

from pathlib import Path

from proof.figures import Findings
from proof.parts import PARTS, Part
from proof.report import Ended, Ran, Whole, page

PART = Part(name="wire", title="Faults on the wire", about="All of them.", minutes=1)


def _findings(*violations: str) -> Findings:
    findings = Findings(part="wire", command="python -m proof.wire")
    findings.count("calls", 12345)
    findings.violations.extend(violations)
    findings.notes.append("| call | fault |\n|---|---|\n| `PutItem` | throttled |")
    return findings


def _ended(exit_code: int, findings: Findings | None, part: Part = PART) -> Ended:
    return Ended(part, 75, exit_code, findings, Ran(day="2026-11-21", machine="2 cores"))


def _page(*ended: Ended) -> str:
    return page(ended, Whole(day="2026-11-21", commit="abc1234", seconds=3000))


def test_a_part_holds_only_if_it_says_so_and_leaves_its_findings() -> None:
    assert _ended(0, _findings()).holds
    assert not _ended(0, None).holds
    assert not _ended(1, _findings()).holds
    assert not _ended(0, _findings("a job was lost")).holds


def test_findings_are_read_as_they_were_written(tmp_path: Path) -> None:
    findings = _findings("a job was lost")
    findings.write(tmp_path / "findings.json")
    assert Findings.read(tmp_path / "findings.json") == findings


def test_the_page_shows_each_figure_with_its_command() -> None:
    text = _page(_ended(0, _findings()))
    assert "**All 1 parts hold.** The last ran on 2026-11-21 on 2 cores." in text
    assert "together took 50 minutes" in text
    assert "`python -m proof.wire` (1 min 15 s)" in text
    assert "| calls | 12,345 |" in text
    assert "| violations | 0 |" in text
    assert "| `PutItem` | throttled |" in text


def test_the_page_says_what_was_violated() -> None:
    text = _page(_ended(1, _findings("a job was lost")), _ended(3, None, PARTS[0]))
    assert "**Violated: Faults on the wire, A long run.**" in text
    assert "- VIOLATED: a job was lost" in text
    assert "It ended with exit code 3." in text


def test_each_part_is_a_command_of_its_own() -> None:
    folder = Path(__file__).parent
    assert [part.name for part in PARTS if not (folder / part.name / "__main__.py").exists()] == []
    packages = {path.parent.name for path in folder.glob("*/__main__.py")}
    assert packages == {part.name for part in PARTS}
