"""The file of refused jobs: there only if there are any, whole after each, and told if it fails."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hourhand.cli.exits import FAILED, CommandError
from hourhand.cli.jobs.failures_file import FailuresFile


def test_without_a_failure_there_is_no_file(tmp_path: Path) -> None:
    failures = FailuresFile(tmp_path / "failed", after=None)
    failures.close()
    assert not failures.path.exists()


def test_each_failure_is_in_the_file_at_once(tmp_path: Path) -> None:
    failures = FailuresFile(tmp_path / "failed", after=None)
    failures.add(7, "why", {"handler": "x", "run_at": datetime(2026, 1, 1, tzinfo=UTC)})
    [line] = failures.path.read_text().splitlines()
    assert json.loads(line) == {
        "line": 7,
        "reason": "why",
        "job": {"handler": "x", "run_at": "2026-01-01T00:00:00+00:00"},
    }
    failures.close()


def test_a_new_run_begins_anew_and_one_that_goes_on_adds(tmp_path: Path) -> None:
    for after, lines in ((None, 1), (1, 2), (None, 1)):
        failures = FailuresFile(tmp_path / "failed", after=after)
        failures.add(1, "why", "text")
        failures.close()
        assert len(failures.path.read_text().splitlines()) == lines


def test_what_a_run_judges_again_is_not_told_twice_and_what_others_wrote_stays(
    tmp_path: Path,
) -> None:
    path = tmp_path / "failed"
    path.write_text('{"line": 1}\nof others\n{"line": 3}\n{"line": 2}\n')
    FailuresFile(path, after=2).close()
    assert path.read_text().splitlines() == ['{"line": 1}', "of others", '{"line": 2}']


def test_failures_that_cannot_be_taken_out_stop_it_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "failed").write_text('{"line": 3}\n')
    (tmp_path / "failed.new").mkdir()
    with pytest.raises(CommandError, match="cannot be written: "):
        FailuresFile(tmp_path / "failed", after=2)


def test_a_file_that_cannot_be_written_stops_it_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be written: ") as raised:
        FailuresFile(tmp_path / "no" / "such" / "folder", after=None).add(1, "why", "text")
    assert raised.value.exit_code == FAILED
