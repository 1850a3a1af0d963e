"""A parameter that is annotated with a dataclass stands for a group of flags."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from hourhand.cli.session import Session
from hourhand.cli.verbs import verb


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    colour: Annotated[str | None, typer.Option()] = None
    size: Annotated[int, typer.Option()] = 3


seen: list[Any] = []


@verb(example="find hat", asks_api=False, tells_times=False)
def find(
    session: Session,
    wanted: Wanted,
    name: Annotated[str, typer.Argument()],
    often: Annotated[bool, typer.Option("--often")] = False,
) -> None:
    """Find it."""
    seen.append((name, wanted, often, session.is_json))


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    seen.clear()


def test_the_flags_stand_in_the_place_of_the_parameter_in_their_order() -> None:
    names = ["colour", "size", "name", "often", "output", "json", "fields"]
    assert list(inspect.signature(find).parameters) == names


def test_the_function_receives_the_dataclass_its_own_arguments_and_the_session() -> None:
    app = typer.Typer()
    app.command()(find)
    ran = CliRunner().invoke(app, ["hat", "--size", "7", "--often", "--json"])
    assert (ran.exit_code, ran.output) == (0, "")
    assert seen == [("hat", Wanted(colour=None, size=7), True, True)]


def test_the_help_ends_with_the_exit_codes_and_the_example() -> None:
    assert find.__doc__ == (
        "Find it.\n\nExit codes: 0 done; 2 wrong usage; 130 interrupted.\n\n"
        "[dim]Example: find hat[/]"
    )
