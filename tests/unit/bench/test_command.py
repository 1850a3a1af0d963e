"""The command of the benchmarks: what it runs, keeps, tells, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from bench import __main__ as command
from bench import plots
from bench.catalogue import BENCHMARKS, NAMES
from bench.kept import RESULTS
from bench.single import check
from bench.targets import at_most, below, in_words

GOOD: dict[str, Any] = {"ok": True, "columns": ["a"], "rows": [["x"]], "must": []}
MISSED: dict[str, Any] = {
    **GOOD,
    "ok": False,
    "must": [{"what": "speed", "needed": "≥ 8", "reached": "7", "ok": False}],
}


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Let the command keep what it keeps in a folder of the test's, and draw nothing."""
    monkeypatch.setattr(command, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(command, "PAGE", tmp_path / "docs" / "performance.md")
    monkeypatch.setattr(plots, "is_installed", lambda: False)
    (tmp_path / "docs").mkdir()
    return tmp_path


def let_them_end(monkeypatch: pytest.MonkeyPatch, ends: dict[str, Any]) -> list[str]:
    """Let benchmarks end with what ``ends`` says by name, else well; return what was run."""
    ran: list[str] = []
    names = {one.module: one.name for one in BENCHMARKS}

    def run_apart(module: str) -> Any:
        ran.append(names[module])
        return ends.get(names[module], GOOD)

    monkeypatch.setattr(command, "run_apart", run_apart)
    return ran


def write_module(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    (folder / "a_benchmark.py").write_text(textwrap.dedent(body))
    monkeypatch.setenv("PYTHONPATH", str(folder))


# --- the command ---------------------------------------------------------------------------------


def test_all_are_run_in_the_order_of_the_page(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = let_them_end(monkeypatch, {})
    assert command.main([]) == 0
    assert ran == list(NAMES)
    assert {file.stem for file in (folder / "results").iterdir()} == set(NAMES)
    assert re.search(r"All benchmarks: \d+ s\.", capsys.readouterr().out)


def test_some_are_run_and_the_page_has_them(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = let_them_end(monkeypatch, {})
    assert command.main(["peers", "cost"]) == 0
    assert ran == ["cost", "peers"]
    page = (folder / "docs" / "performance.md").read_text()
    assert "ONLY=cost" in page
    assert "ONLY=dispatch" not in page


def test_a_missed_target_ends_with_1_and_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    let_them_end(monkeypatch, {"cost": MISSED})
    assert command.main(["cost"]) == 1
    told = capsys.readouterr().out
    assert "0 of 1 targets reached" in told
    assert "NO" in told


def test_after_one_that_failed_the_others_run_and_its_old_result_stays(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    let_them_end(monkeypatch, {})
    command.main(["cost"])
    before = (folder / "results" / "cost.json").read_text()
    ran = let_them_end(monkeypatch, {"cost": None})
    assert command.main(["cost", "peers"]) == 1
    assert ran == ["cost", "peers"]
    assert (folder / "results" / "cost.json").read_text() == before
    assert "FAILED: cost." in capsys.readouterr().out


def test_all_of_them_may_not_take_too_long(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    let_them_end(monkeypatch, {})
    monkeypatch.setattr(command, "MINUTES_IN_ALL", 0)
    assert command.main([]) == 1
    assert "TOO LONG" in capsys.readouterr().out
    assert command.main(["cost"]) == 0


def test_the_page_alone_runs_nothing_and_fails_where_nothing_can_be_drawn(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = let_them_end(monkeypatch, {})
    assert command.main(["page"]) == 1
    drawn: list[Any] = []
    monkeypatch.setattr(plots, "is_installed", lambda: True)
    monkeypatch.setattr(plots, "draw_all", lambda *given: drawn.append(given))
    assert command.main(["page"]) == 0
    assert drawn == [({}, folder / "docs" / "performance")]
    assert ran == []


def test_a_wrong_name_ends_with_2_and_tells_the_right_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(["cots"])
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert "no benchmark is named cots" in told
    assert "cost" in told


def test_help_names_each_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(["--help"])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert all(f"  {one.name} " in told and one.title in told for one in BENCHMARKS)


# --- one benchmark, in its own process -----------------------------------------------------------


def test_a_benchmark_gives_its_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_module(tmp_path, monkeypatch, f"def run():\n    return {GOOD!r}\n")
    assert command.run_apart("a_benchmark") == GOOD


def test_a_benchmark_that_crashes_tells_its_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    write_module(tmp_path, monkeypatch, "def run():\n    raise OSError('no such emulator')\n")
    assert command.run_apart("a_benchmark") is None
    told = capfd.readouterr().err
    assert "OSError: no such emulator" in told
    assert "Traceback" in told


def test_a_benchmark_that_is_not_there_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    assert command.run_apart("bench.no_such_benchmark") is None
    assert "No module named 'bench.no_such_benchmark'" in capfd.readouterr().err


def test_a_benchmark_that_hangs_is_ended_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    write_module(tmp_path, monkeypatch, "import time\ndef run():\n    time.sleep(60)\n")
    assert command.run_apart("a_benchmark", seconds=0.2) is None
    assert "a_benchmark did not end within" in capfd.readouterr().err


def test_a_benchmark_that_is_ended_can_end_what_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = """
        import pathlib, time
        def run():
            try:
                pathlib.Path("began").touch()
                time.sleep(60)
            finally:
                pathlib.Path("unwound").touch()
    """
    write_module(tmp_path, monkeypatch, body)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{command.ROOT}")
    started = [sys.executable, "-m", "bench.single", "a_benchmark", "result.json"]
    with subprocess.Popen(started, cwd=tmp_path, start_new_session=True) as process:
        while not (tmp_path / "began").exists():
            assert process.poll() is None
            time.sleep(0.02)
        command.end(process)
    assert (tmp_path / "unwound").exists()
    assert process.returncode == 128 + signal.SIGTERM


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ({"ok": True, "rows": []}, "no columns"),
        ({**GOOD, "rows": [["x", 1]]}, "has not the 1 columns"),
        ({**MISSED, "ok": True}, "not what its targets say"),
    ],
)
def test_a_result_that_cannot_be_shown_is_refused(result: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check(result)


@pytest.mark.parametrize("file", sorted(RESULTS.glob("*.json")), ids=lambda file: file.stem)
def test_a_kept_result_is_one_that_can_be_shown(file: Path) -> None:
    check(json.loads(file.read_text()))


# --- figures and targets -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (1234567, "1,234,567"),
        (1234567.8, "1,234,568"),
        (12.0, "12"),
        (1.07512, "1.075"),
        (0.00123, "0.00123"),
        (True, "yes"),
        (None, ""),
        ("as it is", "as it is"),
    ],
)
def test_figures_are_short_and_readable(cell: Any, words: str) -> None:
    assert in_words(cell) == words


def test_a_target_says_what_was_needed_and_what_was_reached() -> None:
    assert at_most("units", 7, 7.0) == {
        "what": "units",
        "needed": "≤ 7",
        "reached": "7",
        "ok": True,
    }
    assert at_most("units", 7.5, 7)["ok"] is False
    assert below("bytes", 1024, 1024, " bytes") == {
        "what": "bytes",
        "needed": "< 1,024 bytes",
        "reached": "1,024 bytes",
        "ok": False,
    }
