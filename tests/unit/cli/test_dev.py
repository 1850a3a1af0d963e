"""What ``hourhand dev`` says at its start: commands that work as they stand."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest

from hourhand.cli.dev import first_commands, program_name
from hourhand.domain.jobs.job import JobStatus
from hourhand.handlers import load_handlers
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.testing import FakeHourhand

URL = "http://127.0.0.1:8787"
QUICKSTART = tuple(
    HandlerInfo(name=name) for name in ("check-report", "send-newsletter", "send-welcome")
)
UNTYPED = (HandlerInfo(name="resize"), HandlerInfo(name="send"))
SCHEMA = {"type": "object", "required": ["to"], "properties": {"to": {"type": "string"}}}
TYPED = HandlerInfo(name="write", payload_schema=SCHEMA, payload_examples=({"to": "it's Ada"},))


def submissions(handlers: Sequence[HandlerInfo]) -> list[list[str]]:
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


def test_handlers_that_take_any_json_are_tried_with_an_empty_payload() -> None:
    [only] = submissions(UNTYPED)

    assert only[3:] == ["resize", "{}", "--watch"]


def test_a_handler_with_an_example_payload_is_tried_first_and_with_it() -> None:
    [only] = submissions((*UNTYPED, TYPED))

    assert (only[3], json.loads(only[4])) == ("write", {"to": "it's Ada"})


def test_no_payload_is_suggested_that_would_be_refused() -> None:
    unknown = HandlerInfo(name="write", payload_schema=SCHEMA)
    commands = first_commands("hourhand", URL, (unknown,))

    assert submissions((unknown,)) == []
    assert commands["what a handler takes:"] == ["hourhand handlers show write"]
    assert not any("schedules put" in one for group in commands.values() for one in group)


@pytest.mark.parametrize("handlers", [QUICKSTART, UNTYPED, (TYPED,)])
def test_a_schedule_that_is_suggested_wants_what_its_handler_takes(
    handlers: tuple[HandlerInfo, ...],
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
