"""Flags that several verbs share stand where the value that they come to stood."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from hourhand.cli.gathering import gathering

FLAGS = {
    "colour": Annotated[str | None, typer.Option("--colour")],
    "size": Annotated[int | None, typer.Option("--size")],
}


@dataclass(frozen=True, kw_only=True)
class Wanted:
    colour: str | None
    size: int | None


takes_wanted = gathering("wanted", FLAGS, into=Wanted)
seen: list[Any] = []


@takes_wanted
def find(
    name: Annotated[str, typer.Argument()],
    *,
    wanted: Wanted,
    often: Annotated[bool, typer.Option("--often")] = False,
) -> None:
    """Find it."""
    seen.append((name, wanted, often))


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    seen.clear()


def test_the_flags_stand_in_the_place_of_the_argument_in_their_order() -> None:
    assert list(inspect.signature(find).parameters) == ["name", "colour", "size", "often"]
    assert find.__doc__ == "Find it."


def test_the_function_gets_the_value_that_the_flags_come_to_and_its_own_arguments() -> None:
    app = typer.Typer()
    app.command()(find)
    ran = CliRunner().invoke(app, ["hat", "--size", "7", "--often"])
    assert (ran.exit_code, ran.output) == (0, "")
    assert seen == [("hat", Wanted(colour=None, size=7), True)]


def test_a_function_may_be_called_with_what_comes_before_the_flags_by_place() -> None:
    find("hat", colour="red", size=None)
    assert seen == [("hat", Wanted(colour="red", size=None), False)]


def test_flags_that_would_take_nobodys_place_are_refused() -> None:
    def forgetful(name: str) -> None:
        raise NotImplementedError

    with pytest.raises(AssertionError, match="wanted"):
        takes_wanted(forgetful)
