"""The command's verbs, as they are: what each takes, and what its help says.

The reference is made of this, and tests ask it whether every flag has its twin.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

NAME = "hourhand"
NO_FLAGS = frozenset({"help", "version", "install_completion", "show_completion"})
"""Options that ask the command about itself; they have no twin in the environment."""

_CODES = re.compile(r"^Exit codes: (.*)\.$", re.S)
_EXAMPLE = re.compile(r"^\[dim\]Example: (.*)\[/\]$", re.S)
_CODE = re.compile(r"(?:^|, )(\d+) ")


@dataclass(frozen=True, kw_only=True, slots=True)
class Flag:
    """A flag or an argument: how it is written, its default and its twins in the environment."""

    written: str
    panel: str | None
    help: str
    default: str
    twins: tuple[str, ...]
    is_required: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Verb:
    """A verb. ``texts``: what its help says, by paragraphs, without codes and example."""

    path: tuple[str, ...]
    usage: str
    texts: tuple[str, ...]
    arguments: tuple[Flag, ...]
    flags: tuple[Flag, ...]
    codes: tuple[tuple[int, str], ...]
    example: str | None

    @property
    def name(self) -> str:
        """As it is typed: ``hourhand jobs list``."""
        return " ".join(self.path)


def verbs_of(app: typer.Typer) -> Iterator[Verb]:
    """Yield every verb, in the order of the help."""
    command = get_command(app)
    context = command.context_class(command, info_name=NAME, **command.context_settings)
    yield from _below(command, context, (NAME,))


def _below(command: Any, context: Any, path: tuple[str, ...]) -> Iterator[Verb]:
    if not isinstance(command, TyperGroup):
        yield _verb(command, context, path)
        return
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None, "the group listed it"
        settings = inner.context_settings
        below = inner.context_class(inner, info_name=name, parent=context, **settings)
        yield from _below(inner, below, (*path, name))


def _verb(command: TyperCommand, context: Any, path: tuple[str, ...]) -> Verb:
    texts = [" ".join(part.split()) for part in (command.help or "").split("\n\n")]
    codes = next((found[1] for text in texts if (found := _CODES.match(text))), "")
    example = next((found[1] for text in texts if (found := _EXAMPLE.match(text))), None)
    return Verb(
        path=path,
        usage=" ".join([*path, *command.collect_usage_pieces(context)]),
        texts=tuple(t for t in texts if t and not _CODES.match(t) and not _EXAMPLE.match(t)),
        arguments=tuple(
            _argument(each, context) for each in command.params if isinstance(each, TyperArgument)
        ),
        flags=tuple(
            _flag(each, context)
            for each in command.params
            if isinstance(each, TyperOption) and each.name not in NO_FLAGS and not each.hidden
        ),
        codes=tuple(_codes(codes)),
        example=example,
    )


def _codes(text: str) -> Iterator[tuple[int, str]]:
    """Yield each code with its meaning, from ``0 done, 1 it failed``."""
    parts = _CODE.split(text)[1:]
    yield from ((int(code), said) for code, said in zip(parts[::2], parts[1::2], strict=True))


def _argument(parameter: TyperArgument, context: Any) -> Flag:
    return Flag(
        written=parameter.display_name_raw,
        panel=None,
        help=parameter.help or "",
        default=_default(parameter, context),
        twins=(),
        is_required=parameter.required,
    )


def _flag(parameter: TyperOption, context: Any) -> Flag:
    names = ", ".join([*parameter.opts, *parameter.secondary_opts])
    value = "" if parameter.is_flag else f" {parameter.display_type_rich(context)}"
    return Flag(
        written=f"{names}{value}",
        panel=parameter.rich_help_panel,
        help=parameter.help or "",
        default=_default(parameter, context),
        twins=tuple(_twins(parameter, context)),
        is_required=parameter.required,
    )


def _twins(parameter: TyperOption, context: Any) -> Iterator[str]:
    named = parameter.envvar
    if isinstance(named, str):
        yield named
    elif named:
        yield from named
    elif parameter.allow_from_autoenv and context.auto_envvar_prefix and parameter.name:
        yield f"{context.auto_envvar_prefix}_{parameter.name.upper()}"


def _default(parameter: TyperArgument | TyperOption, context: Any) -> str:
    """Return what holds where nothing is given; nothing for what is off or absent then."""
    value = parameter.get_default(context)
    if parameter.required or value is None or value is False or value == ():
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)
