"""Turns a function into a command: its flags, its help, its errors and exit codes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, get_type_hints

import typer

from hourhand.cli.connection import Connection
from hourhand.cli.exits import (
    DONE,
    INTERRUPTED,
    OF_THE_API,
    WRONG_USAGE,
    codes_text,
    exit_code_of,
    sentences_of,
)
from hourhand.cli.session import Manner, Session

if TYPE_CHECKING:
    from hourhand.answers.answered import Answered


def verb(
    *,
    example: str,
    codes: Mapping[int, str | None] | None = None,
    asks_api: bool = True,
    tells_times: bool = True,
    prints: Sequence[type[Answered]] = (),
) -> Callable[[Callable[..., int | None]], Callable[..., None]]:
    """Turn a function that takes a `Session` and its own flags into a command.

    A parameter that is annotated with a dataclass stands for a group of flags, one for each field;
    the function receives the dataclass. The function returns its exit code (``None``: 0). Its
    docstring is the help, to which the exit codes and ``example`` are added.

    ``codes`` changes the usual exit codes: another meaning, or ``None`` to remove one.
    ``asks_api`` adds the flags of a connection, ``tells_times`` those for the format of times.
    ``prints``: the answers that the verb prints. ``--fields`` is checked against them before the
    verb begins, without them against each record that is printed.
    """
    usual = dict.fromkeys((DONE, INTERRUPTED, *(OF_THE_API if asks_api else ())), "")
    all_codes = {WRONG_USAGE: "wrong usage", **usual, **(codes or {})}
    meanings = {code: meaning for code, meaning in all_codes.items() if meaning is not None}
    shared = [*(flags_of(Connection) if asks_api else ()), *flags_of(Manner)]
    if not tells_times:
        shared = [each for each in shared if each.name not in {"utc", "absolute"}]

    def decorate(command: Callable[..., int | None]) -> Callable[..., None]:
        _, *own = inspect.signature(command, eval_str=True).parameters.values()
        groups = {each.name: each.annotation for each in own if is_dataclass(each.annotation)}

        @wraps(command)
        def run(**given: Any) -> None:
            # Without the API, a verb may have flags of its own with the names of these.
            connection = _gather(Connection, given) if asks_api else Connection()
            manner = _gather(Manner, given)
            gathered = {name: _gather(group, given) for name, group in groups.items()}
            session = Session(connection=connection, manner=manner, kinds=prints)

            def act() -> int | None:
                # A wrong --fields is refused before anything changes.
                _ = session.records
                return command(session, **gathered, **given)

            raise typer.Exit(_run(session, act))

        flags: list[inspect.Parameter] = []
        for each in own:
            flags += flags_of(groups[each.name]) if each.name in groups else [each]
        parameters = [
            each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (*flags, *shared)
        ]
        # Typer reads both to find the flags.
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # inspect's
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        described = inspect.getdoc(command) or ""
        run.__doc__ = f"{described}\n\n{codes_text(meanings)}\n\n[dim]Example: {example}[/]"
        return run

    return decorate


def flags_of(group: Any) -> list[inspect.Parameter]:
    """Return the flags that the fields of a dataclass declare."""
    hints = get_type_hints(group, include_extras=True)
    kind = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(each.name, kind, default=each.default, annotation=hints[each.name])
        for each in fields(group)
    ]


def _gather(group: Any, given: dict[str, Any]) -> Any:
    """Take the flags of a dataclass out of ``given``."""
    names = [each.name for each in fields(group) if each.name in given]
    return group(**{name: given.pop(name) for name in names})


def _run(session: Session, command: Callable[[], int | None]) -> int:
    try:
        return command() or DONE
    except (typer.BadParameter, typer.Exit):
        # Typer prints wrong usage itself.
        raise
    except (KeyboardInterrupt, Exception) as error:
        code = exit_code_of(error)
        if code is None:
            raise
        first, *others = sentences_of(error)
        session.remark("\n".join([f"hourhand: {first}", *others]), style="")
        return code
    finally:
        session.close()
