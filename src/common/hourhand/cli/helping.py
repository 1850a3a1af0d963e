"""The format of the help: it fits 80 columns, and nothing in it is cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.models import CommandFunctionType


def flowing(text: str) -> str:
    """Return ``text`` with each paragraph on one line; Typer would keep the ends of our lines."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


class VerbCommand(TyperCommand):
    """A verb. One sentence explains the environment variables that follow from a flag's name."""

    def __init__(self, *given: Any, help: str | None = None, **settings: Any) -> None:  # noqa: A002 (Typer's name)
        """Take what Typer creates a command from."""
        super().__init__(*given, help=flowing(help or ""), **settings)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the flags and arguments, as the help shows them."""
        return [_shown(each) for each in super().get_params(ctx)]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what was typed. Raises `typer.BadParameter`, which says what is allowed."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            # The library that Typer validates with prints this before every message.
            error.message = error.message.removeprefix("Value error, ")
            raise

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        unnamed = [
            f"{ctx.auto_envvar_prefix}_{str(each.name).upper()}"
            for each in self.get_params(ctx)
            if isinstance(each, TyperOption) and each.envvar is None and each.allow_from_autoenv
        ]
        if unnamed:
            self.epilog = (
                "An option without an env var beside it has one that is named after the command "
                f"and the option, for example {unnamed[0]}."
            )
        if any(each.name == "context" for each in self.get_params(ctx)):
            self.epilog = _with_context(self.epilog)
        super().format_help(ctx, formatter)


class NounGroup(TyperGroup):
    """A noun, or the command itself, with its verbs."""

    def __init__(self, *, help: str | None = None, **settings: Any) -> None:  # noqa: A002 (Typer's name)
        """Take what Typer creates a group from."""
        super().__init__(help=flowing(help or ""), **settings)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the flags, as the help shows them."""
        return [_shown(each) for each in super().get_params(ctx)]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        self.epilog = _with_context(None)
        super().format_help(ctx, formatter)


class Noun(typer.Typer):
    """A Typer whose verbs and help are as above."""

    def __init__(self, **settings: Any) -> None:
        """Take what Typer takes."""
        super().__init__(cls=NounGroup, no_args_is_help=True, **settings)

    def command(
        self, name: str | None = None, **settings: Any
    ) -> Callable[[CommandFunctionType], CommandFunctionType]:
        """Return the decorator that makes a function one of its verbs."""
        return super().command(name, **{"cls": VerbCommand, **settings})


def _with_context(epilog: str | None) -> str | None:
    """Add the context in use, if there is one, to the end of a help text."""
    from hourhand.cli.contexts.store import read_contexts
    from hourhand.cli.exits import CommandError

    try:
        in_use = read_contexts().in_use
    except CommandError:
        # Each command reports the damaged file; its help is shown all the same.
        return epilog
    if in_use is None:
        return epilog
    return "\n\n".join([*filter(None, [epilog]), f"Commands act in {in_use}."])


def _shown(parameter: Any) -> Any:
    if isinstance(parameter, TyperOption):
        # A name that follows from the verb's path is too long to be read in a narrow terminal.
        parameter.show_envvar = parameter.show_envvar and parameter.envvar is not None
        if parameter.is_flag and parameter.metavar is None:
            # Typer would show the type <bool>.
            parameter.metavar = ""
    return parameter
