"""How the help of a verb or a noun looks: it fits 80 columns, and nothing in it is cut.

Typer alone keeps the ends of our lines, gives each flag that takes no value the type ``<bool>``,
and names each flag's twin, which in a narrow terminal is too long to be read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.models import CommandFunctionType

from hourhand.cli.refusing import sentence_of


def flowing(text: str) -> str:
    """Return ``text`` with each of its paragraphs on one line, for the terminal to wrap."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


class VerbCommand(TyperCommand):
    """A verb. Twins that follow from its path are told once, in a sentence below its flags."""

    def __init__(self, *given: Any, help: str | None = None, **settings: Any) -> None:  # noqa: A002 (Typer's name)
        """Take what Typer makes a command of."""
        super().__init__(*given, help=flowing(help or ""), **settings)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the flags and arguments, as the help is to show them."""
        return [_shown(each, ctx) for each in super().get_params(ctx)]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what was typed. Raises `typer.BadParameter`, which says what is allowed."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = sentence_of(error)
            raise

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        usual = [
            _usual_twin(each, ctx)
            for each in self.get_params(ctx)
            if isinstance(each, TyperOption) and not each.show_envvar and each.name != "help"
        ]
        if usual:
            self.epilog = (
                "A flag without an env var beside it has the one that is named for the verb and "
                f"the flag, such as {usual[0]}."
            )
        super().format_help(ctx, formatter)


class NounGroup(TyperGroup):
    """A noun, or the command itself, with its verbs."""

    def __init__(self, *, help: str | None = None, **settings: Any) -> None:  # noqa: A002 (Typer's name)
        """Take what Typer makes a group of."""
        super().__init__(help=flowing(help or ""), **settings)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the flags, as the help is to show them."""
        return [_shown(each, ctx) for each in super().get_params(ctx)]


class Noun(typer.Typer):
    """A Typer whose verbs and help are as above."""

    def __init__(self, **settings: Any) -> None:
        """Take what Typer takes."""
        super().__init__(cls=NounGroup, **settings)

    def command(
        self, name: str | None = None, **settings: Any
    ) -> Callable[[CommandFunctionType], CommandFunctionType]:
        """Return the decorator that makes a function one of its verbs."""
        return super().command(name, **{"cls": VerbCommand, **settings})


def _shown(parameter: Any, ctx: Any) -> Any:
    if isinstance(parameter, TyperOption):
        usual = _usual_twin(parameter, ctx)
        twin = parameter.envvar or f"{ctx.auto_envvar_prefix}_{(parameter.name or '').upper()}"
        # It is read from the environment all the same: only its name is told elsewhere.
        parameter.show_envvar = parameter.allow_from_autoenv and twin != usual
        if parameter.is_flag and parameter.metavar is None:
            parameter.metavar = ""
    return parameter


def _usual_twin(option: TyperOption, ctx: Any) -> str:
    """Return the twin that is named for the verb and the flag: HOURHAND_JOBS_LIST_ALL."""
    named = max(option.opts, key=len).lstrip("-")
    return f"{ctx.auto_envvar_prefix}_{named}".replace("-", "_").upper()
