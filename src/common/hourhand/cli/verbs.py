"""Turns a function into a command: its flags, its help, its errors and exit codes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints

import typer

from hourhand.answers.answered import Answered
from hourhand.cli.connection import AwsFlags, Connection
from hourhand.cli.contexts.store import enter_context
from hourhand.cli.exits import (
    DONE,
    FAILED,
    INTERRUPTED,
    OF_THE_API,
    WRONG_USAGE,
    codes_text,
    exit_code_of,
    sentences_of,
)
from hourhand.cli.options import YesOption
from hourhand.cli.session import Manner, Session


def verb(
    *,
    example: str,
    codes: Mapping[int, str | None] | None = None,
    asks_api: bool = True,
    tells_times: bool = True,
    changes: bool = False,
    prints: Sequence[type[Answered]] = (),
) -> Callable[[Callable[..., int | None]], Callable[..., None]]:
    """Turn a function that takes a `Session` and its own flags into a command.

    A parameter that is annotated with a dataclass stands for a group of flags, one for each field;
    the function receives the dataclass. The function returns its exit code (``None``: 0). Its
    docstring is the help, to which the exit codes and ``example`` are added.

    ``codes`` changes the usual exit codes: another meaning, or ``None`` to remove one.
    ``asks_api`` adds the flags of a connection, ``tells_times`` those for the format of times.
    ``changes``: it changes something, so it names the context in which it acts, and asks in a
    production context before it begins, unless --yes is given. A verb that has --yes itself
    changes something, too, and asks by itself: `Session.confirm`, `Session.agree`.
    ``prints``: the answers that the verb prints. ``--fields`` is checked against them before the
    verb begins, without them against each record that is printed.
    """
    usual = dict.fromkeys((DONE, INTERRUPTED, *(OF_THE_API if asks_api else ())), "")
    unconfirmed = {FAILED: "in a production context: you did not confirm"} if changes else {}
    all_codes = {WRONG_USAGE: "wrong usage", **usual, **unconfirmed, **(codes or {})}
    meanings = {code: meaning for code, meaning in all_codes.items() if meaning is not None}

    def decorate(command: Callable[..., int | None]) -> Callable[..., None]:
        made = _Verb(command, asks_api=asks_api, changes=changes, prints=prints)

        @wraps(command)
        def run(**given: Any) -> None:
            raise typer.Exit(made.run(given))

        hidden = set() if tells_times else {"utc", "absolute"}
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters = [each.replace(kind=kind) for each in made.flags() if each.name not in hidden]
        # Typer reads both to find the flags.
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # inspect's
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        described = inspect.getdoc(command) or ""
        run.__doc__ = f"{described}\n\n{codes_text(meanings)}\n\n[dim]Example: {example}[/]"
        return run

    return decorate


class _Verb:
    """A function that becomes a command, with what `verb` was given."""

    def __init__(
        self,
        command: Callable[..., int | None],
        *,
        asks_api: bool,
        changes: bool,
        prints: Sequence[type[Answered]],
    ) -> None:
        _, *own = inspect.signature(command, eval_str=True).parameters.values()
        self._command = command
        self._own = own
        self._groups: dict[str, Any] = {
            each.name: each.annotation for each in own if is_dataclass(each.annotation)
        }
        self._asks_api = asks_api
        self._prints = prints
        asks_itself = any(each.name == "yes" for each in self._own_flags())
        self._changes = changes or asks_itself
        self._is_asked_for = changes and not asks_itself
        self._acts_in_context = asks_api or any(
            issubclass(group, AwsFlags) for group in self._groups.values()
        )

    def flags(self) -> Iterator[inspect.Parameter]:
        """Yield all flags of the command, in the order of its help."""
        yield from self._own_flags()
        for group, is_there in (
            (_Sure, self._is_asked_for),
            (Connection, self._asks_api),
            (Manner, True),
        ):
            yield from flags_of(group) if is_there else ()

    def _own_flags(self) -> Iterator[inspect.Parameter]:
        for each in self._own:
            yield from flags_of(self._groups[each.name]) if each.name in self._groups else [each]

    def run(self, given: dict[str, Any]) -> int:
        """Run the command with the flags that were given; return its exit code."""
        manner = _gather(Manner, given)
        session = Session(manner=manner, kinds=self._prints, is_sure=given.get("yes", False))
        if self._is_asked_for:
            del given["yes"]
        try:
            return self._act(session, given) or DONE
        except (typer.BadParameter, typer.Exit):
            # Typer prints wrong usage itself.
            raise
        except (KeyboardInterrupt, Exception) as error:
            code = exit_code_of(error)
            if code is None:
                raise
            first, *others = sentences_of(error)
            session.remark("\n".join([f"hourhand: {first}", *others]), style="")
            if code != INTERRUPTED and not self._changes:
                session.announce()
            return code
        finally:
            session.close()

    def _act(self, session: Session, given: dict[str, Any]) -> int | None:
        if self._acts_in_context:
            session.context = enter_context(given)
        # Without the API, a verb may have flags of its own with the names of these.
        if self._asks_api:
            session.connection = _gather(Connection, given)
        gathered = {name: _gather(group, given) for name, group in self._groups.items()}
        # A wrong --fields is refused before anything changes.
        _ = session.records
        if self._changes:
            session.announce()
        if self._is_asked_for:
            session.agree()
        return self._command(session, **gathered, **given)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Sure:
    yes: YesOption = False


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
