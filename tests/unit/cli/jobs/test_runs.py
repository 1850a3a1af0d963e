"""A submission that broke off goes on; one that did not is followed by another."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from hourhand.cli.exits import WRONG_USAGE, CommandError
from hourhand.cli.jobs.runs import MAX_AGE, RunRecord
from hourhand.testing import START

HERE = "http://127.0.0.1:8787"


@pytest.fixture
def jobs_file(tmp_path: Path) -> Path:
    file = tmp_path / "jobs.ndjson"
    file.write_text('{"handler": "a"}\n' * 3)
    return file


def test_a_first_submission_is_on_record_before_anything_is_sent(jobs_file: Path) -> None:
    record = RunRecord(jobs_file)
    run = record.begin("first", HERE, START, None)
    assert (run.name, run.lines) == ("first", 0)
    assert record.path.name == "jobs.ndjson.hourhand-run"
    assert record.path.exists()


def test_one_that_broke_off_goes_on_under_its_name_where_it_was(jobs_file: Path) -> None:
    run = RunRecord(jobs_file).begin("first", HERE, START, None)
    RunRecord(jobs_file).write(replace(run, lines=2, accepted=2))
    again = RunRecord(jobs_file).begin("second", HERE, START + timedelta(hours=1), None)
    assert (again.name, again.lines, again.accepted) == ("first", 2, 2)


def test_the_same_file_after_its_end_is_new_jobs(jobs_file: Path) -> None:
    record = RunRecord(jobs_file)
    record.begin("first", HERE, START, None)
    record.remove()
    record.remove()
    assert RunRecord(jobs_file).begin("second", HERE, START, None).name == "second"


def test_who_asks_for_new_jobs_gets_them(jobs_file: Path) -> None:
    RunRecord(jobs_file).begin("first", HERE, START, None)
    assert RunRecord(jobs_file).begin("second", HERE, START, "new").name == "second"


def test_after_a_change_of_the_file_the_user_says_what_is_meant(jobs_file: Path) -> None:
    run = RunRecord(jobs_file).begin("first", HERE, START, None)
    RunRecord(jobs_file).write(replace(run, lines=2))
    jobs_file.write_text('{"handler": "b"}\n' * 4)
    with pytest.raises(
        CommandError, match="broke off after 2 lines, and the file was changed"
    ) as e:
        RunRecord(jobs_file).begin("second", HERE, START, None)
    assert e.value.exit_code == WRONG_USAGE
    # All lines are sent again, since they may stand elsewhere; the ids of equal ones are known.
    again = RunRecord(jobs_file).begin("third", HERE, START, "resume")
    assert (again.name, again.lines) == ("first", 0)


def test_a_touched_file_is_a_changed_one(jobs_file: Path) -> None:
    RunRecord(jobs_file).begin("first", HERE, START, None)
    os.utime(jobs_file, ns=(1, 1))
    with pytest.raises(CommandError, match="changed"):
        RunRecord(jobs_file).begin("second", HERE, START, None)


def test_after_a_day_the_user_says_what_is_meant(jobs_file: Path) -> None:
    RunRecord(jobs_file).begin("first", HERE, START, None)
    late = START + MAX_AGE + timedelta(seconds=1)
    with pytest.raises(CommandError, match="that is long ago"):
        RunRecord(jobs_file).begin("second", HERE, late, None)
    assert RunRecord(jobs_file).begin("third", HERE, late, "resume").name == "first"


def test_jobs_of_another_api_are_not_taken_for_known_ones(jobs_file: Path) -> None:
    RunRecord(jobs_file).begin("first", HERE, START, None)
    with pytest.raises(CommandError, match=f"it was to {HERE}"):
        RunRecord(jobs_file).begin("second", "https://elsewhere.example", START, None)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": 1}', "null"])
def test_a_record_that_cannot_be_read_is_not_ignored(jobs_file: Path, text: str) -> None:
    RunRecord(jobs_file).path.write_text(text)
    with pytest.raises(CommandError, match="is no record of a submission"):
        RunRecord(jobs_file).begin("second", HERE, START, None)


def test_without_a_place_for_its_record_nothing_is_begun(jobs_file: Path) -> None:
    record = RunRecord(jobs_file)
    record.path.with_name(record.path.name + ".new").mkdir()
    with pytest.raises(CommandError, match="cannot be written, by which a submission"):
        record.begin("first", HERE, START, None)
