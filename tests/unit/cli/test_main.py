"""The command's flags, their twins in the environment, and its exit codes."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest
from rich.text import Text
from typer.testing import CliRunner

from hourhand.cli.dev import DevOptions
from hourhand.cli.main import app, main
from hourhand.cli.reference import Verb, verbs_of
from hourhand.domain.errors import FieldError, InvalidInput

RUNNER = CliRunner(env={"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"})
MARKUP = re.compile(r"\[(bold|dim|/)\]")
ANSI = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def dev(monkeypatch: pytest.MonkeyPatch) -> list[DevOptions]:
    """Note what `dev` would be told, instead of serving."""
    told: list[DevOptions] = []
    monkeypatch.setattr("hourhand.cli.dev.run_dev", told.append)
    return told


def test_flags_have_defaults_that_suit_a_first_run(dev: list[DevOptions]) -> None:
    assert RUNNER.invoke(app, ["dev", "--handlers", "my.jobs"]).exit_code == 0
    assert dev == [
        DevOptions(
            handlers="my.jobs",
            port=8787,
            backend="memory",
            tick_seconds=60.0,
            workers=4,
            batch_size=1,
            speed=1.0,
            detail=0,
        )
    ]


def test_every_flag_has_a_twin_in_the_environment(dev: list[DevOptions]) -> None:
    twins = {
        "HOURHAND_HANDLERS": "my.jobs",
        "HOURHAND_PORT": "9000",
        "HOURHAND_BACKEND": "memory",
        "HOURHAND_TICK_SECONDS": "5",
        "HOURHAND_WORKERS": "2",
        "HOURHAND_BATCH_SIZE": "10",
        "HOURHAND_SPEED": "60",
    }
    assert RUNNER.invoke(app, ["dev"], env=twins).exit_code == 0
    assert dev == [
        DevOptions(
            handlers="my.jobs",
            port=9000,
            backend="memory",
            tick_seconds=5.0,
            workers=2,
            batch_size=10,
            speed=60.0,
            detail=0,
        )
    ]


@pytest.mark.parametrize(("flag", "detail"), [("--quiet", -1), ("-q", -1), ("--verbose", 1)])
def test_one_may_ask_for_less_or_more(dev: list[DevOptions], flag: str, detail: int) -> None:
    RUNNER.invoke(app, ["dev", "--handlers", "my.jobs", flag])
    assert dev[0].detail == detail


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["dev"], "--handlers"),
        (["dev", "--handlers", "m", "--port", "70000"], "--port"),
        (["dev", "--handlers", "m", "--batch-size", "11"], "--batch-size"),
        (["dev", "--handlers", "m", "--workers", "0"], "--workers"),
        (["dev", "--handlers", "m", "--backend", "oracle"], "--backend"),
        (["dev", "--handlers", "m", "--backend", "moto", "--speed", "60"], "--speed"),
        (["demo", "--port", "70000"], "--port"),
        (["fly"], "fly"),
    ],
)
def test_wrong_usage_is_named_and_exits_with_2(
    dev: list[DevOptions], arguments: list[str], named: str
) -> None:
    result = RUNNER.invoke(app, arguments)
    assert result.exit_code == 2
    assert named in ANSI.sub("", result.output)
    assert dev == []


def test_an_error_of_ours_ends_with_a_sentence_and_1(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def fail(_: DevOptions) -> None:
        raise InvalidInput("Port 1 cannot be used.", errors=(FieldError("port", "is taken"),))

    monkeypatch.setattr("hourhand.cli.dev.run_dev", fail)
    monkeypatch.setattr(sys, "argv", ["hourhand", "dev", "--handlers", "my.jobs"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert capsys.readouterr().err == "hourhand: Port 1 cannot be used.\n  port is taken\n"


@pytest.mark.parametrize("arguments", [["--help"], ["dev", "--help"], ["demo", "-h"]])
def test_help_helps(arguments: list[str]) -> None:
    result = RUNNER.invoke(app, arguments)
    assert result.exit_code == 0
    assert "Exit codes" in result.output or "dev" in result.output


@pytest.mark.parametrize("verb", list(verbs_of(app)), ids=lambda verb: verb.name)
def test_no_word_of_the_help_is_taken_for_markup(verb: Verb) -> None:
    for text in [*verb.texts, *(flag.help for flag in [*verb.arguments, *verb.flags])]:
        meant = MARKUP.sub("", text)
        assert Text.from_markup(text).plain == meant


def test_help_names_the_twins_and_the_version_is_told() -> None:
    assert "HOURHAND_PORT" in RUNNER.invoke(app, ["dev", "--help"]).output
    assert re.fullmatch(r"hourhand \d+\.\d+.*\n", RUNNER.invoke(app, ["--version"]).output)


def test_help_does_not_import_what_it_does_not_need() -> None:
    code = (
        "import sys; from hourhand.cli.main import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "slow = {'boto3', 'moto', 'flask', 'pydantic'} & set(sys.modules)\n"
        "sys.exit(f'imported {slow}' if slow else 0)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
