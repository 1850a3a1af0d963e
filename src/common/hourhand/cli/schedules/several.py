"""The same done to each of several, one after the other: one that fails stops no other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hourhand.cli.exits import DONE, exit_code_of, sentences_of
from hourhand.cli.session import Session


def do_to_each(session: Session, names: Sequence[str], act: Callable[[str], None]) -> int:
    """Call ``act`` with each name; tell what fails, and return the first failure's exit code."""
    first = DONE
    for name in dict.fromkeys(names):
        try:
            act(name)
        except Exception as error:
            code = exit_code_of(error)
            if code is None:
                raise
            sentences = list(sentences_of(error))
            session.remark("\n".join([f"{name}: {sentences[0]}", *sentences[1:]]), style="")
            first = first or code
    return first


@dataclass(frozen=True, slots=True)
class Kind:
    """What can be deleted: ``schedule``, of which the API calls the ``id`` so."""

    name: str
    key: str
    delete: Callable[[str], None]


def delete_each(session: Session, names: Sequence[str], kind: Kind, *, is_sure: bool) -> int:
    """Delete each after a question, and say so; return the first failure's exit code."""
    session.confirm(f"Delete {_counted(names, kind.name)}?", is_sure=is_sure)

    def act(name: str) -> None:
        kind.delete(name)
        if session.is_json:
            session.print_json({kind.key: name, "deleted": True})
        else:
            session.remark(f"{name}  deleted", style="")

    return do_to_each(session, names, act)


def _counted(names: Sequence[str], thing: str) -> str:
    """Return what is meant in a question: ``schedule nightly``, or ``3 schedules: a, b, c``."""
    if len(names) == 1:
        return f"{thing} {names[0]}"
    return f"{len(names)} {thing}s: {', '.join(names)}"
