"""The record of a submission: an interrupted one continues, a complete one does not."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from hourhand.cli.exits import WRONG_USAGE, CommandError
from hourhand.cli.jobs.file_submission import MAX_AGE, Record, Run
from hourhand.memory import START

HERE = "http://127.0.0.1:8787"


@pytest.fixture
def record(tmp_path: Path) -> Record:
    file = tmp_path / "jobs.ndjson"
    file.write_text('{"handler": "a"}\n' * 3)
    return Record(file)


@pytest.fixture
def interrupted(record: Record) -> Run:
    run = record.begin(HERE, START)
    run.lines = run.accepted = 2
    record.write(run)
    return run


def test_a_submission_is_on_record_before_anything_is_sent(record: Record) -> None:
    assert record.begin(HERE, START).lines == 0
    assert record.path.name == "jobs.ndjson.hourhand-run"
    assert record.path.exists()


def test_an_interrupted_submission_continues_under_its_name(
    record: Record, interrupted: Run
) -> None:
    assert record.begin(HERE, START + timedelta(hours=1)) == interrupted


def test_the_same_file_after_its_end_is_a_new_submission(record: Record, interrupted: Run) -> None:
    record.path.unlink()
    assert record.begin(HERE, START).name != interrupted.name


@pytest.mark.parametrize("change", ["content", "time", "endpoint", "age"])
def test_where_it_is_not_the_same_submission_the_user_decides(
    record: Record, interrupted: Run, change: str, tmp_path: Path
) -> None:
    endpoint, now = HERE, START
    if change == "content":
        (tmp_path / "jobs.ndjson").write_text('{"handler": "b"}\n' * 4)
    elif change == "time":
        os.utime(tmp_path / "jobs.ndjson", ns=(1, 1))
    elif change == "endpoint":
        endpoint = "https://elsewhere.example"
    else:
        now = START + MAX_AGE + timedelta(seconds=1)
    with pytest.raises(CommandError, match=f"to {HERE} was interrupted after 2 lines") as raised:
        record.begin(endpoint, now)
    assert f"delete {record.path}" in str(raised.value)
    assert raised.value.exit_code == WRONG_USAGE


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": 1}', "null"])
def test_a_record_that_cannot_be_read_is_not_ignored(record: Record, text: str) -> None:
    record.path.write_text(text)
    with pytest.raises(CommandError, match="is not a record of a submission"):
        record.begin(HERE, START)


def test_without_a_place_for_its_record_nothing_is_sent(record: Record) -> None:
    record.path.with_name(record.path.name + ".new").mkdir()
    with pytest.raises(CommandError, match="the record of the submission, cannot be written"):
        record.begin(HERE, START)
