"""What makes a function a verb: the flags that all share, its help, its errors and exit codes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any

import typer

from hourhand.cli.connection import (
    DEFAULT_SECONDS,
    AuthOption,
    Connection,
    EndpointOption,
    ProfileOption,
    RegionOption,
    RequestTimeoutOption,
    TokenOption,
)
from hourhand.cli.exits import (
    DONE,
    INTERRUPTED,
    OF_THE_API,
    WRONG_USAGE,
    exit_code_of,
    sentences_of,
    told_codes,
)
from hourhand.cli.helping import flowing
from hourhand.cli.session import Manner, Session

PANEL = "Output"

JsonOption = Annotated[
    bool,
    typer.Option(
        "--json",
        envvar="HOURHAND_JSON",
        help="Print one JSON object a line, as the API gave it, for programs.",
        rich_help_panel=PANEL,
    ),
]
UtcOption = Annotated[
    bool,
    typer.Option(
        "--utc",
        envvar="HOURHAND_UTC",
        help="Tell when things are, in UTC.",
        rich_help_panel=PANEL,
    ),
]
AbsoluteOption = Annotated[
    bool,
    typer.Option(
        "--absolute",
        envvar="HOURHAND_ABSOLUTE",
        help="Tell in tables, too, when things are, not how far away.",
        rich_help_panel=PANEL,
    ),
]

CONNECTION_FLAGS: Mapping[str, tuple[Any, Any]] = {
    "endpoint": (EndpointOption, None),
    "token": (TokenOption, None),
    "auth": (AuthOption, None),
    "region": (RegionOption, None),
    "profile": (ProfileOption, None),
    "request_timeout": (RequestTimeoutOption, DEFAULT_SECONDS),
}
JSON_FLAG: Mapping[str, tuple[Any, Any]] = {"json": (JsonOption, False)}
TIME_FLAGS: Mapping[str, tuple[Any, Any]] = {
    "utc": (UtcOption, False),
    "absolute": (AbsoluteOption, False),
}


def verb(
    *,
    example: str,
    codes: Mapping[int, str | None] | None = None,
    asks_api: bool = True,
    tells_times: bool = True,
) -> Callable[[Callable[..., int | None]], Callable[..., None]]:
    """Make a verb of a function that takes a `Session` and its own flags.

    The function returns its exit code (``None``: 0). Its docstring is the help, to which the exit
    codes and ``example`` are added. ``codes``: what it can end with beside the usual, what else a
    usual one means here, and ``None`` for one that it cannot end with. ``asks_api`` and
    ``tells_times``: whether it has the flags of a connection, and those of how to tell times.
    """
    usual = dict.fromkeys((DONE, INTERRUPTED, *(OF_THE_API if asks_api else ())), "")
    told = {WRONG_USAGE: "wrong usage", **usual, **(codes or {})}
    meanings = {code: meaning for code, meaning in told.items() if meaning is not None}
    manner_flags = {**JSON_FLAG, **(TIME_FLAGS if tells_times else {})}
    shared = {**(CONNECTION_FLAGS if asks_api else {}), **manner_flags}

    def made(command: Callable[..., int | None]) -> Callable[..., None]:
        @wraps(command)
        def run(**arguments: Any) -> None:
            flags = {name: arguments.pop(name) for name in shared}
            manner = Manner(**{name: flags.pop(name) for name in manner_flags})
            session = Session(connection=Connection(**flags), manner=manner)
            raise typer.Exit(_run(session, lambda: command(session, **arguments)))

        given = inspect.signature(command, eval_str=True)
        _give_signature(run, [*list(given.parameters.values())[1:], *_parameters(shared)])
        run.__doc__ = _help(command, meanings, example)
        return run

    return made


def _run(session: Session, command: Callable[[], int | None]) -> int:
    try:
        return command() or DONE
    except (typer.BadParameter, typer.Exit):
        # Typer tells of wrong usage itself.
        raise
    except (KeyboardInterrupt, Exception) as error:
        code = exit_code_of(error)
        if code is None:
            raise
        for number, sentence in enumerate(sentences_of(error)):
            session.remark(sentence if number else f"hourhand: {sentence}", style="")
        return code
    finally:
        session.close()


def _parameters(shared: Mapping[str, tuple[Any, Any]]) -> list[inspect.Parameter]:
    kind = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(name, kind, default=default, annotation=annotation)
        for name, (annotation, default) in shared.items()
    ]


def _give_signature(run: Callable[..., None], parameters: list[inspect.Parameter]) -> None:
    """Say to Typer, which makes flags of a function's parameters, which ones there are."""
    named = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    run.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]  # read by inspect
    run.__annotations__ = {each.name: each.annotation for each in named}


def _help(command: Callable[..., Any], meanings: Mapping[int, str], example: str) -> str:
    said = flowing(inspect.getdoc(command) or "")
    return f"{said}\n\n{told_codes(meanings)}\n\n[dim]Example: {example}[/]"
