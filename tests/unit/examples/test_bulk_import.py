"""An import submits each row once, and names the rows that were refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.bulk_import import import_members
from hourhand.testing import FakeHourhand


def members(folder: Path, *rows: str) -> Path:
    file = folder / "members.csv"
    file.write_text("\n".join(["email,name", *rows]), encoding="utf-8")
    return file


def test_each_row_becomes_a_job_that_succeeds(hourhand_jobs: FakeHourhand, tmp_path: Path) -> None:
    file = members(tmp_path, *[f"{number}@example.org,N" for number in range(600)])

    counts = import_members(hourhand_jobs.client, file)

    assert counts == {"submitted": 600, "not submitted": 0, "unknown": 0}
    runs = hourhand_jobs.run_due()
    assert {run.outcome for run in runs} == {"SUCCEEDED"}
    assert len({run.job_id for run in runs}) == 600


def test_a_second_import_submits_nothing_new(hourhand_jobs: FakeHourhand, tmp_path: Path) -> None:
    file = members(tmp_path, "ada@example.org,Ada")
    for _ in range(2):
        assert import_members(hourhand_jobs.client, file)["submitted"] == 1

    assert len(hourhand_jobs.submitted()) == 1


def test_a_row_that_contradicts_another_is_named(
    hourhand_jobs: FakeHourhand, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = members(tmp_path, "ada@example.org,Ada", "ada@example.org,Augusta")

    counts = import_members(hourhand_jobs.client, file)

    assert counts == {"submitted": 1, "not submitted": 1, "unknown": 0}
    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith("row 3: ")
