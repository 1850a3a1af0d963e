"""The help of every verb is readable in a terminal of 80 columns, and true."""

from __future__ import annotations

import re
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from hourhand.cli.helping import Noun, flowing
from hourhand.cli.main import app
from hourhand.cli.reference import Verb, verbs_of

VERBS = list(verbs_of(app))


def help_of(*path: str, columns: int = 80) -> str:
    # The terminal's width is the environment's to say.
    ran = CliRunner().invoke(
        app, [*path, "--help"], prog_name="hourhand", env={"COLUMNS": str(columns)}
    )
    assert ran.exit_code == 0
    return ran.output


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_nothing_is_cut_in_80_columns(verb: Verb) -> None:
    assert [line for line in help_of(*verb.path[1:]).splitlines() if "…" in line] == []


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_a_twin_that_is_not_named_beside_its_flag_is_the_one_that_the_sentence_tells(
    verb: Verb,
) -> None:
    shown = help_of(*verb.path[1:], columns=250)
    for flag in verb.flags:
        if f"[env var: {flag.twins[0]}" in shown:
            continue
        name = re.findall(r"--([a-z-]+)", flag.written)[0]
        expected = "_".join([*verb.path, name]).replace("-", "_").upper()
        assert flag.twins == (expected,)
        assert "An option without an env var beside it" in shown


@pytest.mark.parametrize("path", [(), ("jobs",), ("jobs", "submit"), ("demo",)], ids=str)
def test_flags_without_a_value_have_no_type(path: tuple[str, ...]) -> None:
    assert "<bool>" not in help_of(*path)


def test_paragraphs_end_where_the_terminal_does_not_where_our_lines_do() -> None:
    assert flowing("One\ntwo.\n\n    Three\n  four.") == "One two.\n\nThree four."


def test_a_twin_that_is_not_named_is_read_all_the_same() -> None:
    noun, seen = Noun(context_settings={"auto_envvar_prefix": "HOURHAND"}), []

    @noun.command("look")
    def look(often: Annotated[bool, typer.Option("--often")] = False) -> None:
        seen.append(often)

    noun.command("other")(lambda: None)
    ran = CliRunner().invoke(noun, ["look"], env={"HOURHAND_LOOK_OFTEN": "1"})
    assert (ran.exit_code, seen) == (0, [True])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--status", "FOO"], "Invalid value for '--status': 'FOO' is not one of 'pending', "),
        (["--limit", "0"], "'-n': Input should be greater than or equal to 1"),
        (["--every", "x"], "'--every': Input should be a valid number"),
        (["--created-after", "soon"], "'--created-after': must be a duration such as 90s, "),
    ],
    ids=lambda each: each[-1] if isinstance(each, list) else "",
)
def test_a_rejected_value_is_answered_with_what_is_allowed(
    arguments: list[str], message: str
) -> None:
    environment = {"COLUMNS": "250", "NO_COLOR": "1"}
    ran = CliRunner().invoke(app, ["jobs", "list", *arguments], env=environment)
    assert ran.exit_code == 2
    assert message in ran.output
