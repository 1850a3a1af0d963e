"""docs/reference/cli.md is what the commands say, and every command says what it must."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer
from typer.main import get_command

from hourhand.cli.exits import MEANINGS
from hourhand.cli.main import app
from hourhand.cli.reference import Verb, page, verbs_of

DOCS = Path(__file__).parents[2] / "docs"
PAGE = page()
COMMAND = get_command(app)
VERBS = list(verbs_of(app))
NAMES = [verb.name for verb in VERBS]
PROMISED = {
    *("dev", "demo", "stats", "console", "estimate", "deploy", "doctor"),
    *(
        f"jobs {verb}"
        for verb in ("submit", "list", "show", "cancel", "redrive", "discard", "watch")
    ),
    *(
        f"schedules {verb}"
        for verb in (
            *("put", "list", "show", "pause", "resume", "trigger", "backfill", "preview"),
            "delete",
        )
    ),
    *(f"calendars {verb}" for verb in ("put", "list", "show", "delete")),
    *(f"dead-letters {verb}" for verb in ("list", "show", "redrive", "discard")),
}


def test_the_page_is_made_of_the_commands_as_they_are() -> None:
    assert (DOCS / "reference" / "cli.md").read_text() == page(), (
        "Run: python -m hourhand.cli.reference > docs/reference/cli.md"
    )


def test_every_verb_that_is_promised_is_there() -> None:
    assert {name.removeprefix("hourhand ") for name in NAMES} >= PROMISED


@pytest.mark.parametrize("verb", VERBS, ids=NAMES)
def test_every_flag_has_a_twin_in_the_environment(verb: Verb) -> None:
    assert [flag.written for flag in verb.flags if not flag.twins] == []
    twins = [flag.twins[0] for flag in verb.flags]
    assert len(set(twins)) == len(twins)
    assert all(re.fullmatch(r"(HOURHAND|AWS)_[A-Z0-9_]+", twin) for twin in twins)


@pytest.mark.parametrize("verb", VERBS, ids=NAMES)
def test_every_flag_and_argument_says_what_it_is(verb: Verb) -> None:
    assert [each.written for each in (*verb.flags, *verb.arguments) if not each.help] == []


@pytest.mark.parametrize("verb", VERBS, ids=NAMES)
def test_every_verb_says_how_it_can_end(verb: Verb) -> None:
    [text] = [text for text in verb.texts if text.startswith("Exit codes: ")]
    codes = [int(code) for code in re.findall(r"(?:Exit codes:|[,;]) (\d+) ", text)]

    assert codes[0] == 0
    assert 2 in codes
    assert codes == sorted(set(codes))
    assert set(codes) <= set(MEANINGS)


@pytest.mark.parametrize("verb", VERBS, ids=NAMES)
def test_every_verb_has_an_example_of_itself_that_it_understands(verb: Verb) -> None:
    [example] = re.findall(r"Example: (.*)\[/\]", "\n".join(verb.texts))
    assert example.startswith(verb.name)
    _parse(example)


CONSOLE_LINES = re.findall(r"^\$ (hourhand .*)$", PAGE, re.M)


@pytest.mark.parametrize("line", CONSOLE_LINES)
def test_the_lines_of_the_introduction_are_understood(line: str) -> None:
    _parse(line)


def test_the_introduction_has_lines() -> None:
    assert len(CONSOLE_LINES) >= 5


@pytest.mark.parametrize("line", ["hourhand stats --no-such-flag", "hourhand jobs fly"])
def test_a_line_that_is_not_understood_is_noticed(line: str) -> None:
    with pytest.raises(typer.TyperException):
        _parse(line)


def _parse(line: str) -> None:
    """Let the commands read a line as they would to run it; they end with a sentence if wrong."""
    _, *words = shlex.split(line)
    command, context = COMMAND, None
    while hasattr(command, "resolve_command"):
        context = command.make_context(command.name, list(words), parent=context)
        name, command, words = command.resolve_command(context, context._protected_args)
        words += context.args
    command.make_context(name, list(words), parent=context)


@pytest.mark.parametrize("verb", VERBS, ids=NAMES)
def test_links_of_the_contents_lead_to_a_heading(verb: Verb) -> None:
    assert f"](#{verb.name.replace(' ', '-')})" in PAGE
    assert f"\n### {verb.name}\n" in PAGE
