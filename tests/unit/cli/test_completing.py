"""The shell completes names by asking the API, and says nothing where that does not work."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hourhand.cli.completing import MOST
from hourhand.cli.contexts.store import Context, Contexts, contexts_file, write_contexts
from hourhand.cli.main import app
from tests.functions.cli_rig import Shell
from tests.world.world import World

RUNNER = CliRunner()


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Shell:
    return Shell(World(handlers=("greet", "report")), monkeypatch)


@pytest.fixture
def opened(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Let completion ask the world, and note how the client was made."""
    made: list[dict[str, Any]] = []

    def open_client(endpoint: str | None, **options: Any) -> Any:
        made.append({"endpoint": endpoint, **options})
        return shell._open()

    monkeypatch.setattr("hourhand.Client", open_client)
    return made


def complete(*words: str) -> list[str]:
    """Return what is offered for the last word, as bash is told."""
    environment = {
        "_HOURHAND_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(["hourhand", *words]),
        "COMP_CWORD": str(len(words)),
    }
    ran = RUNNER.invoke(app, [], prog_name="hourhand", env=environment)
    assert ran.exit_code == 0
    return ran.output.split()


def test_verbs_flags_and_their_values_are_offered() -> None:
    assert complete("sched") == ["schedules"]
    assert complete("schedules", "p") == ["put", "pause", "preview"]
    assert complete("schedules", "put", "x", "--over") == ["--overlap"]
    assert complete("schedules", "put", "x", "--overlap", "buf") == ["buffer_one", "buffer_all"]


def test_schedules_and_calendars_are_offered_by_their_names(
    shell: Shell, opened: list[dict[str, Any]]
) -> None:
    for name in ("nightly", "nine", "weekly"):
        shell.type("schedules", "put", name, "-x", "@daily", "--handler", "greet")
    shell.type("calendars", "put", "holidays", "--exclude", "2026-12-25")

    assert complete("schedules", "show", "ni") == ["nightly", "nine"]
    assert complete("schedules", "pause", "nine", "w") == ["weekly"]
    assert complete("calendars", "delete", "") == ["holidays"]


def test_handlers_are_offered(opened: list[dict[str, Any]]) -> None:
    assert complete("schedules", "put", "x", "--handler", "") == ["greet", "report"]
    assert complete("jobs", "submit", "g") == ["greet"]
    assert complete("jobs", "list", "--handler", "r") == ["report"]


def test_jobs_are_offered_by_the_beginning_of_their_ids(
    shell: Shell, opened: list[dict[str, Any]]
) -> None:
    for name in ("one", "only", "two"):
        shell.submit(id=name)
    for verb in ("show", "watch", "cancel", "redrive"):
        assert sorted(complete("jobs", verb, "on")) == ["one", "only"]
    assert sorted(complete("dead-letters", "show", "t")) == ["two"]


def test_it_asks_the_api_that_is_named_once_and_not_for_long(
    opened: list[dict[str, Any]],
) -> None:
    complete("schedules", "show", "--endpoint", "http://127.0.0.1:9", "n")

    assert opened[0]["endpoint"] == "http://127.0.0.1:9"
    assert opened[0]["max_attempts"] == 1
    assert opened[0]["timeout_seconds"] < 3


def test_no_more_are_looked_at_than_anybody_reads(
    shell: Shell, opened: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hourhand.cli.completing.MOST", 2)
    for name in "abc":
        shell.type("schedules", "put", name, "-x", "@daily", "--handler", "greet")

    assert MOST >= 100
    assert complete("schedules", "show", "") == ["a", "b"]


def test_an_api_that_cannot_be_reached_offers_nothing_and_says_nothing() -> None:
    with _completing("hourhand schedules show --endpoint http://127.0.0.1:1 n") as ran:
        assert (ran.returncode, ran.stdout.strip(), ran.stderr) == (0, "", "")


@contextmanager
def _completing(line: str) -> Iterator[subprocess.CompletedProcess[str]]:
    environment = {
        **os.environ,
        "_HOURHAND_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(line.count(" ")),
    }
    yield subprocess.run(
        [sys.executable, "-c", "from hourhand.cli.main import app; app(prog_name='hourhand')"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_script_for_the_shell_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    # Whatever started the tests: not always is there a shell among their parents.
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "/bin/bash"))
    ran = RUNNER.invoke(app, ["--show-completion"], prog_name="hourhand")

    assert ran.exit_code == 0
    assert "complete -o default -F _hourhand_completion hourhand" in ran.output


def test_contexts_are_offered_by_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    write_contexts(Contexts(contexts={"prod": Context(region="r"), "dev": Context(region="r")}))
    assert complete("context", "use", "p") == ["prod"]
    assert complete("jobs", "list", "--context", "d") == ["dev"]
    contexts_file().write_text("{")
    assert complete("context", "use", "p") == []
