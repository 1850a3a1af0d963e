"""What ``hourhand dev`` says at its start: commands that work as they stand."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from hourhand.cli.dev import first_commands, program_name
from hourhand.domain.jobs.job import JobStatus
from hourhand.handlers import load_handlers
from hourhand.testing import FakeHourhand

URL = "http://127.0.0.1:8787"
QUICKSTART = ("check-report", "send-newsletter", "send-welcome")


def submissions(handlers: tuple[str, ...]) -> list[list[str]]:
    """Return the words of each printed command that submits a job."""
    printed = [one for group in first_commands("hourhand", URL, handlers).values() for one in group]
    words = [shlex.split(command) for command in printed]
    return [one for one in words if one[1:3] == ["jobs", "submit"]]


def test_the_first_job_succeeds_and_the_second_is_dead_at_once() -> None:
    first, second = submissions(QUICKSTART)
    assert second[5:7] == ["--max-attempts", "1"]
    assert (first[-1], second[-1]) == ("--watch", "--watch")

    registry = load_handlers("examples.quickstart")
    with FakeHourhand(handlers=registry) as hourhand:
        good = hourhand.client.submit(first[3], json.loads(first[4]))
        bad = hourhand.client.submit(second[3], json.loads(second[4]), retry={"max_attempts": 1})
        hourhand.run_due()
        assert hourhand.client.get(good.id).status == JobStatus.SUCCEEDED
        assert hourhand.client.get(bad.id).status == JobStatus.DEAD


def test_the_one_that_fails_is_said_to_fail() -> None:
    [said] = [
        purpose
        for purpose, commands in first_commands("hourhand", URL, QUICKSTART).items()
        if any("check-report" in command for command in commands)
    ]
    assert "fails on purpose" in said


def test_handlers_of_ones_own_are_tried_with_an_empty_payload() -> None:
    [only] = submissions(("resize", "send"))

    assert only[3:] == ["resize", "{}", "--watch"]


@pytest.mark.parametrize("handlers", [QUICKSTART, ("resize",)])
def test_a_schedule_that_is_suggested_wants_what_its_handler_takes(
    handlers: tuple[str, ...],
) -> None:
    *_, last = first_commands("hourhand", URL, handlers).values()
    words = shlex.split(last[0])
    payload = words[words.index("--payload") + 1]

    assert [words[words.index("--handler") + 1], payload] == submissions(handlers)[0][3:5]


def test_the_command_is_told_as_whoever_reads_it_can_type_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "hourhand"
    script.touch(mode=0o755)

    monkeypatch.setenv("PATH", "")
    assert program_name([str(script)]) == str(script)
    assert program_name([".venv/bin/hourhand"]) == ".venv/bin/hourhand"
    assert program_name(["/somewhere/cli/__main__.py"]) == "python -m hourhand.cli"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program_name([str(script)]) == "hourhand"
    assert program_name([".venv/bin/hourhand"]) == ".venv/bin/hourhand"
